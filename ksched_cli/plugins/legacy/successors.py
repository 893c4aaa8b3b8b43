"""The plugins of today whose rules 1.16's predicates and priorities have, under other names."""

from __future__ import annotations

from ksched_cli.plugins.default_binder import DefaultBinder
from ksched_cli.plugins.default_preemption.plugin import DefaultPreemption
from ksched_cli.plugins.image_locality import ImageLocality
from ksched_cli.plugins.in_tree_volume_limits import AzureDiskLimits, CinderLimits, EBSLimits, GCEPDLimits
from ksched_cli.plugins.inter_pod_affinity.plugin import InterPodAffinity
from ksched_cli.plugins.node_affinity.plugin import NodeAffinity
from ksched_cli.plugins.node_name import NodeName
from ksched_cli.plugins.node_ports import NodePorts
from ksched_cli.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from ksched_cli.plugins.node_resources_fit.plugin import NodeResourcesFit
from ksched_cli.plugins.node_unschedulable import NodeUnschedulable
from ksched_cli.plugins.node_volume_limits.plugin import NodeVolumeLimits
from ksched_cli.plugins.priority_sort import PrioritySort
from ksched_cli.plugins.selector_spread import SelectorSpread
from ksched_cli.plugins.taint_toleration.plugin import TaintToleration
from ksched_cli.plugins.volume_binding.plugin import VolumeBinding
from ksched_cli.plugins.volume_restrictions import VolumeRestrictions
from ksched_cli.plugins.volume_zone import VolumeZone

AzureDiskLimitsPlugin = AzureDiskLimits
CinderLimitsPlugin = CinderLimits
DefaultBinderPlugin = DefaultBinder
DefaultPreemptionPlugin = DefaultPreemption
EBSLimitsPlugin = EBSLimits
GCEPDLimitsPlugin = GCEPDLimits
ImageLocalityPlugin = ImageLocality
InterPodAffinityPlugin = InterPodAffinity
NodeAffinityPlugin = NodeAffinity
NodeNamePlugin = NodeName
NodePortsPlugin = NodePorts
NodeResourcesBalancedAllocationPlugin = NodeResourcesBalancedAllocation
NodeResourcesFitPlugin = NodeResourcesFit
NodeUnschedulablePlugin = NodeUnschedulable
NodeVolumeLimitsPlugin = NodeVolumeLimits
PrioritySortPlugin = PrioritySort
SelectorSpreadPlugin = SelectorSpread
TaintTolerationPlugin = TaintToleration
VolumeBindingPlugin = VolumeBinding
VolumeRestrictionsPlugin = VolumeRestrictions
VolumeZonePlugin = VolumeZone
