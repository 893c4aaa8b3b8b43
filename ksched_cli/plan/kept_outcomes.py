"""The last cycle of each pod in a world, and the cycles that preempted."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.undo import Logged, LoggedDict, LoggedList, LoggedSet
from ksched_cli.engine.decision import Decision
from ksched_cli.plan.results import PodOutcome
from ksched_cli.plan.simulate import OutputOptions, outcome_of


class KeptOutcomes(Logged):
    """Called with each decision of the scheduler. `all_preempting` has the cycles that preempted; with
    `only_preempting` no others are kept."""

    def __init__(self, cluster: Cluster, output: OutputOptions, *, only_preempting: bool = False) -> None:
        self.undo = undo = cluster.undo
        self.output, self._cluster, self._only_preempting = output, cluster, only_preempting
        self._outcomes: dict[int, PodOutcome] = LoggedDict(undo)
        self.all_preempting: list[PodOutcome] = LoggedList(undo)
        # What belongs to the current step of a scenario.
        self._step: set[int] = LoggedSet(undo)
        self._preempted_before = 0

    def __call__(self, decision: Decision) -> None:
        output = self.output
        if not output.wanted(decision.pod.pod) or (self._only_preempting and decision.preemption is None):
            return
        self._outcomes[decision.pod_row] = outcome = outcome_of(decision, self._cluster, output)
        self._step.add(decision.pod_row)
        if outcome.preemption:
            self.all_preempting.append(outcome)

    def begin_step(self) -> None:
        self._step, self._preempted_before = LoggedSet(self.undo), len(self.all_preempting)

    @property
    def outcomes(self) -> tuple[PodOutcome, ...]:
        return tuple(self._outcomes.values())

    @property
    def preempting(self) -> Sequence[PodOutcome]:
        """The cycles of this step that preempted."""
        return self.all_preempting[self._preempted_before :]

    def tried(self) -> dict[str, PodOutcome]:
        """The last cycle of each pod that was tried in this step, or has no node yet."""
        gone = self._cluster.pods.gone
        return {
            outcome.pod: outcome
            for row, outcome in self._outcomes.items()
            if row not in gone and (row in self._step or not outcome.node)
        }
