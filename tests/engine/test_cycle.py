"""One cycle after the other: order, nominated pods, early stops, refusals after the choice, faults, the best nodes by name,
and what `--timings` counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet, SchedulerConfiguration
from ksched_cli.engine.decision import ScoreTable, best_rows, num_feasible_nodes_to_find, random_choice
from ksched_cli.engine.faults import aggregate
from ksched_cli.engine.inspection import inspect
from ksched_cli.engine.timings import Timings
from ksched_cli.framework.interfaces import (
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    ScorePlugin,
)
from ksched_cli.framework.per_node import PerNodePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SUCCESS, Code, Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.minors import NEWEST
from tests.builders import make_node, make_pod, term
from tests.harness import decide, make_scheduler, placed


def with_plugins(*names: str) -> SchedulerConfiguration:
    enabled = tuple(PluginRef(name, 1) for name in names)
    return SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=Plugins(multi_point=PluginSet(enabled))),))


def without_scoring() -> SchedulerConfiguration:
    return SchedulerConfiguration(
        profiles=(KubeSchedulerProfile(plugins=Plugins(score=PluginSet(disabled=(PluginRef("*"),)))),)
    )


def test_pods_are_tried_by_priority_then_age_then_name() -> None:
    pods = [
        make_pod("young").created("2026-01-02T00:00:00Z").obj(),
        make_pod("b").created("2026-01-01T00:00:00Z").obj(),
        make_pod("a").created("2026-01-01T00:00:00Z").obj(),
        make_pod("important").created("2026-01-03T00:00:00Z").priority(5).obj(),
    ]
    tried = list(decide(make_scheduler([make_node().obj()], pods)))
    assert tried == ["default/important", "default/a", "default/b", "default/young"]


def test_gated_ignored_and_deleted_pods_are_not_placed() -> None:
    pods = [
        make_pod("gated").gate("g").obj(),
        make_pod("theirs").scheduler("other").obj(),
        make_pod("leaving").terminating().obj(),
    ]
    scheduler = make_scheduler([make_node().obj()], pods)
    queue = scheduler.enqueue()
    infos = scheduler.cluster.pods.infos
    assert [infos[row].name for row in queue.gated] == ["gated"]
    assert [infos[row].name for row in queue.ignored] == ["theirs"]
    assert [each.result for each in scheduler.run(queue)] == ["skipped"]


def test_a_placed_pod_is_there_for_the_next_one() -> None:
    pods = [make_pod(f"p{index}").requests(cpu="3").obj() for index in range(3)]
    assert placed(make_scheduler([make_node("a").obj(), make_node("b").obj()], pods)) == {
        "default/p0": "a",
        "default/p1": "b",
        "default/p2": "",
    }


def test_no_nodes() -> None:
    (decision,) = decide(make_scheduler([], [make_pod().obj()])).values()
    assert (decision.result, decision.message) == ("unschedulable", "no nodes available to schedule pods")


def test_a_single_feasible_node_is_taken_without_scoring() -> None:
    (decision,) = decide(
        make_scheduler([make_node("a").obj(), make_node("b").cordoned().obj()], [make_pod().obj()])
    ).values()
    assert decision.scores is None
    assert not len(decision.ties)


class TestNominatedPods:
    """A place that preemption made is kept for the pod that it was made for."""

    def test_pods_of_lower_priority_count_it_as_taken(self) -> None:
        pods = [
            make_pod("waiting").requests(cpu="3").priority(10).nominated("a").gate("held").obj(),
            make_pod("late").requests(cpu="3").obj(),
        ]
        # Up to 1.36 a gated pod has no nomination.
        found = placed(make_scheduler([make_node("a").obj()], pods, current=NEWEST))
        assert found == {"default/late": ""}

    def test_pods_of_higher_priority_do_not(self) -> None:
        waiting = make_pod("waiting").requests(cpu="3").nominated("a").gate("held").obj()
        urgent = make_pod("urgent").requests(cpu="3").priority(10).obj()
        found = placed(make_scheduler([make_node("a").obj()], [waiting, urgent], current=NEWEST))
        assert found == {"default/urgent": "a"}

    def test_the_nominated_node_is_tried_first_and_alone(self) -> None:
        nodes = [make_node("a").obj(), make_node("b").obj()]
        (decision,) = decide(make_scheduler(nodes, [make_pod().nominated("b").obj()])).values()
        assert len(decision.feasible) == 1
        assert decision.diagnosis is not None
        assert not decision.diagnosis.nodes.failed.any()

    def test_all_nodes_are_tried_when_it_does_not_fit(self) -> None:
        nodes = [make_node("a").obj(), make_node("b").cordoned().obj()]
        assert placed(make_scheduler(nodes, [make_pod("p").nominated("b").obj()])) == {"default/p": "a"}


class TestEarlyStops:
    """A profile without scores, and --sampling, look at fewer nodes; what was not looked at has no verdict."""

    def test_without_scores_the_first_feasible_node_is_taken(self) -> None:
        nodes = [make_node("a").cordoned().obj(), make_node("b").obj(), make_node("c").obj(), make_node("d").obj()]
        scheduler = make_scheduler(nodes, [make_pod("p").obj(), make_pod("q").obj()], configuration=without_scoring())
        first, second = decide(scheduler).values()
        names = scheduler.cluster.nodes.names
        assert [names[row] for row in first.feasible] == ["b"]
        # The next search goes on behind the nodes that were looked at.
        assert [names[row] for row in second.feasible] == ["c"]

    def test_sampling_looks_at_a_part(self) -> None:
        nodes = [make_node(f"n{index:03}").obj() for index in range(250)]
        pods = [make_pod(name).obj() for name in "pqr"]
        first, second, third = decide(make_scheduler(nodes, pods, sampling=True)).values()
        assert (len(first.feasible), len(second.feasible)) == (120, 120)
        assert second.feasible[0] == first.feasible[-1] + 1
        # The third search goes on at the first node when it has come to the last.
        table = third.scores
        assert table is not None
        assert table.rows[0] > table.rows[-1]
        assert table.indexes_of(table.rows[[0, 60, 119]]).tolist() == [0, 60, 119]

    @pytest.mark.parametrize(
        ("percentage", "nodes", "expected"),
        [
            (0, 50, 50),
            (0, 1000, 420),
            (0, 5000, 500),
            (0, 15000, 750),
            (10, 5000, 500),
            (1, 5000, 100),
            (100, 300, 300),
        ],
    )
    def test_how_many(self, percentage: int, nodes: int, expected: int) -> None:
        assert num_feasible_nodes_to_find(percentage, nodes) == expected


def test_ties_go_to_the_lowest_name_or_to_chance() -> None:
    nodes = [make_node(name).obj() for name in ("c", "a", "b")]
    assert placed(make_scheduler(nodes, [make_pod("p").obj()])) == {"default/p": "a"}
    drawn = {
        placed(make_scheduler(nodes, [make_pod("p").obj()], tie_break=random_choice(seed)))["default/p"]
        for seed in range(20)
    }
    assert drawn == {"a", "b", "c"}
    twice = [placed(make_scheduler(nodes, [make_pod("p").obj()], tie_break=random_choice(7))) for _ in range(2)]
    assert twice[0] == twice[1]


# Plugins that misbehave or refuse


class _Reserving(ReservePlugin[Any]):
    """Remembers what it reserves."""

    name = "Reserving"
    held: list[str] = []  # noqa: RUF012  # shared on purpose, and emptied by the tests

    def reserve(self, state: Any, info: PodInfo, row: int) -> Status:
        self.held.append(info.name)
        return SUCCESS

    def unreserve(self, state: Any, info: PodInfo, row: int) -> None:
        self.held.remove(info.name)


class _RefusingReserve(_Reserving):
    name = "RefusingReserve"

    def reserve(self, state: Any, info: PodInfo, row: int) -> Status:
        super().reserve(state, info, row)
        return unschedulable("not today")


class _RefusingPermit(PermitPlugin[Any]):
    name = "RefusingPermit"

    def permit(self, state: Any, info: PodInfo, row: int) -> tuple[Status, float]:
        return unschedulable("no permit"), 0.0


class _WaitingPermit(PermitPlugin[Any]):
    name = "WaitingPermit"

    def permit(self, state: Any, info: PodInfo, row: int) -> tuple[Status, float]:
        return Status(Code.WAIT), 10.0


class _FailingPreBind(PreBindPlugin[Any]):
    name = "FailingPreBind"

    def pre_bind(self, state: Any, info: PodInfo, row: int) -> Status:
        return error("disk full")


@pytest.mark.parametrize(
    ("plugins", "result", "message"),
    [
        pytest.param([_Reserving], "scheduled", "", id="reserved"),
        pytest.param(
            [_Reserving, _RefusingReserve],
            "unschedulable",
            "0/1 nodes are available: 1 not today.",
            id="reserve refuses",
        ),
        pytest.param(
            [_Reserving, _RefusingPermit], "unschedulable", "0/1 nodes are available: 1 no permit.", id="permit refuses"
        ),
        pytest.param([_Reserving, _WaitingPermit], "scheduled", "", id="permit waits"),
        pytest.param([_Reserving, _FailingPreBind], "error", "disk full", id="an error before binding"),
    ],
)
def test_refusals_after_the_choice_undo_it(plugins: list[type[Plugin]], result: str, message: str) -> None:
    _Reserving.held.clear()
    configuration = with_plugins(*(plugin.name for plugin in plugins))
    scheduler = make_scheduler(
        [make_node("a").obj()], [make_pod("p").obj()], configuration=configuration, plugins=plugins
    )
    (decision,) = decide(scheduler).values()
    assert (decision.result, decision.message) == (result, message)
    if result == "unschedulable":
        refusing = plugins[-1].name
        assert decision.diagnosis is not None
        assert decision.diagnosis.unschedulable_plugins == {refusing}
        status = decision.diagnosis.nodes.status(0)
        assert (status.plugin, message) == (refusing, f"0/1 nodes are available: 1 {status.message}.")
    stays = result == "scheduled"
    assert _Reserving.held == (["p"] if stays else [])
    assert scheduler.cluster.usage.pod_count.tolist() == [1 if stays else 0]


class _Raises(PerNodePlugin):
    name = "Raises"

    def filter_one(self, info: PodInfo, node: Any) -> Status:
        raise KeyError("color")


class _WrongShape(FilterPlugin[Any]):
    name = "WrongShape"

    def filter(self, state: Any, info: PodInfo, nodes: NodeRows) -> Verdict:
        return Verdict.passing(len(nodes) + 1)


class _TooHigh(PerNodePlugin):
    name = "TooHigh"

    def score_one(self, info: PodInfo, node: Any) -> int:
        return 101 if node.metadata.name == "b" else 100


class _TooLow(PerNodePlugin):
    name = "TooLow"

    def score_one(self, info: PodInfo, node: Any) -> int:
        return -1 if node.metadata.name == "b" else 0


class _ErrorOnANode(PerNodePlugin):
    name = "ErrorOnANode"

    def filter_one(self, info: PodInfo, node: Any) -> Status:
        return error("lost contact") if node.metadata.name == "b" else SUCCESS


class _ScoreShape(ScorePlugin[Any]):
    name = "ScoreShape"

    def score(self, state: Any, info: PodInfo, nodes: NodeRows) -> Any:
        return np.zeros(1, dtype=np.int64)


def test_an_inspection_goes_on_behind_a_filter_that_fails() -> None:
    plugins: list[type[Plugin]] = [_Raises, _ErrorOnANode]
    configuration = with_plugins(*(each.name for each in plugins))
    scheduler = make_scheduler([make_node("b").obj()], [make_pod().obj()], configuration=configuration, plugins=plugins)
    (runtime,) = scheduler.runtimes.values()
    *_, broken, last = inspect(runtime, scheduler.cluster.pods.infos[0]).filters
    assert (broken.plugin.name, last.plugin.name) == ("Raises", "ErrorOnANode")
    assert "KeyError" in broken.problem
    assert "lost contact" in last.problem


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        pytest.param(_Raises, ['plugin "Raises" failed at filter', "KeyError"], id="an exception"),
        pytest.param(_WrongShape, ['plugin "WrongShape" failed at filter', "3 verdicts for 2 nodes"], id="verdicts"),
        pytest.param(_ScoreShape, ['plugin "ScoreShape" failed at score', "for 2 nodes"], id="scores"),
        pytest.param(_TooHigh, ['plugin "TooHigh" returns an invalid score 101', "node b"], id="out of range"),
        pytest.param(_TooLow, ['plugin "TooLow" returns an invalid score -1', "node b"], id="below zero"),
        # kube-scheduler names no node in the error of a filter.
        pytest.param(_ErrorOnANode, ['running "ErrorOnANode" filter plugin: lost contact'], id="an error status"),
    ],
)
@pytest.mark.parametrize("all_filters", [False, True])
def test_a_plugins_fault_is_that_pods_error(plugin: type[Plugin], expected: list[str], all_filters: bool) -> None:
    nodes = [make_node("a").obj(), make_node("b").obj()]
    (profile,) = with_plugins(plugin.name).profiles
    configuration = SchedulerConfiguration(profiles=(replace(profile, checks_all_filters=all_filters),))
    scheduler = make_scheduler(nodes, [make_pod().obj()], configuration=configuration, plugins=[plugin])
    (decision,) = decide(scheduler).values()
    assert decision.result == "error"
    assert all(part in decision.message for part in expected)
    assert decision.rejection == decision.message
    assert scheduler.cluster.usage.pod_count.sum() == 0


@pytest.mark.parametrize(
    ("errors", "text"),
    [("a", "a"), ("aa", "a (repeated 2 times)"), ("baa", "[a (repeated 2 times), b]")],
)
def test_errors_of_several_nodes_are_counted(errors: str, text: str) -> None:
    assert aggregate(Counter(errors)) == text


class _Narrows(PreFilterPlugin[None]):
    name = "Narrows"
    names: frozenset[str] = frozenset({"a"})

    def pre_filter(self, info: PodInfo) -> PreFilterResult[None] | Status:
        return PreFilterResult(None, self.names)


class _NarrowsElsewhere(_Narrows):
    name = "NarrowsElsewhere"
    names = frozenset({"b"})


class _NarrowsAgain(_NarrowsElsewhere):
    name = "NarrowsAgain"


class _Rejects(PreFilterPlugin[None]):
    name = "Rejects"

    def pre_filter(self, info: PodInfo) -> PreFilterResult[None] | Status:
        return unresolvable("never")


class _RejectsForNow(PreFilterPlugin[None]):
    name = "RejectsForNow"

    def pre_filter(self, info: PodInfo) -> PreFilterResult[None] | Status:
        return unschedulable("not now")


class _SkipsByItself(PreFilterPlugin[None], FilterPlugin[None]):
    """Rejects all nodes, but skips its Filter with a status of its own."""

    name = "SkipsByItself"

    def pre_filter(self, info: PodInfo) -> PreFilterResult[None] | Status:
        return Status(Code.SKIP)

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        return Verdict.of_all(len(nodes), unschedulable("never"))


def test_a_plugin_may_skip_its_filter_with_any_status() -> None:
    nodes, plugin = [make_node("a").obj(), make_node("b").obj()], _SkipsByItself
    scheduler = make_scheduler(nodes, [make_pod().obj()], configuration=with_plugins(plugin.name), plugins=[plugin])
    (decision,) = decide(scheduler).values()
    assert decision.result == "scheduled"


NOTHING_TO_DO = "no new claims to deallocate, preemption: 0/2 nodes are available: 2 {}."


@pytest.mark.parametrize(
    ("plugins", "message", "blamed"),
    [
        pytest.param(
            [_Narrows, _NarrowsElsewhere],
            "0/2 nodes are available: node(s) didn't satisfy plugin(s) [Narrows NarrowsElsewhere] simultaneously.",
            {"Narrows", "NarrowsElsewhere"},
            id="no node in common",
        ),
        pytest.param(
            [_Narrows, _NarrowsElsewhere, _NarrowsAgain],
            "0/2 nodes are available: node(s) didn't satisfy plugin(s) [Narrows NarrowsElsewhere] simultaneously.",
            {"Narrows", "NarrowsElsewhere"},
            id="no node in common, before the last is asked",
        ),
        pytest.param([_Rejects], "0/2 nodes are available: never. no new", {"Rejects"}, id="final"),
        pytest.param(
            [_RejectsForNow],
            "0/2 nodes are available: not now. " + NOTHING_TO_DO.format("No preemption victims found for incoming pod"),
            {"RejectsForNow"},
            id="preemption may help",
        ),
        pytest.param(
            [_RejectsForNow, _Rejects], "0/2 nodes are available: never. no new", {"Rejects"}, id="the final one counts"
        ),
    ],
)
def test_pre_filter_rejections(plugins: list[type[Plugin]], message: str, blamed: set[str]) -> None:
    nodes = [make_node("a").obj(), make_node("b").obj()]
    configuration = with_plugins(*(plugin.name for plugin in plugins))
    scheduler = make_scheduler(nodes, [make_pod().obj()], configuration=configuration, plugins=plugins)
    (decision,) = decide(scheduler).values()
    assert decision.message.startswith(message)
    assert decision.diagnosis is not None
    assert decision.diagnosis.unschedulable_plugins == blamed


def test_nodes_that_pre_filter_leaves_out_have_a_status_of_their_own() -> None:
    nodes = [make_node("a").cordoned().obj(), make_node("b").obj(), make_node("c").obj()]
    scheduler = make_scheduler(nodes, [make_pod().obj()], configuration=with_plugins("Narrows"), plugins=[_Narrows])
    (decision,) = decide(scheduler).values()
    assert decision.message.startswith(
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [Narrows]."
    )


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        pytest.param("NodeAffinity", "", id="NodeAffinity reads the pod itself"),
        pytest.param("NodeResourcesFit", "", id="NodeResourcesFit reads the pod itself"),
        pytest.param("NodeResourcesBalancedAllocation", "", id="NodeResourcesBalancedAllocation reads the pod itself"),
        pytest.param(
            "TaintToleration",
            'failed to read "PreScoreTaintToleration" from cycleState: not found',
            id="TaintToleration",
        ),
        pytest.param(
            "PodTopologySpread",
            'error reading "PreScorePodTopologySpread" from cycleState: not found',
            id="PodTopologySpread",
        ),
        pytest.param(
            "InterPodAffinity",
            'failed to read "PreScoreInterPodAffinity" from cycleState: not found',
            id="InterPodAffinity",
        ),
    ],
)
def test_a_profile_that_leaves_out_a_plugins_pre_score(plugin: str, message: str) -> None:
    disabled = PluginSet(disabled=(PluginRef(plugin),))
    configuration = SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=Plugins(pre_score=disabled)),))
    wishes = make_pod("p").requests(cpu="1").prefers(3, term(("disk", "In", ["ssd"]))).selector(os="linux").obj()
    nodes = [make_node("a").label(os="linux").obj(), make_node("b").label(os="linux", disk="ssd").obj()]
    decision = decide(make_scheduler(nodes, [wishes], configuration=configuration))["default/p"]
    if message:
        text = f'running Score plugins: plugin "{plugin}" failed with: {message}'
        assert (decision.result, decision.message) == ("error", text)
    else:
        assert decision.result == "scheduled"
        assert decision.scores is not None
        assert decision.scores.normalized["NodeAffinity"].tolist() == [0, 100]


def without_pre_score(*names: str) -> SchedulerConfiguration:
    plugins = Plugins(pre_score=PluginSet(disabled=tuple(map(PluginRef, names))))
    return SchedulerConfiguration(profiles=(KubeSchedulerProfile(plugins=plugins),))


def preferring() -> Pod:
    """A pod that plugins with a PreFilter, a PreScore and a Score filter and score."""
    spread = {"maxSkew": 1, "topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
    near = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
    affinity = {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": near}]},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{**near, "topologyKey": "host"}]},
    }
    constraints = [
        {**spread, "whenUnsatisfiable": "DoNotSchedule"},
        {**spread, "whenUnsatisfiable": "ScheduleAnyway", "topologyKey": "host"},
    ]
    nodes = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term(("zone", "In", ["a"]))]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term(("host", "In", ["h1"]))}],
    }
    pod = make_pod("new").label("app", "x").requests(cpu="1")
    return pod.spec(topologySpreadConstraints=constraints, affinity={"nodeAffinity": nodes, **affinity}).obj()


@pytest.mark.parametrize("plugin", ["NodeAffinity", "NodeResourcesFit"])
def test_scores_that_need_no_pre_score_are_the_same_without(plugin: str) -> None:
    nodes = [
        make_node(f"n{i}").label("zone", "a").label("host", f"h{i}").allocatable(cpu=str(2 + i), pods=9).obj()
        for i in range(3)
    ]
    pod = preferring()
    tables = [
        decide(make_scheduler(nodes, [pod], configuration=each))["default/new"].scores
        for each in (None, without_pre_score(plugin))
    ]
    found = [table.raw[plugin].tolist() for table in tables if table is not None]
    assert len(found) == 2
    assert found[0] == found[1]
    assert len(set(found[0])) > 1


@pytest.mark.parametrize("plugin", ["PodTopologySpread", "InterPodAffinity", "TaintToleration"])
def test_a_score_that_needs_its_pre_score_is_an_error_without(plugin: str) -> None:
    """The state of PreFilter is not taken for it."""
    nodes = [make_node(f"n{i}").label("zone", "a").label("host", f"h{i}").obj() for i in range(2)]
    decision = decide(make_scheduler(nodes, [preferring()], configuration=without_pre_score(plugin)))["default/new"]
    assert (decision.result, decision.failed_plugin) == ("error", plugin)
    assert decision.message.endswith(f'"PreScore{plugin}" from cycleState: not found')


# The best nodes by name, against sorting their names


NAMES = ["a", "b", "c", "d", "e"]
orders = st.one_of(st.just(NAMES), st.permutations(NAMES))


@given(orders, st.data())
def test_the_best_nodes_come_by_name(names: list[str], data: st.DataObject) -> None:
    nodes = Cluster([make_node(name).obj() for name in names]).nodes
    some = data.draw(st.one_of(st.none(), st.permutations(range(5)).flatmap(lambda each: st.just(each[:4]))))
    rows = nodes.all_rows if some is None else np.array(some, dtype=np.int64)
    totals = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    found = best_rows(ScoreTable(rows, {}, {}, {}, np.array(totals, dtype=np.int64)), nodes)
    plain = sorted(nodes.names[row] for row, total in zip(rows.tolist(), totals, strict=True) if total == max(totals))
    assert [nodes.names[row] for row in found] == plain


# What `--timings` counts of each plugin


class _Item:
    name = "Mine"

    def filter(self, *calling: str) -> None:
        if calling:
            self.score()

    def score(self) -> None:
        pass


def test_calls_and_the_cycles_with_calls() -> None:
    timings, item = Timings(), _Item()
    timings.watch(item)
    for calls in (2, 0, 1):
        timings.begin_cycle()
        for _ in range(calls):
            item.filter()
    item.filter("score")
    found = {(point, plugin): (spent.calls, spent.cycles) for point, plugin, spent in timings}
    assert found == {("filter", "Mine"): (4, 2), ("score", "Mine"): (1, 1)}
    spent = {point: spent.seconds for point, _, spent in timings}
    assert 0 < spent["score"] < spent["filter"]
    assert timings.seconds == spent["filter"], "a call inside another counts once"
