"""What extenders make of preemption's candidates (callExtenders)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import make_node, make_pod
from tests.engine.extenders.runs import extender, only, scheduler_with
from tests.engine.extenders.service import Raw, Service

PREEMPTING = {"filterVerb": "", "preemptVerb": "preempt"}
NEW_YEAR = "2026-01-01T00:00:00Z"
CACHED = pytest.mark.parametrize("cached", [pytest.param(True, id="UIDs"), pytest.param(False, id="whole pods")])


def running(name: str, node: str, priority: int, cpu: str = "4") -> Any:
    return make_pod(name).uid(f"uid-{name}").requests(cpu=cpu).priority(priority).on(node).started(NEW_YEAR).obj()


# Left alone, preemption takes the weakest: on a.
PODS = [
    running("weak", "a", 1),
    running("middling", "b", 2),
    running("strong", "c", 3, "3"),
    running("bystander", "c", 1, "1"),
    running("idle-a", "a", 0, "0"),
    running("idle-c", "c", -1, "0"),
]
WANTED = make_pod("new").uid("uid-new").requests(cpu="2").priority(100).obj()


def victims_on(*nodes: str, violations: int = 0, **pods: list[str]) -> dict[str, Any]:
    """An answer that leaves these nodes, with these victims."""
    default = {"a": ["weak"], "b": ["middling"], "c": ["strong"]}
    chosen = {node: pods.get(node, default[node]) for node in nodes}
    return {
        "nodeNameToMetaVictims": {
            node: {"pods": [{"uid": f"uid-{name}"} for name in names], "numPDBViolations": violations}
            for node, names in chosen.items()
        }
    }


def preempt(*extenders: Any) -> Any:
    """(node, victims, violations), or the message after what is known of the nodes."""
    scheduler = scheduler_with(extenders, None, [*PODS, WANTED])
    decision = only(scheduler)
    done = decision.preemption
    if done is None:
        return decision.message.rpartition("preemption: ")[2]
    infos = scheduler.cluster.pods.infos
    return done.nominated_node, [infos[row].name for row in done.victims], done.pdb_violations


@CACHED
def test_what_it_is_asked(cached: bool) -> None:
    with Service({"preempt": victims_on("a", "b", "c")}) as service:
        assert preempt(extender(service.url, cached=cached, **PREEMPTING)) == ("a", ["weak"], 0)
        (body,) = service.bodies("preempt")
    assert body["Pod"]["metadata"]["uid"] == "uid-new"
    if cached:
        assert body["NodeNameToVictims"] is None
        assert body["NodeNameToMetaVictims"]["a"] == {"Pods": [{"UID": "uid-weak"}], "NumPDBViolations": 0}
        assert sorted(body["NodeNameToMetaVictims"]) == ["a", "b", "c"]
    else:
        assert body["NodeNameToMetaVictims"] is None
        (weak,) = body["NodeNameToVictims"]["a"]["Pods"]
        assert (weak["metadata"]["name"], weak["spec"]["nodeName"]) == ("weak", "a")


def test_a_victim_that_was_placed_in_this_run_is_sent_with_its_node() -> None:
    placed = make_pod("placed").uid("uid-placed").requests(cpu="4").priority(1).obj()
    with Service({"preempt": {}}) as service:
        scheduler = scheduler_with(
            [extender(service.url, cached=False, **PREEMPTING)], [make_node("a").obj()], [placed, WANTED]
        )
        for uid in ("uid-placed", "uid-new"):
            scheduler.schedule(scheduler.cluster.pods.row_of[uid])
        (body,) = service.bodies("preempt")
    (victim,) = body["NodeNameToVictims"]["a"]["Pods"]
    assert (victim["metadata"]["name"], victim["spec"]["nodeName"]) == ("placed", "a")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(victims_on("b", "c"), ("b", ["middling"], 0), id="a node less"),
        pytest.param(victims_on("c"), ("c", ["strong"], 0), id="one node"),
        pytest.param(
            victims_on("a", "c", c=["bystander"], a=["weak"]), ("a", ["weak"], 0), id="a tie goes to the first name"
        ),
        pytest.param(
            victims_on("b", "c", c=["bystander"]), ("c", ["bystander"], 0), id="another victim, which costs less"
        ),
        pytest.param(
            victims_on("a", "c", a=["weak", "idle-a"], c=["bystander", "idle-c"]),
            ("c", ["bystander", "idle-c"], 0),
            id="the lower sum of priorities",
        ),
        pytest.param(
            victims_on("c", c=["strong", "bystander"], violations=1), ("c", ["strong", "bystander"], 1), id="one more"
        ),
        pytest.param(
            {"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": "uid-middling"}]}}},
            ("b", ["middling"], 0),
            id="names as Go writes them, and no violations",
        ),
        pytest.param({"nodeNameToMetaVictims": {}}, "no candidate node for preemption", id="no node"),
        pytest.param({}, "no candidate node for preemption", id="nothing"),
    ],
)
@CACHED
def test_it_decides(answer: Any, expected: Any, cached: bool) -> None:
    with Service({"preempt": answer}) as service:
        assert preempt(extender(service.url, cached=cached, **PREEMPTING)) == expected


NONSENSE = [
    pytest.param(
        {"nodeNameToMetaVictims": {"ghost": {"pods": [{"uid": "uid-weak"}]}}},
        'nodeinfo not found for node name "ghost"',
        id="an unknown node",
    ),
    pytest.param(
        {"nodeNameToMetaVictims": {"a": {"pods": [{"uid": "uid-middling"}]}}},
        "extender: URL claims to preempt pod (UID: &{uid-middling}) on node: a, but the pod is not found on that node",
        id="a pod of another node",
    ),
    pytest.param(
        {"nodeNameToMetaVictims": {"a": {"pods": []}}}, 'expected at least one victim pod on node "a"', id="no victims"
    ),
    pytest.param(
        {"nodeNameToMetaVictims": {"a": 5}},
        "the answer cannot be used: nodenametometavictims.a: expected an object, got a whole number",
        id="no object",
    ),
]


@pytest.mark.parametrize(("answer", "problem"), NONSENSE)
def test_nonsense_ends_the_search(answer: Any, problem: str) -> None:
    with Service({"preempt": answer}) as service:
        assert preempt(extender(service.url, **PREEMPTING)) == problem.replace("URL", service.url)


@pytest.mark.parametrize(("answer", "problem"), NONSENSE[:2] + NONSENSE[3:])
def test_one_that_may_be_passed_over_is(answer: Any, problem: str) -> None:
    with Service({"preempt": answer}) as service, Service({"preempt": victims_on("c")}) as second:
        passed_over = extender(service.url, ignorable=True, **PREEMPTING)
        assert preempt(passed_over) == ("a", ["weak"], 0)
        assert preempt(passed_over, extender(second.url, ignorable=True, **PREEMPTING)) == ("c", ["strong"], 0)


def test_a_failure_that_is_passed_over_is_reported() -> None:
    with Service({"preempt": Raw(b"")}) as service:
        scheduler = scheduler_with([extender(service.url, ignorable=True, **PREEMPTING)], None, [*PODS, WANTED])
        only(scheduler)
    assert scheduler.extenders is not None
    (entry,) = scheduler.extenders.report()
    assert entry["passedOver"] == [{"verb": "preempt", "error": "EOF", "times": 1}]


def test_of_one_that_may_be_passed_over_nodes_without_victims_are_left_out() -> None:
    answer = victims_on("a", "c", a=[])
    with Service({"preempt": answer}) as service:
        assert preempt(extender(service.url, ignorable=True, **PREEMPTING)) == ("c", ["strong"], 0)


def test_each_sees_what_the_one_before_it_left() -> None:
    with Service({"preempt": victims_on("b", "c")}) as first, Service({"preempt": victims_on("c")}) as second:
        without_preemption = extender(first.url, filterVerb="")
        chain = [without_preemption, extender(first.url, **PREEMPTING), extender(second.url, **PREEMPTING)]
        assert preempt(*chain) == ("c", ["strong"], 0)
        assert sorted(second.bodies("preempt")[0]["NodeNameToMetaVictims"]) == ["b", "c"]


def test_nobody_is_asked_about_nothing() -> None:
    with Service({"preempt": {}}) as first, Service({"preempt": {}}) as second:
        chain = [extender(first.url, **PREEMPTING), extender(second.url, **PREEMPTING)]
        assert preempt(*chain) == "no candidate node for preemption"
        assert not second.asked
        managed = [{"name": "example.com/gpu"}]
        assert preempt(extender(second.url, **PREEMPTING, managedResources=managed)) == ("a", ["weak"], 0)
        assert not second.asked


def test_nodes_that_a_filter_refused_for_good_are_no_candidates() -> None:
    empty = [make_node("a").obj(), make_node("b").obj()]
    pods = [running("weak", "a", 1), running("middling", "b", 2), WANTED]

    def filtered(asked: dict[str, Any]) -> dict[str, Any]:
        return {"nodenames": [], "failedAndUnresolvableNodes": dict.fromkeys(asked["NodeNames"], "never")}

    with Service({"filter": filtered}) as service:
        scheduler = scheduler_with([extender(service.url)], [*empty, make_node("c").obj()], pods)
        decision = only(scheduler)
        # c has room, and the extender does not want it; on a and b preemption makes some.
        assert decision.nominated_node == "a"
