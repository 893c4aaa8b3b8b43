"""Removed plugins, and what does their work now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ksched_cli.config.plugin_args import NodeLabelArgs, PodTopologySpreadArgs
from ksched_cli.config.resolved_profile import ResolvedProfile
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.removals import FIRST_PLUGINS, IN_TREE_LIMITS, OLD_PLUGINS


class Gone(Struct, frozen=True):
    """The version that removed a plugin, and what to use instead."""

    since: str
    instead: str


_COUNTED = Gone(IN_TREE_LIMITS, f"{names.NODE_VOLUME_LIMITS} counts in-tree volumes as those of their CSI drivers")
_SPREADS = f"{names.POD_TOPOLOGY_SPREAD} spreads pods that have no constraints by its default ones"
GONE: Mapping[str, Gone] = {
    names.AZURE_DISK_LIMITS: _COUNTED,
    names.CINDER_LIMITS: _COUNTED,
    names.EBS_LIMITS: _COUNTED,
    names.GCEPD_LIMITS: _COUNTED,
    names.NODE_PREFER_AVOID_PODS: Gone(OLD_PLUGINS, "taint nodes with PreferNoSchedule instead of annotating them"),
    names.NODE_LABEL: Gone(
        OLD_PLUGINS, f"prefer labels in the pods' node affinity, or in addedAffinity of {names.NODE_AFFINITY}"
    ),
    names.SERVICE_AFFINITY: Gone(OLD_PLUGINS, "give the pods podAffinity or topologySpreadConstraints"),
    names.SELECTOR_SPREAD: Gone("v1", _SPREADS),
    names.DEFAULT_POD_TOPOLOGY_SPREAD: Gone("v1", _SPREADS),
    names.NODE_RESOURCE_LIMITS: Gone(FIRST_PLUGINS, "nothing ranks nodes by the limits of a pod now"),
}


class LostPlugin(Struct, frozen=True):
    """A plugin that runs in the old profile; `felt` where the profile enables it and no plugin does its work now."""

    plugin: str
    felt: bool


def losses(mine: ResolvedProfile, default: ResolvedProfile) -> Iterator[LostPlugin]:
    """Required labels of nodes are not lost: addedAffinity can require them."""
    for plugin in GONE:
        points = [point for point, names in mine.points.items() if plugin in names]
        if not points or (plugin == names.NODE_LABEL and not _prefers_labels(mine)):
            continue
        by_default = all(plugin in default.points[point] for point in points)
        as_ever = by_default and mine.score_weights.get(plugin) == default.score_weights.get(plugin)
        yield LostPlugin(plugin, felt=not as_ever and not _covered(plugin, mine))


def _prefers_labels(mine: ResolvedProfile) -> bool:
    args = mine.args[names.NODE_LABEL]
    assert isinstance(args, NodeLabelArgs)
    return names.NODE_LABEL in mine.points["score"] and bool(
        args.present_labels_preference or args.absent_labels_preference
    )


def _covered(plugin: str, mine: ResolvedProfile) -> bool:
    """Whether the plugins of the new profile do the work."""
    if GONE[plugin] is _COUNTED:
        return names.NODE_VOLUME_LIMITS in mine.points["filter"]
    if plugin in (names.SELECTOR_SPREAD, names.DEFAULT_POD_TOPOLOGY_SPREAD):
        args = mine.args.get(names.POD_TOPOLOGY_SPREAD)
        by_default = isinstance(args, PodTopologySpreadArgs) and args.defaulting_type == "System"
        return by_default and names.POD_TOPOLOGY_SPREAD in mine.points["score"]
    return False
