"""A Policy as a profile: what 1.19 to 1.22 made of predicates and priorities (createFromConfig, LegacyRegistry)."""

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

_OFF = (PluginRef("*"),)
_SPREAD = "PodTopologySpread"

# Predicates in the order in which they are run, and the (extension points, plugin) of each.
_BOTH = ("preFilter", "filter")
_FIT = (_BOTH, "NodeResourcesFit")
_NAME = (("filter",), "NodeName")
_PORTS = (_BOTH, "NodePorts")
_SELECTOR = (_BOTH, "NodeAffinity")
PREDICATES: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "CheckNodeUnschedulable": ((("filter",), "NodeUnschedulable"),),
    "GeneralPredicates": (_FIT, _NAME, _PORTS, _SELECTOR),
    "HostName": (_NAME,),
    "PodFitsHostPorts": (_PORTS,),
    "MatchNodeSelector": (_SELECTOR,),
    "PodFitsResources": (_FIT,),
    "NoDiskConflict": ((("filter",), "VolumeRestrictions"),),
    "PodToleratesNodeTaints": ((("filter",), "TaintToleration"),),
    "CheckNodeLabelPresence": ((("filter",), "NodeLabel"),),
    "CheckServiceAffinity": ((_BOTH, "ServiceAffinity"),),
    "MaxEBSVolumeCount": ((("filter",), "EBSLimits"),),
    "MaxGCEPDVolumeCount": ((("filter",), "GCEPDLimits"),),
    "MaxCSIVolumeCountPred": ((("filter",), "NodeVolumeLimits"),),
    "MaxAzureDiskVolumeCount": ((("filter",), "AzureDiskLimits"),),
    "MaxCinderVolumeCount": ((("filter",), "CinderLimits"),),
    "CheckVolumeBinding": ((("preFilter", "filter", "reserve", "preBind"), "VolumeBinding"),),
    "NoVolumeZoneConflict": ((("filter",), "VolumeZone"),),
    "EvenPodsSpread": ((_BOTH, _SPREAD),),
    "MatchInterPodAffinity": ((_BOTH, "InterPodAffinity"),),
}
_MANDATORY = frozenset({"PodToleratesNodeTaints", "CheckNodeUnschedulable"})
_NOT_DEFAULT = frozenset(
    {
        *("HostName", "PodFitsHostPorts", "MatchNodeSelector", "PodFitsResources"),
        *("CheckNodeLabelPresence", "CheckServiceAffinity", "MaxCinderVolumeCount"),
    }
)
_OLD_PREDICATES = {"PodFitsPorts": "PodFitsHostPorts"}

# Plugins that are for other arguments each time, and so for entries of other names.
_OF_ARGUMENTS = frozenset({"NodeLabel", "RequestedToCapacityRatio", "ServiceAffinity"})

# Priorities by name: the plugin, and whether it has a PreScore.
PRIORITIES: Mapping[str, tuple[str, bool]] = {
    "BalancedResourceAllocation": ("NodeResourcesBalancedAllocation", False),
    "EvenPodsSpreadPriority": (_SPREAD, True),
    "ImageLocalityPriority": ("ImageLocality", False),
    "InterPodAffinityPriority": ("InterPodAffinity", True),
    "LeastRequestedPriority": ("NodeResourcesLeastAllocated", False),
    "MostRequestedPriority": ("NodeResourcesMostAllocated", False),
    "NodeAffinityPriority": ("NodeAffinity", True),
    "NodeLabel": ("NodeLabel", False),
    "NodePreferAvoidPodsPriority": ("NodePreferAvoidPods", False),
    "RequestedToCapacityRatio": ("RequestedToCapacityRatio", False),
    "SelectorSpreadPriority": (_SPREAD, True),
    "ServiceAffinity": ("ServiceAffinity", False),
    "TaintTolerationPriority": ("TaintToleration", True),
}
_DEFAULT_PRIORITIES = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}
_OLD_PRIORITIES = {"ServiceSpreadingPriority": "SelectorSpreadPriority"}
_PLUGIN_OF_ARGUMENT = {
    "serviceAffinity": "ServiceAffinity",
    "labelsPresence": "NodeLabel",
    "serviceAntiAffinity": "ServiceAffinity",
    "labelPreference": "NodeLabel",
    "requestedToCapacityRatioArguments": "RequestedToCapacityRatio",
}
_IGNORED = "EqualPriority"
_FIXED = {"queueSort": "PrioritySort", "postFilter": "DefaultPreemption", "bind": "DefaultBinder"}


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
    if policy.hard_pod_affinity_symmetric_weight and "InterPodAffinityPriority" in weights:
        weight = policy.hard_pod_affinity_symmetric_weight
        made.args["InterPodAffinity"] = InterPodAffinityArgs(hard_pod_affinity_weight=weight)
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
    """A profile while it is made."""

    def __init__(self, release: Release, gates: FeatureGates) -> None:
        self._release = release
        self._gates = gates
        rules = ConfigurationRules.of(release)
        alone = ("preFilter", "NodeAffinity"), ("preScore", "NodeAffinity")
        self._left_out = () if rules.node_affinity_looks_ahead else alone
        self._merges = rules.policy_preempts
        self._spreads_by_default = gates.enabled("DefaultPodTopologySpread") and self._merges
        self._points: dict[str, dict[str, PluginRef]] = {point: {} for point in EXTENSION_POINT_FIELDS}
        self.args: dict[str, Any] = {}
        self.complaints: list[Complaint] = []
        for point, plugin in _FIXED.items():
            # In older minors there is no preemption under a Policy.
            if self._merges or point != "postFilter":
                self._append(point, plugin)

    def plugins(self) -> Plugins:
        """With all defaults off, so that what the Policy names is all there is."""
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
            return frozenset(PREDICATES) - _NOT_DEFAULT
        named = (self._predicate(index, each) for index, each in enumerate(policies))
        return frozenset(name for name in named if name)

    def _predicate(self, index: int, policy: PredicatePolicy) -> str:
        name = _OLD_PREDICATES.get(policy.name, policy.name)
        if name in PREDICATES:
            return name
        argument = policy.argument
        if argument is not None and argument.service_affinity is not None:
            own = self._own("ServiceAffinity", ServiceAffinityArgs())
            labels = (*own.affinity_labels, *argument.service_affinity.labels)
            self.args["ServiceAffinity"] = replace(own, affinity_labels=labels)
            return "CheckServiceAffinity"
        if argument is not None and argument.labels_presence is not None:
            wanted = argument.labels_presence
            field = "present_labels" if wanted.presence else "absent_labels"
            self._add_labels(field, wanted.labels)
            return "CheckNodeLabelPresence"
        self.complaints.append((("predicates", index, "name"), f'there is no predicate "{policy.name}"'))
        return ""

    def check_arguments(self, policy: Policy) -> None:
        """Where kube-scheduler gives up when it makes the plugins."""
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
        own = self._own("NodeLabel", NodeLabelArgs())
        self.args["NodeLabel"] = replace(own, **{field: (*getattr(own, field), *labels)})

    def add_args(self, plugin: str, args: NodeLabelArgs | ServiceAffinityArgs) -> None:
        """To those that are there: labels add up."""
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
            return dict(_DEFAULT_PRIORITIES)
        wanted = [(self._priority(index, each), each.weight) for index, each in enumerate(policies)]
        return {name: weight for name, weight in wanted if name}

    def _priority(self, index: int, policy: PriorityPolicy) -> str:
        if policy.name == _IGNORED:
            return ""
        name = _OLD_PRIORITIES.get(policy.name, policy.name)
        if name in PRIORITIES:
            return name
        argument = policy.argument
        if argument is not None and argument.service_anti_affinity is not None:
            own = self._own("ServiceAffinity", ServiceAffinityArgs())
            labels = (*own.anti_affinity_labels_preference, argument.service_anti_affinity.label)
            self.args["ServiceAffinity"] = replace(own, anti_affinity_labels_preference=labels)
            return "ServiceAffinity"
        if argument is not None and argument.label_preference is not None:
            wanted = argument.label_preference
            field = "present_labels_preference" if wanted.presence else "absent_labels_preference"
            self._add_labels(field, (wanted.label,))
            return "NodeLabel"
        if argument is not None and argument.requested_to_capacity_ratio_arguments is not None:
            ratio = argument.requested_to_capacity_ratio_arguments
            made = RequestedToCapacityRatioArgs(shape=ratio.shape, resources=ratio.resources)
            self.args["RequestedToCapacityRatio"] = with_defaults(made)
            return "RequestedToCapacityRatio"
        self.complaints.append((("priorities", index, "name"), f'there is no priority "{policy.name}"'))
        return ""

    def add_priority(self, name: str, weight: int) -> None:
        plugin, pre_scores = PRIORITIES[name]
        if name == "SelectorSpreadPriority" and not self._spreads_by_default:
            plugin = "SelectorSpread"
        elif plugin == _SPREAD:
            self._set_defaulting(system=name == "SelectorSpreadPriority")
        if pre_scores:
            self._append("preScore", plugin)
        self._append("score", plugin, weight * self._times(name))

    def _times(self, name: str) -> int:
        """A preference by labels weighs as much for each of them."""
        if name == "NodeLabel":
            own = self._own("NodeLabel", NodeLabelArgs())
            return len(own.present_labels_preference) + len(own.absent_labels_preference)
        if name == "ServiceAffinity":
            return len(self._own("ServiceAffinity", ServiceAffinityArgs()).anti_affinity_labels_preference)
        return 1

    def _set_defaulting(self, *, system: bool) -> None:
        """Pods without constraints are spread where SelectorSpreadPriority asks for it, and not for EvenPodsSpread."""
        if self._spreads_by_default and (system or _SPREAD not in self.args):
            self.args[_SPREAD] = PodTopologySpreadArgs(defaulting_type="System" if system else "List")
