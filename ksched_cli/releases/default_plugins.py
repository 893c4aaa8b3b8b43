"""The plugins of an empty profile, minor by minor (getDefaultPlugins with applyFeatureGates).

v1beta3 and v1 have them in MultiPoint. Before that every extension point had a list and an order of its own, and
user preferences weighed no more than the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ksched_cli.releases.config_versions import has_multi_point
from ksched_cli.releases.gates import FeatureGates, is_there
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import (
    AZURE_DISK_LIMITS,
    BALANCED_RESOURCE_ALLOCATION,
    CHECK_NODE_CONDITION,
    CHECK_NODE_DISK_PRESSURE,
    CHECK_NODE_MEMORY_PRESSURE,
    CHECK_NODE_PID_PRESSURE,
    CHECK_NODE_UNSCHEDULABLE,
    CHECK_VOLUME_BINDING,
    DEFAULT_BINDER,
    DEFAULT_POD_TOPOLOGY_SPREAD,
    DEFAULT_PREEMPTION,
    DYNAMIC_RESOURCES,
    EBS_LIMITS,
    EVEN_PODS_SPREAD,
    EVEN_PODS_SPREAD_PRIORITY,
    GANG_SCHEDULING,
    GCEPD_LIMITS,
    GENERAL_PREDICATES,
    IMAGE_LOCALITY,
    IMAGE_LOCALITY_PRIORITY,
    INTER_POD_AFFINITY,
    INTER_POD_AFFINITY_PRIORITY,
    LEAST_REQUESTED_PRIORITY,
    MATCH_INTER_POD_AFFINITY,
    MAX_AZURE_DISK_VOLUME_COUNT,
    MAX_CSI_VOLUME_COUNT_PRED,
    MAX_EBS_VOLUME_COUNT,
    MAX_GCEPD_VOLUME_COUNT,
    NO_DISK_CONFLICT,
    NO_VOLUME_ZONE_CONFLICT,
    NODE_AFFINITY,
    NODE_AFFINITY_PRIORITY,
    NODE_DECLARED_FEATURES,
    NODE_NAME,
    NODE_PORTS,
    NODE_PREFER_AVOID_PODS,
    NODE_PREFER_AVOID_PODS_PRIORITY,
    NODE_RESOURCE_LIMITS,
    NODE_RESOURCES_BALANCED_ALLOCATION,
    NODE_RESOURCES_FIT,
    NODE_RESOURCES_LEAST_ALLOCATED,
    NODE_UNSCHEDULABLE,
    NODE_VOLUME_LIMITS,
    POD_GROUP_PODS_COUNT,
    POD_TOLERATES_NODE_TAINTS,
    POD_TOPOLOGY_SPREAD,
    PRIORITY_SORT,
    RESOURCE_LIMITS_PRIORITY,
    SCHEDULING_GATES,
    SELECTOR_SPREAD,
    SELECTOR_SPREAD_PRIORITY,
    TAINT_TOLERATION,
    TAINT_TOLERATION_PRIORITY,
    TOPOLOGY_PLACEMENT_GENERATOR,
    VOLUME_BINDING,
    VOLUME_RESTRICTIONS,
    VOLUME_ZONE,
)


class DefaultPlugin(NamedTuple):
    """A plugin, from and to which minor it is there, the gate that has to be on for it or off (`unless`), and the only
    configuration version that has it."""

    name: str
    weight: int = 0
    since: str = ""
    until: str = ""
    gate: str = ""
    unless: str = ""
    config_version: str = ""


_P = DefaultPlugin

MULTI_POINT: tuple[DefaultPlugin, ...] = (
    _P(SCHEDULING_GATES, gate="PodSchedulingReadiness"),
    _P(PRIORITY_SORT),
    _P(NODE_UNSCHEDULABLE),
    _P(NODE_NAME),
    _P(TAINT_TOLERATION, 3),
    _P(NODE_AFFINITY, 2),
    _P(NODE_PORTS),
    _P(NODE_RESOURCES_FIT, 1),
    _P(VOLUME_RESTRICTIONS),
    # In-tree volumes count as their CSI drivers' from 1.31 on.
    _P(EBS_LIMITS, until="1.30"),
    _P(GCEPD_LIMITS, until="1.30"),
    _P(NODE_VOLUME_LIMITS),
    _P(AZURE_DISK_LIMITS, until="1.30"),
    _P(VOLUME_BINDING),
    _P(VOLUME_ZONE),
    _P(POD_TOPOLOGY_SPREAD, 2),
    _P(INTER_POD_AFFINITY, 2),
    _P(DYNAMIC_RESOURCES, until="1.34", gate="DynamicResourceAllocation"),
    # It scores from 1.35 on, hence the weight.
    _P(DYNAMIC_RESOURCES, 2, since="1.35", gate="DynamicResourceAllocation"),
    _P(DEFAULT_PREEMPTION),
    _P(NODE_RESOURCES_BALANCED_ALLOCATION, 1),
    _P(IMAGE_LOCALITY, 1),
    _P(DEFAULT_BINDER),
    _P(SELECTOR_SPREAD, 1, since="1.19", until="1.23", unless="DefaultPodTopologySpread"),
    _P(NODE_DECLARED_FEATURES, gate=NODE_DECLARED_FEATURES),
    _P(GANG_SCHEDULING, gate=GANG_SCHEDULING),
    _P(TOPOLOGY_PLACEMENT_GENERATOR, gate="TopologyAwareWorkloadScheduling"),
    _P(POD_GROUP_PODS_COUNT, 1, gate="TopologyAwareWorkloadScheduling"),
)

# Up to 1.16, under the DefaultProvider: predicates in the order in which they ran, and priorities.
BEFORE_PLUGINS: tuple[DefaultPlugin, ...] = (
    _P(PRIORITY_SORT),
    # The state of a node was first in its conditions, then in taints.
    _P(CHECK_NODE_CONDITION, unless="TaintNodesByCondition"),
    _P(CHECK_NODE_UNSCHEDULABLE, gate="TaintNodesByCondition"),
    _P(GENERAL_PREDICATES),
    _P(NO_DISK_CONFLICT),
    _P(POD_TOLERATES_NODE_TAINTS),
    _P(MAX_EBS_VOLUME_COUNT),
    _P(MAX_GCEPD_VOLUME_COUNT),
    _P(MAX_CSI_VOLUME_COUNT_PRED),
    _P(MAX_AZURE_DISK_VOLUME_COUNT),
    _P(CHECK_VOLUME_BINDING),
    _P(NO_VOLUME_ZONE_CONFLICT),
    _P(CHECK_NODE_MEMORY_PRESSURE, unless="TaintNodesByCondition"),
    _P(CHECK_NODE_PID_PRESSURE, unless="TaintNodesByCondition"),
    _P(CHECK_NODE_DISK_PRESSURE, unless="TaintNodesByCondition"),
    _P(EVEN_PODS_SPREAD, gate=EVEN_PODS_SPREAD),
    _P(MATCH_INTER_POD_AFFINITY),
    _P(BALANCED_RESOURCE_ALLOCATION, 1),
    _P(EVEN_PODS_SPREAD_PRIORITY, 1, gate=EVEN_PODS_SPREAD),
    _P(IMAGE_LOCALITY_PRIORITY, 1),
    _P(INTER_POD_AFFINITY_PRIORITY, 1),
    _P(LEAST_REQUESTED_PRIORITY, 1),
    _P(NODE_AFFINITY_PRIORITY, 1),
    _P(NODE_PREFER_AVOID_PODS_PRIORITY, 10000),
    _P(RESOURCE_LIMITS_PRIORITY, 1, gate="ResourceLimitsPriorityFunction"),
    _P(SELECTOR_SPREAD_PRIORITY, 1),
    _P(TAINT_TOLERATION_PRIORITY, 1),
    _P(DEFAULT_PREEMPTION),
    _P(DEFAULT_BINDER),
)

# By extension point, for v1alpha1 (after 1.16), v1alpha2, v1beta1 and v1beta2.
BY_POINT: Mapping[str, tuple[DefaultPlugin, ...]] = {
    "preEnqueue": (_P(SCHEDULING_GATES, gate="PodSchedulingReadiness"),),
    "queueSort": (_P(PRIORITY_SORT),),
    "preFilter": (
        _P(NODE_RESOURCES_FIT),
        _P(NODE_PORTS),
        _P(VOLUME_RESTRICTIONS, since="1.22"),
        # 1.18 put what a gate enables last.
        _P(POD_TOPOLOGY_SPREAD, until="1.17", gate=EVEN_PODS_SPREAD),
        _P(POD_TOPOLOGY_SPREAD, since="1.19"),
        _P(INTER_POD_AFFINITY),
        _P(POD_TOPOLOGY_SPREAD, since="1.18", until="1.18", gate=EVEN_PODS_SPREAD),
        _P(VOLUME_BINDING, since="1.19"),
        _P(VOLUME_ZONE, since="1.27"),
        # Before 1.21 it worked out what the pod wants for every node anew, here and in PreScore.
        _P(NODE_AFFINITY, since="1.21"),
    ),
    "filter": (
        _P(NODE_UNSCHEDULABLE),
        # Up to 1.19 it was the order of the predicates.
        _P(NODE_RESOURCES_FIT, until="1.19"),
        _P(NODE_NAME),
        _P(NODE_PORTS, until="1.19"),
        _P(TAINT_TOLERATION, since="1.20"),
        _P(NODE_AFFINITY),
        _P(NODE_PORTS, since="1.20"),
        _P(NODE_RESOURCES_FIT, since="1.20"),
        _P(VOLUME_RESTRICTIONS),
        _P(TAINT_TOLERATION, until="1.19"),
        _P(EBS_LIMITS),
        _P(GCEPD_LIMITS),
        _P(NODE_VOLUME_LIMITS),
        _P(AZURE_DISK_LIMITS),
        _P(VOLUME_BINDING),
        _P(VOLUME_ZONE),
        # The predicate came before that of affinity; 1.18 put the plugin last.
        _P(POD_TOPOLOGY_SPREAD, until="1.17", gate=EVEN_PODS_SPREAD),
        _P(POD_TOPOLOGY_SPREAD, since="1.19"),
        _P(INTER_POD_AFFINITY),
        _P(POD_TOPOLOGY_SPREAD, since="1.18", until="1.18", gate=EVEN_PODS_SPREAD),
    ),
    "postFilter": (_P(DEFAULT_PREEMPTION),),
    "preScore": (
        _P(INTER_POD_AFFINITY),
        _P(POD_TOPOLOGY_SPREAD, until="1.17", gate=EVEN_PODS_SPREAD),
        _P(POD_TOPOLOGY_SPREAD, since="1.19"),
        _P(DEFAULT_POD_TOPOLOGY_SPREAD, until="1.18"),
        _P(TAINT_TOLERATION),
        _P(POD_TOPOLOGY_SPREAD, since="1.18", until="1.18", gate=EVEN_PODS_SPREAD),
        _P(NODE_RESOURCE_LIMITS, until="1.18", gate="ResourceLimitsPriorityFunction"),
        _P(NODE_AFFINITY, since="1.21"),
        _P(NODE_RESOURCES_FIT, since="1.27"),
        _P(NODE_RESOURCES_BALANCED_ALLOCATION, since="1.27"),
        _P(SELECTOR_SPREAD, since="1.19", until="1.23", unless="DefaultPodTopologySpread"),
    ),
    "score": (
        _P(NODE_RESOURCES_BALANCED_ALLOCATION, 1),
        _P(IMAGE_LOCALITY, 1),
        _P(INTER_POD_AFFINITY, 1),
        _P(NODE_RESOURCES_LEAST_ALLOCATED, 1, until="1.18"),
        _P(NODE_RESOURCES_LEAST_ALLOCATED, 1, config_version="v1beta1"),
        _P(NODE_RESOURCES_FIT, 1, config_version="v1beta2"),
        _P(NODE_AFFINITY, 1),
        _P(NODE_PREFER_AVOID_PODS, 10000, until="1.18"),
        _P(NODE_PREFER_AVOID_PODS, 10000, config_version="v1beta1"),
        _P(DEFAULT_POD_TOPOLOGY_SPREAD, 1, until="1.18"),
        _P(POD_TOPOLOGY_SPREAD, 1, until="1.17", gate=EVEN_PODS_SPREAD),
        _P(POD_TOPOLOGY_SPREAD, 2, since="1.19"),
        _P(TAINT_TOLERATION, 1),
        _P(POD_TOPOLOGY_SPREAD, 1, since="1.18", until="1.18", gate=EVEN_PODS_SPREAD),
        _P(NODE_RESOURCE_LIMITS, 1, until="1.18", gate="ResourceLimitsPriorityFunction"),
        _P(VOLUME_BINDING, 1, gate="VolumeCapacityPriority"),
        _P(SELECTOR_SPREAD, 1, since="1.19", until="1.23", unless="DefaultPodTopologySpread"),
    ),
    "reserve": (_P(VOLUME_BINDING, since="1.19"),),
    "preBind": (_P(VOLUME_BINDING, since="1.19"),),
    "bind": (_P(DEFAULT_BINDER),),
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
