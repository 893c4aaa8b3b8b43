"""A pod that is gone for good, and what it held."""

from __future__ import annotations

from ksched_cli.api.resource import ResourceClaim
from ksched_cli.api.resource_claims import deallocated, is_controlled_by, is_reserved_for, unreserved
from ksched_cli.engine.scheduler import Scheduler


def remove_pod(scheduler: Scheduler, pod_row: int) -> None:
    """DeletePod, and after it the resource claim controller: the pod's own claims go, and those that nobody else uses
    give back their devices. Volumes stay bound to their claims."""
    cluster = scheduler.cluster
    cluster.displace(pod_row)
    scheduler.nominator.delete(pod_row)
    pod = cluster.pods.infos[pod_row].pod
    for claim in list(cluster.catalog.in_namespace(ResourceClaim, pod.metadata.namespace)):
        if is_controlled_by(claim, pod):
            cluster.catalog.remove(claim)
        elif is_reserved_for(claim, pod):
            left = unreserved(claim, pod)
            cluster.catalog.put(left if left.status.reserved_for else deallocated(left))
