"""Copies of a pod that are placed without a row of their own: the same nodes in the same order. Decisions that are held
stay as they are."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Node, ObjectMeta, Pod, Service, ServiceSpec
from ksched_cli.api.selectors import selector_from_map
from ksched_cli.engine.decision import Decision, ScoreTable
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.releases.minors import release
from tests.builders import make_configuration, make_node, make_pod, term
from tests.clusters import IMAGES, LABEL_VALUES, ZONES, nodes, pods
from tests.config.test_load import load
from tests.engine.answers.test_answers import near
from tests.engine.answers.test_reuse import HOST, ZONE, spread, together
from tests.harness import make_scheduler
from tests.lanes import examples

COUNT = 14
MOST_ALLOCATED = load(
    make_configuration(
        {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}
    )
)


def copy_of(kind: Pod, index: int) -> Pod:
    name = f"copy-{index}"
    return replace(kind, metadata=replace(kind.metadata, name=name, uid=name))


def rows_with_cycles(made: list[Node], running: list[Pod], kind: Pod, count: int, **options: Any) -> list[int]:
    """Where the copies go, each by a cycle of its own; fewer than `count` where one does not fit."""
    scheduler = make_scheduler(copy.deepcopy(made), copy.deepcopy(running), reuse=False, **options)
    found: list[int] = []
    for index in range(count):
        decision = scheduler.schedule(scheduler.cluster.register(copy_of(kind, index)))
        if decision.row is None:
            break
        found.append(decision.row)
    return found


def rows_of_copies(
    made: list[Node], running: list[Pod], kind: Pod, first: int, count: int, **options: Any
) -> tuple[list[int], int, Scheduler]:
    """The same with copies without a row after the first few pods, how many such copies there were, and the
    scheduler."""
    scheduler, row = make_scheduler(copy.deepcopy(made), copy.deepcopy(running), **options), -1
    found: list[int] = []
    for index in range(first):
        row = scheduler.cluster.register(copy_of(kind, index))
        decision = scheduler.schedule(row)
        if decision.row is None:
            return found, 0, scheduler
        found.append(decision.row)
    while len(found) < first + count:
        placed = scheduler.place_copies(row, first + count - len(found))
        if not placed:
            break
        found += placed
    return found, len(found) - first, scheduler


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
def test_copies_go_where_single_cycles_go(drawn: tuple[list[Node], list[Pod], Pod], first: int) -> None:
    expected = rows_with_cycles(*drawn, first + COUNT)
    found, length, _ = rows_of_copies(*drawn, first, COUNT)
    event(f"{length // 5 * 5} or more copies")
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
@settings(max_examples=examples(200), deadline=None)
def test_copies_of_spread_pods_go_where_single_cycles_go(
    drawn: tuple[list[Node], list[Pod], Pod, dict[str, Any]], first: int
) -> None:
    made, running, kind, options = drawn
    expected = rows_with_cycles(made, running, kind, 60, **options)
    found, _, scheduler = rows_of_copies(made, running, kind, first, 40, **options)
    assert found == expected[: len(found)]
    row = scheduler.schedule(scheduler.cluster.register(copy_of(kind, 99))).row
    assert ([] if row is None else [row]) == expected[len(found) : len(found) + 1]


def grown() -> list[Node]:
    return [
        make_node(f"n{index}")
        .allocatable(cpu=f"{4 + index}", memory="9Gi", pods=40)
        .label("disk", "ab"[index % 2])
        .obj()
        for index in range(5)
    ]


@pytest.mark.parametrize("wish", [False, True])
def test_copies_fill_all_nodes(wish: bool) -> None:
    """With a preferred label, scores are normalized again when the last node with that label is full."""
    builder = make_pod("x").requests(cpu="300m", memory="100Mi")
    if wish:
        builder.prefers(50, term(("disk", "In", ["a"])))
    kind = builder.obj()
    expected = rows_with_cycles(grown(), [], kind, 500)
    found, length, _ = rows_of_copies(grown(), [], kind, 2, 500)
    assert found == expected[: len(found)]
    # The last place is found by a cycle: there is nothing to choose.
    assert length > 20
    assert len(found) > len(expected) - 10


WISH = make_pod("x").requests(cpu="300m", memory="100Mi").prefers(9, term(("disk", "In", ["a"]))).obj()
TWO_WISHES = (
    make_pod("x")
    .requests(cpu="1", memory="1000Mi")
    .prefers(100, term(("rank", "In", ["high"])))
    .prefers(1, term(("rank", "In", ["low"])))
    .obj()
)
FEW_PER_NODE = [
    make_node(f"n{index:02}")
    .allocatable(cpu="4" if index % 5 else "3", memory="9Gi", pods=12)
    .label("disk", "ab"[index % 2])
    .obj()
    for index in range(24)
]
LARGE = [make_node(f"n{index:02}").allocatable(cpu="100", memory="100000Mi", pods=40).obj() for index in range(12)]
# `b` is full with one copy. It has the highest score of a label, so that those of the z nodes rise then.
ONE_CHANGES_ALL = [
    *(make_node(name).allocatable(cpu="100", memory="100000Mi", pods=40).obj() for name in ("a0", "a1", "a2", "a3")),
    make_node("b").allocatable(cpu="1980m", memory="1980Mi", pods=40).label("rank", "high").obj(),
    *(make_node(name).allocatable(cpu="100", memory="100000Mi", pods=40).obj() for name in ("c0", "c1", "c2")),
    *(
        make_node(name).allocatable(cpu="10", memory="10000Mi", pods=40).label("rank", "low").obj()
        for name in ("z0", "z1")
    ),
]
DOUBLE_FIT = load(
    make_configuration(
        {
            "plugins": {
                "multiPoint": {
                    "enabled": [{"name": "NodeResourcesFit", "weight": 2}, {"name": "NodeAffinity", "weight": 1}]
                }
            }
        }
    )
)


@pytest.mark.parametrize(
    ("made", "kind", "configuration", "most"),
    [
        pytest.param(FEW_PER_NODE, WISH, None, 4, id="spread over all nodes"),
        pytest.param(FEW_PER_NODE, WISH, MOST_ALLOCATED, 1, id="packed on one node"),
        pytest.param(LARGE, make_pod("x").requests(cpu="10m", memory="10Mi").obj(), None, 1, id="scores as before"),
        pytest.param(ONE_CHANGES_ALL, TWO_WISHES, DOUBLE_FIT, 2, id="a full node changes all scores"),
    ],
)
def test_copies_are_placed_together(made: list[Node], kind: Pod, configuration: Any, most: int) -> None:
    expected = rows_with_cycles(made, [], kind, 500, configuration=configuration)
    scheduler = make_scheduler(copy.deepcopy(made), [], configuration=configuration)
    row = scheduler.cluster.register(copy_of(kind, 0))
    found, together = [scheduler.schedule(row).row], [1]
    while placed := scheduler.place_copies(row, 500):
        found += placed
        together.append(len(placed))
    assert found == expected[: len(found)]
    # The last node is no choice: its copies have cycles.
    assert len(found) >= min(len(expected), 500) - max(expected.count(node) for node in expected)
    assert max(together) >= most


@pytest.mark.parametrize("minor", ["1.28", "1.30", "1.36"])
@pytest.mark.parametrize("configuration", [None, MOST_ALLOCATED], ids=["least", "most"])
def test_copies_of_the_pods_of_a_service_fill_nodes(minor: str, configuration: Any) -> None:
    made = grown()
    for node, zone in zip(made, ("z0", "z0", "z1", "z1", None), strict=True):
        if zone is not None:
            node.metadata.labels[ZONE] = zone
    kind = make_pod("x").requests(cpu="300m", memory="100Mi").label(app="a").obj()
    service = Service(ObjectMeta(name="a", namespace="default"), ServiceSpec(selector={"app": "a"}))
    options = {"objects": [service], "configuration": configuration, "current": release(minor)}
    expected = rows_with_cycles(made, [], kind, 500, **options)
    found, length, _ = rows_of_copies(made, [], kind, 1, 500, **options)
    assert found == expected[: len(found)]
    assert length > 60


def test_copies_that_a_roll_back_takes_away_count_no_longer() -> None:
    kind = spread("a", "ScheduleAnyway", HOST)
    scheduler = make_scheduler(grown(), [])
    row = scheduler.cluster.register(copy_of(kind, 0))
    first = scheduler.schedule(row).row
    selector = selector_from_map({"app": "a"})
    before = scheduler.cluster.counts.current("default", selector).per_node.tolist()
    with scheduler.cluster.undo.trial():
        scheduler.cluster.place_copies(row, [1, 1, 2])
        assert scheduler.cluster.counts.current("default", selector).per_node.sum() == 4
    assert scheduler.cluster.counts.current("default", selector).per_node.tolist() == before
    assert sum(before) == before[first or 0] == 1
    assert scheduler.cluster.usage.copies == {}


def test_pods_with_host_ports_have_rows_of_their_own() -> None:
    kind = make_pod("x").requests(cpu="100m").host_port(80).obj()
    assert rows_of_copies(grown(), [], kind, 2, 10)[1] == 0


def scheduler_of(*, reuse: bool = True) -> Scheduler:
    made = [make_node(f"n{row}").allocatable(cpu=str(4 + row), memory="8Gi", pods=10).obj() for row in range(3)]
    waiting = [make_pod(f"p{index}").label("app", "ab"[index % 2]).requests(cpu="1").obj() for index in range(12)]
    return make_scheduler(made, waiting, reuse=reuse)


def numbers_of(table: ScoreTable | None) -> list[Any]:
    assert table is not None
    columns = [{name: column.tolist() for name, column in each.items()} for each in (table.raw, table.normalized)]
    return [*columns, table.totals.tolist()]


def test_tables_of_earlier_decisions_stay_as_they_were() -> None:
    scheduler, afresh = scheduler_of(), scheduler_of(reuse=False)
    held: list[Decision] = []
    wanted: list[Any] = []
    for row in range(12):
        held.append(scheduler.schedule(row))
        wanted.append(numbers_of(afresh.schedule(row).scores))
        assert [numbers_of(each.scores) for each in held] == wanted


@pytest.mark.parametrize(
    ("where", "what", "copies"),
    [
        pytest.param("scheduler", "nothing", True, id="plain cycles"),
        pytest.param("scheduler", "extenders", False, id="extenders"),
        pytest.param("cycle", "sampling", False, id="a sample of the nodes"),
        pytest.param("cycle", "waiting", False, id="pods that wait on Permit"),
        pytest.param("cycle", "placement", False, id="a placement of a pod group"),
        pytest.param("cycle", "tie_break", False, id="ties by chance"),
    ],
)
def test_only_plain_cycles_are_left_out(where: str, what: str, copies: bool) -> None:
    made = [make_node(f"n{index}").allocatable(cpu="9", memory="9Gi", pods=20).obj() for index in range(4)]
    kind = make_pod("kind").requests(cpu="1", memory="1Gi").obj()
    scheduler = make_scheduler(made, [])
    rows = [scheduler.cluster.register(copy_of(kind, index)) for index in range(2)]
    assert all(scheduler.schedule(row).row is not None for row in rows)
    setattr(scheduler if where == "scheduler" else scheduler.cycle, what, object())
    assert bool(scheduler.place_copies(rows[-1], 5)) is copies
