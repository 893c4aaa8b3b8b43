"""What the scheduler decides in a variant, and whether the expectations of the sweep hold after it."""

from __future__ import annotations

from ksched_cli.cluster.undo import LoggedDict, LoggedList
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.unplaced import UnplacedReasons
from ksched_cli.plan.expectations import CheckedExpectation, StepFacts, check_expectation
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.results import PodOutcome
from ksched_cli.plan.simulate import outcome_of
from ksched_cli.plan.sweep.task import SweepTask
from ksched_cli.world.world import World


class VariantDecisions(UnplacedReasons):
    """Also keeps the last outcome of each pod, where the sweep expects something."""

    def __init__(self, task: SweepTask, source: LoadedInput, scheduler: Scheduler) -> None:
        undo = scheduler.cluster.undo
        super().__init__(undo)
        self._expectations = task.space.sweep.expectations
        self._make, self._namespace = source.scheduler_maker(), task.namespace
        self._cluster = scheduler.cluster
        self._outcomes: dict[int, PodOutcome] = LoggedDict(undo)
        self._preempting: list[PodOutcome] = LoggedList(undo)

    def __call__(self, decision: Decision) -> None:
        super().__call__(decision)
        if not self._expectations:
            return
        outcome = outcome_of(decision, self._cluster, detail=False, top=0)
        self._outcomes[decision.pod_row] = outcome
        if outcome.preemption:
            self._preempting.append(outcome)

    def failed(self, world: World) -> tuple[CheckedExpectation, ...]:
        """The expectations that do not hold at the end of a variant."""
        if not self._expectations:
            return ()
        gone = self._cluster.pods.gone
        outcomes = {each.pod: each for row, each in self._outcomes.items() if row not in gone}
        facts = StepFacts(world.plane.store.as_loaded(), outcomes, tuple(self._preempting), self._make, self._namespace)
        checked = (check_expectation(each, facts) for each in self._expectations)
        return tuple(each for each in checked if not each.ok)
