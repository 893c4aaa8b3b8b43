"""Whether a driver that publishes its free space has enough of it for a claim."""

from __future__ import annotations

import numpy as np

from ksched_cli.api.quantity import value
from ksched_cli.api.selectors import Selector, SelectorError, compile_selector
from ksched_cli.api.storage import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn


def with_enough_capacity(cluster: Cluster, claim: PersistentVolumeClaim, storage_class: StorageClass) -> BoolColumn:
    """Nodes from which a published pool of the class is reached that holds the claim; all, if nobody publishes."""
    catalog, size = cluster.catalog, len(cluster.nodes)
    request = claim.spec.resources.requests.get("storage")
    driver = catalog.get(CSIDriver, storage_class.provisioner)
    if request is None or driver is None or not driver.spec.storage_capacity:
        return np.ones(size, dtype=np.bool_)
    reached = np.zeros(size, dtype=np.bool_)
    for pool in catalog.all(CSIStorageCapacity):
        if pool.storage_class_name == storage_class.metadata.name and largest_volume(pool) >= value(request):
            reached |= _reached_from(cluster, pool)
    return reached


def largest_volume(pool: CSIStorageCapacity) -> int:
    """The driver's own limit where it gives one; a pool that says nothing holds nothing."""
    limit = pool.maximum_volume_size if pool.maximum_volume_size is not None else pool.capacity
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
