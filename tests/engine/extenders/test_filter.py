"""Which nodes extenders leave in (findNodesThatPassExtenders)."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet, SchedulerConfiguration
from ksched_cli.errors import ConfigError
from tests.builders import make_node, make_pod
from tests.engine.extenders.runs import extender, feasible, node_of, only, run, scheduler_with, statuses
from tests.engine.extenders.service import Service, keep, named

UNSCHEDULABLE, UNRESOLVABLE = "Unschedulable", "UnschedulableAndUnresolvable"
BOTH = pytest.mark.parametrize("cached", [pytest.param(True, id="names"), pytest.param(False, id="whole nodes")])


@BOTH
def test_nodes_that_it_leaves_out_are_out(cached: bool) -> None:
    with Service({"filter": keep("a", "c")}) as service:
        scheduler = scheduler_with([extender(service.url, cached=cached)])
        decision = only(scheduler)
        assert (feasible(scheduler, decision), node_of(scheduler, decision)) == (["a", "c"], "a")
        # Without a word about b it is as one that nobody looked at: preemption will not try it.
        assert statuses(scheduler, decision) == {"b": (service.url, UNRESOLVABLE, ())}
        assert decision.diagnosis is not None
        assert decision.diagnosis.unschedulable_plugins == {"Extender"}


@BOTH
def test_what_it_is_asked(cached: bool) -> None:
    pod = make_pod("p", "shop").requests(cpu="1").label(app="web").uid("u-1").obj()
    nodes = [make_node("a").label(disk="ssd").obj(), make_node("b").cordoned().obj(), make_node("c").obj()]
    with Service({"filter": keep("a", "c")}) as service:
        run(scheduler_with([extender(f"{service.url}/scheduler/", cached=cached)], nodes, [pod]))
    (asked,) = service.asked
    assert asked.verb == "scheduler/filter"
    assert asked.headers["Content-Type"] == "application/json"
    assert sorted(named(asked.body)) == ["a", "c"]
    assert asked.body["Pod"]["metadata"] == {
        "name": "p",
        "namespace": "shop",
        "uid": "u-1",
        "labels": {"app": "web"},
        "annotations": {},
    }
    assert asked.body["Pod"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    if cached:
        assert asked.body["Nodes"] is None
    else:
        assert asked.body["NodeNames"] is None
        (a,) = (node for node in asked.body["Nodes"]["items"] if node["metadata"]["name"] == "a")
        assert a["metadata"]["labels"]["disk"] == "ssd"
        assert a["status"]["allocatable"] == {"cpu": "4", "memory": "16Gi", "pods": "110"}


@BOTH
def test_reasons(cached: bool) -> None:
    answer = {
        ("nodenames" if cached else "nodes"): [] if cached else {"items": []},
        "FailedNodes": {"a": "no GPU free", "b": "no GPU free", "c": "not for preemption"},
        "failedAndUnresolvableNodes": {"c": "no GPU at all"},
    }
    with Service({"filter": answer}) as service:
        scheduler = scheduler_with([extender(service.url, cached=cached)])
        decision = only(scheduler)
    assert statuses(scheduler, decision) == {
        "a": (service.url, UNSCHEDULABLE, ("no GPU free",)),
        "b": (service.url, UNSCHEDULABLE, ("no GPU free",)),
        "c": (service.url, UNRESOLVABLE, ("no GPU at all",)),
    }
    assert decision.result == "unschedulable"
    assert decision.message.startswith("0/3 nodes are available: 1 no GPU at all, 2 no GPU free.")


def test_names_that_are_no_nodes_are_counted_when_they_fail() -> None:
    """As in Go, where the reasons are kept by name."""
    answer = {"nodenames": [], "failedNodes": {"a": "full", "ghost": "full"}}
    with Service({"filter": answer}) as service:
        decision = only(scheduler_with([extender(service.url)]))
    assert decision.message.startswith("0/3 nodes are available: 2 full.")


@pytest.mark.parametrize(
    ("cached", "answer", "passing"),
    [
        pytest.param(True, {"NodeNames": ["b"]}, ["b"], id="capital letters"),
        pytest.param(True, {"nodenames": ["b", "b"]}, ["b"], id="named twice"),
        pytest.param(True, {"nodenames": None, "nodes": None, "error": ""}, [], id="no list at all"),
        pytest.param(True, None, [], id="null"),
        pytest.param(True, {"nodes": {"items": [{"metadata": {"name": "c"}}]}}, ["c"], id="nodes in place of names"),
        pytest.param(False, {"nodenames": ["b"]}, [], id="names in place of nodes"),
        pytest.param(False, {"nodes": {"Items": [{"metadata": {"name": "b"}}]}}, ["b"], id="a node with only a name"),
        pytest.param(True, {"nodenames": ["b"], "extra": 1}, ["b"], id="a field that nobody knows"),
    ],
)
def test_forms_of_answers(cached: bool, answer: Any, passing: list[str]) -> None:
    with Service({"filter": answer}) as service:
        scheduler = scheduler_with([extender(service.url, cached=cached)])
        assert feasible(scheduler, only(scheduler)) == passing


def test_a_node_that_another_filter_rejected_may_come_back() -> None:
    """kube-scheduler takes the node objects as they come."""
    nodes = [make_node("a").obj(), make_node("b").cordoned().obj()]
    answer = {"nodes": {"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}}
    with Service({"filter": answer}) as service:
        scheduler = scheduler_with([extender(service.url, cached=False)], nodes)
        assert feasible(scheduler, only(scheduler)) == ["a", "b"]


def test_one_after_the_other_those_that_may_be_passed_over_last() -> None:
    with Service({"filter": keep("b", "c")}) as optional, Service({"filter": keep("a", "b")}) as needed:
        chain = [extender(optional.url, ignorable=True), extender(needed.url)]
        scheduler = scheduler_with(chain)
        assert feasible(scheduler, only(scheduler)) == ["b"]
        assert [sorted(named(body)) for body in needed.bodies("filter")] == [["a", "b", "c"]]
        assert [sorted(named(body)) for body in optional.bodies("filter")] == [["a", "b"]]


def test_nobody_is_asked_when_no_node_is_left() -> None:
    with Service({"filter": {"nodenames": []}}) as first, Service({"filter": keep("a")}) as second:
        only(scheduler_with([extender(first.url), extender(second.url)]))
        assert (len(first.asked), len(second.asked)) == (1, 0)
        only(scheduler_with([extender(second.url)], [make_node("a").cordoned().obj()]))
        assert not second.asked


MANAGED = {"managedResources": [{"name": "example.com/gpu"}]}


@pytest.mark.parametrize(
    ("pod", "asked"),
    [
        pytest.param(make_pod("p").requests(example_com__gpu=1), True, id="a request"),
        pytest.param(make_pod("p").limits(example_com__gpu=1), True, id="a limit"),
        pytest.param(
            make_pod("p").init(resources={"requests": {"example.com/gpu": 1}}), True, id="of an init container"
        ),
        pytest.param(make_pod("p").requests(cpu=1), False, id="something else"),
    ],
)
def test_managed_resources(pod: Any, asked: bool) -> None:
    nodes = [make_node("a").allocatable(cpu="4", pods="9", example_com__gpu=2).obj(), make_node("b").obj()]
    with Service({"filter": keep("a", "b")}) as service:
        only(scheduler_with([extender(service.url, **MANAGED)], nodes, [pod.obj()]))
        assert bool(service.asked) is asked


IGNORED = {"managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}]}


@pytest.mark.parametrize("called", [True, False])
def test_what_extenders_keep_count_of_is_not_looked_at(called: bool) -> None:
    """Whether or not they are called: NodeResourcesFit is told by the configuration."""
    pod = make_pod("p").requests(example_com__gpu=1).obj()
    with Service({"filter": keep("b")}) as service:
        scheduler = scheduler_with([extender(service.url, **IGNORED)], None, [pod], called=called)
        assert feasible(scheduler, only(scheduler)) == (["b"] if called else ["a", "b", "c"])


def test_a_profile_that_cannot_leave_a_resource_to_an_extender() -> None:
    disabled = PluginSet(disabled=(PluginRef("NodeResourcesFit"),))
    configuration = SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=Plugins(multi_point=disabled)),))
    with pytest.raises(ConfigError, match=r"no NodeResourcesFit to leave example.com/gpu"):
        scheduler_with([extender("http://h", **IGNORED)], configuration=configuration, called=False)


def test_an_extender_without_a_filter_lets_all_pass() -> None:
    with Service() as service:
        scheduler = scheduler_with([extender(service.url, filterVerb="")])
        assert feasible(scheduler, only(scheduler)) == ["a", "b", "c"]
        assert not service.asked


WITHOUT_SCORES = SchedulerConfiguration(
    profiles=(KubeSchedulerProfile(plugins=Plugins(score=PluginSet(disabled=(PluginRef("*"),)))),)
)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        pytest.param({}, 3, id="one that filters"),
        pytest.param({"filterVerb": "", "prioritizeVerb": "prioritize", "weight": 1}, 3, id="one that scores"),
        pytest.param({"filterVerb": "", "preemptVerb": "preempt"}, 1, id="neither"),
    ],
)
def test_how_many_nodes_are_looked_at_without_score_plugins(settings: dict[str, Any], found: int) -> None:
    with Service({"filter": keep("a", "b", "c"), "prioritize": []}) as service:
        scheduler = scheduler_with([extender(service.url, **settings)], configuration=WITHOUT_SCORES)
        assert len(only(scheduler).feasible) == found


class TestNominatedNodes:
    """The node that preemption cleared is put to the extenders before all others."""

    def test_it_is_asked_about_alone(self) -> None:
        with Service({"filter": keep("a", "b", "c")}) as service:
            scheduler = scheduler_with([extender(service.url)], None, [make_pod("p").nominated("b").obj()])
            assert node_of(scheduler, only(scheduler)) == "b"
            assert [named(body) for body in service.bodies("filter")] == [["b"]]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "refusal",
        [
            pytest.param({"nodenames": [], "failedNodes": {"b": "no"}}, id="refused"),
            pytest.param({"error": "out of order"}, id="an error"),
        ],
    )
    def test_otherwise_all_nodes_are(self, refusal: dict[str, Any]) -> None:
        def answer(asked: dict[str, Any]) -> dict[str, Any]:
            return refusal if named(asked) == ["b"] else {"nodenames": ["a"]}

        with Service({"filter": answer}) as service:
            scheduler = scheduler_with([extender(service.url)], None, [make_pod("p").nominated("b").obj()])
            decision = only(scheduler)
            assert node_of(scheduler, decision) == "a"
            assert [sorted(named(body)) for body in service.bodies("filter")] == [["b"], ["a", "b", "c"]]


def test_every_pod_is_asked_about_afresh() -> None:
    pods = [make_pod(name).requests(cpu=1).obj() for name in ("p", "q")]
    with Service(
        {"filter": lambda asked: {"nodenames": ["c" if asked["Pod"]["metadata"]["name"] == "q" else "b"]}}
    ) as it:
        scheduler = scheduler_with([extender(it.url)], None, pods)
        assert [node_of(scheduler, each) for each in run(scheduler).values()] == ["b", "c"]
        assert it.connections == 1
