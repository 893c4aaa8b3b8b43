"""Copies of a pod that finds no node share its decision, which is the one that a cycle of their own would have."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from unittest.mock import patch

import pytest
from hypothesis import given
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.engine.cycle.schedule_one import Cycle
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from tests.builders import make_node, make_pod
from tests.engine.answers.test_copies import situations
from tests.harness import make_scheduler


@pytest.fixture
def cycles() -> Iterator[list[str]]:
    """The names of the pods that have a cycle, in their order."""
    names: list[str] = []
    original = Cycle.schedule_one

    def counted(self: Cycle, runtime: object, pod_row: int) -> Decision:
        names.append(self.cluster.pods.infos[pod_row].name)
        return original(self, runtime, pod_row)  # type: ignore[arg-type]

    with patch.object(Cycle, "schedule_one", counted):
        yield names


def small_nodes() -> list[Node]:
    return [make_node(f"n{index}").allocatable(cpu=4, pods=10).obj() for index in range(3)]


def decisions(scheduler: Scheduler) -> list[tuple[object, ...]]:
    return [
        (each.pod.name, each.result, each.row, each.message, each.nominated_node, each.feasible.tolist(), _of(each))
        for each in scheduler.run(scheduler.enqueue())
    ]


def _copy(kind: Pod, index: int, priority: int) -> Pod:
    metadata = replace(kind.metadata, name=f"c{index}", uid=f"c{index}")
    return replace(kind, metadata=metadata, spec=replace(kind.spec, priority=priority))


def _of(decision: Decision) -> object:
    found = decision.diagnosis
    return found and (found.unschedulable_plugins, [str(found.nodes.status(row)) for row in range(len(found.nodes))])


def test_copies_of_a_pod_without_a_node_have_no_cycle(cycles: list[str]) -> None:
    big = [make_pod(f"big-{index}").requests(cpu=8).obj() for index in range(5)]
    scheduler = make_scheduler(small_nodes(), big)
    found = list(scheduler.run(scheduler.enqueue()))
    assert cycles == ["big-0"]
    assert {each.message for each in found} == {
        "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are "
        "available: 3 Preemption is not helpful for scheduling."
    }
    assert len({id(each.diagnosis) for each in found}) == 1


def test_copies_of_several_templates_in_turns_have_one_cycle_for_each_template(cycles: list[str]) -> None:
    waiting = [make_pod(f"{size}-{index}").requests(cpu=size).obj() for index in range(3) for size in (8, 9)]
    scheduler = make_scheduler(small_nodes(), waiting)
    found = list(scheduler.run(scheduler.enqueue()))
    assert cycles == ["8-0", "9-0"]
    assert [each.result for each in found] == ["unschedulable"] * 6


def test_a_pod_that_is_placed_in_between_ends_what_is_shared(cycles: list[str]) -> None:
    big = [make_pod(f"big-{index}").requests(cpu=8).obj() for index in range(2)]
    scheduler = make_scheduler(small_nodes(), [big[0], make_pod("small").requests(cpu=1).obj(), big[1]])
    assert [scheduler.schedule(row).result for row in range(3)] == ["unschedulable", "scheduled", "unschedulable"]
    assert cycles == ["big-0", "small", "big-1"]


def test_no_more_failures_are_kept_than_results_of_templates(
    cycles: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ksched_cli.engine.answers.answers._BYTES", 0)
    order = (8, 9, 10, 8, 10)
    waiting = [make_pod(f"{size}-{index}").requests(cpu=size).obj() for index, size in enumerate(order)]
    scheduler = make_scheduler(small_nodes(), waiting)
    assert [scheduler.schedule(row).result for row in range(5)] == ["unschedulable"] * 5
    assert cycles == ["8-0", "9-1", "10-2", "8-3"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make_pod("big-1").requests(cpu=7).obj(), id="other requests"),
        pytest.param(make_pod("big-1").requests(cpu=8).priority(-1).obj(), id="other priority"),
        pytest.param(make_pod("big-1", "other").requests(cpu=8).obj(), id="other namespace"),
        pytest.param(make_pod("big-1").requests(cpu=8).terminating().obj(), id="is being deleted"),
    ],
)
def test_another_pod_has_a_cycle(other: Pod, cycles: list[str]) -> None:
    scheduler = make_scheduler(small_nodes(), [make_pod("big-0").requests(cpu=8).obj(), other])
    list(scheduler.run(scheduler.enqueue()))
    assert cycles == ["big-0", "big-1"]


def test_a_copy_has_a_cycle_once_anything_has_changed(cycles: list[str]) -> None:
    big = [make_pod(f"big-{index}").requests(cpu=8).obj() for index in range(3)]
    scheduler = make_scheduler(small_nodes(), big)
    assert scheduler.schedule(0).result == "unschedulable"
    scheduler.cluster.add_node(make_node("large").allocatable(cpu=16, pods=10).obj())
    assert scheduler.schedule(1).result == "scheduled"
    assert scheduler.schedule(2).result == "scheduled"
    assert cycles == ["big-0", "big-1", "big-2"]


def test_preemptors_have_cycles_of_their_own(cycles: list[str]) -> None:
    weak = [make_pod(f"weak-{index}").requests(cpu=4).on(f"n{index}").obj() for index in range(3)]
    strong = [make_pod(f"strong-{index}").requests(cpu=4).priority(9).obj() for index in range(4)]
    scheduler = make_scheduler(small_nodes(), [*weak, *strong])
    found = list(scheduler.run(scheduler.enqueue()))
    assert [each.nominated_node for each in found] == ["n0", "n1", "n2", ""]
    assert cycles == [f"strong-{index}" for index in range(4)]


@pytest.mark.slow
@given(drawn=situations())
def test_shared_decisions_are_those_of_single_cycles(drawn: tuple[list[Node], list[Pod], Pod]) -> None:
    made, running, kind = drawn
    copies = [_copy(kind, index, priority=index % 3) for index in range(12)]
    shared = make_scheduler(deepcopy(made), deepcopy([*running, *copies]))
    single = make_scheduler(deepcopy(made), deepcopy([*running, *copies]))
    with patch("ksched_cli.engine.answers.answers.Answers.repeated", lambda *_: None):
        expected = decisions(single)
    assert decisions(shared) == expected


@pytest.mark.parametrize("reuse", [True, False])
def test_a_node_is_filtered_again_when_a_nomination_begins_or_ends(reuse: bool) -> None:
    """The strong pod takes the whole node that it is nominated to."""
    pods = [make_pod(f"p{row}").requests(cpu="1").obj() for row in range(6)]
    strong = make_pod("strong").requests(cpu="4").priority(9).obj()
    nodes = [make_node("n").allocatable(cpu="4", memory="9Gi", pods=20).obj()]
    scheduler = make_scheduler(nodes, [*pods, strong], reuse=reuse)
    row_of = {info.name: row for row, info in enumerate(scheduler.cluster.pods.infos)}

    def results(*names: str) -> list[str]:
        return [scheduler.schedule(row_of[name]).result for name in names]

    assert results("p0") == ["scheduled"]
    scheduler.nominator.add(row_of["strong"], "n")
    assert results("p1", "p2") == ["unschedulable"] * 2
    scheduler.nominator.delete(row_of["strong"])
    assert results("p3", "p4") == ["scheduled"] * 2
