"""Clusters that share what is known of their pods answer as those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.cluster.cache import KnownPods
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.results.outcomes import PodOutcome
from ksched_cli.plan.run.loaded_input import scheduler_maker
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.simulate import OutputOptions, place
from ksched_cli.wiring import make_scheduler
from tests.builders import make_pod
from tests.lanes import sampled
from tests.running import load

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"


def outcomes(scheduler: Scheduler) -> list[PodOutcome]:
    return list(place(scheduler, OutputOptions(detail=True)).outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(sorted(CORPUS.glob("*-00")), 5))
def test_answers_are_the_same(case: Path) -> None:
    setup = RunOptions(sources=[str(case / "cluster.json")])
    gathered = load(setup)
    by_itself = outcomes(gathered.scheduler())
    known = KnownPods()
    # Another cluster has met other resources first, so that rows are others.
    known.info(make_pod("first").requests(example_com__first="1").obj()).requests  # noqa: B018
    for _ in range(2):
        assert outcomes(make_scheduler(setup, gathered.loaded, gathered.spec, known)) == by_itself
    make = scheduler_maker(gathered.make_scheduler, gathered.spec)
    assert outcomes(make(gathered.loaded)) == outcomes(make(gathered.loaded)) == by_itself


def test_a_pod_is_worked_out_once() -> None:
    pod, same = make_pod().requests(cpu="1").obj(), make_pod().requests(cpu="1").obj()
    known = KnownPods()
    assert known.info(pod) is known.info(pod)
    assert known.info(pod) is not known.info(same)
