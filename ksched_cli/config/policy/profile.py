"""A Policy as a profile: what the last readers made of predicates and priorities (createFromConfig, LegacyRegistry)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import fields, replace

from ksched_cli.config.model import EXTENSION_POINT_FIELDS, KubeSchedulerProfile, PluginRef, Plugins, PluginSet
from ksched_cli.config.plugin_args import (
    InterPodAffinityArgs,
    NodeLabelArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioArgs,
    ServiceAffinityArgs,
    with_defaults,
)
from ksched_cli.config.policy.model import Complaint, Policy, PredicatePolicy, PriorityPolicy
from ksched_cli.config.validate_args import args_complaints
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import (
    AZURE_DISK_LIMITS,
    BALANCED_RESOURCE_ALLOCATION,
    CHECK_NODE_LABEL_PRESENCE,
    CHECK_NODE_UNSCHEDULABLE,
    CHECK_SERVICE_AFFINITY,
    CHECK_VOLUME_BINDING,
    CINDER_LIMITS,
    DEFAULT_BINDER,
    DEFAULT_PREEMPTION,
    EBS_LIMITS,
    EQUAL_PRIORITY,
    EVEN_PODS_SPREAD,
    EVEN_PODS_SPREAD_PRIORITY,
    GCEPD_LIMITS,
    GENERAL_PREDICATES,
    HOST_NAME,
    IMAGE_LOCALITY,
    IMAGE_LOCALITY_PRIORITY,
    INTER_POD_AFFINITY,
    INTER_POD_AFFINITY_PRIORITY,
    LEAST_REQUESTED_PRIORITY,
    MATCH_INTER_POD_AFFINITY,
    MATCH_NODE_SELECTOR,
    MAX_AZURE_DISK_VOLUME_COUNT,
    MAX_CINDER_VOLUME_COUNT,
    MAX_CSI_VOLUME_COUNT_PRED,
    MAX_EBS_VOLUME_COUNT,
    MAX_GCEPD_VOLUME_COUNT,
    MOST_REQUESTED_PRIORITY,
    NO_DISK_CONFLICT,
    NO_VOLUME_ZONE_CONFLICT,
    NODE_AFFINITY,
    NODE_AFFINITY_PRIORITY,
    NODE_LABEL,
    NODE_NAME,
    NODE_PORTS,
    NODE_PREFER_AVOID_PODS,
    NODE_PREFER_AVOID_PODS_PRIORITY,
    NODE_RESOURCE_LIMITS,
    NODE_RESOURCES_BALANCED_ALLOCATION,
    NODE_RESOURCES_FIT,
    NODE_RESOURCES_LEAST_ALLOCATED,
    NODE_RESOURCES_MOST_ALLOCATED,
    NODE_UNSCHEDULABLE,
    NODE_VOLUME_LIMITS,
    POD_FITS_HOST_PORTS,
    POD_FITS_RESOURCES,
    POD_TOLERATES_NODE_TAINTS,
    POD_TOPOLOGY_SPREAD,
    PRIORITY_SORT,
    REQUESTED_TO_CAPACITY_RATIO,
    RESOURCE_LIMITS_PRIORITY,
    SELECTOR_SPREAD_PRIORITY,
    SERVICE_AFFINITY,
    SERVICE_SPREADING_PRIORITY,
    TAINT_TOLERATION,
    TAINT_TOLERATION_PRIORITY,
    VOLUME_BINDING,
    VOLUME_RESTRICTIONS,
    VOLUME_ZONE,
)

_OFF = (PluginRef("*"),)

# Predicates in the order in which they are run, and the (extension points, plugin) of each.
_BOTH = ("preFilter", "filter")
_FIT = (_BOTH, NODE_RESOURCES_FIT)
_NAME = (("filter",), NODE_NAME)
_PORTS = (_BOTH, NODE_PORTS)
_SELECTOR = (_BOTH, NODE_AFFINITY)
PREDICATES: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    CHECK_NODE_UNSCHEDULABLE: ((("filter",), NODE_UNSCHEDULABLE),),
    GENERAL_PREDICATES: (_FIT, _NAME, _PORTS, _SELECTOR),
    HOST_NAME: (_NAME,),
    POD_FITS_HOST_PORTS: (_PORTS,),
    MATCH_NODE_SELECTOR: (_SELECTOR,),
    POD_FITS_RESOURCES: (_FIT,),
    NO_DISK_CONFLICT: ((("filter",), VOLUME_RESTRICTIONS),),
    POD_TOLERATES_NODE_TAINTS: ((("filter",), TAINT_TOLERATION),),
    CHECK_NODE_LABEL_PRESENCE: ((("filter",), NODE_LABEL),),
    CHECK_SERVICE_AFFINITY: ((_BOTH, SERVICE_AFFINITY),),
    MAX_EBS_VOLUME_COUNT: ((("filter",), EBS_LIMITS),),
    MAX_GCEPD_VOLUME_COUNT: ((("filter",), GCEPD_LIMITS),),
    MAX_CSI_VOLUME_COUNT_PRED: ((("filter",), NODE_VOLUME_LIMITS),),
    MAX_AZURE_DISK_VOLUME_COUNT: ((("filter",), AZURE_DISK_LIMITS),),
    MAX_CINDER_VOLUME_COUNT: ((("filter",), CINDER_LIMITS),),
    CHECK_VOLUME_BINDING: ((("preFilter", "filter", "reserve", "preBind"), VOLUME_BINDING),),
    NO_VOLUME_ZONE_CONFLICT: ((("filter",), VOLUME_ZONE),),
    EVEN_PODS_SPREAD: ((_BOTH, POD_TOPOLOGY_SPREAD),),
    MATCH_INTER_POD_AFFINITY: ((_BOTH, INTER_POD_AFFINITY),),
}
_MANDATORY = frozenset({POD_TOLERATES_NODE_TAINTS, CHECK_NODE_UNSCHEDULABLE})
_NOT_DEFAULT = frozenset(
    {
        *(HOST_NAME, POD_FITS_HOST_PORTS, MATCH_NODE_SELECTOR, POD_FITS_RESOURCES),
        *(CHECK_NODE_LABEL_PRESENCE, CHECK_SERVICE_AFFINITY, MAX_CINDER_VOLUME_COUNT),
    }
)
_OLD_PREDICATES = {"PodFitsPorts": POD_FITS_HOST_PORTS}

# Plugins that are for other arguments each time, and so for entries of other names.
_OF_ARGUMENTS = frozenset({NODE_LABEL, REQUESTED_TO_CAPACITY_RATIO, SERVICE_AFFINITY})

# Priorities by name: the plugin, and whether it has a PreScore.
PRIORITIES: Mapping[str, tuple[str, bool]] = {
    BALANCED_RESOURCE_ALLOCATION: (NODE_RESOURCES_BALANCED_ALLOCATION, False),
    EVEN_PODS_SPREAD_PRIORITY: (POD_TOPOLOGY_SPREAD, True),
    IMAGE_LOCALITY_PRIORITY: (IMAGE_LOCALITY, False),
    INTER_POD_AFFINITY_PRIORITY: (INTER_POD_AFFINITY, True),
    LEAST_REQUESTED_PRIORITY: (NODE_RESOURCES_LEAST_ALLOCATED, False),
    MOST_REQUESTED_PRIORITY: (NODE_RESOURCES_MOST_ALLOCATED, False),
    NODE_AFFINITY_PRIORITY: (NODE_AFFINITY, True),
    NODE_LABEL: (NODE_LABEL, False),
    NODE_PREFER_AVOID_PODS_PRIORITY: (NODE_PREFER_AVOID_PODS, False),
    REQUESTED_TO_CAPACITY_RATIO: (REQUESTED_TO_CAPACITY_RATIO, False),
    RESOURCE_LIMITS_PRIORITY: (NODE_RESOURCE_LIMITS, True),
    SELECTOR_SPREAD_PRIORITY: (POD_TOPOLOGY_SPREAD, True),
    SERVICE_AFFINITY: (SERVICE_AFFINITY, False),
    TAINT_TOLERATION_PRIORITY: (TAINT_TOLERATION, True),
}
_DEFAULT_PRIORITIES = {
    SELECTOR_SPREAD_PRIORITY: 1,
    INTER_POD_AFFINITY_PRIORITY: 1,
    LEAST_REQUESTED_PRIORITY: 1,
    BALANCED_RESOURCE_ALLOCATION: 1,
    NODE_PREFER_AVOID_PODS_PRIORITY: 10000,
    NODE_AFFINITY_PRIORITY: 1,
    TAINT_TOLERATION_PRIORITY: 1,
    IMAGE_LOCALITY_PRIORITY: 1,
}
# Names that are there where a gate is on.
_GATED = {
    EVEN_PODS_SPREAD: EVEN_PODS_SPREAD,
    EVEN_PODS_SPREAD_PRIORITY: EVEN_PODS_SPREAD,
    RESOURCE_LIMITS_PRIORITY: "ResourceLimitsPriorityFunction",
}
_OLD_PRIORITIES = {SERVICE_SPREADING_PRIORITY: SELECTOR_SPREAD_PRIORITY}
_PLUGIN_OF_ARGUMENT = {
    "serviceAffinity": SERVICE_AFFINITY,
    "labelsPresence": NODE_LABEL,
    "serviceAntiAffinity": SERVICE_AFFINITY,
    "labelPreference": NODE_LABEL,
    "requestedToCapacityRatioArguments": REQUESTED_TO_CAPACITY_RATIO,
}
_FIXED = {"queueSort": PRIORITY_SORT, "postFilter": DEFAULT_PREEMPTION, "bind": DEFAULT_BINDER}


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
    if policy.hard_pod_affinity_symmetric_weight and INTER_POD_AFFINITY_PRIORITY in weights:
        weight = policy.hard_pod_affinity_symmetric_weight
        made.args[INTER_POD_AFFINITY] = InterPodAffinityArgs(hard_pod_affinity_weight=weight)
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
            self._left_out |= {("preFilter", NODE_AFFINITY), ("preScore", NODE_AFFINITY)}
        if not rules.volume_binding_reserves:
            self._left_out |= {(point, VOLUME_BINDING) for point in ("preFilter", "reserve", "preBind")}
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
        sets = {point: PluginSet(tuple(own.values()), _OFF) for point, own in self._points.items()}
        return Plugins(**{EXTENSION_POINT_FIELDS[point]: own for point, own in sets.items()})

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
            return frozenset(name for name in PREDICATES if name not in _NOT_DEFAULT and self._is_there(name))
        named = (self._predicate(index, each) for index, each in enumerate(policies))
        return frozenset(name for name in named if name)

    def _predicate(self, index: int, policy: PredicatePolicy) -> str:
        name = _OLD_PREDICATES.get(policy.name, policy.name)
        if name in PREDICATES and self._is_there(name):
            return name
        argument = policy.argument
        if argument is not None and argument.service_affinity is not None:
            own = self._own(SERVICE_AFFINITY, ServiceAffinityArgs())
            labels = (*own.affinity_labels, *argument.service_affinity.labels)
            self.args[SERVICE_AFFINITY] = replace(own, affinity_labels=labels)
            return CHECK_SERVICE_AFFINITY
        if argument is not None and argument.labels_presence is not None:
            wanted = argument.labels_presence
            field = "present_labels" if wanted.presence else "absent_labels"
            self._add_labels(field, wanted.labels)
            return CHECK_NODE_LABEL_PRESENCE
        self.complaints.append((("predicates", index, "name"), f'there is no predicate "{policy.name}"'))
        return ""

    def _is_there(self, name: str) -> bool:
        return name not in _GATED or self._gates.enabled(_GATED[name])

    def check_arguments(self, policy: Policy) -> None:
        """Add the mistakes at which kube-scheduler stops when it makes the plugins."""
        for index, each in enumerate(policy.priorities or ()):
            if each.name in _OF_ARGUMENTS and each.name not in self.args:
                text = f"no argument is read under the name {each.name}, and it cannot do without"
                self.complaints.append((("priorities", index), text))
        for plugin, args in self.args.items():
            for where, text in args_complaints(args, self._gates, self._release):
                section = "predicates" if where.startswith(("presentLabels[", "absentLabels[")) else "priorities"
                self.complaints.append(((section,), f"{plugin}: {where}: {text}"))

    def _own(self, plugin: str, start: Any) -> Any:
        return self.args.setdefault(plugin, start)

    def _add_labels(self, field: str, labels: Iterable[str]) -> None:
        own = self._own(NODE_LABEL, NodeLabelArgs())
        self.args[NODE_LABEL] = replace(own, **{field: (*getattr(own, field), *labels)})

    def add_args(self, plugin: str, args: NodeLabelArgs | ServiceAffinityArgs) -> None:
        """Add the arguments to those of the plugin: labels add up."""
        own = self.args.get(plugin)
        if own is None:
            self.args[plugin] = args
            return
        lists = [each.name for each in fields(args) if isinstance(each.default, tuple)]
        self.args[plugin] = replace(own, **{each: (*getattr(own, each), *getattr(args, each)) for each in lists})

    def add_predicate(self, name: str) -> None:
        for points, plugin in PREDICATES[name]:
            for point in points:
                self._append(point, plugin)

    # Priorities

    def priority_weights(self, policies: Sequence[PriorityPolicy] | None) -> dict[str, int]:
        if policies is None:
            return self._default_priorities()
        wanted = [(self._priority(index, each), each.weight) for index, each in enumerate(policies)]
        return {name: weight for name, weight in wanted if name}

    def _default_priorities(self) -> dict[str, int]:
        weights = dict(_DEFAULT_PRIORITIES)
        if self._is_there(EVEN_PODS_SPREAD_PRIORITY):
            weights[EVEN_PODS_SPREAD_PRIORITY] = self._rules.spread_priority_weight
        if self._is_there(RESOURCE_LIMITS_PRIORITY):
            weights[RESOURCE_LIMITS_PRIORITY] = 1
        return weights

    def _priority(self, index: int, policy: PriorityPolicy) -> str:
        if policy.name == EQUAL_PRIORITY:
            return ""
        name = _OLD_PRIORITIES.get(policy.name, policy.name)
        if name in PRIORITIES and self._is_there(name):
            return name
        argument = policy.argument
        if argument is not None and argument.service_anti_affinity is not None:
            own = self._own(SERVICE_AFFINITY, ServiceAffinityArgs())
            labels = (*own.anti_affinity_labels_preference, argument.service_anti_affinity.label)
            self.args[SERVICE_AFFINITY] = replace(own, anti_affinity_labels_preference=labels)
            return SERVICE_AFFINITY
        if argument is not None and argument.label_preference is not None:
            wanted = argument.label_preference
            field = "present_labels_preference" if wanted.presence else "absent_labels_preference"
            self._add_labels(field, (wanted.label,))
            return NODE_LABEL
        if argument is not None and argument.requested_to_capacity_ratio_arguments is not None:
            ratio = argument.requested_to_capacity_ratio_arguments
            made = RequestedToCapacityRatioArgs(shape=ratio.shape, resources=ratio.resources)
            self.args[REQUESTED_TO_CAPACITY_RATIO] = with_defaults(made)
            return REQUESTED_TO_CAPACITY_RATIO
        self.complaints.append((("priorities", index, "name"), f'there is no priority "{policy.name}"'))
        return ""

    def add_priority(self, name: str, weight: int) -> None:
        plugin, pre_scores = PRIORITIES[name]
        if name == SELECTOR_SPREAD_PRIORITY and not self._spreads_by_default:
            plugin = self._rules.selector_spread_plugin
        elif plugin == POD_TOPOLOGY_SPREAD:
            self._set_defaulting(system=name == SELECTOR_SPREAD_PRIORITY)
        if pre_scores:
            self._append("preScore", plugin)
        self._append("score", plugin, weight * self._times(name))

    def _times(self, name: str) -> int:
        """A preference by labels weighs as much for each of them."""
        if name == NODE_LABEL:
            own = self._own(NODE_LABEL, NodeLabelArgs())
            return len(own.present_labels_preference) + len(own.absent_labels_preference)
        if name == SERVICE_AFFINITY:
            return len(self._own(SERVICE_AFFINITY, ServiceAffinityArgs()).anti_affinity_labels_preference)
        return 1

    def _set_defaulting(self, *, system: bool) -> None:
        """Pods without constraints are spread where the priority for selectors is enabled."""
        if self._spreads_by_default and (system or POD_TOPOLOGY_SPREAD not in self.args):
            self.args[POD_TOPOLOGY_SPREAD] = PodTopologySpreadArgs(defaulting_type="System" if system else "List")
