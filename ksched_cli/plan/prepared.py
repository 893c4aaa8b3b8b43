"""A scheduler over a loaded cluster, ready to run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.storage import CSIStorageCapacity
from ksched_cli.engine.registry import IN_TREE_ORIGIN
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.memory import peak_mib
from ksched_cli.plan.coverage import coverage_of
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.missing_kinds import MissingKinds
from ksched_cli.plan.node_columns import NodeChanges, NodeColumns
from ksched_cli.plan.results import GatedPod, PluginTiming, PodOutcome, Simulation, Stats
from ksched_cli.plan.simulate import OutputOptions, PlacementRun, SimulationStream, place

if TYPE_CHECKING:
    from ksched_cli.plan.sweep.odds import DrawOdds
    from ksched_cli.world.results import FinalPod


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
        from ksched_cli.plan.final_pods import final_pods

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
