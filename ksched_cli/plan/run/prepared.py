"""Where every pod is after one cycle of each pending pod.

A scheduler over a loaded cluster, ready to run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import CSIStorageCapacity
from ksched_cli.cluster.columns import NOWHERE
from ksched_cli.controlplane.store import Store
from ksched_cli.controlplane.workloads import workload_name
from ksched_cli.engine.registry import IN_TREE_ORIGIN
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.memory import peak_mib
from ksched_cli.plan.results.nodes import NodeChanges, NodeColumns
from ksched_cli.plan.results.outcomes import GatedPod, PluginTiming, PodOutcome, Simulation, Stats
from ksched_cli.plan.run.coverage import MissingKinds, coverage_of
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.simulate import OutputOptions, PlacementRun, SimulationStream, place
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import GonePod
from ksched_cli.world.results import FinalPod

if TYPE_CHECKING:
    from ksched_cli.plan.sweep.statistics import DrawOdds
    from ksched_cli.world.results import FinalPod


def final_pods(
    scheduler: Scheduler,
    outcomes: Mapping[str, PodOutcome],
    gated: Iterable[GatedPod],
    gone: Iterable[GonePod],
    wanted: Callable[[Pod], bool],
) -> tuple[FinalPod, ...]:
    """Every pod of the cluster, and the pods that the changes before the cycles have deleted. `outcomes` has, by key,
    the pods that have no node after their cycle."""
    store = Store(Loaded(), scheduler.cluster.catalog)
    held_back = {each.pod: each for each in gated}
    infos = scheduler.cluster.pods.infos
    rows = (row for row, info in enumerate(infos) if row not in scheduler.cluster.pods.gone and wanted(info.pod))
    there = _pods_there(rows, scheduler, store, outcomes, held_back)
    deleted = (FinalPod(each.pod, each.workload, "gone", why=each.why) for each in gone)
    return tuple(sorted([*there, *deleted], key=lambda pod: (pod.pod, pod.state != "gone")))


def _pods_there(
    rows: Iterable[int],
    scheduler: Scheduler,
    store: Store,
    outcomes: Mapping[str, PodOutcome],
    gated: Mapping[str, GatedPod],
) -> Iterator[FinalPod]:
    cluster = scheduler.cluster
    names, node_row = cluster.nodes.names, cluster.pods.node_row
    for row in rows:
        info = cluster.pods.infos[row]
        workload, had_node = workload_name(store, info.pod), info.pod.spec.node_name
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


class PreparedRun(Struct, frozen=True):
    """The scheduler has a cluster of its own. `load_seconds`: until it was ready."""

    scheduler: Scheduler
    source: LoadedInput
    load_seconds: float
    _coverage: Mapping[str, Any]
    # The nodes before the run.
    nodes: NodeColumns
    odds: DrawOdds | None = None

    @classmethod
    def of(cls, source: LoadedInput) -> PreparedRun:
        started = time.perf_counter()
        scheduler = source.scheduler()
        coverage = coverage_of(scheduler, source.loaded, source.spec)
        nodes = NodeColumns.of(scheduler.cluster)
        return cls(scheduler, source, source.seconds + time.perf_counter() - started, coverage, nodes)

    @property
    def coverage(self) -> dict[str, Any]:
        """The input and the rules that the result ignores. Extenders report when they have been called."""
        extenders = self.scheduler.extenders
        return {**self._coverage, **({"extenders": extenders.report()} if extenders else {})}

    def place(self, *, detail: bool, top: int, brief_above: int | None = None) -> PlacementRun:
        # Only the capacity of storage pools depends on it.
        made = frozenset(self.source.made if self.scheduler.cluster.catalog.all(CSIStorageCapacity) else ())
        output = replace(self.output_options(detail=detail, top=top), brief_above=brief_above)
        return place(self.scheduler, output, made)

    def output_options(self, *, detail: bool, top: int) -> OutputOptions:
        missing = self.coverage.get("missing", {})
        pods = [info.pod for info in self.scheduler.cluster.pods.infos] if missing else []
        return OutputOptions(detail, top, self.source.wanted, MissingKinds(missing, pods) if missing else None)

    def simulate(
        self, *, detail: bool = False, top: int = 3, partial: bool = False, brief_above: int | None = None
    ) -> Simulation:
        """Every pending pod, all results in memory. With `partial` an interrupt ends the run, and `coverage` has how
        many pods had their cycle. `brief_above`: of more pods than so many the results have only what a line of a table
        shows."""
        run = self.place(detail=detail, top=top, brief_above=brief_above)
        outcomes = tuple(run.until_interrupted() if partial else run.outcomes)
        return self._simulation(run, outcomes, len(outcomes))

    def stream(self, *, detail: bool = False, top: int = 3, partial: bool = False) -> SimulationStream:
        """Every pending pod, one result after the other."""
        run = self.place(detail=detail, top=top)
        stream = SimulationStream(run, lambda kept: self._simulation(run, kept, stream.pods), partial=partial)
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
            self.source.gone,
            lambda: self._final({outcome.pod: outcome for outcome in outcomes}, run.gated),
            self.node_changes(),
            self.odds,
        )

    def node_changes(self) -> NodeChanges:
        """The nodes before the run and now."""
        return NodeChanges(self.nodes, NodeColumns.of(self.scheduler.cluster))

    def _final(self, outcomes: Mapping[str, PodOutcome], gated: Iterable[GatedPod]) -> tuple[FinalPod, ...]:
        """Where every wanted pod is after the cycles."""

        return final_pods(self.scheduler, outcomes, gated, self.source.gone, self.source.wanted)

    def stats(self, pods: int, seconds: float) -> Stats:
        rate = pods / seconds if seconds else 0.0
        nodes = len(self.scheduler.cluster.nodes)
        return Stats(nodes, pods, self.load_seconds, seconds, rate, peak_mib(), self._timings())

    def _timings(self) -> tuple[PluginTiming, ...]:
        registry = self.source.spec.registry
        origins = {name: registry.origin(name) for name in registry}
        return tuple(
            PluginTiming(
                point, name, spent.calls, spent.seconds, origins.get(name, "extender").replace(IN_TREE_ORIGIN, "")
            )
            for point, name, spent in self.scheduler.timings or ()
        )
