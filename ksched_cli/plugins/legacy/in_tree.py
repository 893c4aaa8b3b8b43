"""The plugins that were removed after 1.18 or 1.22, and the predicates and priorities of 1.16."""

from __future__ import annotations

from ksched_cli.framework.interfaces import Plugin
from ksched_cli.plugins.legacy.even_pods_spread import SpreadOfEveryPod, SummedSpread
from ksched_cli.plugins.legacy.first_plugins import DefaultPodTopologySpread, NodeResourceLimits
from ksched_cli.plugins.legacy.node_label import NodeLabel, NodeLabelReasons
from ksched_cli.plugins.legacy.node_prefer_avoid_pods import NodePreferAvoidPods
from ksched_cli.plugins.legacy.node_resources_least_allocated import NodeResourcesLeastAllocated
from ksched_cli.plugins.legacy.node_resources_most_allocated import NodeResourcesMostAllocated
from ksched_cli.plugins.legacy.predicates.general import (
    GeneralPredicates,
    HostName,
    MatchNodeSelector,
    PodFitsHostPorts,
    PodFitsResources,
)
from ksched_cli.plugins.legacy.predicates.nodes import (
    CheckNodeCondition,
    CheckNodeDiskPressure,
    CheckNodeLabelPresence,
    CheckNodeMemoryPressure,
    CheckNodePIDPressure,
    CheckNodeUnschedulable,
    ConditionGuide,
    ConditionReasons,
    PodToleratesNodeTaints,
)
from ksched_cli.plugins.legacy.predicates.pods import CheckServiceAffinity, EvenPodsSpread, MatchInterPodAffinity
from ksched_cli.plugins.legacy.predicates.volumes import (
    CheckVolumeBinding,
    MaxAzureDiskVolumeCount,
    MaxCinderVolumeCount,
    MaxCSIVolumeCountPred,
    MaxEBSVolumeCount,
    MaxGCEPDVolumeCount,
    NoDiskConflict,
    NoVolumeZoneConflict,
)
from ksched_cli.plugins.legacy.priorities.nodes import (
    EqualPriority,
    ImageLocalityPriority,
    NodeAffinityPriority,
    NodeLabelPriority,
    NodePreferAvoidPodsPriority,
    TaintTolerationPriority,
)
from ksched_cli.plugins.legacy.priorities.pods import (
    EvenPodsSpreadPriority,
    InterPodAffinityPriority,
    SelectorSpreadPriority,
    ServiceAntiAffinityPriority,
    ServiceSpreadingPriority,
)
from ksched_cli.plugins.legacy.priorities.resources import (
    BalancedResourceAllocation,
    LeastRequestedPriority,
    MostRequestedPriority,
    RequestedToCapacityRatioPriority,
    ResourceLimitsPriority,
)
from ksched_cli.plugins.legacy.requested_to_capacity_ratio import RequestedToCapacityRatio
from ksched_cli.plugins.legacy.service_affinity import ServiceAffinity, ServiceAffinityReasons
from ksched_cli.plugins.legacy.successors import DefaultBinderPlugin, DefaultPreemptionPlugin, PrioritySortPlugin
from ksched_cli.plugins.legacy.volume_binding import VolumeBindingOnEachNode
from ksched_cli.plugins.lib.spec import Spec

REMOVED: tuple[type[Plugin], ...] = (
    NodePreferAvoidPods,
    NodeLabel,
    ServiceAffinity,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
    NodeResourceLimits,
)
# What 1.17 and 1.18 had in the place of plugins of today.
EARLIER: tuple[type[Plugin], ...] = (DefaultPodTopologySpread, VolumeBindingOnEachNode, SummedSpread, SpreadOfEveryPod)

_CONDITIONS = (CheckNodeCondition, CheckNodeMemoryPressure, CheckNodePIDPressure, CheckNodeDiskPressure)
SPECS = (
    Spec(plugins=(NodePreferAvoidPods,)),
    Spec(plugins=(NodeLabel,), reasons=(NodeLabelReasons,)),
    Spec(plugins=(ServiceAffinity,), reasons=(ServiceAffinityReasons,)),
    Spec(plugins=(NodeResourcesLeastAllocated,)),
    Spec(plugins=(NodeResourcesMostAllocated,)),
    Spec(plugins=(RequestedToCapacityRatio,)),
    Spec(plugins=EARLIER),
    Spec(plugins=(NodeResourceLimits,)),
    Spec(plugins=_CONDITIONS, reasons=(ConditionReasons,), guide=ConditionGuide()),
)

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
    EvenPodsSpread,
    MatchInterPodAffinity,
)
PRIORITIES: tuple[type[Plugin], ...] = (
    BalancedResourceAllocation,
    EqualPriority,
    EvenPodsSpreadPriority,
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

# The plugins of 1.16. It sorts, preempts and binds as the plugins of later minors do.
BEFORE_PLUGINS: tuple[type[Plugin], ...] = (
    PrioritySortPlugin,
    *PREDICATES,
    *PRIORITIES,
    DefaultPreemptionPlugin,
    DefaultBinderPlugin,
)
