"""Clusters of the conformance corpus, left to themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.settle import SettleRun
from ksched_cli.wiring import load_input
from ksched_cli.world.results import Limits
from tests.lanes import sampled
from tests.running import prepare, settle
from tests.test_conformance import CASES

# Every kind of case is in it.
SOME = CASES[::5]


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(SOME, 5))
def test_it_settles_and_nobody_who_fits_is_left_behind(case: Path) -> None:
    config = case / "config.yaml"
    setup = RunOptions([str(case / "cluster.json")], config=str(config) if config.exists() else None)
    source, changes = load_input(setup)
    settling = SettleRun(source)
    world = settling.world
    world.apply(changes)
    scheduler, found = world.scheduler, world.result(world.run(Limits(max_time=7200)))
    assert found.settled
    assert found.faults == ()
    left = {pod.pod for pod in found.unplaced}
    assert {pod.state for pod in found.unplaced} <= {"unschedulable", "error"}
    infos, gone = scheduler.cluster.pods.infos, scheduler.cluster.pods.gone
    for row, info in enumerate(infos):
        if info.key in left and row not in gone and not info.pod.spec.node_name:
            assert scheduler.schedule(row).result != "scheduled", info.key


@pytest.mark.slow
def test_the_first_cycle_of_each_pod_is_that_of_a_plain_run() -> None:
    """Up to the first preemption or the first pod that is woken, settling is the same run."""
    compared = 0
    for case in SOME:
        config = case / "config.yaml"
        setup = RunOptions([str(case / "cluster.json")], config=str(config) if config.exists() else None)
        plain = prepare(setup).simulate()
        if any(outcome.preemption for outcome in plain.outcomes):
            continue
        found = settle(setup, Limits())
        first: dict[str, tuple[str, str]] = {}
        woken = {entry.pod for entry in found.timeline if entry.queue == "backoff" or entry.time > 0}
        for entry in found.timeline:
            if entry.decision:
                first.setdefault(entry.pod, (entry.decision, entry.node if entry.decision == "scheduled" else ""))
        if woken:
            continue
        assert first == {outcome.pod: (outcome.result, outcome.node) for outcome in plain.outcomes}
        compared += 1
    assert compared > 5
