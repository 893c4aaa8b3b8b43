"""Bounds, patterns and forecasts of a purchase, each by itself."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.catalog import read_shapes_of
from ksched_cli.plan.size.classes import Surveyor
from ksched_cli.plan.size.problem import PackingProblem
from ksched_cli.plan.size.program import PatternPricing, maximal_patterns
from ksched_cli.plan.size.results import SearchSettings
from ksched_cli.plan.size.search import SetCompletion
from ksched_cli.plan.size.trials import SizingTrials
from tests.builders import make_pod
from tests.plan.size.cases import catalog, load, pending, shape
from tests.plan.size.test_first_fit import problem as packing

pytest.importorskip("highspy")

# Pods of 8 cpu fit on the larger shape only.
SHAPES = catalog(shape("small", 10, "2", "8Gi"), shape("large", 40, "8", "32Gi"))


def survey(*pods: dict[str, Any]) -> tuple[SizingTrials, PackingProblem]:
    source = load([*pods])._current
    shapes = read_shapes_of(SHAPES)
    assert shapes is not None
    trials = SizingTrials(source, Run(source).scheduler)
    return trials, Surveyor(trials, shapes).survey().problem


def choice_of(problem: PackingProblem, name: str) -> int:
    return next(at for at, each in enumerate(problem.choices) if each.variants[0].name == name)


def test_the_quick_bound_has_only_pods_that_fit_on_the_shape() -> None:
    pods = [pending(f"a{at}", cpu="1", memory="1Gi") for at in range(2)]
    pods += [pending(f"b{at}", cpu="1", memory="2Gi") for at in range(2)]
    _, problem = survey(*pods, pending("large", cpu="8", memory="8Gi"))
    small = choice_of(problem, "small")
    values = np.where(problem.most[small] > 0, 1.0, 100.0)
    assert sorted(values) == [1, 1, 100]
    assert PatternPricing(problem, time.perf_counter() + 20).quick_bound(small, values) == pytest.approx(2)


def test_patterns_have_one_of_two_classes_that_cannot_share_a_node() -> None:
    docs = [make_pod(name).requests(cpu=cpu).host_port(80).doc() for name, cpu in (("p", "1"), ("q", "500m"))]
    _, problem = survey(*docs)
    assert problem.rivals == {(0, 1)}
    patterns = maximal_patterns(problem, choice_of(problem, "small"), 100)
    assert patterns is not None
    assert sorted(patterns) == [(0, 1), (1, 0)]


def test_the_best_pattern_has_one_of_three_classes_that_cannot_share_a_node() -> None:
    made = packing([(2, 1, 1)] * 3, [(5, 9, 9)], [(0, 1), (0, 2), (1, 2)], 2)
    worth, pattern = PatternPricing(made, time.perf_counter() + 20).best_pattern(0, np.ones(3))
    assert (worth, sorted(pattern)) == (2, [0, 0, 2])


def test_a_problem_without_some_pods_has_no_turn_for_them() -> None:
    sizes = {"a": "1", "b": "1", "c": "1", "d": "2"}
    _, problem = survey(*(pending(name, cpu=cpu, memory="1Gi") for name, cpu in sizes.items()))
    fewer = problem.without({problem.classes[at].pods[0] for at in range(2)})
    assert sorted((each.demand, fewer.turns.count(at)) for at, each in enumerate(fewer.classes)) == [(0, 0), (2, 2)]


@pytest.mark.parametrize("pods", [1, 2, 3])
def test_a_forecast_is_mended_by_one_node_at_a_time(pods: int) -> None:
    trials, problem = survey(*(pending(f"p{at}", cpu="8", memory="1Gi") for at in range(pods)))
    mender = SetCompletion(trials, problem, time.perf_counter() + 20, SearchSettings())
    mender.state.cost = 1_000_000
    assert mender._forecast_mended({}) == {choice_of(problem, "large"): pods}
