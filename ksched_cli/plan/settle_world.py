"""A world that keeps the decisions of its scheduler for the result of a run until rest."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.controlplane.draws import Choices
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.queueing.pending import PendingQueue
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.groups import pod_group_outcomes
from ksched_cli.plan.orders.chance import Chance, chosen
from ksched_cli.plan.results import GatedPod, PodGroupOutcome, PodOutcome
from ksched_cli.plan.simulate import OutputOptions, outcome_of
from ksched_cli.sources.loaded import Loaded
from ksched_cli.world.results import Limits, WorldResult
from ksched_cli.world.world import World, WorldChange


@dataclass(frozen=True, slots=True)
class SettleResult:
    """What the world came to, the last cycle of every pod that was tried, and every cycle that preempted."""

    world: WorldResult
    outcomes: tuple[PodOutcome, ...]
    pod_groups: tuple[PodGroupOutcome, ...] = ()
    preempting: tuple[PodOutcome, ...] = ()


class SettleWorld:
    """A world whose decisions are kept by name: the last of each pod, and those that preempted."""

    def __init__(self, scheduler: Scheduler, output: OutputOptions, loaded: Loaded | None = None) -> None:
        self._output = output
        self._outcomes: dict[int, PodOutcome] = {}
        self._step: set[int] = set()
        self._preempting: list[PodOutcome] = []
        self._preempted_before = 0
        self.chance = Chance()
        self.world = World(scheduler, loaded, wanted=output.wanted, trying=self.chance.trying, decided=self._decided)
        self.chance.begin(self.world.cluster, {})

    def again(self, change: WorldChange, limits: Limits, choices: Choices) -> WorldResult:
        """The end of a run after the change in which chance decides so. The world is as it was before."""
        with self.world.trial(), chosen(self.world, self.chance.begin(self.world.cluster, choices), choices):
            self.world.apply(change)
            return self.world.result(self.world.run(limits), moved_only=True)

    def _decided(self, decision: Decision) -> None:
        self.chance.decided(decision)
        told = self._output
        if not told.wanted(decision.pod.pod):
            return
        cluster = self.world.cluster
        outcome = outcome_of(decision, cluster, detail=told.detail, top=told.top, missing_kinds=told.missing_kinds)
        self._outcomes[decision.pod_row] = outcome
        self._step.add(decision.pod_row)
        if outcome.preemption:
            self._preempting.append(outcome)

    def begin_step(self, name: str) -> None:
        """From here on is the part of the timeline that belongs to this step of a scenario."""
        self.world.recorder.note("Step", message=name)
        self._step, self._preempted_before = set(), len(self._preempting)

    @property
    def preempting(self) -> tuple[PodOutcome, ...]:
        """The cycles of this step that preempted."""
        return tuple(self._preempting[self._preempted_before :])

    def tried(self) -> dict[str, PodOutcome]:
        """The last cycle of each pod that was tried in this step, or has no node yet."""
        gone = self.world.cluster.pods.gone
        return {
            outcome.pod: outcome
            for row, outcome in self._outcomes.items()
            if row not in gone and (row in self._step or not outcome.node)
        }

    def gated(self) -> tuple[GatedPod, ...]:
        held = (pod for pod in self.world.loop.queue if pod.gated)
        return tuple(GatedPod(pod.info.key, pod.gating_plugin, (pod.gating_message,)) for pod in held)

    def settlement(self, result: WorldResult) -> SettleResult:
        return SettleResult(result, tuple(self._outcomes.values()), self._groups(), tuple(self._preempting))

    def _groups(self) -> tuple[PodGroupOutcome, ...]:
        held_back = {pod.row: pod.gate for pod in self.world.loop.queue if pod.gate is not None}
        return pod_group_outcomes(self.world.scheduler, PendingQueue(gated=held_back))
