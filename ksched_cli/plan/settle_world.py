"""A world that keeps the decisions of its scheduler for the result of a run until rest."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.controlplane.draws import Choices
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.queueing.pending import PendingQueue
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.groups import pod_group_outcomes
from ksched_cli.plan.kept_outcomes import KeptOutcomes
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.orders.chance import Chance, in_orders
from ksched_cli.plan.orders.runs import run_in_orders
from ksched_cli.plan.results import PodGroupOutcome, PodOutcome
from ksched_cli.plan.simulate import OutputOptions
from ksched_cli.sources.loaded import Loaded
from ksched_cli.world.results import DEFAULT_LIMITS, Limits, WorldResult
from ksched_cli.world.world import World, WorldChange


class SettleResult(Struct, frozen=True):
    """The end of the world, the last cycle of every tried pod, and every cycle that preempted."""

    world: WorldResult
    outcomes: tuple[PodOutcome, ...]
    pod_groups: tuple[PodGroupOutcome, ...] = ()
    preempting: tuple[PodOutcome, ...] = ()


class SettleWorld:
    """A world whose decisions are kept by name."""

    def __init__(
        self, kept: KeptOutcomes, scheduler: Scheduler, loaded: Loaded, *, keeps_timeline: bool = True
    ) -> None:
        self.kept = kept
        self._chance = Chance()
        self.world = World(
            scheduler,
            loaded,
            keeps_timeline=keeps_timeline,
            wanted=kept.output.wanted,
            trying=self._chance.trying,
            decided=self._decided,
        )

    @classmethod
    def of(cls, source: LoadedInput, *, only_preempting: bool = False) -> SettleWorld:
        """A world of the input. With `only_preempting` it keeps only the cycles that preempt, and no timeline."""
        scheduler = source.scheduler()
        kept = KeptOutcomes(scheduler.cluster, OutputOptions(), only_preempting=only_preempting)
        return cls(kept, scheduler, source.loaded, keeps_timeline=not only_preempting)

    def run(
        self, change: WorldChange, limits: Limits = DEFAULT_LIMITS, at_end: Callable[[], object] = lambda: None
    ) -> WorldResult:
        """Make the change, and go on until nothing moves or a limit is reached, in all orders that chance may take.
        `at_end` is called at the end of each order, of the first order last: the world is there then."""

        def run(choices: Choices) -> WorldResult:
            if not choices:
                return self.run_once(change, limits)
            self.kept.output = self.kept.output.without_detail()
            result = self.run_once(change, limits, moved_only=True)
            at_end()
            return result

        found = run_in_orders(self.world, self._chance, run, in_orders)
        at_end()
        return found

    def run_once(
        self, change: WorldChange, limits: Limits = DEFAULT_LIMITS, *, moved_only: bool = False
    ) -> WorldResult:
        """The same in one order only."""
        before = len(self.world.api.draws.made)
        self.world.apply(change)
        result = self.world.result(self.world.run(limits), moved_only=moved_only)
        return replace(result, draws=result.draws[before:])

    def _decided(self, decision: Decision) -> None:
        self._chance.decided(decision)
        self.kept(decision)

    def settlement(self, result: WorldResult) -> SettleResult:
        held_back = {pod.row: pod.gate for pod in self.world.loop.queue if pod.gate is not None}
        groups = pod_group_outcomes(self.world.scheduler, PendingQueue(gated=held_back))
        return SettleResult(result, self.kept.outcomes, groups, tuple(self.kept.all_preempting))
