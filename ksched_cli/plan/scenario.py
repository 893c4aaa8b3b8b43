"""Scenarios: step by step the cluster is changed, pods are placed, and what was expected is held against it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ksched_cli.api.pod_facts import pod_key
from ksched_cli.errors import UsageError
from ksched_cli.plan.aftermath import Make, play_out
from ksched_cli.plan.expectations import Check, StepFacts, check
from ksched_cli.plan.results import GatedPod, PodOutcome, RefusedPod
from ksched_cli.sources.edits.apply import Edited
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.scenario.model import Scenario, Step
from ksched_cli.sources.scenario.rehearsal import take_step


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step did and what came of it. `pods` has the last cycle of every pod that was pending, `preempting` every
    cycle that preempted."""

    name: str
    line: int
    edits: tuple[str, ...]
    pods: tuple[PodOutcome, ...]
    gated: tuple[GatedPod, ...]
    refused: tuple[RefusedPod, ...]
    preempting: tuple[PodOutcome, ...]
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]

    @property
    def held(self) -> bool:
        return all(each.ok for each in self.checks)


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    name: str
    source: str
    steps: tuple[StepResult, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(each for step in self.steps for each in step.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(each for each in self.checks if not each.ok)


def run_scenario(scenario: Scenario, loaded: Loaded, make: Make, namespace: str = "") -> tuple[ScenarioResult, Loaded]:
    """All steps, also after one whose expectations fail, and the cluster after the last."""
    results = []
    for step in scenario.steps:
        result, loaded = _run_step(scenario.source, step, loaded, make, namespace)
        results.append(result)
    return ScenarioResult(scenario.name, scenario.source, tuple(results)), loaded


def _run_step(source: str, step: Step, loaded: Loaded, make: Make, namespace: str) -> tuple[StepResult, Loaded]:
    edited = edits_of(source, step, loaded, namespace)
    placed = play_out(edited.loaded, make)
    facts = StepFacts(placed.loaded, placed.outcomes, placed.preempting, make, namespace)
    return step_result(step, edited, facts, placed.gated, known=loaded.warnings), placed.loaded


def edits_of(source: str, step: Step, loaded: Loaded, namespace: str) -> Edited:
    edited, problems = take_step(source, step, loaded, namespace)
    if problems:
        raise UsageError(problems)
    return edited


def step_result(
    step: Step, edited: Edited, facts: StepFacts, gated: tuple[GatedPod, ...], known: Collection[str]
) -> StepResult:
    """`known`: warnings that were there before the step."""
    return StepResult(
        step.name,
        step.place.line,
        (*(f"apply {path}" for path in step.manifests), *(str(each.edit)[2:] for each in step.edits)),
        tuple(facts.outcomes.values()),
        gated,
        tuple(RefusedPod(pod_key(each.pod), each.plugin, each.message) for each in edited.refused),
        tuple(facts.preempting),
        tuple(check(each, facts) for each in step.expectations),
        tuple(text for text in facts.loaded.warnings if text not in known),
    )
