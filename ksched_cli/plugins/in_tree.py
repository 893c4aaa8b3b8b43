"""The list of plugins that kube-scheduler brings along (plugins.NewInTreeRegistry)."""

from __future__ import annotations

from ksched_cli.framework.interfaces import Plugin
from ksched_cli.plugins.default_binder import DefaultBinder
from ksched_cli.plugins.default_preemption.plugin import DefaultPreemption
from ksched_cli.plugins.dynamic_resources.plugin import DynamicResources
from ksched_cli.plugins.gang_scheduling import GangScheduling
from ksched_cli.plugins.image_locality import ImageLocality
from ksched_cli.plugins.in_tree_volume_limits import AzureDiskLimits, CinderLimits, EBSLimits, GCEPDLimits
from ksched_cli.plugins.inter_pod_affinity.plugin import InterPodAffinity
from ksched_cli.plugins.node_affinity import NodeAffinity
from ksched_cli.plugins.node_declared_features import NodeDeclaredFeatures
from ksched_cli.plugins.node_name import NodeName
from ksched_cli.plugins.node_ports import NodePorts
from ksched_cli.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from ksched_cli.plugins.node_resources_fit.plugin import NodeResourcesFit
from ksched_cli.plugins.node_unschedulable import NodeUnschedulable
from ksched_cli.plugins.node_volume_limits.plugin import NodeVolumeLimits
from ksched_cli.plugins.pod_group_pods_count import PodGroupPodsCount
from ksched_cli.plugins.pod_topology_spread.plugin import PodTopologySpread
from ksched_cli.plugins.priority_sort import PrioritySort
from ksched_cli.plugins.scheduling_gates import SchedulingGates
from ksched_cli.plugins.selector_spread import SelectorSpread
from ksched_cli.plugins.taint_toleration import TaintToleration
from ksched_cli.plugins.topology_placement_generator import TopologyPlacementGenerator
from ksched_cli.plugins.volume_binding.plugin import VolumeBinding
from ksched_cli.plugins.volume_restrictions import VolumeRestrictions
from ksched_cli.plugins.volume_zone import VolumeZone
from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.minors import Release

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
    # Plugins that were removed after 1.22.
    EBSLimits,
    GCEPDLimits,
    AzureDiskLimits,
    CinderLimits,
    SelectorSpread,
)


def plugins_of(release: Release) -> tuple[type[Plugin], ...]:
    """The plugins that kube-scheduler of this minor registers. 1.16 sorts, preempts and binds as the plugins of later
    minors do; its predicates and priorities are plugins here."""
    listed = IN_TREE
    if ConfigurationRules.of(release).has_plugins_of_v1beta1:
        from ksched_cli.plugins.legacy.in_tree import PREDICATES, PRIORITIES, REMOVED

        before_plugins: tuple[type[Plugin], ...] = (
            PrioritySort,
            *PREDICATES,
            *PRIORITIES,
            DefaultPreemption,
            DefaultBinder,
        )
        listed = before_plugins if release.before_plugins else (*IN_TREE, *REMOVED)
    return tuple(plugin for plugin in listed if release.within(plugin.since, plugin.until))
