"""The order in which kube-scheduler lists nodes: round robin over zones (cache.nodeTree)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ksched_cli.api.core import Node
from ksched_cli.releases.minors import NEWEST, Release
from ksched_cli.releases.pod_rules import ZoneRules

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def zone_key(labels: Mapping[str, str], release: Release = NEWEST) -> tuple[str, str]:
    """utilnode.GetZoneKey: (region, zone), the beta labels first because old volumes still carry them. The
    oldest minors know no others."""
    if not ZoneRules.of(release).labels_without_beta:
        return labels.get(_BETA_REGION, ""), labels.get(_BETA_ZONE, "")
    zone = labels.get(_BETA_ZONE, labels.get(_ZONE, ""))
    region = labels.get(_BETA_REGION, labels.get(_REGION, ""))
    return region, zone


def listing_order(nodes: Iterable[Node], release: Release = NEWEST) -> list[Node]:
    """nodeTree.list: one node of each zone in turn, zones and nodes in the order they were added."""
    zones: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        zones.setdefault(zone_key(node.metadata.labels, release), []).append(node)
    listed: list[Node] = []
    for turn in range(max((len(members) for members in zones.values()), default=0)):
        listed.extend(members[turn] for members in zones.values() if turn < len(members))
    return listed
