"""The list of plugins that kube-scheduler brings along (plugins.NewInTreeRegistry)."""

from __future__ import annotations

from ksched_cli.config.releases import Release
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.plugins.default_binder import DefaultBinder
from ksched_cli.plugins.default_preemption import DefaultPreemption
from ksched_cli.plugins.dynamic_resources import DynamicResources
from ksched_cli.plugins.gang_scheduling import GangScheduling
from ksched_cli.plugins.image_locality import ImageLocality
from ksched_cli.plugins.in_tree_volume_limits import AzureDiskLimits, CinderLimits, EBSLimits, GCEPDLimits
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from ksched_cli.plugins.node_affinity import NodeAffinity
from ksched_cli.plugins.node_declared_features import NodeDeclaredFeatures
from ksched_cli.plugins.node_label import NodeLabel
from ksched_cli.plugins.node_name import NodeName
from ksched_cli.plugins.node_ports import NodePorts
from ksched_cli.plugins.node_prefer_avoid_pods import NodePreferAvoidPods
from ksched_cli.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from ksched_cli.plugins.node_resources_least_allocated import NodeResourcesLeastAllocated
from ksched_cli.plugins.node_resources_most_allocated import NodeResourcesMostAllocated
from ksched_cli.plugins.node_unschedulable import NodeUnschedulable
from ksched_cli.plugins.node_volume_limits import NodeVolumeLimits
from ksched_cli.plugins.pod_group_pods_count import PodGroupPodsCount
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread
from ksched_cli.plugins.predicates.general import (
    GeneralPredicates,
    HostName,
    MatchNodeSelector,
    PodFitsHostPorts,
    PodFitsResources,
)
from ksched_cli.plugins.predicates.nodes import (
    CheckNodeCondition,
    CheckNodeDiskPressure,
    CheckNodeLabelPresence,
    CheckNodeMemoryPressure,
    CheckNodePIDPressure,
    CheckNodeUnschedulable,
    PodToleratesNodeTaints,
)
from ksched_cli.plugins.predicates.pods import CheckServiceAffinity, MatchInterPodAffinity
from ksched_cli.plugins.predicates.volumes import (
    CheckVolumeBinding,
    MaxAzureDiskVolumeCount,
    MaxCinderVolumeCount,
    MaxCSIVolumeCountPred,
    MaxEBSVolumeCount,
    MaxGCEPDVolumeCount,
    NoDiskConflict,
    NoVolumeZoneConflict,
)
from ksched_cli.plugins.priorities.nodes import (
    EqualPriority,
    ImageLocalityPriority,
    NodeAffinityPriority,
    NodeLabelPriority,
    NodePreferAvoidPodsPriority,
    TaintTolerationPriority,
)
from ksched_cli.plugins.priorities.pods import (
    InterPodAffinityPriority,
    SelectorSpreadPriority,
    ServiceAntiAffinityPriority,
    ServiceSpreadingPriority,
)
from ksched_cli.plugins.priorities.resources import (
    BalancedResourceAllocation,
    LeastRequestedPriority,
    MostRequestedPriority,
    RequestedToCapacityRatioPriority,
    ResourceLimitsPriority,
)
from ksched_cli.plugins.priority_sort import PrioritySort
from ksched_cli.plugins.requested_to_capacity_ratio import RequestedToCapacityRatio
from ksched_cli.plugins.scheduling_gates import SchedulingGates
from ksched_cli.plugins.selector_spread import SelectorSpread
from ksched_cli.plugins.service_affinity import ServiceAffinity
from ksched_cli.plugins.taint_toleration import TaintToleration
from ksched_cli.plugins.topology_placement_generator import TopologyPlacementGenerator
from ksched_cli.plugins.volume_binding import VolumeBinding
from ksched_cli.plugins.volume_restrictions import VolumeRestrictions
from ksched_cli.plugins.volume_zone import VolumeZone

IN_TREE: tuple[type[Plugin], ...] = (
    SchedulingGates,
    PrioritySort,
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    DefaultPreemption,
    NodeResourcesBalancedAllocation,
    ImageLocality,
    DefaultBinder,
    NodeDeclaredFeatures,
    GangScheduling,
    TopologyPlacementGenerator,
    PodGroupPodsCount,
    # Plugins that went away.
    EBSLimits,
    GCEPDLimits,
    AzureDiskLimits,
    CinderLimits,
    SelectorSpread,
    NodePreferAvoidPods,
    NodeLabel,
    ServiceAffinity,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
)

# What the scheduler was made of before there were plugins. It sorted, preempted and bound by itself, as the plugins
# above do.
PREDICATES: tuple[type[Plugin], ...] = (
    CheckNodeCondition,
    CheckNodeUnschedulable,
    GeneralPredicates,
    HostName,
    PodFitsHostPorts,
    MatchNodeSelector,
    PodFitsResources,
    NoDiskConflict,
    PodToleratesNodeTaints,
    CheckNodeLabelPresence,
    CheckServiceAffinity,
    MaxEBSVolumeCount,
    MaxGCEPDVolumeCount,
    MaxCSIVolumeCountPred,
    MaxAzureDiskVolumeCount,
    MaxCinderVolumeCount,
    CheckVolumeBinding,
    NoVolumeZoneConflict,
    CheckNodeMemoryPressure,
    CheckNodePIDPressure,
    CheckNodeDiskPressure,
    MatchInterPodAffinity,
)
PRIORITIES: tuple[type[Plugin], ...] = (
    BalancedResourceAllocation,
    EqualPriority,
    ImageLocalityPriority,
    InterPodAffinityPriority,
    LeastRequestedPriority,
    MostRequestedPriority,
    NodeAffinityPriority,
    NodeLabelPriority,
    NodePreferAvoidPodsPriority,
    RequestedToCapacityRatioPriority,
    ResourceLimitsPriority,
    SelectorSpreadPriority,
    ServiceAntiAffinityPriority,
    ServiceSpreadingPriority,
    TaintTolerationPriority,
)
_BEFORE_PLUGINS: tuple[type[Plugin], ...] = (PrioritySort, *PREDICATES, *PRIORITIES, DefaultPreemption, DefaultBinder)


def plugins_of(release: Release) -> tuple[type[Plugin], ...]:
    """Those that the minor has."""
    listed = _BEFORE_PLUGINS if release.has_predicates else IN_TREE
    return tuple(plugin for plugin in listed if release.between(plugin.since, plugin.until))
