"""The results of the steps of a scenario."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.plan.displayed import Displayed
from ksched_cli.plan.expectations import CheckedExpectation
from ksched_cli.plan.node_columns import NodeChanges
from ksched_cli.plan.results import GatedPod, PodOutcome, RefusedPod
from ksched_cli.plan.settle_world import SettleResult
from ksched_cli.sources.loaded import Loaded
from ksched_cli.world.results import WorldResult


class StepResult(Struct, frozen=True):
    """What a step did and what came of it. `pods` has the last cycle of every pod that was pending, `preempting` every
    cycle that preempted. `end` is what the world came to, and in how many orders."""

    name: str
    line: int
    edits: tuple[str, ...]
    pods: tuple[PodOutcome, ...]
    gated: tuple[GatedPod, ...]
    refused: tuple[RefusedPod, ...]
    preempting: tuple[PodOutcome, ...]
    checks: tuple[CheckedExpectation, ...]
    warnings: tuple[str, ...]
    end: WorldResult

    @property
    def held(self) -> bool:
        return all(each.ok for each in self.checks)


class ScenarioResult(Struct, frozen=True):
    name: str
    source: str
    steps: tuple[StepResult, ...]

    @property
    def checks(self) -> tuple[CheckedExpectation, ...]:
        return tuple(each for step in self.steps for each in step.checks)

    @property
    def failed(self) -> tuple[CheckedExpectation, ...]:
        return tuple(each for each in self.checks if not each.ok)


class ScenarioRun(Displayed, Struct, frozen=True):
    """The result, what the world came to, the cluster after the last step, and the nodes before the first step and
    after the last."""

    result: ScenarioResult
    settlement: SettleResult
    loaded: Loaded
    nodes: NodeChanges

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those about the input; those about a step are in its result."""
        of_steps = {text for step in self.result.steps for text in step.warnings}
        return tuple(text for text in self.loaded.warnings if text not in of_steps)

    @property
    def settled(self) -> bool:
        return self.settlement.world.settled


def least_certain(end: WorldResult, steps: Sequence[WorldResult]) -> WorldResult:
    """The end of the last step with the orders of the step that fits in the fewest of its orders."""
    draws = tuple(dict.fromkeys((*end.draws, *(draw for each in steps for draw in each.draws))))
    found = [(each.orders.finished / each.orders.tried, each) for each in steps if each.orders is not None]
    if not found:
        return end
    _, worst = min(found, key=lambda each: each[0])
    return replace(end, draws=draws, orders=worst.orders, doubtful=worst.doubtful)
