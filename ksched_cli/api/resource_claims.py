"""Who owns and who uses a ResourceClaim, and copies of it in another state (resourceclaim)."""

from __future__ import annotations

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.dynamic_resources import AllocationResult, ResourceClaim, ResourceClaimConsumerReference


def is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    """metav1.IsControlledBy."""
    controller = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    return controller is not None and controller.uid == pod.metadata.uid


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """resourceclaim.IsReservedForPod."""
    return any(consumer.uid == pod.metadata.uid for consumer in claim.status.reserved_for)


def with_allocation(claim: ResourceClaim, allocation: AllocationResult | None) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, allocation=allocation))


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    return replace(claim, status=replace(claim.status, allocation=None, reserved_for=(), devices=()))


def reserved(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    consumer = ResourceClaimConsumerReference("pods", pod.metadata.name, pod.metadata.uid)
    return replace(claim, status=replace(claim.status, reserved_for=(*claim.status.reserved_for, consumer)))


def unreserved(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    left = tuple(each for each in claim.status.reserved_for if each.uid != pod.metadata.uid)
    return replace(claim, status=replace(claim.status, reserved_for=left))
