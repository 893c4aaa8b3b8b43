"""Who owns and who uses a ResourceClaim, and copies of it in another state (resourceclaim)."""

from __future__ import annotations

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.dynamic_resources import AllocationResult, ResourceClaim, ResourceClaimConsumerReference
from ksched_cli.api.meta import controller_of

_SCHEDULING = "scheduling.k8s.io"
_POD_GROUPS = "podgroups"


def is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    """metav1.IsControlledBy."""
    controller = controller_of(claim.metadata)
    return controller is not None and controller.uid == pod.metadata.uid


def is_controlled_by_group(claim: ResourceClaim, group: str) -> bool:
    """isForPodGroupByPod: the controller is the pod group of this name."""
    controller = controller_of(claim.metadata)
    if controller is None or controller.kind != "PodGroup":
        return False
    return controller.name == group and controller.api_version.startswith(f"{_SCHEDULING}/")


def is_reserved_for(claim: ResourceClaim, pod: Pod, group: str = "") -> bool:
    """resourceclaim.IsReservedForPod; with the gate DRAWorkloadResourceClaims also for the `group` of the pod."""
    return any(
        consumer.uid == pod.metadata.uid or (bool(group) and is_group_consumer(consumer, group))
        for consumer in claim.status.reserved_for
    )


def is_group_consumer(consumer: ResourceClaimConsumerReference, group: str) -> bool:
    return (consumer.api_group, consumer.resource, consumer.name) == (_SCHEDULING, _POD_GROUPS, group)


def with_allocation(claim: ResourceClaim, allocation: AllocationResult | None) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, allocation=allocation))


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, allocation=None, reserved_for=(), devices=()))


def consumer_pod(pod: Pod) -> ResourceClaimConsumerReference:
    return ResourceClaimConsumerReference("pods", pod.metadata.name, pod.metadata.uid)


def consumer_group(name: str, uid: str) -> ResourceClaimConsumerReference:
    return ResourceClaimConsumerReference(_POD_GROUPS, name, uid, _SCHEDULING)


def reserved(claim: ResourceClaim, consumer: ResourceClaimConsumerReference) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, reserved_for=(*claim.status.reserved_for, consumer)))


def unreserved(claim: ResourceClaim, uid: str) -> ResourceClaim:
    left = tuple(each for each in claim.status.reserved_for if each.uid != uid)
    return replace(claim, status=replace(claim.status, reserved_for=left))
