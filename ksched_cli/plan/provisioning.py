"""Storage pools of runs without a control plane: the volumes of placed pods take their room."""

from __future__ import annotations

from ksched_cli.api.storage import CSIStorageCapacity
from ksched_cli.cluster.cache import Cluster
from ksched_cli.engine.decision import Decision


def shrink_pools(cluster: Cluster, decision: Decision) -> None:
    """The volumes that are made for a placed pod take the room of the storage pools of its node."""
    if decision.row is None or not decision.pod.pod.spec.volumes or not cluster.catalog.all(CSIStorageCapacity):
        return
    # Imported here: most clusters publish no storage capacity.
    from ksched_cli.controlplane.controllers.provisioning import provisioned_on

    for made in list(provisioned_on(decision.pod.pod, cluster.nodes.objects[decision.row], cluster.catalog)):
        if made.pool is not None:
            cluster.catalog.put(made.pool)
