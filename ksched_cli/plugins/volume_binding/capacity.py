"""Whether a driver that publishes its free space has enough of it for a claim."""

from __future__ import annotations

import numpy as np

from ksched_cli.api.quantity import value
from ksched_cli.api.selectors import Selector, SelectorError, compile_selector
from ksched_cli.api.storage import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.plugins.volume_binding.rules import VolumeBindingRules
from ksched_cli.releases.minors import DEFAULT, Release


def with_enough_capacity(cluster: Cluster, claim: PersistentVolumeClaim, storage_class: StorageClass) -> BoolColumn:
    """Nodes that reach a published pool that holds the claim; all nodes if the driver publishes no capacity."""
    size = len(cluster.nodes)
    pools = _large_enough(cluster, claim, storage_class)
    if pools is None:
        return np.ones(size, dtype=np.bool_)
    reached = np.zeros(size, dtype=np.bool_)
    for pool in pools:
        reached |= _reached_from(cluster, pool)
    return reached


def capacity_for(cluster: Cluster, claim: PersistentVolumeClaim, storage_class: StorageClass) -> Int64Column:
    """What the pool holds in which the claim's volume would be made, -1 where that is not known. Of several pools
    kube-scheduler takes any; here it is the first by name."""
    found = np.full(len(cluster.nodes), -1, dtype=np.int64)
    for pool in _large_enough(cluster, claim, storage_class) or ():
        found[_reached_from(cluster, pool) & (found < 0)] = value(pool.capacity or 0)
    return found


def _large_enough(
    cluster: Cluster, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> list[CSIStorageCapacity] | None:
    """Published pools that hold the claim; None if the driver publishes no capacity, or the claim requests none."""
    request = claim.spec.resources.requests.get("storage")
    driver = cluster.catalog.get(CSIDriver, storage_class.provisioner)
    if request is None or driver is None or not driver.spec.storage_capacity:
        return None
    return [
        pool
        for pool in cluster.catalog.all(CSIStorageCapacity)
        if pool.storage_class_name == storage_class.metadata.name
        and largest_volume(pool, cluster.release) >= value(request)
    ]


def largest_volume(pool: CSIStorageCapacity, release: Release = DEFAULT) -> int:
    """The driver's limit of a volume where the minor reads it, else the capacity of the pool; -1 without either."""
    limited = pool.maximum_volume_size is not None and VolumeBindingRules.of(release).reads_largest_volume
    limit = pool.maximum_volume_size if limited else pool.capacity
    return -1 if limit is None else value(limit)


def _reached_from(cluster: Cluster, pool: CSIStorageCapacity) -> BoolColumn:
    try:
        selector: Selector = compile_selector(pool.node_topology)
    except SelectorError:
        # kube-scheduler logs it and goes on: such a pool is reached from nowhere.
        return np.zeros(len(cluster.nodes), dtype=np.bool_)
    reached = np.full(len(cluster.nodes), not selector.nothing, dtype=np.bool_)
    for requirement in selector.requirements:
        reached &= cluster.selection.requirement(requirement)
    return reached
