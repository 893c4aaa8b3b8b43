"""Scenarios: step by step a world is changed and comes to rest, and what was expected is compared with it."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.errors import InputError
from ksched_cli.plan.expectations import CheckedExpectation, StepFacts, check_expectation, in_all_orders
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.node_columns import NodeChanges, NodeColumns
from ksched_cli.plan.results import GatedPod, RefusedPod, refused_pods
from ksched_cli.plan.scenario_results import ScenarioResult, ScenarioRun, StepResult, least_certain
from ksched_cli.plan.settle_world import SettleWorld
from ksched_cli.whatif.changes import Changes, loaded_after, refused_by
from ksched_cli.whatif.scenario.load import load_scenario
from ksched_cli.whatif.scenario.model import Scenario, ScenarioStep
from ksched_cli.whatif.scenario.rehearsal import rehearse
from ksched_cli.world.results import DEFAULT_LIMITS, Ending, Limits


class ScenarioWorld:
    """`first` is changed before the first step."""

    def __init__(self, settling: SettleWorld, first: Changes, limits: Limits) -> None:
        self._settling, self._world, self._limits = settling, settling.world, limits
        self._before = NodeColumns.of(self._world.cluster)
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
        end = least_certain(self._world.result(self._ending), [each.end for each in results])
        found = self._settling.settlement(end)
        loaded = loaded_after(self._world.plane, *self._changes)
        nodes = NodeChanges(self._before, NodeColumns.of(self._world.cluster))
        return ScenarioRun(result, found, loaded, nodes)

    def _take_step(self, step: ScenarioStep, change: Changes) -> StepResult:
        """Make the change and run until nothing moves, in the orders that chance may take."""
        plane, kept = self._world.plane, self._settling.kept
        warned, refused = {*plane.warnings, *plane.blocked_evictions()}, {each.pod for each in self._refused()}
        self._world.recorder.note("Step", message=step.name)
        kept.begin_step()
        self._changes.append(change)
        ends: list[tuple[CheckedExpectation, ...]] = []
        result = self._settling.run(change, self._limits, lambda: ends.append(self._checked(step, change)))
        self._ending = result.ending
        return StepResult(
            step.name,
            step.place.line,
            (*(f"apply {path}" for path in step.manifests), *(str(each.edit)[2:] for each in step.edits)),
            tuple(kept.tried().values()),
            self._gated(),
            tuple(each for each in self._refused() if each.pod not in refused),
            tuple(kept.preempting),
            tuple(map(in_all_orders, zip(*ends, strict=True))),
            tuple(text for text in (*plane.warnings, *plane.blocked_evictions()) if text not in warned),
            result,
        )

    def _checked(self, step: ScenarioStep, change: Changes) -> tuple[CheckedExpectation, ...]:
        """The expectations as the world is now."""
        facts = StepFacts.of(self._world, self._settling.kept, change.namespace)
        return tuple(check_expectation(each, facts) for each in step.expectations)

    def _gated(self) -> tuple[GatedPod, ...]:
        held = (pod for pod in self._world.loop.queue if pod.gated)
        return tuple(GatedPod(pod.info.key, pod.gating_plugin, (pod.gating_message,)) for pod in held)

    def _refused(self) -> tuple[RefusedPod, ...]:
        return refused_pods(refused_by(self._world.plane))


def play_scenario(
    path: str,
    source: LoadedInput,
    *changes: Changes,
    limits: Limits = DEFAULT_LIMITS,
    settling: SettleWorld | None = None,
) -> ScenarioRun:
    """Run the steps of the file after the changes, in a world of the input, which is `settling` if there is one. All
    mistakes of the file are raised together."""
    *earlier, first = changes
    for each in earlier:
        source = source.changed(each)
    scenario, problems = load_scenario(path)
    steps, found = rehearse(scenario, source.loaded, first, first.namespace)
    problems += found
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    return ScenarioWorld(settling or SettleWorld.of(source), first, limits).run(scenario, steps)
