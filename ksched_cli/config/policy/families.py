"""Plugins that do the work of others under another name."""

from __future__ import annotations

_FIT, _SPREAD = "NodeResourcesFit", "PodTopologySpread"

# Predicates by the plugin that has the rule today.
PREDICATES = {
    "CheckNodeCondition": "NodeUnschedulable",
    "CheckNodeLabelPresence": "NodeLabel",
    "CheckNodeUnschedulable": "NodeUnschedulable",
    "CheckServiceAffinity": "ServiceAffinity",
    "CheckVolumeBinding": "VolumeBinding",
    "HostName": "NodeName",
    "MatchInterPodAffinity": "InterPodAffinity",
    "MatchNodeSelector": "NodeAffinity",
    "MaxAzureDiskVolumeCount": "AzureDiskLimits",
    "MaxCSIVolumeCountPred": "NodeVolumeLimits",
    "MaxCinderVolumeCount": "CinderLimits",
    "MaxEBSVolumeCount": "EBSLimits",
    "MaxGCEPDVolumeCount": "GCEPDLimits",
    "NoDiskConflict": "VolumeRestrictions",
    "NoVolumeZoneConflict": "VolumeZone",
    "PodFitsHostPorts": "NodePorts",
    "PodFitsResources": _FIT,
    "PodToleratesNodeTaints": "TaintToleration",
}
# One that was four at once, told apart by how their reasons begin.
GENERAL = "GeneralPredicates"
PARTS = {
    "Insufficient ": _FIT,
    "node(s) didn't match the requested hostname": "NodeName",
    "node(s) didn't have free ports": "NodePorts",
    "node(s) didn't match node selector": "NodeAffinity",
}
PRIORITIES = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": _FIT,
    "MostRequestedPriority": _FIT,
    "NodeAffinityPriority": "NodeAffinity",
    "NodeLabelPriority": "NodeLabel",
    "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
    "RequestedToCapacityRatioPriority": _FIT,
    "SelectorSpreadPriority": _SPREAD,
    "ServiceAntiAffinityPriority": "ServiceAffinity",
    "ServiceSpreadingPriority": _SPREAD,
    "TaintTolerationPriority": "TaintToleration",
}
_SUCCESSORS = {
    "NodeResourcesLeastAllocated": _FIT,
    "NodeResourcesMostAllocated": _FIT,
    "RequestedToCapacityRatio": _FIT,
    "SelectorSpread": _SPREAD,
    **PREDICATES,
    **PRIORITIES,
}


def family_of(plugin: str, reason: str = "") -> str:
    """One name for a plugin and those whose work it took over."""
    if plugin == GENERAL:
        return next((family for beginning, family in PARTS.items() if reason.startswith(beginning)), plugin)
    return _SUCCESSORS.get(plugin, plugin)
