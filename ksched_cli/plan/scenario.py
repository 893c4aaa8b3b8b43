"""Scenarios: step by step a world is changed and comes to rest, and what was expected is compared with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import InputError
from ksched_cli.plan.expectations import StepFacts, check_expectation
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.node_columns import NodeChanges, NodeColumns
from ksched_cli.plan.results import RefusedPod, refused_pods
from ksched_cli.plan.scenario_results import ScenarioResult, ScenarioRun, StepResult
from ksched_cli.plan.settle_world import SettleWorld
from ksched_cli.plan.simulate import OutputOptions
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import Changes, loaded_after, refused_by
from ksched_cli.whatif.scenario.load import load_scenario
from ksched_cli.whatif.scenario.model import Scenario, ScenarioStep
from ksched_cli.whatif.scenario.rehearsal import rehearse
from ksched_cli.world.results import DEFAULT_LIMITS, Ending, Limits


class ScenarioWorld:
    """`first` is changed before the first step. `make` gives a scheduler over a cluster."""

    def __init__(self, loaded: Loaded, make: Callable[[Loaded], Scheduler], first: Changes, limits: Limits) -> None:
        scheduler = make(loaded)
        self._before = NodeColumns.of(scheduler.cluster)
        self._settling = SettleWorld(scheduler, OutputOptions(), loaded)
        self._world, self._make, self._limits = self._settling.world, make, limits
        self._changes = [first]
        self._ending: Ending = "settled"
        self._world.apply(first)

    def run(self, scenario: Scenario, changes: Sequence[Changes]) -> ScenarioRun:
        """All steps, also after expectations that fail, up to one after which the world does not come to rest."""
        results = []
        for step, change in zip(scenario.steps, changes, strict=True):
            results.append(self._take_step(step, change))
            if self._ending != "settled":
                break
        result = ScenarioResult(scenario.name, scenario.source, tuple(results))
        found = self._settling.settlement(self._world.result(self._ending))
        loaded = loaded_after(self._world.plane, *self._changes)
        nodes = NodeChanges(self._before, NodeColumns.of(self._world.cluster))
        return ScenarioRun(result, found, loaded, self._world.scheduler, nodes)

    def _take_step(self, step: ScenarioStep, change: Changes) -> StepResult:
        """Make the change and run until nothing moves."""
        plane, settling = self._world.plane, self._settling
        warned, refused = {*plane.warnings, *plane.blocked_evictions()}, {each.pod for each in self._refused()}
        settling.begin_step(step.name)
        self._changes.append(change)
        self._world.apply(change)
        self._ending = self._world.run(self._limits)
        facts = StepFacts(plane.store.as_loaded(), settling.tried(), settling.preempting, self._make, change.namespace)
        return StepResult(
            step.name,
            step.place.line,
            (*(f"apply {path}" for path in step.manifests), *(str(each.edit)[2:] for each in step.edits)),
            tuple(facts.outcomes.values()),
            settling.gated(),
            tuple(each for each in self._refused() if each.pod not in refused),
            settling.preempting,
            tuple(check_expectation(each, facts) for each in step.expectations),
            tuple(text for text in (*plane.warnings, *plane.blocked_evictions()) if text not in warned),
        )

    def _refused(self) -> tuple[RefusedPod, ...]:
        return refused_pods(refused_by(self._world.plane))


def play_scenario(path: str, source: LoadedInput, *changes: Changes, limits: Limits = DEFAULT_LIMITS) -> ScenarioRun:
    """Run the steps of the file in a world of the input after the changes. All mistakes of the file are raised
    together."""
    *earlier, first = changes
    for each in earlier:
        source = source.changed(each)
    scenario, problems = load_scenario(path)
    steps, found = rehearse(scenario, source.loaded, first, first.namespace)
    problems += found
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    world = ScenarioWorld(source.loaded, source.scheduler_maker(), first, limits)
    return world.run(scenario, steps)
