"""What plugins depend on: mistakes in it, and a plugin with a state of its own on each node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ksched_cli
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.depends import Depends, On
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    ScorePlugin,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SUCCESS, Status, unschedulable
from ksched_cli.framework.verdict import Verdict
from tests.builders import make_node, make_pod
from tests.engine.test_cycle import with_plugins
from tests.engine.test_guards import HARMLESS, SCORED, answering, decide, scheduler_with
from tests.harness import make_scheduler
from tests.lanes import examples


@pytest.mark.parametrize(
    ("bases", "methods", "message"),
    [
        pytest.param(
            [FilterPlugin],
            {"depends": Depends("node", []), "filter": HARMLESS["filter"]},
            "depends: TypeError: unhashable type: 'list'",
            id="a signature that is a list",
        ),
        pytest.param(
            [ScorePlugin], {"depends": "", **SCORED}, "depends: returned '', not a Depends or None", id="no Depends"
        ),
        pytest.param(
            [ScorePlugin],
            {"depends": "x" * 58, **SCORED},
            f"depends: returned '{'x' * 58}', not a Depends or None",
            id="60 characters are shown",
        ),
        pytest.param(
            [ScorePlugin],
            {"depends": "x" * 59, **SCORED},
            f"depends: returned '{'x' * 59}..., not a Depends or None",
            id="not 61",
        ),
    ],
)
def test_a_fault_is_that_pods_error(bases: list[type[Plugin]], methods: dict[str, Any], message: str) -> None:
    decided = decide(scheduler_with(answering(*bases, **methods)))
    assert (decided["default/bad"].result, decided["default/bad"].message) == (
        "error",
        f'plugin "Mine" failed at {message}',
    )


SLOTS = 3


class Slots:
    """The free slots of each node, brought up to date from the pods that have come and gone."""

    def __init__(self, handle: Handle) -> None:
        self._cluster = handle.cluster
        self._position = len(self._cluster.moves)
        self.free: Int64Column = np.full(len(self._cluster.nodes), SLOTS, dtype=np.int64)
        for row, on in enumerate(self._cluster.usage.pods):
            for pod in on:
                self.free[row] -= wanted(self._cluster.pods.infos[pod])

    def sync(self) -> Int64Column:
        moves = self._cluster.moves
        for info, row, amount in moves[self._position :]:
            self.free[row] -= amount * wanted(info)
        self._position = len(moves)
        return self.free


def wanted(info: PodInfo) -> int:
    return int(info.labels.get("slots", "0"))


class SlotsPlugin(FilterPlugin[None], ScorePlugin[None], ReservePlugin[None]):
    """Gives pods slots of a node, and prefers the fullest node that has enough of them."""

    name = "SlotsPlugin"
    reserved: list[str] = []  # noqa: RUF012  # one list for all that the tests make

    def depends(self, info: PodInfo) -> Depends:
        return Depends("pods on the node", wanted(info))

    def _free(self, nodes: NodeRows) -> Int64Column:
        return nodes.take(self.handle.cluster.derived(self, lambda: Slots(self.handle)).sync())

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        return Verdict.rejecting(self._free(nodes) < wanted(info), unschedulable("no slot"))

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        return 100 - 10 * self._free(nodes)

    def reserve(self, state: None, info: PodInfo, row: int) -> Status:
        self.reserved.append(info.name)
        return SUCCESS

    def unreserve(self, state: None, info: PodInfo, row: int) -> None:
        return


def scheduler_of(sizes: list[int], *, reuse: bool) -> Scheduler:
    nodes = [make_node(f"n{index}").allocatable(cpu="9", memory="9Gi", pods=20).obj() for index in range(4)]
    pods = [
        make_pod(f"p{index}").requests(cpu="100m").label("slots", str(size)).obj() for index, size in enumerate(sizes)
    ]
    return make_scheduler(nodes, pods, plugins=[SlotsPlugin], configuration=with_plugins("SlotsPlugin"), reuse=reuse)


STEPS = st.one_of(st.integers(0, 11), st.sampled_from(["leave", "fork", "back"]))


@pytest.mark.slow
@given(st.lists(st.integers(0, 2), min_size=12, max_size=12), st.lists(STEPS, min_size=4, max_size=30))
@settings(max_examples=examples(200), deadline=None)
def test_a_state_of_ones_own_is_followed_through_placements_and_roll_backs(sizes: list[int], steps: list[Any]) -> None:
    both = [(scheduler_of(sizes, reuse=reuse), list[int]()) for reuse in (True, False)]
    for step in steps:
        found = []
        for scheduler, marks in both:
            cluster = scheduler.cluster
            placed = np.nonzero(cluster.pods.node_row >= 0)[0].tolist()
            if step == "fork":
                marks.append(cluster.undo.mark())
            elif step == "back":
                if marks:
                    cluster.undo.roll_back(marks.pop())
            elif step == "leave":
                if placed:
                    cluster.displace(placed[0])
            elif step not in placed:
                decision = scheduler.schedule(step)
                found.append((decision.row, decision.message, decision.feasible.tolist()))
        assert found[:1] == found[1:]


class OddPlugin(FilterPlugin[None]):
    """Fails on n0 while it has an odd number of pods; n1 takes one pod."""

    name = "OddPlugin"

    def depends(self, info: PodInfo) -> Depends:
        return Depends("pods on the node", 0)

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        counts = {row: len(self.handle.cluster.usage.pods[row]) for row in nodes.rows.tolist()}
        if counts.get(0, 0) % 2:
            raise CycleError("odd", self.name)
        return Verdict.rejecting(
            np.array([row == 1 and bool(count) for row, count in counts.items()]), unschedulable("one")
        )


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("alike", [pytest.param(True, id="copies"), pytest.param(False, id="pods that sign alike")])
def test_a_fault_leaves_no_result_of_the_time_before_it(alike: bool, reuse: bool) -> None:
    """The pods after the fault must not find n1 as it was before."""
    nodes = [make_node(f"n{index}").allocatable(cpu="9", memory="9Gi", pods=20).obj() for index in range(3)]
    pods = [make_pod(f"p{row}").label("app", "a" if alike else f"a{row}").priority(5).obj() for row in range(7)]
    scheduler = make_scheduler(nodes, pods, plugins=[OddPlugin], configuration=with_plugins("OddPlugin"), reuse=reuse)
    cluster = scheduler.cluster
    assert scheduler.schedule(0).feasible.tolist() == [0, 1, 2]
    cluster.displace(0)
    assert scheduler.schedule(1).feasible.tolist() == [0, 1, 2]
    cluster.displace(1)
    cluster.place(4, 0)
    cluster.place(5, 1)
    assert scheduler.schedule(2).result == "error"
    cluster.place(6, 0)
    assert scheduler.schedule(3).feasible.tolist() == [0, 2]


class QuotaPlugin(PreFilterPlugin[int], FilterPlugin[int]):
    """Two pods in the cluster. It has no version of what it depends on."""

    name = "QuotaPlugin"

    def depends(self, info: PodInfo) -> Depends:
        return Depends("pods anywhere", 0)

    def pre_filter(self, info: PodInfo) -> PreFilterResult[int]:
        return PreFilterResult(int(self.handle.cluster.usage.pod_count.sum()))

    def filter(self, state: int, info: PodInfo, nodes: NodeRows) -> Verdict:
        return Verdict.of_all(len(nodes), SUCCESS if state < 2 else unschedulable("full"))


@pytest.mark.parametrize("reuse", [True, False])
def test_pods_anywhere_count_without_a_version(reuse: bool) -> None:
    pods = [make_pod(f"p{row}").obj() for row in range(5)]
    options: dict[str, Any] = {"plugins": [QuotaPlugin], "configuration": with_plugins("QuotaPlugin"), "reuse": reuse}
    scheduler = make_scheduler([make_node(name).obj() for name in "abc"], pods, **options)
    assert [scheduler.schedule(row).row for row in range(4)] == [0, 1, None, None]
    scheduler.cluster.displace(0)
    assert scheduler.schedule(4).row == 0


class PickyPlugin(ScorePlugin[None]):
    """Fails at one point if it gets the node that is closed."""

    name = "PickyPlugin"
    on: On = "node"
    point = ""

    def depends(self, info: PodInfo) -> Depends:
        return Depends(self.on, 0)

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        self._look("score", nodes)
        return nodes.rows + 1

    def normalize(self, state: None, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        self._look("normalize", nodes)
        return scores

    def _look(self, point: str, nodes: NodeRows) -> None:
        if point == self.point and "closed" in nodes.names:
            raise RuntimeError("closed")


class ConstantPlugin(ScorePlugin[None]):
    """Scores every node alike. It does not state what its scores depend on."""

    name = "ConstantPlugin"

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        return 0 * nodes.rows


@pytest.mark.slow
@pytest.mark.parametrize("on", ["node", "usage", "pods on the node"])
@pytest.mark.parametrize("point", ["score", "normalize"])
@pytest.mark.parametrize("alike", [pytest.param(True, id="copies"), pytest.param(False, id="pods that sign alike")])
def test_a_score_that_fails_on_a_node_that_is_not_feasible(
    on: On, point: str, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kube-scheduler scores feasible nodes only. Scores that are kept are those of all nodes."""
    monkeypatch.setattr(PickyPlugin, "on", on)
    monkeypatch.setattr(PickyPlugin, "point", point)
    nodes = [make_node("a").obj(), make_node("b").obj(), make_node("closed").cordoned().obj()]
    pods = [make_pod(f"p{row}").label("app", "a" if alike else f"a{row}").obj() for row in range(4)]
    plugins, configuration = [PickyPlugin, ConstantPlugin], with_plugins("PickyPlugin", "ConstantPlugin")
    found = []
    for reuse in (True, False):
        scheduler = make_scheduler(nodes, pods, reuse=reuse, plugins=plugins, configuration=configuration)
        decisions = [scheduler.schedule(row) for row in range(4)]
        assert [each.result for each in decisions] == ["scheduled"] * 4
        tables = [each.scores for each in decisions]
        assert all(table is not None and table.raw["PickyPlugin"].tolist() == [1, 2] for table in tables)
        found.append(
            [
                (each.row, table.totals.tolist())
                for each, table in zip(decisions, tables, strict=True)
                if table is not None
            ]
        )
    assert found[0] == found[1]


class OwnNodePlugin(FilterPlugin[None]):
    """Each pod may be on one node only, whose name ends like its own. Pods have no signature."""

    name = "OwnNodePlugin"

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node")

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        return Verdict.rejecting(
            np.array([name[-1] != info.name[-1] for name in nodes.names]), unschedulable("not mine")
        )


@pytest.mark.parametrize("reuse", [True, False])
def test_preemption_tries_nodes_again_for_pods_without_a_signature(reuse: bool) -> None:
    nodes = [make_node(f"n{index}").allocatable(cpu="1", memory="1Gi", pods=9).obj() for index in range(2)]
    weak = [make_pod(f"weak-{index}").requests(cpu="1").on(f"n{index}").obj() for index in range(2)]
    pods = [make_pod(f"p{index}").requests(cpu="1").priority(5).obj() for index in range(2)]
    plugin = OwnNodePlugin.name
    made = make_scheduler(
        nodes, [*weak, *pods], plugins=[OwnNodePlugin], configuration=with_plugins(plugin), reuse=reuse
    )
    assert [each.nominated_node for each in decide(made).values()] == ["n0", "n1"]


def test_reserve_is_called_for_every_pod_if_more_than_the_node_object_matters() -> None:
    SlotsPlugin.reserved.clear()
    scheduler = scheduler_of([1] * 6, reuse=True)
    assert [scheduler.schedule(row).result for row in range(6)] == ["scheduled"] * 6
    assert SlotsPlugin.reserved == [f"p{row}" for row in range(6)]


def test_only_changed_nodes_are_filtered_and_scored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = SlotsPlugin._free

    def counted(self: SlotsPlugin, nodes: NodeRows) -> Int64Column:
        asked.append(len(nodes))
        return original(self, nodes)

    monkeypatch.setattr(SlotsPlugin, "_free", counted)
    # On so few nodes all would be scored again.
    monkeypatch.setattr("ksched_cli.engine.answers.ranking._AFRESH_SHARE", 0)
    scheduler = scheduler_of([1] * 4, reuse=True)
    for row in range(4):
        scheduler.schedule(row)
    # All nodes for the first pod, and then the node that the pod before went to.
    assert asked == [4, 4, 1, 1, 1, 1, 1, 1]


def test_the_plugin_with_a_state_in_the_manual() -> None:
    text = (Path(ksched_cli.__file__).parent / "help" / "plugins.md").read_text()
    code = text.partition("\n## A fast plugin")[2].partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    nodes = [make_node(f"n{index}").allocatable(cpu="9", memory="9Gi", pods=20).obj() for index in range(2)]
    pods = [make_pod(f"p{index}").requests(cpu="100m").label("slots", "3").obj() for index in range(5)]
    for reuse in (True, False):
        scheduler = make_scheduler(
            nodes, pods, plugins=[names["Slots"]], configuration=with_plugins("Slots"), reuse=reuse
        )
        found = [scheduler.schedule(row) for row in range(5)]
        assert [each.row for each in found] == [0, 0, 1, 1, None]
        assert "2 node(s) had no slot" in found[-1].message
