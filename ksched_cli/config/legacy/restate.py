"""A profile of plugins, rewritten as predicates and priorities as far as these can express it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.config.legacy.algorithm import ALWAYS, ORDER, PREEMPTION
from ksched_cli.config.legacy.policy import PLUGIN_OF_PREDICATE, PLUGIN_OF_PRIORITY, PREDICATES
from ksched_cli.config.model import KubeSchedulerProfile, PluginRef, Plugins, PluginSet
from ksched_cli.config.plugin_args import (
    ARGS_OF,
    CPU_AND_MEMORY,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
    with_defaults,
)
from ksched_cli.config.resolved_profile import default_weights
from ksched_cli.config.restate import NotExpressed
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.default_plugins import MULTI_POINT, plugin_names
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import NEWEST, Release

_ALL = "*"
_TODAY = frozenset(plugin_names(NEWEST))
# The parts of the general predicate, and the name of each where it runs by itself.
_GENERAL = {
    parts[0][1]: name
    for name, parts in PREDICATES.items()
    if len(parts) == 1 and parts[0] in PREDICATES[names.GENERAL_PREDICATES]
}
# The limits of clouds were predicates of their own. Today this plugin counts them.
_CLOUDS = (names.MAX_EBS_VOLUME_COUNT, names.MAX_GCEPD_VOLUME_COUNT, names.MAX_AZURE_DISK_VOLUME_COUNT)
_PREDICATES: Mapping[str, tuple[str, ...]] = {
    plugin: (name, *(_CLOUDS if plugin == names.NODE_VOLUME_LIMITS else ()))
    for name, plugin in PLUGIN_OF_PREDICATE.items()
    if plugin in _TODAY and plugin not in _GENERAL and name != names.EVEN_PODS_SPREAD
}
_PRIORITIES = {
    plugin: name
    for name, plugin in PLUGIN_OF_PRIORITY.items()
    if plugin in _TODAY and name != names.EVEN_PODS_SPREAD_PRIORITY
}
_STRATEGIES = {
    "LeastAllocated": names.LEAST_REQUESTED_PRIORITY,
    "MostAllocated": names.MOST_REQUESTED_PRIORITY,
    names.REQUESTED_TO_CAPACITY_RATIO: names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY,
}
_MANDATORY = (names.NODE_UNSCHEDULABLE, names.TAINT_TOLERATION)
# Arguments that may be anything, for nothing follows from them or from what they are about.
_NO_MATTER = (DefaultPreemptionArgs, DynamicResourcesArgs, VolumeBindingArgs)


def restate_algorithm(
    profile: KubeSchedulerProfile, release: Release, gates: FeatureGates
) -> tuple[KubeSchedulerProfile, list[NotExpressed]]:
    """The rewritten profile, and the settings that could not be expressed."""
    settings = _Settings(profile)
    not_expressed = list(settings.not_expressed())
    defaults = default_weights(release, gates)
    predicates = settings.predicates(defaults)
    weights, args = settings.priorities(defaults)
    affinity = profile.args.get(names.INTER_POD_AFFINITY)
    if isinstance(affinity, InterPodAffinityArgs) and names.INTER_POD_AFFINITY_PRIORITY in weights:
        args[names.INTER_POD_AFFINITY_PRIORITY] = affinity
    enabled = [
        *map(PluginRef, (*ALWAYS, *predicates)),
        *(PluginRef(name, weight) for name, weight in sorted(weights.items())),
        *([PluginRef(PREEMPTION)] if settings.is_on(PREEMPTION, "postFilter") else []),
    ]
    plugins = Plugins(multi_point=PluginSet((*enabled, *settings.own()), (PluginRef(_ALL),)))
    own_args = {name: given for name, given in profile.args.items() if name not in ARGS_OF}
    return replace(profile, plugins=plugins, args={**own_args, **args}), not_expressed


class _Settings:
    """The settings of a profile about default plugins."""

    def __init__(self, profile: KubeSchedulerProfile) -> None:
        self._profile = profile
        self._points = dict(profile.plugins.points())

    def is_on(self, plugin: str, point: str) -> bool:
        """Whether the default plugin takes part."""
        for own in (self._points[point], self._profile.plugins.multi_point):
            if plugin in {each.name for each in own.enabled}:
                return True
            if {plugin, _ALL} & {each.name for each in own.disabled}:
                return False
        return True

    def weight(self, plugin: str) -> int:
        """The weight that the profile sets, or 0."""
        sets = (self._points["score"], self._profile.plugins.multi_point)
        return next((each.weight for own in sets for each in own.enabled if each.name == plugin and each.weight), 0)

    def own(self) -> Iterator[PluginRef]:
        """Explicitly enabled plugins that are not default plugins."""
        named = dict.fromkeys(
            each for own in (self._profile.plugins.multi_point, *self._points.values()) for each in own.enabled
        )
        default = {each.name for each in MULTI_POINT}
        return (each for each in named if each.name not in default and each.name != _ALL)

    def predicates(self, defaults: Mapping[str, int]) -> list[str]:
        wanted = {name for plugin, names in _PREDICATES.items() if self.is_on(plugin, "filter") for name in names}
        parts = [name for plugin, name in _GENERAL.items() if self.is_on(plugin, "filter")]
        wanted |= {names.GENERAL_PREDICATES} if len(parts) == len(_GENERAL) else set(parts)
        mandatory = {name for plugin in _MANDATORY for name in _PREDICATES[plugin]}
        # What a plugin never was, such as looking at conditions, stays as it is by default.
        others = (name for names in _PREDICATES.values() for name in names)
        settings = {*mandatory, *others, names.GENERAL_PREDICATES, *_GENERAL.values()}
        return [name for name in ORDER if name in (wanted if name in settings else defaults)]

    def priorities(self, defaults: Mapping[str, int]) -> tuple[dict[str, int], dict[str, Any]]:
        """Names with weights, and arguments. A weight that is not given is the default of the time."""
        weights: dict[str, int] = {
            names.NODE_PREFER_AVOID_PODS_PRIORITY: defaults[names.NODE_PREFER_AVOID_PODS_PRIORITY]
        }
        for plugin, name in _PRIORITIES.items():
            if self.is_on(plugin, "score"):
                weights[name] = self.weight(plugin) or defaults[name]
        fit, args = self._profile.args.get(names.NODE_RESOURCES_FIT) or NodeResourcesFitArgs(), dict[str, Any]()
        if self.is_on(names.NODE_RESOURCES_FIT, "score"):
            name = _STRATEGIES[fit.scoring_strategy.type]
            weights[name] = self.weight(names.NODE_RESOURCES_FIT) or 1
            if fit.scoring_strategy.type == names.REQUESTED_TO_CAPACITY_RATIO:
                args[name] = with_defaults(fit.scoring_strategy.ratio_args())
        return weights, args

    def not_expressed(self) -> Iterator[NotExpressed]:
        for plugin in _MANDATORY:
            if not self.is_on(plugin, "filter"):
                yield plugin, "the switching off"
        for plugin in filter(ARGS_OF.__contains__, self._profile.args):
            yield from ((plugin, text) for text in _not_said(self._profile.args[plugin]))


def _not_said(args: Any) -> Iterator[str]:
    match args:
        case NodeResourcesFitArgs():
            strategy = args.scoring_strategy
            if args.ignored_resources or args.ignored_resource_groups:
                yield "ignoredResources"
            if strategy.type != names.REQUESTED_TO_CAPACITY_RATIO and set(strategy.resources) != set(CPU_AND_MEMORY):
                yield "scoringStrategy.resources other than cpu and memory alike"
        case NodeResourcesBalancedAllocationArgs():
            if set(args.resources) != set(CPU_AND_MEMORY):
                yield "resources other than cpu and memory"
        case InterPodAffinityArgs():
            if args.ignore_preferred_terms_of_existing_pods:
                yield "ignorePreferredTermsOfExistingPods"
        case NodeAffinityArgs():
            if args.added_affinity is not None:
                yield "addedAffinity"
        case PodTopologySpreadArgs():
            if args.default_constraints:
                yield "defaultConstraints"
        case Struct() if not isinstance(args, _NO_MATTER):
            yield "its arguments"
