"""The composition root: the only place where sources, plugins and the engine meet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from ksched_cli.config.releases import NEWEST
from ksched_cli.errors import ExpectationFailed, Problem, UsageError
from ksched_cli.sources.live.options import LiveOptions
from ksched_cli.wiring.setting import (
    AUTO,
    Configuration,
    PluginGiven,
    Setting,
    make_registry,
    plugin_points,
    setting_of,
)

if TYPE_CHECKING:
    from ksched_cli.api.core import Pod
    from ksched_cli.api.selectors import Selector
    from ksched_cli.cluster.cache import Cluster
    from ksched_cli.cluster.known_pods import KnownPods
    from ksched_cli.engine.extenders.chain import Extenders
    from ksched_cli.engine.registry import Registry
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.engine.timings import Timings
    from ksched_cli.plan.place import Placement, Telling
    from ksched_cli.plan.results import PluginTiming, RefusedPod, Simulation, Stats
    from ksched_cli.sources.admission.chain import Refused
    from ksched_cli.sources.edits.values import Edit
    from ksched_cli.sources.live.api_server import ApiServer
    from ksched_cli.sources.live.cluster import LiveCluster, Progress
    from ksched_cli.sources.loaded import Loaded

    Live = Callable[[], LiveCluster]

__all__ = ["AUTO", "Setting", "make_registry", "plugin_points"]


@dataclass(frozen=True)
class Setup:
    """Everything that decides a run, as the command line gives it."""

    sources: Sequence[str] = ()
    # Kubernetes objects themselves, documents or typed, beside those of the sources.
    objects: Sequence[Any] = ()
    filenames: Sequence[str] = ()
    namespace: str = ""
    selector: str = ""
    live: LiveOptions = field(default_factory=LiveOptions)
    progress: Progress | None = None
    edits: Sequence[Edit] = ()
    # Mistakes in edits that are known before there is a cluster, to be told with those that only it shows.
    edit_problems: Sequence[Problem] = ()
    scenario: str | None = None
    config: Configuration = None
    kube_version: str = AUTO
    feature_gates: str = ""
    plugins: Sequence[PluginGiven] = field(default=())
    tie_break: str = "name"
    seed: int = 0
    sampling: bool = False
    reuse: bool = True
    timings: bool = False
    allow_extenders: bool = False


def read_sources(setup: Setup, stdin: BinaryIO | None, live: Live | None = None) -> Loaded:
    """The sources and objects, or the live cluster where there are neither; `live` has it when it was read already."""
    from ksched_cli.sources.dump import LIVE, load_dump

    sources = setup.sources if setup.sources or setup.objects else [LIVE]
    live = live or (lambda: read_live(setup.live, setup.progress))
    return load_dump(sources, stdin, live=live, objects=setup.objects)


def connect_live(options: LiveOptions) -> ApiServer:
    from ksched_cli.sources.live.connection import connect

    return connect(options)


def read_live(options: LiveOptions, progress: Progress | None) -> LiveCluster:
    from ksched_cli.sources.live.cluster import read_cluster

    try:
        return read_cluster(connect_live(options), progress)
    finally:
        if progress is not None:
            progress.close()


def apply_manifests(loaded: Loaded, setup: Setup, stdin: BinaryIO | None) -> tuple[RefusedPod, ...]:
    """Put manifests and the pods of their workloads into what was loaded; those that admission refuses."""
    filenames, namespace = setup.filenames, setup.namespace or loaded.namespace
    if not filenames:
        return ()
    from ksched_cli.sources.manifests import apply, load_manifests

    return _told(apply(loaded, load_manifests(filenames, stdin, namespace)))


def put_manifests(
    loaded: Loaded, paths: Sequence[str], objects: Sequence[Any] = (), namespace: str = ""
) -> tuple[Loaded, tuple[RefusedPod, ...]]:
    """The cluster with manifests laid over it, in a copy of what was loaded; the pods that admission refuses."""
    from ksched_cli.sources.manifests import apply, load_manifests

    copy = loaded.copied()
    manifests = load_manifests(paths, None, namespace or loaded.namespace, objects)
    return copy, _told(apply(copy, manifests))


def _told(refused: Iterable[Refused]) -> tuple[RefusedPod, ...]:
    from ksched_cli.api.pod_facts import pod_key
    from ksched_cli.plan.results import RefusedPod

    return tuple(RefusedPod(pod_key(each.pod), each.plugin, each.message) for each in refused)


def read_edits(given: Iterable[tuple[str, str]]) -> tuple[tuple[Edit, ...], tuple[Problem, ...]]:
    """Pairs of flag and text to edits in the order in which a command line's are made; what is wrong with them."""
    from ksched_cli.sources.edits.checks import contradictions
    from ksched_cli.sources.edits.parsing import FLAGS, parse

    order = list(FLAGS)
    edits, problems = parse(sorted(given, key=lambda each: order.index(each[0])))
    return tuple(edits), (*problems, *contradictions(edits))


def apply_edits(
    loaded: Loaded, edits: Sequence[Edit], problems: Sequence[Problem] = (), namespace: str = ""
) -> tuple[Loaded, tuple[RefusedPod, ...]]:
    """The cluster with the edits made, in a copy of what was loaded; new pods that admission refuses."""
    if not edits and not problems:
        return loaded, ()
    from ksched_cli.sources.edits.apply import apply

    edited = apply(loaded, edits, problems, namespace or loaded.namespace)
    return edited.loaded, _told(edited.refused)


def make_setting(setup: Setup, server_version: str = "") -> Setting:
    return setting_of(setup.config, setup.kube_version, setup.feature_gates, setup.plugins, server_version)


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

    @property
    def coverage(self) -> dict[str, Any]:
        """What the answer does not take into account, as far as it is known by now."""
        extenders = self.scheduler.extenders
        return {**self.known_coverage, **({"extenders": extenders.report()} if extenders else {})}

    def place(self, *, detail: bool, top: int) -> Placement:
        from ksched_cli.plan.place import place

        return place(self.scheduler, self.telling(detail=detail, top=top))

    def telling(self, *, detail: bool, top: int) -> Telling:
        """What is told of the decisions."""
        from ksched_cli.plan.doubts import Doubts
        from ksched_cli.plan.place import Telling

        missing = self.coverage.get("missing", {})
        doubts = Doubts(missing, [info.pod for info in self.scheduler.cluster.pods.infos]) if missing else None
        return Telling(detail, top, self.wanted, doubts)

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
        )

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


@dataclass(frozen=True)
class Gathered:
    """The input as it was read, with its manifests and edits applied, before any scheduler is made of it. `made` are
    the pods that came with the manifests."""

    loaded: Loaded
    setting: Setting
    refused: tuple[RefusedPod, ...]
    seconds: float
    made: tuple[str, ...] = ()


def gather(setup: Setup, stdin: BinaryIO | None = None, cluster: Loaded | None = None) -> Gathered:
    """Read everything that the setup names, but for a `cluster` that has been read. A scenario has been run to its end,
    and what it expected has held."""
    if setup.scenario is None:
        return read_input(setup, stdin, cluster)
    from ksched_cli.wiring.scenarios import play_scenario

    result, gathered = play_scenario(setup, stdin, cluster)
    if result.failed:
        raise ExpectationFailed(
            Problem(f"{each.text}: {each.against[0]}", result.source, each.line) for each in result.failed
        )
    return gathered


def read_input(setup: Setup, stdin: BinaryIO | None, cluster: Loaded | None = None) -> Gathered:
    """The cluster, unless it has been read already, with the manifests and edits of the setup."""
    from ksched_cli.api.core import Pod
    from ksched_cli.api.pod_facts import pod_key

    started = time.perf_counter()
    wanted_pods(setup)
    loaded = read_sources(setup, stdin) if cluster is None else cluster.copied()
    before = len(loaded.of(Pod))
    refused = apply_manifests(loaded, setup, stdin)
    made = tuple(pod_key(pod) for pod in loaded.of(Pod)[before:])
    loaded, refused_too = apply_edits(loaded, setup.edits, setup.edit_problems, setup.namespace)
    setting = make_setting(setup, loaded.server_version)
    return Gathered(loaded, setting, refused + refused_too, time.perf_counter() - started, made)


def assemble(setup: Setup, gathered: Gathered) -> Prepared:
    """A scheduler over what was gathered; as many as are asked for, each with a cluster of its own."""
    started = time.perf_counter()
    loaded, setting = gathered.loaded, gathered.setting
    scheduler = make_scheduler(setup, loaded, setting)
    coverage = _coverage(scheduler, loaded, setting)
    seconds = gathered.seconds + time.perf_counter() - started
    refused, warnings = gathered.refused, (*loaded.warnings, *setting.warnings_of_runs)
    return Prepared(scheduler, warnings, coverage, seconds, setting.registry, refused, wanted_pods(setup))


def read_query(text: str, option: str = "-l") -> Selector:
    """Labels as the option gives them."""
    from ksched_cli.api.label_query import parse_query
    from ksched_cli.api.selectors import SelectorError

    try:
        return parse_query(text)
    except SelectorError as mistake:
        raise UsageError(f"{option} {text}: {mistake}") from None


def wanted_pods(setup: Setup) -> Callable[[Pod], bool]:
    """Which pods -n and -l ask for."""
    query = read_query(setup.selector)
    namespace = setup.namespace
    return lambda pod: namespace in ("", pod.metadata.namespace) and query.matches(pod.metadata.labels)


def prepare(setup: Setup, stdin: BinaryIO | None = None) -> Prepared:
    """Read the input and put the parts together."""
    return assemble(setup, gather(setup, stdin))


def _coverage(scheduler: Scheduler, loaded: Loaded, setting: Setting) -> dict[str, Any]:
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


def scheduler_maker(setup: Setup, setting: Setting) -> Callable[[Loaded], Scheduler]:
    """For many schedulers over versions of one cluster: what is known of a pod is worked out once for all of them."""
    from ksched_cli.cluster.known_pods import KnownPods

    as_they_are = setting.release is NEWEST and not setting.gates.changed
    known = KnownPods(setting.release) if as_they_are else None
    return lambda loaded: make_scheduler(setup, loaded, setting, known)


def make_scheduler(setup: Setup, loaded: Loaded, setting: Setting, known: KnownPods | None = None) -> Scheduler:
    """A scheduler over what was loaded. Objects are taken by name, so that the order of the input does not matter."""
    from ksched_cli.api.core import Node, Pod
    from ksched_cli.api.policy import PriorityClass
    from ksched_cli.cluster.cache import Cluster
    from ksched_cli.cluster.catalog import Catalog
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.engine.selection import lowest_name, random_choice
    from ksched_cli.engine.timings import Timings
    from ksched_cli.sources.admission.priority import admit_priority
    from ksched_cli.sources.release_fields import as_stored

    pods = sorted(loaded.of(Pod), key=lambda pod: (pod.metadata.namespace, pod.metadata.name))
    admit_priority(pods, loaded.of(PriorityClass))
    if setting.release is not NEWEST or setting.gates.changed:
        pods = as_stored(pods, setting.release, setting.gates)
    nodes = sorted(loaded.of(Node), key=lambda node: node.metadata.name)
    cluster = Cluster(nodes, pods, Catalog(loaded.others()), reuse=setup.reuse, release=setting.release, known=known)
    timings = Timings() if setup.timings else None
    return Scheduler(
        cluster,
        setting.configuration,
        setting.registry,
        setting.release,
        setting.gates,
        setting.points,
        tie_break=random_choice(setup.seed) if setup.tie_break == "random" else lowest_name,
        sampling=setup.sampling,
        timings=timings,
        extenders=_extenders(setting, cluster, timings) if setup.allow_extenders else None,
    )


def _extenders(setting: Setting, cluster: Cluster, timings: Timings | None) -> Extenders | None:
    """Those of the configuration, ready to be called; what they need for it is only imported where there are any."""
    if not setting.configuration.extenders:
        return None
    from ksched_cli.engine.extenders.chain import make_extenders

    return make_extenders(setting.configuration, setting.release, cluster, timings)
