"""The order in which kube-scheduler lists nodes: round robin over zones (cache.nodeTree)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.columns import IdColumn, RowColumn
from ksched_cli.releases.engine_rules import ZoneRules
from ksched_cli.releases.minors import DEFAULT, Release

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def zone_key(labels: Mapping[str, str], release: Release = DEFAULT) -> tuple[str, str]:
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
    count, places = len(zones), np.arange(len(zones))
    first = np.full(int(zones.max()) + 1, count)
    # Of several places that are written to one zone, the last one stays: the first node.
    first[zones[::-1]] = places[::-1]
    came = first[zones]
    by_zone = np.argsort(_narrow(came), kind="stable")
    begins = np.diff(came[by_zone], prepend=-1) != 0
    turn = places - np.maximum.accumulate(np.where(begins, places, 0))
    order: RowColumn = by_zone[np.argsort(_narrow(turn), kind="stable")]
    return order


def _narrow(numbers: RowColumn) -> NDArray[np.integer[Any]]:
    """Small numbers in 16 bits, which numpy sorts in linear time."""
    return numbers.astype(np.int16) if int(numbers.max()) <= np.iinfo(np.int16).max else numbers
