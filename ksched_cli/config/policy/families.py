"""The tables of predicates and priorities: the plugin that has the rule of each (LegacyRegistry)."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.releases import plugin_names as names

# Predicates in the order in which they are run, and the (extension points, plugin) of each.
_FILTER, _BOTH = ("filter",), ("preFilter", "filter")
_FIT = (_BOTH, names.NODE_RESOURCES_FIT)
_NAME = (_FILTER, names.NODE_NAME)
_PORTS = (_BOTH, names.NODE_PORTS)
_SELECTOR = (_BOTH, names.NODE_AFFINITY)
PREDICATES: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    names.CHECK_NODE_UNSCHEDULABLE: ((_FILTER, names.NODE_UNSCHEDULABLE),),
    names.GENERAL_PREDICATES: (_FIT, _NAME, _PORTS, _SELECTOR),
    names.HOST_NAME: (_NAME,),
    names.POD_FITS_HOST_PORTS: (_PORTS,),
    names.MATCH_NODE_SELECTOR: (_SELECTOR,),
    names.POD_FITS_RESOURCES: (_FIT,),
    names.NO_DISK_CONFLICT: ((_FILTER, names.VOLUME_RESTRICTIONS),),
    names.POD_TOLERATES_NODE_TAINTS: ((_FILTER, names.TAINT_TOLERATION),),
    names.CHECK_NODE_LABEL_PRESENCE: ((_FILTER, names.NODE_LABEL),),
    names.CHECK_SERVICE_AFFINITY: ((_BOTH, names.SERVICE_AFFINITY),),
    names.MAX_EBS_VOLUME_COUNT: ((_FILTER, names.EBS_LIMITS),),
    names.MAX_GCEPD_VOLUME_COUNT: ((_FILTER, names.GCEPD_LIMITS),),
    names.MAX_CSI_VOLUME_COUNT_PRED: ((_FILTER, names.NODE_VOLUME_LIMITS),),
    names.MAX_AZURE_DISK_VOLUME_COUNT: ((_FILTER, names.AZURE_DISK_LIMITS),),
    names.MAX_CINDER_VOLUME_COUNT: ((_FILTER, names.CINDER_LIMITS),),
    names.CHECK_VOLUME_BINDING: ((("preFilter", "filter", "reserve", "preBind"), names.VOLUME_BINDING),),
    names.NO_VOLUME_ZONE_CONFLICT: ((_FILTER, names.VOLUME_ZONE),),
    names.EVEN_PODS_SPREAD: ((_BOTH, names.POD_TOPOLOGY_SPREAD),),
    names.MATCH_INTER_POD_AFFINITY: ((_BOTH, names.INTER_POD_AFFINITY),),
}

# Priorities by their last name: the plugin, and whether it has a PreScore.
PRIORITIES: Mapping[str, tuple[str, bool]] = {
    names.BALANCED_RESOURCE_ALLOCATION: (names.NODE_RESOURCES_BALANCED_ALLOCATION, False),
    names.EVEN_PODS_SPREAD_PRIORITY: (names.POD_TOPOLOGY_SPREAD, True),
    names.IMAGE_LOCALITY_PRIORITY: (names.IMAGE_LOCALITY, False),
    names.INTER_POD_AFFINITY_PRIORITY: (names.INTER_POD_AFFINITY, True),
    names.LEAST_REQUESTED_PRIORITY: (names.NODE_RESOURCES_LEAST_ALLOCATED, False),
    names.MOST_REQUESTED_PRIORITY: (names.NODE_RESOURCES_MOST_ALLOCATED, False),
    names.NODE_AFFINITY_PRIORITY: (names.NODE_AFFINITY, True),
    names.NODE_LABEL: (names.NODE_LABEL, False),
    names.NODE_PREFER_AVOID_PODS_PRIORITY: (names.NODE_PREFER_AVOID_PODS, False),
    names.REQUESTED_TO_CAPACITY_RATIO: (names.REQUESTED_TO_CAPACITY_RATIO, False),
    names.RESOURCE_LIMITS_PRIORITY: (names.NODE_RESOURCE_LIMITS, True),
    names.SELECTOR_SPREAD_PRIORITY: (names.POD_TOPOLOGY_SPREAD, True),
    names.SERVICE_AFFINITY: (names.SERVICE_AFFINITY, False),
    names.TAINT_TOLERATION_PRIORITY: (names.TAINT_TOLERATION, True),
}
# Priorities that had another name before the first plugins.
LAST_NAMES = {
    names.NODE_LABEL_PRIORITY: names.NODE_LABEL,
    names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY: names.REQUESTED_TO_CAPACITY_RATIO,
    names.SERVICE_ANTI_AFFINITY_PRIORITY: names.SERVICE_AFFINITY,
    names.SERVICE_SPREADING_PRIORITY: names.SELECTOR_SPREAD_PRIORITY,
}

# Names that exist only where a gate is on.
GATED_PREDICATES = {names.EVEN_PODS_SPREAD: names.EVEN_PODS_SPREAD}
GATED_PRIORITIES = {
    names.EVEN_PODS_SPREAD_PRIORITY: names.EVEN_PODS_SPREAD,
    names.RESOURCE_LIMITS_PRIORITY: "ResourceLimitsPriorityFunction",
}

# The plugin of each predicate that became one plugin, and of each priority.
PLUGIN_OF_PREDICATE = {name: parts[0][1] for name, parts in PREDICATES.items() if len(parts) == 1}
PLUGIN_OF_PRIORITY = {name: plugin for name, (plugin, _) in PRIORITIES.items()}
# Plugins, and a predicate, whose work another plugin took over.
_SUCCESSORS = {
    names.CHECK_NODE_CONDITION: names.NODE_UNSCHEDULABLE,
    names.NODE_RESOURCES_LEAST_ALLOCATED: names.NODE_RESOURCES_FIT,
    names.NODE_RESOURCES_MOST_ALLOCATED: names.NODE_RESOURCES_FIT,
    names.REQUESTED_TO_CAPACITY_RATIO: names.NODE_RESOURCES_FIT,
    names.SELECTOR_SPREAD: names.POD_TOPOLOGY_SPREAD,
    names.DEFAULT_POD_TOPOLOGY_SPREAD: names.POD_TOPOLOGY_SPREAD,
}


def family_of(plugin: str) -> str:
    """One name for a plugin and those whose work it took over."""
    name = LAST_NAMES.get(plugin, plugin)
    name = PLUGIN_OF_PREDICATE.get(name) or PLUGIN_OF_PRIORITY.get(name, name)
    return _SUCCESSORS.get(name, name)
