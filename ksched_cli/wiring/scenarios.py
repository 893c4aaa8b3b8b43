"""Scenario files, put together with a cluster and a scheduler."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from ksched_cli.errors import InputError
from ksched_cli.plan.scenario import ScenarioResult, run_scenario
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.scenario.load import load_scenario
from ksched_cli.sources.scenario.model import Scenario
from ksched_cli.sources.scenario.rehearsal import rehearse
from ksched_cli.sources.scenario.schema import schema
from ksched_cli.wiring import Gathered, Setup, read_input, scheduler_maker

if TYPE_CHECKING:
    from ksched_cli.plan.settle import Limits
    from ksched_cli.plan.settlement import Settlement


def play_scenario(
    setup: Setup, stdin: BinaryIO | None = None, cluster: Loaded | None = None
) -> tuple[ScenarioResult, Gathered]:
    """The scenario over what the setup names, and the cluster as it is at its end."""
    scenario, gathered, namespace = _rehearsed(setup, stdin, cluster)
    result, loaded = run_scenario(scenario, gathered.loaded, scheduler_maker(setup, gathered.setting), namespace)
    return result, replace(gathered, loaded=loaded)


def _rehearsed(setup: Setup, stdin: BinaryIO | None, cluster: Loaded | None = None) -> tuple[Scenario, Gathered, str]:
    """The scenario, what it is played over, and the namespace of names without one; all mistakes at once."""
    assert setup.scenario is not None
    scenario, problems = load_scenario(setup.scenario)
    gathered = read_input(setup, stdin, cluster)
    namespace = setup.namespace or gathered.loaded.namespace
    problems += rehearse(scenario, gathered.loaded, namespace)
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    return scenario, gathered, namespace


def scenario_schema() -> dict[str, Any]:
    return schema()


def check_scenario(path: str) -> str:
    """The name of the scenario, when nothing is wrong with its file."""
    scenario, problems = load_scenario(path)
    if problems:
        raise InputError(problems)
    return scenario.name


def settle_scenario(
    setup: Setup, limits: Limits, stdin: BinaryIO | None = None
) -> tuple[ScenarioResult, Settlement, tuple[str, ...]]:
    """The same on the timeline of settling, and what there is to say about the input."""
    from ksched_cli.plan import settled_scenario
    from ksched_cli.plan.place import Telling

    scenario, gathered, namespace = _rehearsed(setup, stdin)
    make = scheduler_maker(setup, gathered.setting)
    result, found = settled_scenario.settle_scenario(scenario, gathered.loaded, make, limits, Telling(), namespace)
    return result, found, tuple(gathered.loaded.warnings)
