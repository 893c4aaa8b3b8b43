"""Plugins that are no more, and what does their work now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ksched_cli.config.plugin_args import NodeLabelArgs, PodTopologySpreadArgs
from ksched_cli.config.resolved_profile import ResolvedProfile

FIT, AFFINITY, SPREAD, LABEL = "NodeResourcesFit", "NodeAffinity", "PodTopologySpread", "NodeLabel"
SELECTOR_SPREAD, LIMITS = "SelectorSpread", "NodeVolumeLimits"


@dataclass(frozen=True)
class Gone:
    """With what a plugin went away, and what to use instead."""

    since: str
    instead: str


_COUNTED = Gone("Kubernetes 1.31", f"{LIMITS} counts in-tree volumes as those of their CSI drivers")
GONE: Mapping[str, Gone] = {
    "AzureDiskLimits": _COUNTED,
    "CinderLimits": _COUNTED,
    "EBSLimits": _COUNTED,
    "GCEPDLimits": _COUNTED,
    "NodePreferAvoidPods": Gone("Kubernetes 1.23", "taint nodes with PreferNoSchedule instead of annotating them"),
    LABEL: Gone("Kubernetes 1.23", "prefer labels in the pods' node affinity, or in addedAffinity of NodeAffinity"),
    "ServiceAffinity": Gone("Kubernetes 1.23", "give the pods podAffinity or topologySpreadConstraints"),
    SELECTOR_SPREAD: Gone("v1", f"{SPREAD} spreads pods that have no constraints by its default ones"),
}


@dataclass(frozen=True)
class LostPlugin:
    """A plugin that runs in the old profile; `felt` where the profile asks for it and nothing does its work now."""

    plugin: str
    felt: bool


def losses(mine: ResolvedProfile, default: ResolvedProfile) -> Iterator[LostPlugin]:
    """Labels that NodeLabel asks of nodes are not among them: NodeAffinity can ask for them."""
    for plugin in GONE:
        points = [point for point, names in mine.points.items() if plugin in names]
        if not points or (plugin == LABEL and not _prefers_labels(mine)):
            continue
        by_default = all(plugin in default.points[point] for point in points)
        as_ever = by_default and mine.score_weights.get(plugin) == default.score_weights.get(plugin)
        yield LostPlugin(plugin, felt=not as_ever and not _covered(plugin, mine))


def _prefers_labels(mine: ResolvedProfile) -> bool:
    args = mine.args[LABEL]
    assert isinstance(args, NodeLabelArgs)
    return LABEL in mine.points["score"] and bool(args.present_labels_preference or args.absent_labels_preference)


def _covered(plugin: str, mine: ResolvedProfile) -> bool:
    """Whether what is there now does the work."""
    if GONE[plugin] is _COUNTED:
        return LIMITS in mine.points["filter"]
    if plugin == SELECTOR_SPREAD:
        args = mine.args.get(SPREAD)
        by_default = isinstance(args, PodTopologySpreadArgs) and args.defaulting_type == "System"
        return by_default and SPREAD in mine.points["score"]
    return False
