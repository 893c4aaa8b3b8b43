"""`simulate --settle`: the world runs until nothing moves, and the last cycle of every pod is kept. Draws that are left
open are tried in several orders. `scenario` and `diff` use the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct, structs
from msgspec.structs import replace

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.undo import Logged, LoggedDict, LoggedList, LoggedSet
from ksched_cli.controlplane.draws import Choices
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.pending import PendingQueue, pending
from ksched_cli.plan.results.outcomes import (
    Displayed,
    GatedPod,
    IgnoredPod,
    PodGroupOutcome,
    PodOutcome,
    Simulation,
    refused_pods,
)
from ksched_cli.plan.run.coverage import with_manifest_gaps
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.orders import merge_orders
from ksched_cli.plan.run.run import Run
from ksched_cli.plan.simulate import OutputOptions, outcome_of, pod_group_outcomes
from ksched_cli.whatif.changes import Changes, refused_by
from ksched_cli.world.results import DEFAULT_LIMITS, Limits, WorldResult
from ksched_cli.world.world import WorldChange

_EVERY_POD = OutputOptions()


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


class SettleResult(Struct, frozen=True):
    """The end of the world, the last cycle of every tried pod, and every cycle that preempted."""

    world: WorldResult
    outcomes: tuple[PodOutcome, ...]
    pod_groups: tuple[PodGroupOutcome, ...] = ()
    preempting: tuple[PodOutcome, ...] = ()


class SettleRun(Run):
    """A run until nothing moves whose decisions are kept by name. With `only_preempting` it keeps only the cycles that
    preempt, and no timeline."""

    def __init__(
        self, source: LoadedInput, output: OutputOptions = _EVERY_POD, *, only_preempting: bool = False
    ) -> None:
        super().__init__(source, keeps_timeline=not only_preempting, wanted=output.wanted)
        self.kept = KeptOutcomes(self.cluster, output, only_preempting=only_preempting)
        self.observe(self.kept)

    def settle(
        self, change: WorldChange, limits: Limits = DEFAULT_LIMITS, at_end: Callable[[], object] = lambda: None
    ) -> WorldResult:
        """Make the change, and go on until nothing moves or a limit is reached, in all orders that draws may take.
        `at_end` is called at the end of each order, of the first order last: the world is there then."""

        def run(choices: Choices) -> WorldResult:
            if not choices:
                return self.settle_once(change, limits)
            self.kept.output = self.kept.output.without_detail()
            result = self.settle_once(change, limits, moved_only=True)
            at_end()
            return result

        found = self.run_all_orders(run, merge_orders)
        at_end()
        return found

    def settle_once(
        self, change: WorldChange, limits: Limits = DEFAULT_LIMITS, *, moved_only: bool = False
    ) -> WorldResult:
        """The same in one order only."""
        before = len(self.world.api.draws.made)
        self.world.apply(change)
        result = self.world.result(self.world.run(limits), moved_only=moved_only)
        return replace(result, draws=result.draws[before:])

    def settled(self, result: WorldResult) -> SettleResult:
        """The result with the last cycles of the pods, as the world is now."""
        held_back = {pod.row: pod.gate for pod in self.world.loop.queue if pod.gate is not None}
        groups = pod_group_outcomes(self.scheduler, PendingQueue(gated=held_back))
        return SettleResult(result, self.kept.outcomes, groups, tuple(self.kept.all_preempting))

    def ignored_pods(self) -> tuple[IgnoredPod, ...]:
        """The pending pods of other schedulers."""
        infos = [self.cluster.pods.infos[row] for row in pending(self.cluster)]
        found = [
            IgnoredPod(info.key, info.pod.spec.scheduler_name)
            for info in infos
            if info.pod.spec.scheduler_name not in self.scheduler.runtimes and self.source.wanted(info.pod)
        ]
        return tuple(sorted(found, key=lambda each: each.pod))


class SettledSimulation(Displayed, WorldResult, frozen=True, kw_only=True):
    """The end of the world, with the last cycle of every pod."""

    simulation: Simulation

    @classmethod
    def of(cls, world: WorldResult, simulation: Simulation) -> SettledSimulation:
        return cls(**structs.asdict(world), simulation=simulation)


def _apply_all(changes: Sequence[Changes], plane: ControlPlane) -> None:
    for change in changes:
        change(plane)


def settle_input(
    source: LoadedInput, changes: Sequence[Changes], limits: Limits, *, detail: bool, top: int
) -> SettledSimulation:
    """All changes are applied at the beginning."""
    run = SettleRun(source, OutputOptions(wanted=source.wanted))
    run.kept.output = run.output_options(detail=detail, top=top)
    started = time.perf_counter()
    world = run.world
    found = run.settled(run.settle(partial(_apply_all, changes), limits))
    stats = run.stats(len(found.outcomes), time.perf_counter() - started)
    others = world.plane.store.others_as_loaded()
    gaps = [gap for change in changes if change for gap in change.gaps(others)]
    coverage = with_manifest_gaps(run.coverage, *(change.manifests for change in changes), gaps=gaps)
    gated = (each for each in found.world.final if each.state == "gated")
    simulation = Simulation(
        found.outcomes,
        tuple(GatedPod(each.pod, each.gated_by, (each.message,)) for each in gated),
        run.ignored_pods(),
        coverage,
        stats,
        (*source.warnings, *world.plane.warnings, *world.plane.blocked_evictions()),
        (*source.refused, *refused_pods(refused_by(world.plane))),
        found.pod_groups,
        nodes=run.node_changes(),
        autoscaling=run.provisioned(),
    )
    return SettledSimulation.of(found.world, simulation)
