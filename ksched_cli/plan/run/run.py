"""One run: a scheduler over a loaded input, and the world in which the input is changed.

Every command that schedules pods is a `Run` with its own changes and its own rule when to stop. `simulate` gives each
pending pod one cycle and needs no world; `final_pods` lists where every pod is then. All others change the world
(`World`) and run it until nothing moves. What must not last is done in a `WorldTrial` of the world. Draws (ties, draws
of controllers) are tried in other orders by `run_all_orders`.

The world is made when it is first used: only then the controllers of `controlplane/` are imported. Controllers from
outside, such as autoscalers, come with the input (`LoadedInput.controllers`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import CSIStorageCapacity
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.registry import IN_TREE_ORIGIN
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.results.nodes import NodeChanges, NodeColumns
from ksched_cli.plan.results.outcomes import (
    ENGINE,
    DrawOdds,
    GatedPod,
    PluginTiming,
    PodOutcome,
    PodsAfterCycles,
    Simulation,
    Stats,
)
from ksched_cli.plan.run.coverage import MissingKinds, coverage_of
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.simulate import OutputOptions, PlacementRun, SimulationStream, place
from ksched_cli.process import is_copy, peak_mib
from ksched_cli.sources.loaded import Loaded
from ksched_cli.world.results import FinalPod

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning
    from ksched_cli.controlplane.draws import Alternative, Choices
    from ksched_cli.plan.run.orders import DrawWatch
    from ksched_cli.world.results import Ending, FinalPod
    from ksched_cli.world.world import World, WorldChange, WorldTrial


R = TypeVar("R")
# Computes a result with these draws.
InOrder = Callable[["Choices"], R]


class Run:
    """`nodes` are the nodes before the run, `load_seconds` the time until the scheduler was ready. The world keeps a
    timeline if `keeps_timeline` is set, and shows the pods that are `wanted`. With `scheduler` the run takes over one
    that has placed nothing yet. `matters` returns whether it matters if the pod of a decision has a node: draws are
    tried in other orders only if such a pod may lose its node."""

    def __init__(
        self,
        source: LoadedInput,
        *,
        scheduler: Scheduler | None = None,
        keeps_timeline: bool = False,
        wanted: Callable[[Pod], bool] = lambda pod: True,
        odds: DrawOdds | None = None,
    ) -> None:
        started = time.perf_counter()
        self.source, self.odds = source, odds
        self.scheduler = scheduler or source.scheduler()
        self.cluster: Cluster = self.scheduler.cluster
        self._coverage = coverage_of(self.scheduler, source.loaded, source.spec, source.autoscaler)
        self.nodes = NodeColumns.of(self.cluster)
        self.load_seconds = source.seconds + time.perf_counter() - started
        self._keeps_timeline, self._wanted = keeps_timeline, wanted
        self._observers: list[Callable[[Decision], None]] = []
        self.matters: Callable[[Decision], bool] = lambda decision: True

    # The world

    @cached_property
    def world(self) -> World:
        """The simulated cluster. It is made of the cluster as it is when the world is first used."""
        # Imported here: a run without changes needs no controllers.
        from ksched_cli.world.world import World

        return World(
            self.scheduler,
            self.source.loaded,
            keeps_timeline=self._keeps_timeline,
            wanted=self._wanted,
            trying=self.draw_watch.trying,
            decided=self._decided,
            controllers=self.source.controllers,
        )

    @cached_property
    def draw_watch(self) -> DrawWatch:
        from ksched_cli.plan.run.orders import DrawWatch

        return DrawWatch()

    def observe(self, decided: Callable[[Decision], None]) -> None:
        """Call this with each decision of the scheduler in the world."""
        self._observers.append(decided)

    def _decided(self, decision: Decision) -> None:
        if self.draw_watch.observes:
            self.draw_watch.decided(decision, matters=self.matters(decision))
        for observer in self._observers:
            observer(decision)

    def trial(self, *changes: WorldChange) -> WorldTrial:
        """A trial of the world in which these changes are made."""
        return self.world.trial(*changes)

    @contextmanager
    def last_trial(self) -> Iterator[None]:
        """A trial with which a copy of this process ends: the copy notes nothing that a roll back would need."""
        if is_copy():
            self.world.undo.forget_in_process()
            yield
            return
        with self.trial():
            yield

    def until_rest(self) -> Ending:
        """Let the world go on until nothing moves."""
        from ksched_cli.world.results import DEFAULT_LIMITS, Limits

        now, cycles = self.world.clock.now, self.world.cycles
        return self.world.run(Limits(now + DEFAULT_LIMITS.max_time, cycles + DEFAULT_LIMITS.max_cycles))

    # Draws

    def in_order(self, run: InOrder[R], choices: Choices) -> R:
        """Run with the draws of `choices`."""
        from ksched_cli.plan.run.orders import chosen

        with chosen(self.world, self.draw_watch, choices):
            return run(choices)

    def run_all_orders(self, run: InOrder[R], merge: Callable[[R, Sequence[Alternative], InOrder[R]], R]) -> R:
        """Run in the first order, and in others if a draw may matter. `merge` makes one result
        of the first one, and of the runs with the alternatives. The world is then at the end of the first order."""
        from ksched_cli.plan.run.orders import FIRST_ORDER

        trial = self.trial().begin()
        # A run that is too long for other orders is never rolled back.
        self.draw_watch.when_long = trial.commit
        first = self.in_order(run, FIRST_ORDER)
        self.draw_watch.when_long = None
        others = self.draw_watch.others(self.world)
        if others:
            trial.roll_back()
            first = merge(first, others, partial(self.try_order, run))
            self.in_order(run, FIRST_ORDER)
        else:
            trial.commit()
        return first

    def try_order(self, run: InOrder[R], choices: Choices) -> R:
        """The result of a run with these draws. The run is rolled back."""
        with self.trial():
            return self.in_order(run, choices)

    # One cycle for each pod

    @property
    def coverage(self) -> dict[str, Any]:
        """The input and the rules that the result ignores. Extenders report when they have been called."""
        extenders = self.scheduler.extenders
        return {**self._coverage, **({"extenders": extenders.report()} if extenders else {})}

    def place(
        self, *, detail: bool, top: int, brief_above: int | None = None, curve: Sequence[str] = ()
    ) -> PlacementRun:
        # Only the capacity of storage pools depends on it.
        made = frozenset(self.source.made if self.cluster.catalog.all(CSIStorageCapacity) else ())
        output = replace(self.output_options(detail=detail, top=top), brief_above=brief_above, curve=tuple(curve))
        return place(self.scheduler, output, made)

    def output_options(self, *, detail: bool, top: int) -> OutputOptions:
        missing = self.coverage.get("missing", {})
        pods = [info.pod for info in self.cluster.pods.infos] if missing else []
        return OutputOptions(detail, top, self.source.wanted, MissingKinds(missing, pods) if missing else None)

    def simulate(
        self,
        *,
        detail: bool = False,
        top: int = 3,
        stop_on_interrupt: bool = False,
        brief_above: int | None = None,
        curve: Sequence[str] = (),
    ) -> Simulation:
        """Every pending pod, all results in memory. With `stop_on_interrupt` an interrupt ends the run, and `coverage`
        has how many pods had their cycle. `brief_above`: of more pods than so many the results have only what a line of
        a table shows. `curve`: the resources whose curves are recorded."""
        run = self.place(detail=detail, top=top, brief_above=brief_above, curve=curve)
        outcomes = tuple(run.until_interrupted() if stop_on_interrupt else run.outcomes)
        return self._simulation(run, outcomes, len(outcomes))

    def stream(
        self, *, detail: bool, top: int, stop_on_interrupt: bool = False, curve: Sequence[str] = ()
    ) -> SimulationStream:
        """Every pending pod, one result after the other."""
        run = self.place(detail=detail, top=top, curve=curve)
        stream = SimulationStream(
            run, lambda kept: self._simulation(run, kept, stream.pods), stop_on_interrupt=stop_on_interrupt
        )
        return stream

    def _simulation(self, run: PlacementRun, outcomes: tuple[PodOutcome, ...], pods: int) -> Simulation:
        """`pods` is how many had a cycle."""
        return Simulation(
            outcomes,
            run.gated,
            run.ignored,
            {**self.coverage, **({"interrupted": {"pods": pods, "of": run.pods}} if run.was_interrupted else {})},
            self.stats(pods, run.seconds),
            self.source.warnings,
            self.source.refused,
            run.pod_groups(),
            self.source.deleted,
            PodsAfterCycles(lambda: final_pods(self, {outcome.pod: outcome for outcome in outcomes}, run.gated)),
            self.node_changes(),
            self.odds,
            self._autoscaling(outcomes),
            run.curves(),
        )

    def provisioned(self) -> Provisioning | None:
        """The nodes that the autoscaler has added to the world, None without an autoscaler."""
        autoscaler = self.source.autoscaler
        return None if autoscaler is None else autoscaler.result_in(self.world)

    def _autoscaling(self, outcomes: Iterable[PodOutcome]) -> Provisioning | None:
        """The nodes that the autoscaler of the cluster adds, for the input as it was read."""
        autoscaler = self.source.autoscaler
        if autoscaler is None:
            return None
        failed = [outcome.pod for outcome in outcomes if outcome.unplaced]
        return autoscaler.answer(self.source.loaded, self.source.made, failed)

    def node_changes(self) -> NodeChanges:
        """The nodes before the run and now."""
        return NodeChanges(self.nodes, NodeColumns.of(self.cluster))

    def stats(self, pods: int, seconds: float) -> Stats:
        rate = pods / seconds if seconds else 0.0
        nodes = len(self.cluster.nodes)
        return Stats(
            nodes,
            pods,
            round(self.load_seconds, 4),
            round(seconds, 4),
            round(rate, 1),
            round(peak_mib(), 1),
            self._timings(seconds),
        )

    def _timings(self, seconds: float) -> tuple[PluginTiming, ...]:
        """The plugins and extenders in the order of their points, and the engine with its memory."""
        timings, registry = self.scheduler.timings, self.source.spec.registry
        if timings is None:
            return ()
        from ksched_cli.engine.timings import REMEMBERED_POINTS, is_asked_for_every_pod

        found = []
        for point, name, spent in timings:
            origin = registry.origin(name) if name in registry else "extender"
            found.append(
                PluginTiming(
                    point,
                    name,
                    spent.calls,
                    max(timings.cycles - spent.cycles, 0) if point in REMEMBERED_POINTS else 0,
                    round(spent.seconds, 6),
                    origin.replace(IN_TREE_ORIGIN, ""),
                    name in registry and is_asked_for_every_pod(registry[name]),
                )
            )
        rest = round(max(seconds - timings.seconds, 0.0), 6)
        return (*found, PluginTiming("cycle", ENGINE, timings.cycles, 0, rest))


def final_pods(run: Run, outcomes: Mapping[str, PodOutcome], gated: Iterable[GatedPod]) -> tuple[FinalPod, ...]:
    """Every wanted pod of the cluster after the cycles, and the pods that the changes before them have deleted.
    `outcomes` has, by key, the pods that have no node after their cycle."""
    from ksched_cli.controlplane.store import Store, WorkloadNames

    pods, wanted = run.cluster.pods, run.source.wanted
    workload_of = WorkloadNames(Store(Loaded(), run.cluster.catalog))
    held_back = {each.pod: each for each in gated}
    rows = (row for row, info in enumerate(pods.infos) if row not in pods.gone and wanted(info.pod))
    there = _pods_there(rows, run.scheduler, workload_of, outcomes, held_back)
    deleted = (FinalPod(each.pod, each.workload, "gone", why=each.why) for each in run.source.deleted)
    return tuple(sorted([*there, *deleted], key=lambda pod: (pod.pod, pod.state != "gone")))


def _pods_there(
    rows: Iterable[int],
    scheduler: Scheduler,
    workload_of: Callable[[Pod], str],
    outcomes: Mapping[str, PodOutcome],
    gated: Mapping[str, GatedPod],
) -> Iterator[FinalPod]:
    cluster = scheduler.cluster
    names, node_row = cluster.nodes.names, cluster.pods.node_row
    for row in rows:
        info = cluster.pods.infos[row]
        workload, had_node = workload_of(info.pod), info.pod.spec.node_name
        if node_row[row] != NOWHERE or had_node:
            node = had_node or names[node_row[row]]
            leaving = bool(cluster.pods.terminating[row])
            state = "leaving" if leaving else "running" if had_node else "scheduled"
            yield FinalPod(info.key, workload, state, node, moved=leaving or not had_node)
        elif info.key in gated:
            held = gated[info.key]
            yield FinalPod(info.key, workload, "gated", message=", ".join(held.reasons), gated_by=held.plugin)
        elif info.pod.spec.scheduler_name not in scheduler.runtimes:
            yield FinalPod(info.key, workload, "ignored")
        else:
            yield _without_node(info.key, workload, outcomes.get(info.key))


def _without_node(pod: str, workload: str, outcome: PodOutcome | None) -> FinalPod:
    if outcome is None:
        return FinalPod(pod, workload, "pending")
    state = "nominated" if outcome.nominated_node else outcome.result
    return FinalPod(
        pod,
        workload,
        state,
        nominated_node=outcome.nominated_node,
        message=outcome.message,
        unschedulable_plugins=outcome.unschedulable_plugins,
    )
