"""Forecasts of a purchase, held against the cycles of the scheduler."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.catalog import read_shapes_of
from ksched_cli.plan.size.classes import Surveyor
from ksched_cli.plan.size.search import Forecast
from ksched_cli.plan.size.trials import SizingTrials
from ksched_cli.simulator import RunOptions, Simulator
from tests.builders import make_pod
from tests.plan.size.cases import catalog, node, shape

CPUS, MEMORIES = ("500m", "1", "2", "3", "1500m"), ("1Gi", "2Gi", "3Gi", "6Gi")


def cluster(seed: int) -> list[dict[str, Any]]:
    """Up to two nodes, and pods of which only the scores of resources differ. Some share a host port."""
    draw = random.Random(seed)
    items = [
        node(f"n{at}", cpu=draw.choice("246"), memory=f"{draw.choice((4, 8, 16))}Gi", pods=9)
        for at in range(draw.randint(0, 2))
    ]
    for at in range(draw.randint(4, 9)):
        pod = make_pod(f"p{at}")
        if draw.random() < 0.9:
            pod.requests(cpu=draw.choice(CPUS), memory=draw.choice(MEMORIES))
        if draw.random() < 0.3:
            pod.host_port(80)
        items.append(pod.doc())
    return items


@pytest.mark.parametrize("version", ["1.34", "1.37"], ids=["score of the node", "score of the difference"])
@pytest.mark.parametrize("seed", [1, 3, 7, 12, 26])
def test_a_forecast_leaves_over_what_the_scheduler_leaves_over(seed: int, version: str) -> None:
    options = RunOptions(objects=tuple(cluster(seed)), allow_empty=True, kube_version=version)
    source = Simulator.of(options)._current()
    shapes = read_shapes_of(catalog(shape("s", 10, "4", "8Gi"), shape("t", 25, "8", "32Gi")))
    assert shapes is not None
    trials = SizingTrials(source, Run(source).scheduler)
    problem = Surveyor(trials, shapes).survey().problem
    forecast = Forecast(problem)
    class_of = {row: at for at, each in enumerate(problem.classes) for row in each.pods}
    for numbers in product(range(3), range(2)):
        counts = dict(zip(range(len(problem.choices)), numbers, strict=False))
        attempt = trials.run({problem.choices[at].variants[0]: count for at, count in counts.items() if count})
        left = [0] * len(problem.classes)
        for each in attempt.unplaced:
            left[class_of[each.row]] += 1
        assert forecast.left_by_class(counts).tolist() == left
        assert (forecast.left_over(counts), forecast.holds_all(counts)) == (sum(left), not any(left))
