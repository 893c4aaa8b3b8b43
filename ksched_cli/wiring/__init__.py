"""The composition root: the only place where sources, plugins and the engine meet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from ksched_cli.releases.minors import NEWEST
from ksched_cli.wiring.reading import (
    LoadedInput,
    change_gathered,
    connect_live,
    gather,
    read_edits,
    read_input,
    read_sources,
)
from ksched_cli.wiring.setting import AUTO, SchedulerSpec, make_registry, plugin_points
from ksched_cli.wiring.setup import RunOptions, make_setting, read_query

if TYPE_CHECKING:
    from ksched_cli.api.core import Node, Pod
    from ksched_cli.cluster.cache import Cluster
    from ksched_cli.cluster.known_pods import KnownPods
    from ksched_cli.engine.extenders.chain import Extenders
    from ksched_cli.engine.registry import Registry
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.engine.timings import Timings
    from ksched_cli.plan.results import GatedPod, PluginTiming, PodOutcome, RefusedPod, Simulation, Stats
    from ksched_cli.plan.simulate import OutputOptions, PlacementRun
    from ksched_cli.sources.loaded import Loaded
    from ksched_cli.whatif.changes import GonePod
    from ksched_cli.world.results import FinalPod

__all__ = [
    "AUTO",
    "LoadedInput",
    "RunOptions",
    "SchedulerSpec",
    "change_gathered",
    "connect_live",
    "gather",
    "make_registry",
    "make_setting",
    "plugin_points",
    "read_edits",
    "read_input",
    "read_query",
    "read_sources",
]


@dataclass
class Prepared:
    """A scheduler ready to run, and what there is to say about its input."""

    scheduler: Scheduler
    warnings: tuple[str, ...]
    known_coverage: Mapping[str, Any]
    load_seconds: float
    registry: Registry
    refused: tuple[RefusedPod, ...] = ()
    wanted: Callable[[Pod], bool] = lambda pod: True
    gone: tuple[GonePod, ...] = ()

    @property
    def coverage(self) -> dict[str, Any]:
        """What the answer does not take into account, as far as it is known by now."""
        extenders = self.scheduler.extenders
        return {**self.known_coverage, **({"extenders": extenders.report()} if extenders else {})}

    def place(self, *, detail: bool, top: int) -> PlacementRun:
        from ksched_cli.plan.simulate import place

        return place(self.scheduler, self.output_options(detail=detail, top=top))

    def output_options(self, *, detail: bool, top: int) -> OutputOptions:
        """What is told of the decisions."""
        from ksched_cli.plan.missing_kinds import MissingKinds
        from ksched_cli.plan.simulate import OutputOptions

        missing = self.coverage.get("missing", {})
        missing_kinds = (
            MissingKinds(missing, [info.pod for info in self.scheduler.cluster.pods.infos]) if missing else None
        )
        return OutputOptions(detail, top, self.wanted, missing_kinds)

    def simulate(self, *, detail: bool = False, top: int = 3) -> Simulation:
        """Every pending pod, all results in memory."""
        from ksched_cli.plan.results import Simulation

        placement = self.place(detail=detail, top=top)
        outcomes = tuple(placement.outcomes)
        stats = self.stats(len(outcomes), placement.clock.seconds)
        return Simulation(
            outcomes,
            placement.gated,
            placement.ignored,
            self.coverage,
            stats,
            self.warnings,
            self.refused,
            placement.pod_groups(),
            self.gone,
            lambda: self.final({outcome.pod: outcome for outcome in outcomes}, placement.gated),
        )

    def final(self, outcomes: Mapping[str, PodOutcome], gated: Iterable[GatedPod]) -> tuple[FinalPod, ...]:
        """Where every pod is that is asked for, after the cycles."""
        from ksched_cli.plan.final_pods import final_pods

        return final_pods(self.scheduler, outcomes, gated, self.gone, self.wanted)

    def stats(self, pods: int, seconds: float) -> Stats:
        from ksched_cli.plan.memory import peak_mib
        from ksched_cli.plan.results import Stats

        rate = pods / seconds if seconds else 0.0
        nodes = len(self.scheduler.cluster.nodes)
        return Stats(nodes, pods, self.load_seconds, seconds, rate, peak_mib(), self._timings())

    def _timings(self) -> tuple[PluginTiming, ...]:
        from ksched_cli.engine.registry import IN_TREE_ORIGIN
        from ksched_cli.plan.results import PluginTiming

        origins = {name: self.registry.origin(name) for name in self.registry}
        return tuple(
            PluginTiming(
                point, name, spent.calls, spent.seconds, origins.get(name, "extender").replace(IN_TREE_ORIGIN, "")
            )
            for point, name, spent in self.scheduler.timings or ()
        )


def assemble(setup: RunOptions, gathered: LoadedInput) -> Prepared:
    """A scheduler over what was gathered; as many as are asked for, each with a cluster of its own."""
    started = time.perf_counter()
    loaded, setting = gathered.loaded, gathered.setting
    scheduler = make_scheduler(setup, loaded, setting)
    coverage = coverage_of(scheduler, loaded, setting)
    seconds = gathered.seconds + time.perf_counter() - started
    refused, warnings = gathered.refused, (*loaded.warnings, *setting.warnings_of_runs)
    return Prepared(scheduler, warnings, coverage, seconds, setting.registry, refused, gathered.wanted, gathered.gone)


def prepare(setup: RunOptions, stdin: BinaryIO | None = None) -> Prepared:
    """Read the input and put the parts together."""
    return assemble(setup, gather(setup, stdin))


def coverage_of(scheduler: Scheduler, loaded: Loaded, setting: SchedulerSpec) -> dict[str, Any]:
    """What the answer does not take into account."""
    coverage: dict[str, Any] = {"kubeVersion": setting.release.version}
    if not setting.modelled:
        coverage["kubeVersionNotModelled"] = setting.asked
    if not setting.release.recorded:
        coverage["kubeVersionReadFromSource"] = setting.release.version
    if loaded.unknown:
        coverage["notRead"] = dict(sorted(loaded.unknown.items()))
    if loaded.missing:
        coverage["missing"] = dict(sorted(loaded.missing.items()))
    if loaded.gaps:
        coverage["admissionNotModelled"] = list(loaded.gaps)
    if scheduler.not_modelled:
        coverage["pluginsNotModelled"] = list(scheduler.not_modelled)
    if scheduler.gates_not_modelled:
        coverage["featureGatesNotModelled"] = list(scheduler.gates_not_modelled)
    if scheduler.extenders_skipped:
        from ksched_cli.config.extenders import extender_name, not_called

        coverage["extendersNotCalled"] = [extender_name(each) for each in scheduler.extenders_skipped]
        coverage["extendersCouldChange"] = [not_called(each) for each in scheduler.extenders_skipped]
    return coverage


def scheduler_maker(setup: RunOptions, setting: SchedulerSpec) -> Callable[[Loaded], Scheduler]:
    """For many schedulers over versions of one cluster: what is known of a pod is worked out once for all of them."""
    from ksched_cli.cluster.known_pods import KnownPods

    as_they_are = setting.release is NEWEST and not setting.gates.changed
    known = KnownPods(setting.release) if as_they_are else None
    return lambda loaded: make_scheduler(setup, loaded, setting, known)


def _in_order(nodes: Iterable[Node]) -> list[Node]:
    """In the order in which an API server lists them: by name. It decides whose report of an image's size counts."""
    return sorted(nodes, key=lambda node: node.metadata.name)


def make_scheduler(
    setup: RunOptions, loaded: Loaded, setting: SchedulerSpec, known: KnownPods | None = None
) -> Scheduler:
    """A scheduler over what was loaded. Objects are taken by name, so that the order of the input does not matter."""
    from ksched_cli.api.core import Node, Pod
    from ksched_cli.api.policy import PriorityClass
    from ksched_cli.cluster.cache import Cluster
    from ksched_cli.cluster.catalog import Catalog
    from ksched_cli.controlplane.admission.priority import admit_priority
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.engine.selection import lowest_name, random_choice
    from ksched_cli.engine.timings import Timings
    from ksched_cli.sources.release_fields import as_stored

    pods = sorted(loaded.of(Pod), key=lambda pod: (pod.metadata.namespace, pod.metadata.name))
    admit_priority(pods, loaded.of(PriorityClass))
    if setting.release is not NEWEST or setting.gates.changed:
        pods = as_stored(pods, setting.release, setting.gates)
    nodes = _in_order(loaded.of(Node))
    cluster = Cluster(nodes, pods, Catalog(loaded.others()), reuse=setup.reuse, release=setting.release, known=known)
    timings = Timings() if setup.timings else None
    return Scheduler(
        cluster,
        setting.configuration,
        setting.registry,
        setting.release,
        setting.gates,
        setting.points,
        tie_break=random_choice(setup.seed, cluster.undo) if setup.tie_break == "random" else lowest_name,
        sampling=setup.sampling,
        timings=timings,
        extenders=_extenders(setting, cluster, timings) if setup.allow_extenders else None,
    )


def _extenders(setting: SchedulerSpec, cluster: Cluster, timings: Timings | None) -> Extenders | None:
    """Those of the configuration, ready to be called; what they need for it is only imported where there are any."""
    if not setting.configuration.extenders:
        return None
    from ksched_cli.engine.extenders.chain import make_extenders

    return make_extenders(setting.configuration, setting.release, cluster, timings)
