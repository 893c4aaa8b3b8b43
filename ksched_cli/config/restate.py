"""A profile of a newer configuration version, rewritten for a minor that does not read that version."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec.structs import replace

from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet
from ksched_cli.config.plugin_args import ARGS_OF, CPU_AND_MEMORY, STRATEGY_OF, NodeResourcesFitArgs
from ksched_cli.config.resolved_profile import default_plugins
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.config_versions import has_multi_point
from ksched_cli.releases.configuration import ConfigurationRules, takes
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release

# (plugin, setting)
NotExpressed = tuple[str, str]
_ALL = PluginRef("*")
_PLUGIN_OF = {strategy: plugin for plugin, strategy in STRATEGY_OF.items()}
_DEFAULT = _PLUGIN_OF["LeastAllocated"]


def restate(
    profile: KubeSchedulerProfile, release: Release, gates: FeatureGates, points_of: Mapping[str, Collection[str]]
) -> tuple[KubeSchedulerProfile, list[NotExpressed]]:
    """The rewritten profile, and the settings that the minor cannot express."""
    if release.before_plugins:
        from ksched_cli.config.legacy.restate import restate_algorithm

        return restate_algorithm(profile, release, gates)
    not_expressed: list[NotExpressed] = []
    rules = ConfigurationRules.of(release)
    if not has_multi_point(release.config.newest):
        defaults = default_plugins(release, gates)
        profile = replace(profile, plugins=_spread_out(profile.plugins, defaults, points_of))
    if not rules.fit_has_strategies:
        profile = _with_strategy_as_plugin(profile, not_expressed)
    if not rules.every_plugin_takes_args:
        added = profile.args.get(names.NODE_AFFINITY)
        if added is not None and added.added_affinity is not None:
            not_expressed.append((names.NODE_AFFINITY, "addedAffinity"))
    if not takes(release, names.INTER_POD_AFFINITY, "ignorePreferredTermsOfExistingPods"):
        affinity = profile.args.get(names.INTER_POD_AFFINITY)
        if affinity is not None and affinity.ignore_preferred_terms_of_existing_pods:
            not_expressed.append((names.INTER_POD_AFFINITY, "ignorePreferredTermsOfExistingPods"))
    return profile, not_expressed


def _spread_out(plugins: Plugins, defaults: Plugins, points_of: Mapping[str, Collection[str]]) -> Plugins:
    """The content of MultiPoint, written at every point that it covers. The point's own lists come first."""
    everywhere, default_sets = plugins.multi_point, dict(defaults.points())
    sets = {}
    for point, own in plugins.points():
        spoken_for = {plugin.name for plugin in (*own.enabled, *own.disabled)}
        by_default = {plugin.name for plugin in default_sets[point].enabled}
        enabled, disabled = list(own.enabled), list(own.disabled)
        about = {_ALL.name, *by_default}
        disabled += [each for each in everywhere.disabled if each.name in about and each.name not in spoken_for]
        for plugin in everywhere.enabled:
            here = point in points_of.get(plugin.name, ()) and plugin.name not in spoken_for
            # A default plugin is where it was; only its weight may be another one.
            if here and (plugin.name not in by_default or (point == "score" and plugin.weight)):
                enabled.append(plugin)
        sets[point] = PluginSet(tuple(enabled), tuple(disabled))
    return Plugins.of(sets)


def _with_strategy_as_plugin(profile: KubeSchedulerProfile, not_expressed: list[NotExpressed]) -> KubeSchedulerProfile:
    fit = profile.args.get(names.NODE_RESOURCES_FIT) or NodeResourcesFitArgs()
    strategy = fit.scoring_strategy
    plugin = _PLUGIN_OF[strategy.type]
    is_ratio = plugin == names.REQUESTED_TO_CAPACITY_RATIO
    args: dict[str, Any] = dict(profile.args)
    args[plugin] = strategy.ratio_args() if is_ratio else ARGS_OF[plugin](resources=strategy.resources)
    if names.NODE_RESOURCES_FIT in args:
        args[names.NODE_RESOURCES_FIT] = replace(fit, scoring_strategy=NodeResourcesFitArgs().scoring_strategy)
    balanced = args.pop(names.NODE_RESOURCES_BALANCED_ALLOCATION, None)
    if balanced is not None and set(balanced.resources) != set(CPU_AND_MEMORY):
        not_expressed.append((names.NODE_RESOURCES_BALANCED_ALLOCATION, "resources other than cpu and memory"))
    score = _renamed(profile.plugins.score, plugin)
    return replace(profile, plugins=replace(profile.plugins, score=score), args=args)


def _renamed(score: PluginSet, plugin: str) -> PluginSet:
    """The strategy scores under a name of its own."""
    enabled = tuple(
        replace(each, name=plugin) if each.name == names.NODE_RESOURCES_FIT else each for each in score.enabled
    )
    disabled = tuple(
        replace(each, name=_DEFAULT) if each.name == names.NODE_RESOURCES_FIT else each for each in score.disabled
    )
    off = {each.name for each in disabled}
    if plugin != _DEFAULT and not off & {_DEFAULT, _ALL.name}:
        disabled = (*disabled, PluginRef(_DEFAULT))
        if plugin not in {each.name for each in enabled}:
            enabled = (*enabled, PluginRef(plugin, 1))
    return PluginSet(enabled, disabled)
