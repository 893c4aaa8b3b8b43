"""Scenario files, put together with a cluster and a scheduler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, BinaryIO

from ksched_cli.errors import InputError
from ksched_cli.plan.scenario import ScenarioRun, ScenarioWorld
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.scenario.load import load_scenario
from ksched_cli.whatif.scenario.rehearsal import rehearse
from ksched_cli.whatif.scenario.schema import schema
from ksched_cli.wiring import LoadedInput, RunOptions, scheduler_maker
from ksched_cli.wiring.reading import read_unchanged
from ksched_cli.world.results import DEFAULT_LIMITS, Limits


def play_scenario(
    setup: RunOptions, stdin: BinaryIO | None = None, cluster: Loaded | None = None, limits: Limits = DEFAULT_LIMITS
) -> tuple[ScenarioRun, LoadedInput]:
    """The scenario in a world of what the setup names, and the cluster at its end. All mistakes are raised at once."""
    assert setup.scenario is not None
    scenario, problems = load_scenario(setup.scenario)
    gathered, first = read_unchanged(setup, stdin, cluster)
    changes, found = rehearse(scenario, gathered.loaded, first, first.namespace)
    problems += found
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    world = ScenarioWorld(gathered.loaded, scheduler_maker(setup, gathered.setting), first, limits)
    done = world.run(scenario, changes)
    return done, replace(gathered, loaded=done.loaded)


def scenario_schema() -> dict[str, Any]:
    return schema()


def check_scenario(path: str) -> str:
    """The name of the scenario, when nothing is wrong with its file."""
    scenario, problems = load_scenario(path)
    if problems:
        raise InputError(problems)
    return scenario.name
