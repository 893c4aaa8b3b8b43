"""The plugins that a profile has by default (getDefaultPlugins with applyFeatureGates)."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.config.model import PluginRef, Plugins, PluginSet
from ksched_cli.releases.config_versions import has_multi_point
from ksched_cli.releases.default_plugins import BEFORE_PLUGINS, BY_POINT, MULTI_POINT, DefaultPlugin, plugins_by_default
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release


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
