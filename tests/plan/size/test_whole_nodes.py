"""The bound of whole numbers of nodes, held against programs that list every pattern."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.bounds import WholeNodes, payable
from ksched_cli.plan.size.catalog import read_shapes_of
from ksched_cli.plan.size.classes import Surveyor
from ksched_cli.plan.size.problem import PackingProblem
from ksched_cli.plan.size.program import PurchaseProgram
from ksched_cli.plan.size.results import SearchSettings
from ksched_cli.plan.size.trials import SizingTrials
from tests.lanes import examples
from tests.plan.size.cases import catalog, load, pending, shape

pytest.importorskip("highspy")


def problem(pods: list[tuple[int, int]], shapes: list[tuple[int, int, int]]) -> PackingProblem:
    """Pods by cpu and memory, shapes by price, cpu and memory."""
    objects = [pending(f"p{at}", cpu=str(cpu), memory=f"{memory}Gi") for at, (cpu, memory) in enumerate(pods)]
    shapes = [*shapes, (40, 8, 8)]  # every pod fits on the last one
    offers = catalog(
        *(shape(f"s{at}", price, str(cpu), f"{memory}Gi") for at, (price, cpu, memory) in enumerate(shapes))
    )
    source = load(objects)._current
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


def test_a_pattern_counts_once_and_only_with_a_pod() -> None:
    """Otherwise the bound never ends: each round asks whether a pattern is new."""
    made = problem([(1, 1), (1, 1), (2, 5)], [(20, 2, 2)])
    assert len(made.classes) == 2
    whole = WholeNodes(made, time.perf_counter() + 20, [(0, (1, 0))])
    tried = [(0, (1, 0)), (0, (0, 0)), (1, (1, 0)), (1, (1, 0)), (0, (2, 0)), (0, (0, 0))]
    assert [whole._add_pattern(*each) for each in tried] == [False, False, True, False, True, False]
