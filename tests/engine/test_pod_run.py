"""Runs of identical pods, whose nodes are known without a cycle for each: the same nodes in the same order."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from tests.builders import make_node, make_pod, term
from tests.clusters import ZONES, nodes, pods
from tests.engine.test_lane_properties import near
from tests.harness import make_scheduler
from tests.lanes import examples
from tests.test_reuse import HOST, ZONE, spread, together

COUNT = 14


def rows_with_cycles(made: list[Node], running: list[Pod], kind: Pod, count: int) -> list[int]:
    """Where the copies go, each by a cycle of its own; fewer than `count` where one does not fit."""
    scheduler = make_scheduler(copy.deepcopy(made), copy.deepcopy(running))
    found: list[int] = []
    for index in range(count):
        name = f"copy-{index}"
        row = scheduler.cluster.register(replace(kind, metadata=replace(kind.metadata, name=name, uid=name)))
        decision = scheduler.schedule(row)
        if decision.row is None:
            break
        found.append(decision.row)
    return found


def rows_foreseen(made: list[Node], running: list[Pod], kind: Pod, first: int, count: int) -> tuple[list[int], int]:
    """The same with a run after the first few, and how long the run was."""
    scheduler, row = make_scheduler(copy.deepcopy(made), copy.deepcopy(running)), -1
    found: list[int] = []
    for index in range(first):
        name = f"copy-{index}"
        row = scheduler.cluster.register(replace(kind, metadata=replace(kind.metadata, name=name, uid=name)))
        decision = scheduler.schedule(row)
        if decision.row is None:
            return found, 0
        found.append(decision.row)
    run = scheduler.foresee(row, count)
    return found + run, len(run)


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[Node], list[Pod], Pod]:
    names = [f"n{index}" for index in range(draw(st.integers(2, 6)))]
    made = [draw(nodes(name)) for name in names]
    for node in made:
        node.metadata.labels.update({HOST: node.metadata.name, ZONE: draw(st.sampled_from(ZONES))})
    running = [draw(pods(f"run-{index}", draw(st.sampled_from(names)))) for index in range(draw(st.integers(0, 4)))]
    kind = st.one_of(
        pods("kind"),
        pods("kind"),
        st.builds(together, st.just("a"), apart=st.booleans(), key=st.just(HOST)),
        st.builds(spread, st.just("a"), st.just("ScheduleAnyway"), st.just(ZONE)),
        st.builds(near, st.just("a"), st.just(ZONE), st.just(50)),
    )
    return made, running, draw(kind)


@pytest.mark.slow
@given(situations(), st.integers(1, 4))
@settings(max_examples=examples(400), deadline=None)
def test_a_run_goes_where_single_cycles_go(drawn: tuple[list[Node], list[Pod], Pod], first: int) -> None:
    expected = rows_with_cycles(*drawn, first + COUNT)
    found, _ = rows_foreseen(*drawn, first, COUNT)
    assert found == expected[: len(found)]


def grown() -> list[Node]:
    return [
        make_node(f"n{index}")
        .allocatable(cpu=f"{4 + index}", memory="9Gi", pods=40)
        .label("disk", "ab"[index % 2])
        .obj()
        for index in range(5)
    ]


@pytest.mark.parametrize("wish", [False, True])
def test_a_run_of_plain_pods_ends_when_nodes_are_full(wish: bool) -> None:
    """With a preferred label, it ends when the last node with that label is full: scores are then normalized anew."""
    builder = make_pod("x").requests(cpu="300m", memory="100Mi")
    if wish:
        builder.prefers(50, term(("disk", "In", ["a"])))
    kind = builder.obj()
    expected = rows_with_cycles(grown(), [], kind, 500)
    found, length = rows_foreseen(grown(), [], kind, 2, 500)
    assert found == expected[: len(found)]
    assert length > 20
    assert (len(found) == len(expected)) is not wish


@pytest.mark.parametrize(
    "kind",
    [
        make_pod("x").requests(cpu="100m").host_port(80).obj(),
        spread("a", "DoNotSchedule", HOST),
        together("a", apart=True, key=HOST),
    ],
    ids=["host port", "spread", "anti-affinity"],
)
def test_pods_that_count_each_other_have_cycles_of_their_own(kind: Pod) -> None:
    assert rows_foreseen(grown(), [], kind, 2, 10)[1] == 0


def test_a_run_is_as_long_as_it_is_asked_to_be() -> None:
    assert rows_foreseen(grown(), [], make_pod("x").requests(cpu="100m").obj(), 2, 7)[1] == 7
