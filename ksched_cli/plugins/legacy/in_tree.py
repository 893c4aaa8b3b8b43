"""The plugins that were removed after 1.18 or 1.22, and the predicates and priorities of 1.16."""

from __future__ import annotations

from ksched_cli.framework.interfaces import Plugin
from ksched_cli.plugins.legacy.even_pods_spread import SpreadOfEveryPod, SummedSpread
from ksched_cli.plugins.legacy.first_plugins import DefaultPodTopologySpread, NodeResourceLimits
from ksched_cli.plugins.legacy.node_label import NodeLabel, NodeLabelReasons
from ksched_cli.plugins.legacy.node_prefer_avoid_pods import NodePreferAvoidPods
from ksched_cli.plugins.legacy.predicates import general, nodes, pods, volumes
from ksched_cli.plugins.legacy.priorities import nodes as node_priorities
from ksched_cli.plugins.legacy.priorities import pods as pod_priorities
from ksched_cli.plugins.legacy.priorities import resources as resource_priorities
from ksched_cli.plugins.legacy.requested_resources import (
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
)
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

_CONDITIONS = (
    nodes.CheckNodeCondition,
    nodes.CheckNodeMemoryPressure,
    nodes.CheckNodePIDPressure,
    nodes.CheckNodeDiskPressure,
)
SPECS = (
    Spec(plugins=(NodePreferAvoidPods,)),
    Spec(plugins=(NodeLabel,), reasons=(NodeLabelReasons,)),
    Spec(plugins=(ServiceAffinity,), reasons=(ServiceAffinityReasons,)),
    Spec(plugins=(NodeResourcesLeastAllocated,)),
    Spec(plugins=(NodeResourcesMostAllocated,)),
    Spec(plugins=(RequestedToCapacityRatio,)),
    Spec(plugins=EARLIER),
    Spec(plugins=(NodeResourceLimits,)),
    Spec(plugins=_CONDITIONS, reasons=(nodes.ConditionReasons,), guide=nodes.ConditionGuide()),
)

PREDICATES: tuple[type[Plugin], ...] = (
    nodes.CheckNodeCondition,
    nodes.CheckNodeUnschedulable,
    general.GeneralPredicates,
    general.HostName,
    general.PodFitsHostPorts,
    general.MatchNodeSelector,
    general.PodFitsResources,
    volumes.NoDiskConflict,
    nodes.PodToleratesNodeTaints,
    nodes.CheckNodeLabelPresence,
    pods.CheckServiceAffinity,
    volumes.MaxEBSVolumeCount,
    volumes.MaxGCEPDVolumeCount,
    volumes.MaxCSIVolumeCountPred,
    volumes.MaxAzureDiskVolumeCount,
    volumes.MaxCinderVolumeCount,
    volumes.CheckVolumeBinding,
    volumes.NoVolumeZoneConflict,
    nodes.CheckNodeMemoryPressure,
    nodes.CheckNodePIDPressure,
    nodes.CheckNodeDiskPressure,
    pods.EvenPodsSpread,
    pods.MatchInterPodAffinity,
)
PRIORITIES: tuple[type[Plugin], ...] = (
    resource_priorities.BalancedResourceAllocation,
    node_priorities.EqualPriority,
    pod_priorities.EvenPodsSpreadPriority,
    node_priorities.ImageLocalityPriority,
    pod_priorities.InterPodAffinityPriority,
    resource_priorities.LeastRequestedPriority,
    resource_priorities.MostRequestedPriority,
    node_priorities.NodeAffinityPriority,
    node_priorities.NodeLabelPriority,
    node_priorities.NodePreferAvoidPodsPriority,
    resource_priorities.RequestedToCapacityRatioPriority,
    resource_priorities.ResourceLimitsPriority,
    pod_priorities.SelectorSpreadPriority,
    pod_priorities.ServiceAntiAffinityPriority,
    pod_priorities.ServiceSpreadingPriority,
    node_priorities.TaintTolerationPriority,
)

# The plugins of 1.16. It sorts, preempts and binds as the plugins of later minors do.
BEFORE_PLUGINS: tuple[type[Plugin], ...] = (
    PrioritySortPlugin,
    *PREDICATES,
    *PRIORITIES,
    DefaultPreemptionPlugin,
    DefaultBinderPlugin,
)
