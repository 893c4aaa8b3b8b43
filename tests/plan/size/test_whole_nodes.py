"""The bound of whole numbers of nodes, held against programs that list every pattern."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.bounds import WholeNodes, bounds_of_parts, components, payable
from ksched_cli.plan.size.catalog import read_shapes_of
from ksched_cli.plan.size.classes import Surveyor
from ksched_cli.plan.size.problem import PackingProblem
from ksched_cli.plan.size.program import PurchaseProgram
from ksched_cli.plan.size.results import SearchSettings
from ksched_cli.plan.size.trials import SizingTrials
from tests.lanes import examples
from tests.plan.size.cases import catalog, load, packing, pending, shape

pytest.importorskip("highspy")


def problem(pods: list[tuple[int, int]], shapes: list[tuple[int, int, int]]) -> PackingProblem:
    """Pods by cpu and memory, shapes by price, cpu and memory."""
    objects = [pending(f"p{at}", cpu=str(cpu), memory=f"{memory}Gi") for at, (cpu, memory) in enumerate(pods)]
    shapes = [*shapes, (40, 8, 8)]  # every pod fits on the last one
    offers = catalog(
        *(shape(f"s{at}", price, str(cpu), f"{memory}Gi") for at, (price, cpu, memory) in enumerate(shapes))
    )
    source = load(objects)._current()
    shapes_of = read_shapes_of(offers)
    assert shapes_of is not None
    return Surveyor(SizingTrials(source, Run(source).scheduler), shapes_of).survey().problem


def bounds(made: PackingProblem) -> tuple[int, int, int]:
    """Of the linear relaxation, of whole numbers of nodes, and the optimum of the packing."""
    soon = time.perf_counter() + 20
    relaxed = PurchaseProgram(made, soon, SearchSettings().listed_patterns)
    relaxed.relax()
    linear = relaxed.bound
    whole = WholeNodes(made, soon, relaxed.columns).least_cost(linear)
    exact = PurchaseProgram(made, soon, 100_000)
    assert exact.is_exact
    best = exact.next_set(None, 20.0)
    assert best is not None
    return linear, whole, best.cost


def test_whole_nodes_cost_more_than_parts_of_nodes() -> None:
    """The relaxation costs 147; the next sum of these prices is 156, and no nodes of that cost hold the pods."""
    pods = [(1, 3), (1, 3), (1, 4), (2, 5), (4, 3), (4, 3), (4, 5), (5, 2)]
    made = problem(pods, [(39, 2, 6), (20, 6, 3)])
    assert payable(147, [choice.price for choice in made.choices]) == 156
    assert bounds(made) == (147, 159, 159)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("least", "prices", "cost"),
    [
        (0, [3, 5], 0),
        (1, [3, 5], 3),
        (4, [5, 3], 5),
        (7, [3, 5], 8),
        (8, [3, 5, 0], 8),
        (4, [0], 4),
        (5_000_000, [7], 5_000_002),
        (5_000_001, [7], 5_000_001),
    ],
    ids=str,
)
def test_the_least_sum_of_prices(least: int, prices: list[int], cost: int) -> None:
    """Nodes without a price add nothing, and millions of grains are left as they are."""
    assert payable(least, prices) == cost


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(5, 39), st.integers(1, 8), st.integers(1, 8)), max_size=2),
)
@settings(max_examples=examples(60), deadline=None)
def test_the_bound_lies_between_the_relaxation_and_the_optimum(
    pods: list[tuple[int, int]], shapes: list[tuple[int, int, int]]
) -> None:
    linear, whole, best = bounds(problem(pods, shapes))
    assert linear <= whole <= best


@pytest.mark.parametrize(
    ("made", "least", "cost"),
    [
        pytest.param(packing([(2, 2, 2)], [(5, 4, 4)]), 0, 5, id="the sum of the requests"),
        pytest.param(packing([(2, 6, 2), (2, 3, 6)], [(17, 9, 6)]), 0, 68, id="no two pods fit together"),
        pytest.param(packing([(3, 5, 1), (1, 3, 6), (3, 6, 2)], [(27, 8, 8)]), 0, 162, id="one pair fits"),
        pytest.param(packing([(3, 6, 2), (3, 2, 4)], [(27, 8, 9), (17, 6, 7)]), 0, 81, id="fewer of a larger shape"),
        pytest.param(packing([(2, 4, 3), (2, 2, 4), (1, 4, 6)], [(10, 7, 6), (12, 8, 8)]), 0, 34, id="two shapes"),
        pytest.param(packing([(2, 2, 2)], [(5, 4, 4)]), 7, 10, id="whole nodes above the bound so far"),
        pytest.param(packing([(3, 4, 4)], [(1, 4, 4), (10, 5, 5)], limits=(2, None)), 0, 12, id="a limit"),
        pytest.param(packing([(1, 1, 1), (1, 1, 1)], [(5, 4, 4)], [(0, 1)]), 0, 10, id="pods that cannot share a node"),
    ],
)
def test_the_bound_of_whole_nodes(made: PackingProblem, least: int, cost: int) -> None:
    assert WholeNodes(made, time.perf_counter() + 100, ()).least_cost(least) == cost


PODS, SHAPES = [(2, 1, 3), (1, 1, 4), (1, 2, 5), (2, 4, 3), (1, 4, 5), (1, 5, 2)], [(39, 2, 6), (20, 6, 3), (40, 8, 8)]
FEW_PODS, FEW_SHAPES = [(2, 4, 3), (2, 2, 4), (1, 4, 6)], [(10, 7, 6), (12, 8, 8)]
# No node of the others holds these pods, and their nodes hold no other pod.
MORE_PODS, MORE_SHAPES = [(3, 20, 1)], [(50, 40, 1)]
ROOM = [(1, 2, 4)]


@pytest.mark.parametrize(
    ("pods", "shapes", "more", "listed", "bounds_of_each"),
    [
        pytest.param(PODS, SHAPES, {}, 0, [159], id="one part"),
        pytest.param(PODS + MORE_PODS, SHAPES + MORE_SHAPES, {}, 0, [159, 150], id="two parts"),
        pytest.param(FEW_PODS, FEW_SHAPES, {"rooms": ROOM}, 0, [30], id="one part with room"),
        pytest.param(
            FEW_PODS + MORE_PODS, FEW_SHAPES + MORE_SHAPES, {"rooms": ROOM}, 0, [30, 150], id="two parts, one with room"
        ),
        pytest.param(
            FEW_PODS + MORE_PODS, FEW_SHAPES + MORE_SHAPES, {"rooms": ROOM}, 99, [32, 150], id="all patterns are known"
        ),
    ],
)
def test_each_part_has_a_bound(
    pods: Any, shapes: Any, more: dict[str, Any], listed: int, bounds_of_each: list[int]
) -> None:
    """A part without room in the cluster has the bound of whole nodes; with all its patterns it has its optimum."""
    made, soon = packing(pods, shapes, **more), time.perf_counter() + 20
    whole = PurchaseProgram(made, soon, 0)
    whole.relax()
    settings = SearchSettings(listed_patterns_of_a_part=listed)
    assert bounds_of_parts(components(made), soon, whole, settings) == bounds_of_each


def test_a_part_has_the_shapes_that_hold_some_of_its_pods() -> None:
    """Every node and every room that holds one of the classes counts, even if it does not hold the other."""
    made = packing([(1, 8, 1), (1, 1, 1)], [(10, 2, 2), (40, 9, 9)], rooms=[(1, 1, 1), (1, 1, 0)])
    (part,) = components(made)
    assert (part.choices, [room.most for room in part.problem.rooms]) == ((0, 1), [(0, 1)])


def test_a_pattern_counts_once_and_only_with_a_pod() -> None:
    """Otherwise the bound never ends: each round asks whether a pattern is new."""
    made = problem([(1, 1), (1, 1), (2, 5)], [(20, 2, 2)])
    assert len(made.classes) == 2
    whole = WholeNodes(made, time.perf_counter() + 20, [(0, (1, 0))])
    tried = [(0, (1, 0)), (0, (0, 0)), (1, (1, 0)), (1, (1, 0)), (0, (2, 0)), (0, (0, 0))]
    assert [whole._add_pattern(*each) for each in tried] == [False, False, True, False, True, False]
