"""How full storage would be (volumebinding/scorer.go, gates StorageCapacityScoring and VolumeCapacityPriority)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ksched_cli.api.quantity import value
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.plugins.lib.arithmetic import MAX_UTILIZATION, broken_linear
from ksched_cli.plugins.lib.volumes.claims import class_of_claim
from ksched_cli.plugins.volume_binding.capacity import capacity_for
from ksched_cli.plugins.volume_binding.placement import VolumePlacement

Shape = Sequence[tuple[int, int]]


class _Use:
    """One storage class, per node: the requested amount, the capacity, and whether the class is used there."""

    def __init__(self, size: int) -> None:
        self.requested, self.capacity = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self.used = np.zeros(size, dtype=np.bool_)

    def score(self, line: Int64Column) -> Int64Column:
        full = (self.capacity == 0) | (self.requested > self.capacity)
        percent = np.where(full, MAX_UTILIZATION, self.requested * MAX_UTILIZATION // np.maximum(self.capacity, 1))
        return np.where(self.used, line[percent], 0)


def storage_scores(cluster: Cluster, placement: VolumePlacement, shape: Shape, *, pools: bool) -> Int64Column:
    """Volumes that exist decide on nodes where any would be bound; elsewhere the pools that volumes are made in.
    Without `pools` other nodes get 0."""
    bound, some = _bound(placement)
    line = np.array([broken_linear(shape, percent) for percent in range(MAX_UTILIZATION + 1)], dtype=np.int64)
    size = placement.size
    made = _made(cluster, placement) if pools else []
    return np.where(some, _mean(bound, line, size), _mean(made, line, size))


def _bound(placement: VolumePlacement) -> tuple[list[_Use], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    uses: dict[str, _Use] = defaultdict(lambda: _Use(placement.size))
    some = np.zeros(placement.size, dtype=np.bool_)
    for choice in placement.static:
        for index, volume in enumerate(choice.volumes):
            here = choice.chosen == index
            use = uses[volume.spec.storage_class_name]
            use.requested[here] += _storage(choice.claim)
            use.capacity[here] += value(volume.spec.capacity.get("storage", 0))
            use.used |= here
            some |= here
    return list(uses.values()), some


def _made(cluster: Cluster, placement: VolumePlacement) -> list[_Use]:
    """The use of pools. A pool's capacity counts once for all of the pod's volumes."""
    uses: dict[str, _Use] = defaultdict(lambda: _Use(placement.size))
    for claim, rows in placement.provisioned:
        name = class_of_claim(claim)
        storage_class = cluster.catalog.get(StorageClass, name)
        if storage_class is None:
            continue
        capacity = capacity_for(cluster, claim, storage_class)
        here = rows & (capacity >= 0)
        use = uses[name]
        use.requested[here] += _storage(claim)
        use.capacity[here] = capacity[here]
        use.used |= here
    return list(uses.values())


def _storage(claim: PersistentVolumeClaim) -> int:
    return value(claim.spec.resources.requests.get("storage", 0))


def _mean(uses: list[_Use], line: Int64Column, size: int) -> Int64Column:
    """The rounded mean over the storage classes in use; 0 without any."""
    total, count = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for use in uses:
        total += use.score(line)
        count += use.used
    return np.where(count == 0, 0, (2 * total + count) // np.maximum(2 * count, 1))
