"""Which plugin runs at which extension point: the default plugins of a minor (getDefaultPlugins with
applyFeatureGates), a profile merged with them, and MultiPoint expanded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field, structs
from msgspec.structs import replace

from ksched_cli.config.model import Extender, KubeSchedulerProfile, PluginRef, Plugins, PluginSet, ignored_resources
from ksched_cli.config.plugin_args import NodeResourcesFitArgs, args_by_default
from ksched_cli.errors import ConfigError, Problem
from ksched_cli.releases.config_versions import has_multi_point
from ksched_cli.releases.default_plugins import BEFORE_PLUGINS, BY_POINT, MULTI_POINT, DefaultPlugin, plugins_by_default
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import DEFAULT_BINDER, NODE_RESOURCES_FIT, PRIORITY_SORT


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
    implemented_by: Mapping[str, str] = field(default_factory=dict)
    checks_all_filters: bool = False


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
