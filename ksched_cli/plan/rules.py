"""Whose rule a rejection goes by, in the names of today's plugins: predicates have the same rules under other names,
and GeneralPredicates has those of four plugins at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_RULE_OF: Mapping[str, str] = {
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
    "PodFitsResources": "NodeResourcesFit",
    "PodToleratesNodeTaints": "TaintToleration",
}
_GENERAL = "GeneralPredicates"
# By how the reasons of its parts begin.
_PARTS: Mapping[str, str] = {
    "Insufficient ": "NodeResourcesFit",
    "node(s) didn't match the requested hostname": "NodeName",
    "node(s) didn't have free ports": "NodePorts",
    "node(s) didn't match node selector": "NodeAffinity",
}


def rule_of(plugin: str, reason: str = "") -> str:
    """A plugin's rule is its own."""
    if plugin == _GENERAL:
        return next((rule for beginning, rule in _PARTS.items() if reason.startswith(beginning)), plugin)
    return _RULE_OF.get(plugin, plugin)


def rules_of(plugin: str, reasons: Sequence[str]) -> tuple[str, ...]:
    """Of a rejection for all these reasons, each once."""
    return tuple(dict.fromkeys(rule_of(plugin, reason) for reason in reasons)) or (rule_of(plugin),)


def detail_of(plugin: str, rule: str, detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """The numbers that are about one of the rules."""
    part: Mapping[str, Any] = detail.get(rule, {}) if plugin == _GENERAL else detail
    return part
