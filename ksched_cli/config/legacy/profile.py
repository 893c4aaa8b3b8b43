"""A Policy as a profile: what the last readers made of predicates and priorities (createFromConfig, LegacyRegistry)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import fields, replace

from ksched_cli.config.legacy.policy import (
    GATED_PREDICATES,
    GATED_PRIORITIES,
    PREDICATES,
    PRIORITIES,
    Complaint,
    Policy,
    PredicatePolicy,
    PriorityPolicy,
    plugin_args,
)
from ksched_cli.config.model import EXTENSION_POINT_FIELDS, KubeSchedulerProfile, PluginRef, Plugins, PluginSet
from ksched_cli.config.plugin_args import (
    InterPodAffinityArgs,
    NodeLabelArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioArgs,
    ServiceAffinityArgs,
)
from ksched_cli.config.validate_args import args_complaints
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.default_plugins import BEFORE_PLUGINS
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release

_OFF = (PluginRef("*"),)

_MANDATORY = frozenset({names.POD_TOLERATES_NODE_TAINTS, names.CHECK_NODE_UNSCHEDULABLE})
# The defaults of the last minor before plugins: predicates, and priorities with their weights.
_DEFAULTS = {each.name: each.weight for each in BEFORE_PLUGINS}
_OLD_PREDICATES = {"PodFitsPorts": names.POD_FITS_HOST_PORTS}

_GATED = GATED_PREDICATES | GATED_PRIORITIES
_OLD_PRIORITIES = {names.SERVICE_SPREADING_PRIORITY: names.SELECTOR_SPREAD_PRIORITY}
# Plugins that an entry of any name stands for, if the entry has an argument: by the argument's type, and by its field.
_PLUGIN_OF_ARGS: Mapping[type, str] = {
    NodeLabelArgs: names.NODE_LABEL,
    RequestedToCapacityRatioArgs: names.REQUESTED_TO_CAPACITY_RATIO,
    ServiceAffinityArgs: names.SERVICE_AFFINITY,
}
_PLUGIN_OF_ARGUMENT = {
    "serviceAffinity": names.SERVICE_AFFINITY,
    "labelsPresence": names.NODE_LABEL,
    "serviceAntiAffinity": names.SERVICE_AFFINITY,
    "labelPreference": names.NODE_LABEL,
    "requestedToCapacityRatioArguments": names.REQUESTED_TO_CAPACITY_RATIO,
}
_FIXED = {"queueSort": names.PRIORITY_SORT, "postFilter": names.DEFAULT_PREEMPTION, "bind": names.DEFAULT_BINDER}


def policy_profile(
    policy: Policy, release: Release, gates: FeatureGates
) -> tuple[KubeSchedulerProfile, list[Complaint]]:
    """The one profile that the Policy makes, and what kube-scheduler would not take of it."""
    made = Making(release, gates)
    predicates = _MANDATORY | made.predicate_names(policy.predicates)
    weights = made.priority_weights(policy.priorities)
    made.check_arguments(policy)
    for name in PREDICATES:
        if name in predicates:
            made.add_predicate(name)
    for name in sorted(weights):
        made.add_priority(name, weights[name])
    if policy.hard_pod_affinity_symmetric_weight and names.INTER_POD_AFFINITY_PRIORITY in weights:
        weight = policy.hard_pod_affinity_symmetric_weight
        made.args[names.INTER_POD_AFFINITY] = InterPodAffinityArgs(hard_pod_affinity_weight=weight)
    all_filters = policy.always_check_all_predicates
    return KubeSchedulerProfile(plugins=made.plugins(), args=made.args, checks_all_filters=all_filters), made.complaints


def plugins_named(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The plugins that an entry of a Policy, be it a predicate or a priority, stands for; of one that is checked."""
    name, argument = entry.get("name", ""), entry.get("argument") or {}
    name = _OLD_PREDICATES.get(name) or _OLD_PRIORITIES.get(name) or name
    if name in PREDICATES:
        return tuple(plugin for _, plugin in PREDICATES[name])
    if name in PRIORITIES:
        return (PRIORITIES[name][0],)
    return tuple(plugin for field, plugin in _PLUGIN_OF_ARGUMENT.items() if argument.get(field) is not None)


class Making:
    """A profile under construction."""

    def __init__(self, release: Release, gates: FeatureGates) -> None:
        self._release = release
        self._gates = gates
        rules = ConfigurationRules.of(release)
        self._left_out: set[tuple[str, str]] = set()
        if not rules.node_affinity_looks_ahead:
            self._left_out |= {("preFilter", names.NODE_AFFINITY), ("preScore", names.NODE_AFFINITY)}
        if not rules.volume_binding_reserves:
            self._left_out |= {(point, names.VOLUME_BINDING) for point in ("preFilter", "reserve", "preBind")}
        self._rules = rules
        self._merges = rules.policy_merges_plugins
        self._spreads_by_default = gates.enabled("DefaultPodTopologySpread") and self._merges
        self._points: dict[str, dict[str, PluginRef]] = {point: {} for point in EXTENSION_POINT_FIELDS}
        self.args: dict[str, Any] = {}
        self.complaints: list[Complaint] = []
        for point, plugin in _FIXED.items():
            # Not every minor has preemption under a Policy.
            if rules.policy_preempts or point != "postFilter":
                self._append(point, plugin)

    def plugins(self) -> Plugins:
        """The plugins, with all defaults off: only the plugins that the Policy names run."""
        return Plugins.of({point: PluginSet(tuple(own.values()), _OFF) for point, own in self._points.items()})

    def _append(self, point: str, plugin: str, weight: int = 0) -> None:
        """A plugin that is there already keeps its place and its weight; in older minors that is one too many."""
        if (point, plugin) in self._left_out:
            return
        if plugin in self._points[point] and not self._merges:
            self.complaints.append(((), f"{plugin} is in {point} more than once, by several names"))
        self._points[point].setdefault(plugin, PluginRef(plugin, weight))

    # Predicates

    def predicate_names(self, policies: Sequence[PredicatePolicy] | None) -> frozenset[str]:
        if policies is None:
            return frozenset(name for name in PREDICATES if name in _DEFAULTS and self._is_there(name))
        named = (self._predicate(index, each) for index, each in enumerate(policies))
        return frozenset(name for name in named if name)

    def _predicate(self, index: int, policy: PredicatePolicy) -> str:
        name = _OLD_PREDICATES.get(policy.name, policy.name)
        if name in PREDICATES and self._is_there(name):
            return name
        args = plugin_args(policy.argument)
        if args is not None:
            self.add_args(args)
            is_service = isinstance(args, ServiceAffinityArgs)
            return names.CHECK_SERVICE_AFFINITY if is_service else names.CHECK_NODE_LABEL_PRESENCE
        self.complaints.append((("predicates", index, "name"), f'there is no predicate "{policy.name}"'))
        return ""

    def _is_there(self, name: str) -> bool:
        return name not in _GATED or self._gates.enabled(_GATED[name])

    def check_arguments(self, policy: Policy) -> None:
        """Add the mistakes at which kube-scheduler stops when it makes the plugins."""
        for index, each in enumerate(policy.priorities or ()):
            if each.name in _PLUGIN_OF_ARGS.values() and each.name not in self.args:
                text = f"no argument is read under the name {each.name}, and it cannot do without"
                self.complaints.append((("priorities", index), text))
        for plugin, args in self.args.items():
            for where, text in args_complaints(args, self._gates, self._release):
                section = "predicates" if where.startswith(("presentLabels[", "absentLabels[")) else "priorities"
                self.complaints.append(((section,), f"{plugin}: {where}: {text}"))

    def add_args(self, args: NodeLabelArgs | RequestedToCapacityRatioArgs | ServiceAffinityArgs) -> str:
        """Add the arguments to those of their plugin, and return its name. Labels add up; the last ratio counts."""
        plugin = _PLUGIN_OF_ARGS[type(args)]
        own = self.args.get(plugin)
        if own is None or isinstance(args, RequestedToCapacityRatioArgs):
            self.args[plugin] = args
            return plugin
        lists = [each.name for each in fields(args) if isinstance(each.default, tuple)]
        self.args[plugin] = replace(own, **{each: (*getattr(own, each), *getattr(args, each)) for each in lists})
        return plugin

    def add_predicate(self, name: str) -> None:
        for points, plugin in PREDICATES[name]:
            for point in points:
                self._append(point, plugin)

    # Priorities

    def priority_weights(self, policies: Sequence[PriorityPolicy] | None) -> dict[str, int]:
        if policies is None:
            weights = {name: weight for name, weight in _DEFAULTS.items() if weight and self._is_there(name)}
            if names.EVEN_PODS_SPREAD_PRIORITY in weights:
                weights[names.EVEN_PODS_SPREAD_PRIORITY] = self._rules.spread_priority_weight
            return weights
        wanted = [(self._priority(index, each), each.weight) for index, each in enumerate(policies)]
        return {name: weight for name, weight in wanted if name}

    def _priority(self, index: int, policy: PriorityPolicy) -> str:
        if policy.name == names.EQUAL_PRIORITY:
            return ""
        name = _OLD_PRIORITIES.get(policy.name, policy.name)
        if name in PRIORITIES and self._is_there(name):
            return name
        args = plugin_args(policy.argument)
        if args is not None:
            return self.add_args(args)
        self.complaints.append((("priorities", index, "name"), f'there is no priority "{policy.name}"'))
        return ""

    def add_priority(self, name: str, weight: int) -> None:
        plugin, pre_scores = PRIORITIES[name]
        if name == names.SELECTOR_SPREAD_PRIORITY and not self._spreads_by_default:
            plugin = self._rules.selector_spread_plugin
        elif plugin == names.POD_TOPOLOGY_SPREAD:
            self._set_defaulting(system=name == names.SELECTOR_SPREAD_PRIORITY)
        if pre_scores:
            self._append("preScore", plugin)
        self._append("score", plugin, weight * self._times(name))

    def _times(self, name: str) -> int:
        """A preference by labels weighs as much for each of them."""
        own = self.args.get(name)
        if isinstance(own, NodeLabelArgs):
            return len(own.present_labels_preference) + len(own.absent_labels_preference)
        return len(own.anti_affinity_labels_preference) if isinstance(own, ServiceAffinityArgs) else 1

    def _set_defaulting(self, *, system: bool) -> None:
        """Pods without constraints are spread where the priority for selectors is enabled."""
        if self._spreads_by_default and (system or names.POD_TOPOLOGY_SPREAD not in self.args):
            self.args[names.POD_TOPOLOGY_SPREAD] = PodTopologySpreadArgs(defaulting_type="System" if system else "List")
