"""The plugins of a profile that says nothing, minor by minor (getDefaultPlugins with applyFeatureGates)."""

from __future__ import annotations

from typing import NamedTuple


class DefaultPlugin(NamedTuple):
    """A plugin of MultiPoint, from and to which minor it is there, and the gate that has to be on for it."""

    name: str
    weight: int = 0
    since: str = ""
    until: str = ""
    gate: str = ""


MULTI_POINT: tuple[DefaultPlugin, ...] = (
    DefaultPlugin("SchedulingGates", gate="PodSchedulingReadiness"),
    DefaultPlugin("PrioritySort"),
    DefaultPlugin("NodeUnschedulable"),
    DefaultPlugin("NodeName"),
    DefaultPlugin("TaintToleration", 3),
    DefaultPlugin("NodeAffinity", 2),
    DefaultPlugin("NodePorts"),
    DefaultPlugin("NodeResourcesFit", 1),
    DefaultPlugin("VolumeRestrictions"),
    # In-tree volumes count as their CSI drivers' from 1.31 on.
    DefaultPlugin("EBSLimits", until="1.30"),
    DefaultPlugin("GCEPDLimits", until="1.30"),
    DefaultPlugin("NodeVolumeLimits"),
    DefaultPlugin("AzureDiskLimits", until="1.30"),
    DefaultPlugin("VolumeBinding"),
    DefaultPlugin("VolumeZone"),
    DefaultPlugin("PodTopologySpread", 2),
    DefaultPlugin("InterPodAffinity", 2),
    DefaultPlugin("DynamicResources", until="1.34", gate="DynamicResourceAllocation"),
    # It scores from 1.35 on, hence the weight.
    DefaultPlugin("DynamicResources", 2, since="1.35", gate="DynamicResourceAllocation"),
    DefaultPlugin("DefaultPreemption"),
    DefaultPlugin("NodeResourcesBalancedAllocation", 1),
    DefaultPlugin("ImageLocality", 1),
    DefaultPlugin("DefaultBinder"),
    DefaultPlugin("NodeDeclaredFeatures", gate="NodeDeclaredFeatures"),
    DefaultPlugin("GangScheduling", gate="GangScheduling"),
    DefaultPlugin("TopologyPlacementGenerator", gate="TopologyAwareWorkloadScheduling"),
    DefaultPlugin("PodGroupPodsCount", 1, gate="TopologyAwareWorkloadScheduling"),
)
