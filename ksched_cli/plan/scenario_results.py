"""What the steps of a scenario came to."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.plan.expectations import CheckedExpectation
from ksched_cli.plan.results import GatedPod, PodOutcome, RefusedPod


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
    checks: tuple[CheckedExpectation, ...]
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
    def checks(self) -> tuple[CheckedExpectation, ...]:
        return tuple(each for step in self.steps for each in step.checks)

    @property
    def failed(self) -> tuple[CheckedExpectation, ...]:
        return tuple(each for each in self.checks if not each.ok)
