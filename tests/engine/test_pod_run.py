"""Runs of identical pods, whose nodes are known without a cycle for each: the same nodes in the same order."""

from __future__ import annotations

import copy
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, Service, ServiceSpec
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.selectors import selector_from_map
from ksched_cli.engine import copy_runs
from ksched_cli.engine.decision import TIES_NAMED, Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.releases.minors import release
from tests.builders import make_node, make_pod, term
from tests.clusters import IMAGES, LABEL_VALUES, ZONES, nodes, pods
from tests.config.test_load import load
from tests.engine.test_lane_properties import near
from tests.harness import make_scheduler
from tests.lanes import examples
from tests.test_reuse import HOST, ZONE, spread, together

COUNT = 14
MOST_ALLOCATED = load(
    {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}
        ],
    }
)


def copy_of(kind: Pod, index: int) -> Pod:
    name = f"copy-{index}"
    return replace(kind, metadata=replace(kind.metadata, name=name, uid=name))


def rows_with_cycles(made: list[Node], running: list[Pod], kind: Pod, count: int, **options: Any) -> list[int]:
    """Where the copies go, each by a cycle of its own; fewer than `count` where one does not fit."""
    scheduler = make_scheduler(copy.deepcopy(made), copy.deepcopy(running), **options)
    found: list[int] = []
    for index in range(count):
        decision = scheduler.schedule(scheduler.cluster.register(copy_of(kind, index)))
        if decision.row is None:
            break
        found.append(decision.row)
    return found


def rows_foreseen(
    made: list[Node], running: list[Pod], kind: Pod, first: int, count: int, **options: Any
) -> tuple[list[int], int]:
    """The same with a run after the first few, and how long the run was."""
    found, length, _ = foreseen(made, running, kind, first, count, **options)
    return found, length


def foreseen(
    made: list[Node], running: list[Pod], kind: Pod, first: int, count: int, **options: Any
) -> tuple[list[int], int, Scheduler]:
    """The same, and the scheduler."""
    scheduler, row = make_scheduler(copy.deepcopy(made), copy.deepcopy(running), **options), -1
    found: list[int] = []
    for index in range(first):
        row = scheduler.cluster.register(copy_of(kind, index))
        decision = scheduler.schedule(row)
        if decision.row is None:
            return found, 0, scheduler
        found.append(decision.row)
    run = scheduler.foresee(row, count)
    scheduler.cluster.place_copies(row, run)
    return found + run, len(run), scheduler


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


@st.composite
def services(draw: st.DrawFn) -> tuple[list[Node], list[Pod], Pod, dict[str, Any]]:
    """Pods of services, which the system's defaults spread softly, or pods with soft constraints of their own."""
    names = [f"n{index}" for index in range(draw(st.integers(2, 8)))]
    made = [draw(nodes(name)) for name in names]
    for node in made:
        sizes = {"cpu": f"{draw(st.integers(6, 16))}", "memory": f"{draw(st.integers(9, 16))}Gi"}
        node.status.allocatable.update(sizes, pods=str(draw(st.integers(3, 20))))
    running = [draw(pods(f"run-{index}", draw(st.sampled_from(names)))) for index in range(draw(st.integers(0, 6)))]
    for pod in running:
        pod.metadata.labels.update(app=draw(st.sampled_from(("a", "b"))), tier=draw(st.sampled_from(("x", "y"))))
    builder = (
        make_pod("kind").image(draw(st.sampled_from(IMAGES))).label(app="a", tier="x").toleration("spot", "Exists")
    )
    builder.requests(cpu=f"{draw(st.integers(0, 9)) * 70}m", memory=f"{draw(st.integers(0, 9)) * 90}Mi")
    for value in draw(st.lists(st.sampled_from(LABEL_VALUES), max_size=2)):
        builder.prefers(draw(st.integers(1, 100)), term(("disk", "In", [value])))
    kind = builder.obj()
    keys = draw(st.lists(st.sampled_from((HOST, ZONE, "disk")), max_size=2, unique=True))
    kind.spec.topology_spread_constraints = [
        constraint
        for key in keys
        for constraint in spread("a", "ScheduleAnyway", key).spec.topology_spread_constraints or ()
    ]
    selectors = draw(st.lists(st.sampled_from(({"app": "a"}, {"tier": "x"}, {"app": "b"})), max_size=2))
    objects = [
        Service(ObjectMeta(name=f"svc-{index}", namespace="default"), ServiceSpec(selector=selector))
        for index, selector in enumerate(selectors)
    ]
    return made, running, kind, {"objects": objects, "configuration": draw(st.sampled_from((None, MOST_ALLOCATED)))}


@pytest.mark.slow
@given(services(), st.integers(1, 4))
@settings(max_examples=examples(400), deadline=None)
def test_a_run_of_spread_pods_goes_where_single_cycles_go(
    drawn: tuple[list[Node], list[Pod], Pod, dict[str, Any]], first: int
) -> None:
    made, running, kind, options = drawn
    expected = rows_with_cycles(made, running, kind, 60, **options)
    found, length, scheduler = foreseen(made, running, kind, first, 40, **options)
    assert found == expected[: len(found)]
    if length:
        event(f"a run of {length // 5 * 5} or more")
        row = scheduler.schedule(scheduler.cluster.register(copy_of(kind, 99))).row
        assert ([] if row is None else [row]) == expected[len(found) : len(found) + 1]


def in_line(decision: Decision) -> tuple[Any, ...]:
    """What a line shows of a decision."""
    placed = decision.found
    if placed is not None:
        return decision.pod.key, placed.row, placed.total, list(placed.first), placed.ties, placed.feasible
    total = None if decision.scores is None else int(decision.scores.totals.max())
    ties = decision.ties.tolist()
    return decision.pod.key, decision.row, total, ties[:TIES_NAMED], len(ties), len(decision.feasible)


@pytest.mark.slow
@given(services())
@settings(max_examples=examples(300), deadline=None)
def test_decisions_in_brief_are_those_of_single_cycles(
    drawn: tuple[list[Node], list[Pod], Pod, dict[str, Any]],
) -> None:
    made, running, kind, options = drawn
    other = replace(kind, metadata=replace(kind.metadata, labels={"app": "b"}))
    waiting = [copy_of(kind if number % 40 < 30 else other, number) for number in range(60)]

    def pending() -> Scheduler:
        return make_scheduler(copy.deepcopy(made), copy.deepcopy([*running, *waiting]), **options)

    plain, brief = pending(), pending()
    expected = [in_line(each) for each in plain.run(plain.enqueue())]
    with patch.object(copy_runs, "FEWEST", 1):
        decisions = list(brief.run_in_brief(brief.enqueue()))
    assert [in_line(each) for each in decisions] == expected
    assert (brief.cluster.usage.requested == plain.cluster.usage.requested).all()
    assert brief.cluster.pods.node_row.tolist() == plain.cluster.pods.node_row.tolist()
    event(f"{sum(each.found is not None for each in decisions) // 10 * 10} or more without a cycle")


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


@pytest.mark.parametrize("minor", ["1.28", "1.30", "1.36"])
@pytest.mark.parametrize("configuration", [None, MOST_ALLOCATED], ids=["least", "most"])
def test_a_run_of_the_pods_of_a_service_fills_all_nodes(minor: str, configuration: Any) -> None:
    made = grown()
    for node, zone in zip(made, ("z0", "z0", "z1", "z1", None), strict=True):
        if zone is not None:
            node.metadata.labels[ZONE] = zone
    kind = make_pod("x").requests(cpu="300m", memory="100Mi").label(app="a").obj()
    service = Service(ObjectMeta(name="a", namespace="default"), ServiceSpec(selector={"app": "a"}))
    options = {"objects": [service], "configuration": configuration, "current": release(minor)}
    expected = rows_with_cycles(made, [], kind, 500, **options)
    found, length = rows_foreseen(made, [], kind, 1, 500, **options)
    assert found == expected
    assert length == len(expected) - 1 > 90


def test_a_run_in_brief_needs_many_copies_and_ends_when_its_reader_changes_something() -> None:
    def without_cycles(copies: int, *, changes: bool = False) -> int:
        kind = make_pod("x").requests(cpu="100m").label(app="a").obj()
        scheduler = make_scheduler(grown(), [copy_of(kind, number) for number in range(copies)])
        count = 0
        for decision in scheduler.run_in_brief(scheduler.enqueue()):
            assert decision.result == "scheduled"
            count += decision.found is not None
            if changes:
                scheduler.cluster.touch("n0")
        return count

    assert without_cycles(copy_runs.FEWEST) == 0
    assert without_cycles(copy_runs.FEWEST + 3) == copy_runs.FEWEST + 2
    assert without_cycles(copy_runs.FEWEST + 3, changes=True) < 5


def test_copies_that_a_roll_back_takes_away_count_no_longer() -> None:
    kind = spread("a", "ScheduleAnyway", HOST)
    scheduler = make_scheduler(grown(), [])
    row = scheduler.cluster.register(copy_of(kind, 0))
    first = scheduler.schedule(row).row
    selector = selector_from_map({"app": "a"})
    before = scheduler.cluster.counts.per_node("default", selector).tolist()
    with scheduler.cluster.undo.trial():
        scheduler.cluster.place_copies(row, [1, 1, 2])
        assert scheduler.cluster.counts.per_node("default", selector).sum() == 4
    assert scheduler.cluster.counts.per_node("default", selector).tolist() == before
    assert sum(before) == before[first or 0] == 1
    assert scheduler.cluster.usage.copies == {}


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
