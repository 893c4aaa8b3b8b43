"""The options of one run, as the command line or a call of the Python API gives them.

The help of a command reads this module: it imports no objects of Kubernetes and no numpy.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.errors import UsageError
from ksched_cli.sources.read_options import LiveOptions, ManifestReading

if TYPE_CHECKING:
    from ksched_cli.api.core import Pod
    from ksched_cli.framework.interfaces import Plugin
    from ksched_cli.sources.live.cluster import Progress
    from ksched_cli.world.results import Limits

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
    names that come without one. `newest`: of an object that two dumps of one cluster have, the newer one counts.
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
    newest: bool


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
    # Whether the objects are kept as they were written: manifests that are applied to them need that, and fixes.
    keeps_documents: bool = True

    @property
    def has_manifests(self) -> bool:
        return bool(self.filenames or self.reading.kustomizations or self.reading.charts)

    def arguments(self) -> Iterator[str]:
        """The options of a ksched command with this input, these edits and this scheduler. Without those that show
        something else of the same answer."""
        reading, live = self.reading, self.live
        for flag, values in (
            ("--from", map(_from_here, self.sources)),
            ("-f", map(_from_here, self.filenames)),
            ("-k", map(_from_here, reading.kustomizations)),
            ("--helm", map(_from_here, reading.charts)),
            ("--values", map(_from_here, reading.values)),
            ("--exclude", reading.exclude),
            ("--pod-template", reading.pod_templates),
            ("--assume-namespace", reading.assumed_namespaces),
            ("-n", (self.namespace,)),
            ("--context", (live.context,)),
            ("--kubeconfig", (live.kubeconfig,)),
            ("--as", (live.user,)),
            ("--as-group", live.groups),
            ("--scenario", (self.scenario,)),
            ("--config", (self.config,)),
            ("--kube-version", (self.kube_version if self.kube_version != AUTO else "",)),
            ("--feature-gates", (self.feature_gates,)),
            ("--plugin", self.plugins),
            ("--tie-break", ("" if self.tie_break == "name" else self.tie_break,)),
            ("--seed", (str(self.seed or ""),)),
            ("--autoscaler", ("" if self.autoscaler == AUTO else self.autoscaler,)),
            ("--autoscaler-flag", self.autoscaler_flags),
            ("--instance-types", (self.instance_types,)),
            ("--prices", (self.prices,)),
        ):
            yield from (f"{flag} {shlex.quote(value)}" for value in values if value and isinstance(value, str))
        for flag, holds in (
            ("--newest", self.newest),
            ("-R", reading.recursive),
            ("--create-namespace", reading.creates_namespaces),
            ("--no-strict", not reading.strict),
            ("--server-side", reading.server_side),
            ("--force-conflicts", reading.force_conflicts),
            ("--sampling", self.sampling),
            ("--allow-extenders", self.allow_extenders),
        ):
            if holds:
                yield flag
        yield from (f"--{flag} {shlex.quote(text)}" for flag, text in self.edits)

    def without_manifests(self) -> RunOptions:
        """The same run before any manifest is applied."""
        return replace(self, filenames=(), reading=replace(self.reading, kustomizations=(), charts=()))


def _from_here(path: str) -> str:
    """The path as a person in the current directory writes it."""
    here = os.path.join(os.getcwd(), "")
    return path.removeprefix(here) if path.startswith(here) else path


def wanted_pods(options: RunOptions) -> Callable[[Pod], bool]:
    """The pods that -n and -l select."""
    from ksched_cli.api.selectors import read_query

    query, namespace = read_query(options.selector), options.namespace
    if not options.selector:
        return lambda pod: namespace in ("", pod.metadata.namespace)
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
