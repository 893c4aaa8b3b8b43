"""The configuration as the scheduler uses it, after decoding and defaults.

Beside the types: Go durations (`parse_duration` mirrors time.ParseDuration), what an extender decides by its settings
alone, and profiles as they are run (`expand_profile`): every plugin at every point, as the defaults of the minor and
the lists of the file make it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct, field, structs
from msgspec.structs import fields, replace

from ksched_cli.api.defaults import DEFAULT_SCHEDULER
from ksched_cli.config.plugin_args import NodeResourcesFitArgs, args_by_default
from ksched_cli.errors import ConfigError, Problem
from ksched_cli.releases.default_plugins import BEFORE_PLUGINS, BY_POINT, MULTI_POINT, DefaultPlugin, plugins_by_default
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release, has_multi_point
from ksched_cli.releases.plugin_names import DEFAULT_BINDER, NODE_RESOURCES_FIT, PRIORITY_SORT

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(duration: str) -> float | None:
    """The duration in seconds (time.ParseDuration), or None if the text is no duration."""
    unsigned = duration[1:] if duration[:1] in ("+", "-") else duration
    if unsigned == "0":
        return 0.0
    parts = _PART.findall(unsigned)
    if not parts or "".join(number + unit for number, unit in parts) != unsigned:
        return None
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return -total if duration.startswith("-") else total


def duration_text(nanoseconds: int) -> str:
    """The duration as Go writes it (time.Duration.String): 1m30s, 5m0s, 1.5s, 100ms."""
    if nanoseconds < 0:
        return f"-{duration_text(-nanoseconds)}"
    minutes, left = divmod(nanoseconds, 60 * 10**9)
    units = (("ns", 1), ("µs", 10**3), ("ms", 10**6), ("s", 10**9))
    unit, length = next((each for each in units if 0 < nanoseconds < each[1] * 1000), units[-1])
    text = f"{left / length:.9f}".rstrip("0").rstrip(".") + unit
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}" if minutes else text


def seconds(duration: str) -> float:
    """The duration in seconds; 0 if the text is no duration or the duration is negative."""
    return max(parse_duration(duration) or 0.0, 0.0)


Complaint = tuple[tuple[str, ...], str]


def extender_name(extender: Extender) -> str:
    """The URL of the extender, as in kube-scheduler, without a password."""
    try:
        parts = urlsplit(extender.url_prefix)
    except ValueError:
        return extender.url_prefix.rpartition("@")[2]
    user, at, host = parts.netloc.rpartition("@")
    if not at or ":" not in user:
        return extender.url_prefix
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}:xxxxx@{host}"))


def ignored_resources(extenders: Sequence[Extender]) -> tuple[str, ...]:
    """Resources that the filter for resources leaves to extenders (buildExtenders)."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def decides(extender: Extender) -> list[str]:
    """What the answers of the extender can change."""
    found = ["which nodes fit"] if extender.filter_verb else []
    found += [f"scores (weight {extender.weight})"] if extender.prioritize_verb else []
    found += ["victims of preemption"] if extender.preempt_verb else []
    return found


def not_called(extender: Extender) -> dict[str, Any]:
    """Text for the coverage of a run that did not call the extender."""
    managed = [resource.name for resource in extender.managed_resources]
    return {
        "extender": extender_name(extender),
        "couldChange": decides(extender),
        **({"podsThatAskFor": managed} if managed else {}),
    }


def extender_complaints(extender: Extender) -> Iterator[Complaint]:
    """Complaints about settings that kube-scheduler cannot decode."""
    if extender.http_timeout and parse_duration(extender.http_timeout) is None:
        yield ("httpTimeout",), f"{extender.http_timeout!r} is not a duration such as 5s or 100ms"
    if extender.tls_config is not None:
        for name in ("cert_data", "key_data", "ca_data"):
            if not _is_base64(getattr(extender.tls_config, name)):
                yield ("tlsConfig", name.replace("_d", "D")), "is not base64"


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error:
        return False
    return True


class PluginRef(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""
    weight: int = 0


class PluginSet(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """The plugins of the extension points, which stand in the order of a cycle, and of MultiPoint."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()

    def points(self) -> Iterator[tuple[str, PluginSet]]:
        """Each extension point's JSON name with its set, MultiPoint aside."""
        for name, attribute in EXTENSION_POINT_FIELDS.items():
            yield name, getattr(self, attribute)

    @classmethod
    def of(cls, points: Mapping[str, PluginSet], multi_point: PluginSet | None = None) -> Plugins:
        """The plugins with these sets, by the JSON names of the extension points."""
        by_field = {EXTENSION_POINT_FIELDS[name]: own for name, own in points.items()}
        return cls(multi_point=multi_point or PluginSet(), **by_field)


# The JSON names of the extension points in a profile, in the order of a cycle.
EXTENSION_POINT_FIELDS: Mapping[str, str] = {
    each.encode_name: each.name for each in fields(Plugins) if each.name != "multi_point"
}


class PluginConfig(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""
    args: dict[str, Any] = {}


class KubeSchedulerProfile(Struct, frozen=True):
    """A profile. `args` are typed if the plugin is in-tree, and plain values otherwise. `config_version` decides the
    default plugins; if it is empty, the newest that the minor reads. `implemented_by` has the plugins that a Policy
    names otherwise, and `checks_all_filters` holds for a Policy with alwaysCheckAllPredicates."""

    scheduler_name: str = DEFAULT_SCHEDULER
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins = Plugins()
    args: dict[str, Any] = {}
    config_version: str = ""
    implemented_by: dict[str, str] = {}
    checks_all_filters: bool = False


class ExtenderManagedResource(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class Extender(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: str = field(default="", name="httpTimeout")
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class SchedulerConfiguration(Struct, frozen=True):
    profiles: tuple[KubeSchedulerProfile, ...] = (KubeSchedulerProfile(),)
    parallelism: int = 16
    percentage_of_nodes_to_score: int | None = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    extenders: tuple[Extender, ...] = ()
    # The apiVersion of the file, where the minor does not read it and the file was rewritten for an older version.
    restated_from: str = ""
    # Settings of the file that have no effect.
    notes: tuple[str, ...] = ()
    # The v1alpha1 document of the time of predicates that it was read from, with its defaults.
    alpha: dict[str, Any] = {}


def default_plugins(release: Release, gates: FeatureGates, config_version: str = "") -> Plugins:
    """The default plugins of a configuration version, or of the newest that the minor reads."""
    version = config_version or release.config.newest

    def enabled(listed: Iterable[DefaultPlugin]) -> PluginSet:
        there = plugins_by_default(release, listed, gates, version)
        return PluginSet(tuple(PluginRef(each.name, each.weight) for each in there))

    if release.before_plugins:
        return Plugins(multi_point=enabled(BEFORE_PLUGINS))
    if has_multi_point(version):
        return Plugins(multi_point=enabled(MULTI_POINT))
    return Plugins.of({point: enabled(own) for point, own in BY_POINT.items()})


def default_weights(release: Release, gates: FeatureGates) -> dict[str, int]:
    """Every default plugin with the weight that it scores with."""
    default = default_plugins(release, gates)
    sets = (default.score, default.multi_point, *(own for _, own in default.points()))
    weights: dict[str, int] = {}
    for plugin in (plugin for own in sets for plugin in own.enabled):
        weights.setdefault(plugin.name, plugin.weight)
    return weights


MAX_NODE_SCORE = 100
MAX_TOTAL_SCORE = 2**63 - 1
ALL = "*"


class ResolvedProfile(Struct, frozen=True):
    """A profile as the engine needs it: ordered plugin names per point, weights and arguments."""

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    points: Mapping[str, tuple[str, ...]]
    score_weights: Mapping[str, int]
    placement_weights: Mapping[str, int]
    args: Mapping[str, Any]
    # Plugins that go by names of their own, with what they are.
    implemented_by: Mapping[str, str]
    checks_all_filters: bool


def merge_with_defaults(profile: KubeSchedulerProfile, release: Release, gates: FeatureGates) -> Plugins:
    """mergePlugins. The default plugins are in MultiPoint, or in every point's own list (up to v1beta2)."""
    default = default_plugins(release, gates, profile.config_version)
    defaults = dict(default.points())
    sets = {name: _merge(defaults[name], own) for name, own in profile.plugins.points()}
    return Plugins.of(sets, _merge(default.multi_point, profile.plugins.multi_point))


def _merge(default: PluginSet, custom: PluginSet) -> PluginSet:
    """mergePluginSet: a default that is configured again keeps its place, the rest is appended."""
    disabled = {plugin.name for plugin in (*custom.disabled, *default.disabled)}
    own = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    replaced: set[int] = set()
    enabled: list[PluginRef] = []
    for plugin in () if ALL in disabled else default.enabled:
        if plugin.name in disabled:
            continue
        if plugin.name in own:
            replaced.add(own[plugin.name])
            plugin = custom.enabled[own[plugin.name]]
        enabled.append(plugin)
    enabled.extend(plugin for index, plugin in enumerate(custom.enabled) if index not in replaced)
    return PluginSet(tuple(enabled), (*custom.disabled, *default.disabled))


def expand_profile(
    profile: KubeSchedulerProfile,
    release: Release,
    gates: FeatureGates,
    extension_points_of: Mapping[str, Collection[str]],
    source: str = "",
    path: str = "",
) -> ResolvedProfile:
    """NewFramework's plugin lists, or ConfigError with everything that keeps it from being made."""
    plugins = merge_with_defaults(profile, release, gates)
    own_names = {name: extension_points_of.get(kind, ()) for name, kind in profile.implemented_by.items()}
    extension_points_of = {**extension_points_of, **own_names}
    expansion = _Expansion(plugins, extension_points_of, source, path)
    points = {name: expansion.point(name, own) for name, own in plugins.points()}
    weights = expansion.weights("score", plugins.score)
    placement_weights = expansion.weights("placementScore", plugins.placement_score)
    expansion.check_whole(profile.scheduler_name, points)
    if expansion.problems:
        raise ConfigError(expansion.problems)
    used = {name for names in points.values() for name in names}
    return ResolvedProfile(
        profile.scheduler_name,
        profile.percentage_of_nodes_to_score,
        points,
        weights,
        placement_weights,
        {name: profile.args[name] if name in profile.args else args_by_default(name, gates) for name in sorted(used)},
        profile.implemented_by,
        profile.checks_all_filters,
    )


def leave_to_extenders(profile: ResolvedProfile, extenders: Sequence[Extender], release: Release) -> ResolvedProfile:
    """The profile whose filter for resources ignores those of the extenders, called or not, and no others
    (buildExtenders)."""
    ignored = ignored_resources(extenders)
    if not ignored:
        return profile
    fits = {name: args for name, args in profile.args.items() if isinstance(args, NodeResourcesFitArgs)}
    if not fits and not release.before_plugins:
        left = ", ".join(ignored)
        text = f'profile "{profile.scheduler_name}" has no {NODE_RESOURCES_FIT} to leave {left} to an extender'
        raise ConfigError(Problem(text, hint="kube-scheduler would not start"))
    without = {name: structs.replace(args, ignored_resources=ignored) for name, args in fits.items()}
    return replace(profile, args={**profile.args, **without})


class _Expansion:
    """One profile's expansion and the problems met on the way."""

    def __init__(self, plugins: Plugins, points_of: Mapping[str, Collection[str]], source: str, path: str) -> None:
        self._plugins = plugins
        self._points_of = points_of
        self._source = source
        self._path = f"{path}.plugins" if path else "plugins"
        self.problems: list[Problem] = []
        self._check_known(plugins.multi_point, "multiPoint")

    def _complain(self, message: str, where: str, hint: str = "") -> None:
        problem = Problem(message, self._source, None, f"{self._path}.{where}" if where else self._path, hint)
        if problem not in self.problems:
            self.problems.append(problem)

    def _check_known(self, own: PluginSet, point: str) -> None:
        for index, plugin in enumerate(own.enabled):
            if plugin.name not in self._points_of:
                known = ", ".join(sorted(self._points_of))
                self._complain(f'plugin "{plugin.name}" does not exist', _where(point, index), f"there are {known}")

    def point(self, point: str, own: PluginSet) -> tuple[str, ...]:
        """Plugins set at the point itself and in MultiPoint first, then MultiPoint's, then the point's own others."""
        self._check_point(point, own)
        specific = [plugin.name for plugin in own.enabled if plugin.name in self._points_of]
        disabled = {plugin.name for plugin in own.disabled}
        if ALL in disabled:
            return tuple(specific)
        expanded = self._from_multi_point(point, disabled)
        overriding = [name for name in specific if name in expanded]
        added = [name for name in expanded if name not in specific]
        others = [name for name in specific if name not in expanded]
        return (*overriding, *added, *others)

    def _check_point(self, point: str, own: PluginSet) -> None:
        self._check_known(own, point)
        seen: set[str] = set()
        for index, plugin in enumerate(own.enabled):
            points = self._points_of.get(plugin.name)
            if points is not None and point not in points:
                text = f'plugin "{plugin.name}" does not take part in {point}'
                self._complain(text, _where(point, index), f"it takes part in {', '.join(points)}")
            if plugin.name in seen:
                self._complain(f'plugin "{plugin.name}" is enabled twice', _where(point, index))
            seen.add(plugin.name)

    def _from_multi_point(self, point: str, disabled: Collection[str]) -> list[str]:
        expanded: list[str] = []
        for index, plugin in enumerate(self._plugins.multi_point.enabled):
            if point not in self._points_of.get(plugin.name, ()) or plugin.name in disabled:
                continue
            if plugin.name in expanded:
                self._complain(f'plugin "{plugin.name}" is enabled twice', _where("multiPoint", index))
            else:
                expanded.append(plugin.name)
        return expanded

    def weights(self, point: str, own: PluginSet) -> dict[str, int]:
        """getValidScoreWeights: the weight at the point itself wins over MultiPoint's; none means 1."""
        weights: dict[str, int] = {}
        for plugin in (*own.enabled, *self._plugins.multi_point.enabled):
            if point in self._points_of.get(plugin.name, ()):
                weights.setdefault(plugin.name, plugin.weight or 1)
        if sum(weights.values()) * MAX_NODE_SCORE > MAX_TOTAL_SCORE:
            self._complain(f"total score of {point[0].upper()}{point[1:]} plugins could overflow", point)
        return weights

    def check_whole(self, scheduler_name: str, points: Mapping[str, Collection[str]]) -> None:
        if self.problems:
            return
        sorters = len(points["queueSort"])
        if sorters != 1:
            text = f'profile "{scheduler_name}" needs exactly one queue sort plugin, but has {sorters}'
            self._complain(text, "queueSort", f"{PRIORITY_SORT} is the usual one")
        if not points["bind"]:
            text = f'profile "{scheduler_name}" needs at least one bind plugin'
            self._complain(text, "bind", f"{DEFAULT_BINDER} is the usual one")


def _where(point: str, index: int) -> str:
    return f"{point}.enabled[{index}]"
