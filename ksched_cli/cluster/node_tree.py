"""The order in which kube-scheduler lists nodes: round robin over zones (cache.nodeTree)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ksched_cli.cluster.columns import IdColumn, RowColumn
from ksched_cli.releases.minors import NEWEST, Release
from ksched_cli.releases.pod_rules import ZoneRules

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def zone_key(labels: Mapping[str, str], release: Release = NEWEST) -> tuple[str, str]:
    """utilnode.GetZoneKey: (region, zone), the beta labels first because old volumes still carry them. The
    oldest minors have no others."""
    if not ZoneRules.of(release).labels_without_beta:
        return labels.get(_BETA_REGION, ""), labels.get(_BETA_ZONE, "")
    zone = labels.get(_BETA_ZONE, labels.get(_ZONE, ""))
    region = labels.get(_BETA_REGION, labels.get(_REGION, ""))
    return region, zone


def listing_order(zones: IdColumn) -> RowColumn:
    """nodeTree.list for the zones of the nodes in the order they were added, as indexes of these: one node of each zone
    in turn, zones and nodes in the order they were added."""
    if not len(zones):
        return np.empty(0, dtype=np.int64)
    _, first, zone = np.unique(zones, return_index=True, return_inverse=True)
    by_zone = np.argsort(zone, kind="stable")
    starts = np.nonzero(np.diff(zone[by_zone], prepend=-1))[0]
    turn = np.empty(len(zones), dtype=np.int64)
    turn[by_zone] = np.arange(len(zones)) - starts[zone[by_zone]]
    order: RowColumn = np.lexsort((first[zone], turn))
    return order
