"""The options of one run, the input that was loaded for them, and its scheduler before there is a cluster.

`SchedulerSpec` has the version, gates, plugins and configuration of the scheduler; `LoadedInput` the objects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import pod_key
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.engine.registry import Registry
from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.plan.results.outcomes import RefusedPod, refused_pods
from ksched_cli.releases.default_plugins import plugin_names
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import DEFAULT, NEWEST, Release, minor_in
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.read_options import LiveOptions, ManifestReading
from ksched_cli.whatif.changes import Changes, GonePod, changed

if TYPE_CHECKING:
    from msgspec import Struct

    from ksched_cli.api.core import Pod
    from ksched_cli.autoscale.autoscaler import Karpenter
    from ksched_cli.cluster.cache import KnownPods
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.framework.interfaces import Plugin
    from ksched_cli.sources.live.cluster import Progress
    from ksched_cli.world.results import Limits
    from ksched_cli.world.world import ControllerFactory


AUTO = "auto"

# A file, a document, or nothing for the defaults.
Configuration: TypeAlias = "str | Mapping[str, Any] | None"
# A class, or where to find one.
PluginGiven: TypeAlias = "str | type[Plugin]"


# A file or directory, a document as YAML and JSON have it, a typed object of `ksched_cli.api`, or several of these.
Objects: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | Struct | Iterable[Objects]"


class SchedulerKeywords(TypedDict, total=False):
    """The scheduler of a simulation; what is left out is as on the command line.

    `config` is a KubeSchedulerConfiguration, a file or a document. `feature_gates` are `A=true,B=false`, or a mapping.
    `plugins` are classes, or `module:Class`, and the configuration enables them. `namespace` is for manifests and
    names that come without one.
    """

    config: str | PathLike[str] | Mapping[str, Any] | None
    kube_version: str
    feature_gates: str | Mapping[str, bool]
    plugins: Sequence[str | type[Plugin]]
    namespace: str
    tie_break: str
    seed: int
    sampling: bool
    allow_extenders: bool
    timings: bool
    autoscaler: str
    autoscaler_flags: Sequence[str]
    instance_types: str
    prices: str
    node_startup: float


class SweepKeywords(TypedDict, total=False):
    """The dimensions of a sweep, as the command line has them, and how many of its variants are tried.

    `grid` is a file or a document, `kube_version` a range of minors or a list. `add_node`, `clone_node` and
    `scale` are texts with a range, such as `deployment/web=1..50`. `keep_worst` keeps the documents of so many
    variants. With `curve`, resources such as `cpu,memory`, the sweep compares `policies` (files of configurations, or
    NAME=FILE) for `workloads` of a trace and `seeds` such as `42..51`.
    """

    fail: str
    orders: int
    ties: int
    grid: str | Mapping[str, Any]
    kube_version: str | Sequence[str]
    add_node: str | Sequence[str]
    clone_node: str | Sequence[str]
    scale: str | Sequence[str]
    sample: int
    seed: int
    keep_worst: int
    curve: str | Sequence[str]
    policies: Sequence[str]
    workloads: str | Sequence[str]
    seeds: str


class RunOptions(Struct, frozen=True):
    """The options of one run, as parsed from the command line."""

    sources: Sequence[str] = ()
    # Kubernetes objects, documents or typed, beside those of the sources.
    objects: Sequence[Any] = ()
    # Whether the newer one is read of an object that several sources have.
    newest: bool = False
    filenames: Sequence[str] = ()
    reading: ManifestReading = field(default_factory=ManifestReading)
    # Whether a run that finds nothing to place is a success.
    allow_empty: bool = False
    namespace: str = ""
    selector: str = ""
    live: LiveOptions = field(default_factory=LiveOptions)
    progress: Progress | None = None
    stdin: BinaryIO | None = None
    # Pairs of flag and text, such as ("cordon", "node-1").
    edits: Sequence[tuple[str, str]] = ()
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
    # Which autoscaler the cluster has: auto, karpenter or none; its own flags; and files of instance types and of
    # their prices. A command that has no use for an autoscaler leaves it at none.
    autoscaler: str = "none"
    autoscaler_flags: Sequence[str] = ()
    instance_types: str = ""
    prices: str = ""
    # Seconds until a node that an autoscaler adds is ready.
    node_startup: float = 60.0
    # Whether events are read: only `verify` uses them.
    events: bool = False

    @property
    def has_manifests(self) -> bool:
        return bool(self.filenames or self.reading.kustomizations or self.reading.charts)

    def without_manifests(self) -> RunOptions:
        """The same run before any manifest is applied."""
        return replace(self, filenames=(), reading=replace(self.reading, kustomizations=(), charts=()))


def wanted_pods(options: RunOptions) -> Callable[[Pod], bool]:
    """The pods that -n and -l select."""
    from ksched_cli.api.selectors import read_query

    query = read_query(options.selector)
    namespace = options.namespace
    return lambda pod: namespace in ("", pod.metadata.namespace) and query.matches(pod.metadata.labels)


def settle_limits(max_time: str | None = None, max_cycles: int | None = None) -> Limits:
    """The limits of --max-time and --max-cycles."""
    from ksched_cli.config.model import parse_duration
    from ksched_cli.world.results import DEFAULT_LIMITS, Limits

    seconds = DEFAULT_LIMITS.max_time if max_time is None else parse_duration(max_time)
    if seconds is None or seconds <= 0:
        raise UsageError(f"--max-time {max_time}: not a length of time; it is written 90s, 10m or 1h30m")
    if max_cycles is not None and max_cycles < 1:
        raise UsageError(f"--max-cycles {max_cycles}: must be at least 1")
    return Limits(seconds, DEFAULT_LIMITS.max_cycles if max_cycles is None else max_cycles)


def options_of(keywords: SchedulerKeywords) -> RunOptions:
    """The options of a call of the Python API."""
    unknown = sorted(keywords.keys() - SchedulerKeywords.__annotations__.keys())
    if unknown:
        raise UsageError(
            f"there is no option {', '.join(unknown)}; there are {', '.join(SchedulerKeywords.__annotations__)}"
        )
    same: dict[str, Any] = {key: value for key, value in keywords.items() if key not in ("config", "feature_gates")}
    made = RunOptions(**{"autoscaler": AUTO, **same})
    config, gates = keywords.get("config"), keywords.get("feature_gates", "")
    if made.tie_break not in ("name", "random"):
        raise UsageError(f"tie_break is {made.tie_break!r}: it is name or random")
    if not isinstance(gates, str):
        gates = ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())
    return replace(made, config=str(config) if isinstance(config, PathLike) else config, feature_gates=gates)


def paths_and_objects(given: Iterable[Objects]) -> tuple[list[str], list[Any]]:
    """The files and directories, and the objects."""
    flat = list(_flat(given))
    paths = [str(each) for each in flat if isinstance(each, str | PathLike)]
    return paths, [each for each in flat if not isinstance(each, str | PathLike)]


def _flat(given: Iterable[Any]) -> Iterator[Any]:
    for each in given:
        if isinstance(each, Iterable) and not isinstance(each, str | Mapping | PathLike):
            yield from _flat(each)
        else:
            yield each


def plugin_points(registry: Registry, current: Release) -> dict[str, tuple[str, ...]]:
    """The extension points of each plugin. A plugin of kube-scheduler that is not modelled has none."""
    return {**dict.fromkeys(plugin_names(current), ()), **registry.points(current)}


class SchedulerSpec(Struct, frozen=True):
    """`requested` is the version that the user or the server named, `points` the extension points of each plugin."""

    requested: str
    release: Release
    gates: FeatureGates
    registry: Registry
    points: Mapping[str, Collection[str]]
    configuration: SchedulerConfiguration

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self._about_version(), *self.configuration.notes)

    def _about_version(self) -> Iterator[str]:
        if not self.modelled:
            answered = f"the answers are those of {self.release.version}, the nearest that is"
            yield f"Kubernetes {self.requested} is not modelled; {answered}"
        if self.not_read:
            yield f"{self.not_read}; it is taken for what {self.release.config.newest} would say"

    @property
    def not_read(self) -> str:
        """The reason why kube-scheduler of that minor rejects the configuration, if its version is a later one."""
        later = self.configuration.restated_from
        return f"Kubernetes {self.release.version} does not read apiVersion {later}" if later else ""

    @property
    def warnings_of_runs(self) -> tuple[str, ...]:
        """The warnings, with those about given plugins that no profile of the configuration enables."""
        used = {
            plugin.name
            for profile in self.configuration.profiles
            for own in (profile.plugins.multi_point, *(each for _, each in profile.plugins.points()))
            for plugin in own.enabled
        }
        idle = sorted(self.registry.named - used)
        hint = "name it in the configuration (plugins.multiPoint)"
        return (*self.warnings, *(f"plugin {name} is given and no profile enables it: {hint}" for name in idle))

    @property
    def modelled(self) -> bool:
        """Whether results are those of the requested minor, and not of the nearest."""
        return minor_in(self.requested) == self.release.minor

    @property
    def stores_all_fields(self) -> bool:
        """Whether the API server of that minor and these gates stores every field of a pod."""
        return self.release in (DEFAULT, NEWEST) and not self.gates.changed


SchedulerMaker = Callable[[Loaded], "Scheduler"]


class MakeScheduler(Protocol):
    """Returns a scheduler over a cluster of its own. `known` has what was computed of pods for earlier clusters."""

    def __call__(self, loaded: Loaded, spec: SchedulerSpec, known: KnownPods | None = None) -> Scheduler: ...


class InputMaker(Protocol):
    """What the composition root does for commands that make inputs of their own. It can be pickled."""

    def read_sources(self, options: RunOptions) -> Loaded:
        """The sources and objects, or the live cluster where there are neither."""

    def load_input(self, options: RunOptions, cluster: Loaded | None = None) -> tuple[LoadedInput, Changes]:
        """The cluster, unless it is loaded already, and the changes of its manifests and edits."""

    def scheduler_spec(self, options: RunOptions) -> SchedulerSpec:
        """The scheduler of the options."""

    def maker(self, options: RunOptions) -> MakeScheduler:
        """Makes schedulers with these options."""


class LoadedInput(Struct, frozen=True):
    """The cluster with its manifests and edits applied, before any scheduler is made. `made_pods` came with
    the manifests, `gone` those that the edits have deleted, and `wanted` selects the pods that are shown."""

    loaded: Loaded
    spec: SchedulerSpec
    make_scheduler: MakeScheduler
    wanted: Callable[[Pod], bool]
    seconds: float = 0.0
    refused: tuple[RefusedPod, ...] = ()
    made_pods: tuple[Pod, ...] = ()
    gone: tuple[GonePod, ...] = ()
    # Manifests that change the template of running pods.
    rollouts: tuple[Problem, ...] = ()
    # Controllers that each world of the input has beside those of the control plane, such as autoscalers.
    controllers: Sequence[ControllerFactory] = ()
    # What answers pending pods with nodes, if the cluster has such a controller.
    autoscaler: Karpenter | None = None

    @property
    def made(self) -> tuple[str, ...]:
        """The pods that came with the manifests, as `namespace/name`."""
        return tuple(map(pod_key, self.made_pods))

    def with_autoscaler(self, autoscaler: Karpenter | None) -> LoadedInput:
        """The same input with this autoscaler in each world, or without any."""
        controllers = (autoscaler,) if autoscaler is not None else ()
        return replace(self, controllers=controllers, autoscaler=autoscaler)

    def changed(self, changes: Changes) -> LoadedInput:
        """The input after the changes. The controllers react to them, no scheduler runs."""
        started = time.perf_counter()
        after = changed(self.loaded, changes)
        refused = (*self.refused, *refused_pods(after.refused))
        seconds = self.seconds + time.perf_counter() - started
        return replace(
            self,
            loaded=after.loaded,
            refused=refused,
            seconds=seconds,
            made_pods=after.made_pods,
            gone=after.gone,
            rollouts=(*self.rollouts, *after.rollouts),
        )

    def without_rollouts(self) -> LoadedInput:
        """InputError for manifests that change the template of running pods: only a world rolls them out."""
        if self.rollouts:
            raise InputError(self.rollouts)
        return self

    def scheduler(self, loaded: Loaded | None = None) -> Scheduler:
        return self.make_scheduler(self.loaded if loaded is None else loaded, self.spec)

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.loaded.warnings, *self.spec.warnings_of_runs)


def scheduler_maker(make_scheduler: MakeScheduler, spec: SchedulerSpec) -> SchedulerMaker:
    """A function that makes schedulers over versions of one cluster. They share the values computed for a pod."""
    from ksched_cli.cluster.cache import KnownPods

    known = KnownPods(spec.release) if spec.stores_all_fields else None
    return lambda loaded: make_scheduler(loaded, spec, known)
