"""The plugins of a profile that says nothing, minor by minor (getDefaultPlugins with applyFeatureGates).

v1beta3 and v1 have them in MultiPoint. Before that every extension point had a list and an order of its own, and
user preferences weighed no more than the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ksched_cli.releases.config_versions import has_multi_point
from ksched_cli.releases.gates import FeatureGates, is_there
from ksched_cli.releases.minors import Release


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
    _P("SchedulingGates", gate="PodSchedulingReadiness"),
    _P("PrioritySort"),
    _P("NodeUnschedulable"),
    _P("NodeName"),
    _P("TaintToleration", 3),
    _P("NodeAffinity", 2),
    _P("NodePorts"),
    _P("NodeResourcesFit", 1),
    _P("VolumeRestrictions"),
    # In-tree volumes count as their CSI drivers' from 1.31 on.
    _P("EBSLimits", until="1.30"),
    _P("GCEPDLimits", until="1.30"),
    _P("NodeVolumeLimits"),
    _P("AzureDiskLimits", until="1.30"),
    _P("VolumeBinding"),
    _P("VolumeZone"),
    _P("PodTopologySpread", 2),
    _P("InterPodAffinity", 2),
    _P("DynamicResources", until="1.34", gate="DynamicResourceAllocation"),
    # It scores from 1.35 on, hence the weight.
    _P("DynamicResources", 2, since="1.35", gate="DynamicResourceAllocation"),
    _P("DefaultPreemption"),
    _P("NodeResourcesBalancedAllocation", 1),
    _P("ImageLocality", 1),
    _P("DefaultBinder"),
    _P("SelectorSpread", 1, until="1.23", unless="DefaultPodTopologySpread"),
    _P("NodeDeclaredFeatures", gate="NodeDeclaredFeatures"),
    _P("GangScheduling", gate="GangScheduling"),
    _P("TopologyPlacementGenerator", gate="TopologyAwareWorkloadScheduling"),
    _P("PodGroupPodsCount", 1, gate="TopologyAwareWorkloadScheduling"),
)

# Up to 1.16, under the DefaultProvider: predicates in the order in which they were asked, and priorities.
BEFORE_PLUGINS: tuple[DefaultPlugin, ...] = (
    _P("PrioritySort"),
    # What became of a node was told by its conditions first, and then by taints.
    _P("CheckNodeCondition", unless="TaintNodesByCondition"),
    _P("CheckNodeUnschedulable", gate="TaintNodesByCondition"),
    _P("GeneralPredicates"),
    _P("NoDiskConflict"),
    _P("PodToleratesNodeTaints"),
    _P("MaxEBSVolumeCount"),
    _P("MaxGCEPDVolumeCount"),
    _P("MaxCSIVolumeCountPred"),
    _P("MaxAzureDiskVolumeCount"),
    _P("CheckVolumeBinding"),
    _P("NoVolumeZoneConflict"),
    _P("CheckNodeMemoryPressure", unless="TaintNodesByCondition"),
    _P("CheckNodePIDPressure", unless="TaintNodesByCondition"),
    _P("CheckNodeDiskPressure", unless="TaintNodesByCondition"),
    _P("MatchInterPodAffinity"),
    _P("BalancedResourceAllocation", 1),
    _P("ImageLocalityPriority", 1),
    _P("InterPodAffinityPriority", 1),
    _P("LeastRequestedPriority", 1),
    _P("NodeAffinityPriority", 1),
    _P("NodePreferAvoidPodsPriority", 10000),
    _P("ResourceLimitsPriority", 1, gate="ResourceLimitsPriorityFunction"),
    _P("SelectorSpreadPriority", 1),
    _P("TaintTolerationPriority", 1),
    _P("DefaultPreemption"),
    _P("DefaultBinder"),
)

# By extension point, for v1beta1 and v1beta2.
BY_POINT: Mapping[str, tuple[DefaultPlugin, ...]] = {
    "preEnqueue": (_P("SchedulingGates", gate="PodSchedulingReadiness"),),
    "queueSort": (_P("PrioritySort"),),
    "preFilter": (
        _P("NodeResourcesFit"),
        _P("NodePorts"),
        _P("VolumeRestrictions", since="1.22"),
        _P("PodTopologySpread"),
        _P("InterPodAffinity"),
        _P("VolumeBinding"),
        _P("VolumeZone", since="1.27"),
        # Before 1.21 it worked out what the pod wants for every node anew, here and in PreScore.
        _P("NodeAffinity", since="1.21"),
    ),
    "filter": (
        _P("NodeUnschedulable"),
        # Up to 1.19 it was the order of the predicates.
        _P("NodeResourcesFit", until="1.19"),
        _P("NodeName"),
        _P("NodePorts", until="1.19"),
        _P("TaintToleration", since="1.20"),
        _P("NodeAffinity"),
        _P("NodePorts", since="1.20"),
        _P("NodeResourcesFit", since="1.20"),
        _P("VolumeRestrictions"),
        _P("TaintToleration", until="1.19"),
        _P("EBSLimits"),
        _P("GCEPDLimits"),
        _P("NodeVolumeLimits"),
        _P("AzureDiskLimits"),
        _P("VolumeBinding"),
        _P("VolumeZone"),
        _P("PodTopologySpread"),
        _P("InterPodAffinity"),
    ),
    "postFilter": (_P("DefaultPreemption"),),
    "preScore": (
        _P("InterPodAffinity"),
        _P("PodTopologySpread"),
        _P("TaintToleration"),
        _P("NodeAffinity", since="1.21"),
        _P("NodeResourcesFit", since="1.27"),
        _P("NodeResourcesBalancedAllocation", since="1.27"),
        _P("SelectorSpread", until="1.23", unless="DefaultPodTopologySpread"),
    ),
    "score": (
        _P("NodeResourcesBalancedAllocation", 1),
        _P("ImageLocality", 1),
        _P("InterPodAffinity", 1),
        _P("NodeResourcesLeastAllocated", 1, config_version="v1beta1"),
        _P("NodeResourcesFit", 1, config_version="v1beta2"),
        _P("NodeAffinity", 1),
        _P("NodePreferAvoidPods", 10000, config_version="v1beta1"),
        _P("PodTopologySpread", 2),
        _P("TaintToleration", 1),
        _P("VolumeBinding", 1, gate="VolumeCapacityPriority"),
        _P("SelectorSpread", 1, until="1.23", unless="DefaultPodTopologySpread"),
    ),
    "reserve": (_P("VolumeBinding"),),
    "preBind": (_P("VolumeBinding"),),
    "bind": (_P("DefaultBinder"),),
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
