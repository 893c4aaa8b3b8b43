"""What the scheduler decides in a variant, and whether the expectations of the sweep hold after it."""

from __future__ import annotations

from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.unplaced import UnplacedReasons
from ksched_cli.plan.expectations import CheckedExpectation, StepFacts, check_expectation
from ksched_cli.plan.kept_outcomes import KeptOutcomes
from ksched_cli.plan.simulate import OutputOptions
from ksched_cli.plan.sweep.task import SweepTask
from ksched_cli.world.world import World


class VariantDecisions(UnplacedReasons):
    """Also keeps the last outcome of each pod, where the sweep expects something."""

    def __init__(self, task: SweepTask, scheduler: Scheduler) -> None:
        super().__init__(scheduler.cluster.undo)
        self._expectations, self._namespace = task.space.sweep.expectations, task.namespace
        self._kept = KeptOutcomes(scheduler.cluster, OutputOptions(top=0))

    def __call__(self, decision: Decision) -> None:
        super().__call__(decision)
        if self._expectations:
            self._kept(decision)

    def failed(self, world: World) -> tuple[CheckedExpectation, ...]:
        """The expectations that do not hold at the end of a variant."""
        if not self._expectations:
            return ()
        facts = StepFacts.of(world, self._kept, self._namespace)
        checked = (check_expectation(each, facts) for each in self._expectations)
        return tuple(each for each in checked if not each.ok)
