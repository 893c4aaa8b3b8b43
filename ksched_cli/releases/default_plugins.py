"""The plugins of an empty profile in each minor (getDefaultPlugins with applyFeatureGates).

v1beta3 and v1 list them in MultiPoint; older versions have a list for each extension point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.gates import FeatureGates, is_there
from ksched_cli.releases.minors import Release, has_multi_point


class DefaultPlugin(NamedTuple):
    """A plugin, its first and last minor, the gate that must be on or off (`unless`), and its only configuration
    version."""

    name: str
    weight: int = 0
    since: str = ""
    until: str = ""
    gate: str = ""
    unless: str = ""
    config_version: str = ""


_P = DefaultPlugin

MULTI_POINT: tuple[DefaultPlugin, ...] = (
    _P(names.SCHEDULING_GATES, gate="PodSchedulingReadiness"),
    _P(names.PRIORITY_SORT),
    _P(names.NODE_UNSCHEDULABLE),
    _P(names.NODE_NAME),
    _P(names.TAINT_TOLERATION, 3),
    _P(names.NODE_AFFINITY, 2),
    _P(names.NODE_PORTS),
    _P(names.NODE_RESOURCES_FIT, 1),
    _P(names.VOLUME_RESTRICTIONS),
    # In-tree volumes count as their CSI drivers' from 1.31 on.
    _P(names.EBS_LIMITS, until="1.30"),
    _P(names.GCEPD_LIMITS, until="1.30"),
    _P(names.NODE_VOLUME_LIMITS),
    _P(names.AZURE_DISK_LIMITS, until="1.30"),
    _P(names.VOLUME_BINDING),
    _P(names.VOLUME_ZONE),
    _P(names.POD_TOPOLOGY_SPREAD, 2),
    _P(names.INTER_POD_AFFINITY, 2),
    _P(names.DYNAMIC_RESOURCES, until="1.34", gate="DynamicResourceAllocation"),
    # It scores from 1.35 on, hence the weight.
    _P(names.DYNAMIC_RESOURCES, 2, since="1.35", gate="DynamicResourceAllocation"),
    _P(names.DEFAULT_PREEMPTION),
    _P(names.NODE_RESOURCES_BALANCED_ALLOCATION, 1),
    _P(names.IMAGE_LOCALITY, 1),
    _P(names.DEFAULT_BINDER),
    _P(names.SELECTOR_SPREAD, 1, since="1.19", until="1.23", unless="DefaultPodTopologySpread"),
    _P(names.NODE_DECLARED_FEATURES, gate=names.NODE_DECLARED_FEATURES),
    _P(names.GANG_SCHEDULING, gate=names.GANG_SCHEDULING),
    _P(names.TOPOLOGY_PLACEMENT_GENERATOR, gate="TopologyAwareWorkloadScheduling"),
    _P(names.POD_GROUP_PODS_COUNT, 1, gate="TopologyAwareWorkloadScheduling"),
)

# Up to 1.16, under the DefaultProvider: predicates in the order in which they ran, and priorities.
BEFORE_PLUGINS: tuple[DefaultPlugin, ...] = (
    _P(names.PRIORITY_SORT),
    # The state of a node was first in its conditions, then in taints.
    _P(names.CHECK_NODE_CONDITION, unless="TaintNodesByCondition"),
    _P(names.CHECK_NODE_UNSCHEDULABLE, gate="TaintNodesByCondition"),
    _P(names.GENERAL_PREDICATES),
    _P(names.NO_DISK_CONFLICT),
    _P(names.POD_TOLERATES_NODE_TAINTS),
    _P(names.MAX_EBS_VOLUME_COUNT),
    _P(names.MAX_GCEPD_VOLUME_COUNT),
    _P(names.MAX_CSI_VOLUME_COUNT_PRED),
    _P(names.MAX_AZURE_DISK_VOLUME_COUNT),
    _P(names.CHECK_VOLUME_BINDING),
    _P(names.NO_VOLUME_ZONE_CONFLICT),
    _P(names.CHECK_NODE_MEMORY_PRESSURE, unless="TaintNodesByCondition"),
    _P(names.CHECK_NODE_PID_PRESSURE, unless="TaintNodesByCondition"),
    _P(names.CHECK_NODE_DISK_PRESSURE, unless="TaintNodesByCondition"),
    _P(names.EVEN_PODS_SPREAD, gate=names.EVEN_PODS_SPREAD),
    _P(names.MATCH_INTER_POD_AFFINITY),
    _P(names.BALANCED_RESOURCE_ALLOCATION, 1),
    _P(names.EVEN_PODS_SPREAD_PRIORITY, 1, gate=names.EVEN_PODS_SPREAD),
    _P(names.IMAGE_LOCALITY_PRIORITY, 1),
    _P(names.INTER_POD_AFFINITY_PRIORITY, 1),
    _P(names.LEAST_REQUESTED_PRIORITY, 1),
    _P(names.NODE_AFFINITY_PRIORITY, 1),
    _P(names.NODE_PREFER_AVOID_PODS_PRIORITY, 10000),
    _P(names.RESOURCE_LIMITS_PRIORITY, 1, gate="ResourceLimitsPriorityFunction"),
    _P(names.SELECTOR_SPREAD_PRIORITY, 1),
    _P(names.TAINT_TOLERATION_PRIORITY, 1),
    _P(names.DEFAULT_PREEMPTION),
    _P(names.DEFAULT_BINDER),
)

# By extension point, for v1alpha1 (after 1.16), v1alpha2, v1beta1 and v1beta2.
BY_POINT: Mapping[str, tuple[DefaultPlugin, ...]] = {
    "preEnqueue": (_P(names.SCHEDULING_GATES, gate="PodSchedulingReadiness"),),
    "queueSort": (_P(names.PRIORITY_SORT),),
    "preFilter": (
        _P(names.NODE_RESOURCES_FIT),
        _P(names.NODE_PORTS),
        _P(names.VOLUME_RESTRICTIONS, since="1.22"),
        # 1.18 put what a gate enables last.
        _P(names.POD_TOPOLOGY_SPREAD, until="1.17", gate=names.EVEN_PODS_SPREAD),
        _P(names.POD_TOPOLOGY_SPREAD, since="1.19"),
        _P(names.INTER_POD_AFFINITY),
        _P(names.POD_TOPOLOGY_SPREAD, since="1.18", until="1.18", gate=names.EVEN_PODS_SPREAD),
        _P(names.VOLUME_BINDING, since="1.19"),
        _P(names.VOLUME_ZONE, since="1.27"),
        # Before 1.21 it worked out what the pod wants for every node anew, here and in PreScore.
        _P(names.NODE_AFFINITY, since="1.21"),
    ),
    "filter": (
        _P(names.NODE_UNSCHEDULABLE),
        # Up to 1.19 it was the order of the predicates.
        _P(names.NODE_RESOURCES_FIT, until="1.19"),
        _P(names.NODE_NAME),
        _P(names.NODE_PORTS, until="1.19"),
        _P(names.TAINT_TOLERATION, since="1.20"),
        _P(names.NODE_AFFINITY),
        _P(names.NODE_PORTS, since="1.20"),
        _P(names.NODE_RESOURCES_FIT, since="1.20"),
        _P(names.VOLUME_RESTRICTIONS),
        _P(names.TAINT_TOLERATION, until="1.19"),
        _P(names.EBS_LIMITS),
        _P(names.GCEPD_LIMITS),
        _P(names.NODE_VOLUME_LIMITS),
        _P(names.AZURE_DISK_LIMITS),
        _P(names.VOLUME_BINDING),
        _P(names.VOLUME_ZONE),
        # The predicate came before that of affinity; 1.18 put the plugin last.
        _P(names.POD_TOPOLOGY_SPREAD, until="1.17", gate=names.EVEN_PODS_SPREAD),
        _P(names.POD_TOPOLOGY_SPREAD, since="1.19"),
        _P(names.INTER_POD_AFFINITY),
        _P(names.POD_TOPOLOGY_SPREAD, since="1.18", until="1.18", gate=names.EVEN_PODS_SPREAD),
    ),
    "postFilter": (_P(names.DEFAULT_PREEMPTION),),
    "preScore": (
        _P(names.INTER_POD_AFFINITY),
        _P(names.POD_TOPOLOGY_SPREAD, until="1.17", gate=names.EVEN_PODS_SPREAD),
        _P(names.POD_TOPOLOGY_SPREAD, since="1.19"),
        _P(names.DEFAULT_POD_TOPOLOGY_SPREAD, until="1.18"),
        _P(names.TAINT_TOLERATION),
        _P(names.POD_TOPOLOGY_SPREAD, since="1.18", until="1.18", gate=names.EVEN_PODS_SPREAD),
        _P(names.NODE_RESOURCE_LIMITS, until="1.18", gate="ResourceLimitsPriorityFunction"),
        _P(names.NODE_AFFINITY, since="1.21"),
        _P(names.NODE_RESOURCES_FIT, since="1.27"),
        _P(names.NODE_RESOURCES_BALANCED_ALLOCATION, since="1.27"),
        _P(names.SELECTOR_SPREAD, since="1.19", until="1.23", unless="DefaultPodTopologySpread"),
    ),
    "score": (
        _P(names.NODE_RESOURCES_BALANCED_ALLOCATION, 1),
        _P(names.IMAGE_LOCALITY, 1),
        _P(names.INTER_POD_AFFINITY, 1),
        _P(names.NODE_RESOURCES_LEAST_ALLOCATED, 1, until="1.18"),
        _P(names.NODE_RESOURCES_LEAST_ALLOCATED, 1, config_version="v1beta1"),
        _P(names.NODE_RESOURCES_FIT, 1, config_version="v1beta2"),
        _P(names.NODE_AFFINITY, 1),
        _P(names.NODE_PREFER_AVOID_PODS, 10000, until="1.18"),
        _P(names.NODE_PREFER_AVOID_PODS, 10000, config_version="v1beta1"),
        _P(names.DEFAULT_POD_TOPOLOGY_SPREAD, 1, until="1.18"),
        _P(names.POD_TOPOLOGY_SPREAD, 1, until="1.17", gate=names.EVEN_PODS_SPREAD),
        _P(names.POD_TOPOLOGY_SPREAD, 2, since="1.19"),
        _P(names.TAINT_TOLERATION, 1),
        _P(names.POD_TOPOLOGY_SPREAD, 1, since="1.18", until="1.18", gate=names.EVEN_PODS_SPREAD),
        _P(names.NODE_RESOURCE_LIMITS, 1, until="1.18", gate="ResourceLimitsPriorityFunction"),
        _P(names.VOLUME_BINDING, 1, gate="VolumeCapacityPriority"),
        _P(names.SELECTOR_SPREAD, 1, since="1.19", until="1.23", unless="DefaultPodTopologySpread"),
    ),
    "reserve": (_P(names.VOLUME_BINDING, since="1.19"),),
    "preBind": (_P(names.VOLUME_BINDING, since="1.19"),),
    "bind": (_P(names.DEFAULT_BINDER),),
}


def plugin_names(release: Release) -> tuple[str, ...]:
    """Every default plugin of a configuration version that the minor reads, gated or not."""
    if release.before_plugins:
        return tuple(each.name for each in BEFORE_PLUGINS)
    read = {each.rpartition("/")[2] for each in release.config.read}
    by_point = BY_POINT if not all(map(has_multi_point, read)) else {}
    listed = (*MULTI_POINT, *(plugin for own in by_point.values() for plugin in own))
    there = (
        each
        for each in listed
        if release.within(each.since, each.until) and (not each.config_version or each.config_version in read)
    )
    return tuple(dict.fromkeys(each.name for each in there if not each.gate or is_there(release.minor, each.gate)))


def plugins_by_default(
    release: Release, listed: Iterable[DefaultPlugin], gates: FeatureGates, config_version: str
) -> Iterator[DefaultPlugin]:
    """Of the listed default plugins those that the minor enables with these gates."""
    for each in listed:
        if (
            release.within(each.since, each.until)
            and (not each.gate or gates.enabled(each.gate))
            and not (each.unless and gates.enabled(each.unless))
            and each.config_version in ("", config_version)
        ):
            yield each
