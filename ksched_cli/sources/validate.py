"""Finds values that the API server refuses: wrong quantities and times, and negative quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from ksched_cli.api.core import Node, NodeCondition, Pod, PodCondition, Quantities, ResourceRequirements
from ksched_cli.api.dynamic_resources import ResourceSlice
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.pod_facts import parse_time
from ksched_cli.api.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota, RuntimeClass
from ksched_cli.api.quantity import QuantityError, parse_quantity
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.api.workloads import ReplicaSet

# (path, what is wrong)
Complaint = tuple[str, str]


def object_complaints(item: Struct) -> Iterator[Complaint]:
    """The mistakes in the object that decoding does not find."""
    check = _CHECKS.get(type(item))
    if check is not None:
        yield from check(item)


def _quantities(quantities: Quantities, path: str) -> Iterator[Complaint]:
    for name, quantity in quantities.items():
        mistake = _mistake_in(quantity)
        if mistake:
            yield f"{path}[{name}]" if "." in name or "/" in name else f"{path}.{name}", mistake


def _requirements(resources: ResourceRequirements, path: str) -> Iterator[Complaint]:
    yield from _quantities(resources.requests, f"{path}.requests")
    yield from _quantities(resources.limits, f"{path}.limits")


@lru_cache(maxsize=4096, typed=True)
def _mistake_in(quantity: str | int | float) -> str:
    """The mistake in the quantity, or an empty string. It is cached: most quantities of a cluster are equal."""
    try:
        return f"{quantity} is negative" if parse_quantity(quantity) < 0 else ""
    except QuantityError as mistake:
        return str(mistake)


def _integer(value: int | None, path: str, bits: int) -> Iterator[Complaint]:
    """A complaint if the value does not fit into Go's integer of so many bits."""
    if value is not None and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        yield path, f"{value} is out of range: it takes more than {bits} bits"


def _pod(pod: Pod) -> Iterator[Complaint]:
    spec = pod.spec
    if not pod.metadata.name:
        yield "metadata.name", "a pod needs a name"
    yield from _integer(spec.priority, "spec.priority", 32)
    yield from _integer(spec.termination_grace_period_seconds, "spec.terminationGracePeriodSeconds", 64)
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            yield from _requirements(container.resources, f"spec.{field}[{index}].resources")
    yield from _quantities(spec.overhead, "spec.overhead")
    if spec.resources is not None:
        yield from _requirements(spec.resources, "spec.resources")
    for field, statuses in (
        ("containerStatuses", pod.status.container_statuses),
        ("initContainerStatuses", pod.status.init_container_statuses),
    ):
        for index, status in enumerate(statuses):
            path = f"status.{field}[{index}]"
            yield from _quantities(status.allocated_resources, f"{path}.allocatedResources")
            if status.resources is not None:
                yield from _quantities(status.resources.requests, f"{path}.resources.requests")
    yield from _quantities(pod.status.allocated_resources, "status.allocatedResources")
    if pod.status.resources is not None:
        yield from _quantities(pod.status.resources.requests, "status.resources.requests")
    for index, claim in enumerate(pod.status.node_allocatable_resource_claim_statuses):
        yield from _quantities(claim.resources, f"status.nodeAllocatableResourceClaimStatuses[{index}].resources")
    yield from _stamps(pod.metadata)
    yield from _time(pod.status.start_time, "status.startTime")
    yield from _transitions(pod.status.conditions)


def _stamps(metadata: ObjectMeta) -> Iterator[Complaint]:
    yield from _time(metadata.creation_timestamp, "metadata.creationTimestamp")
    yield from _time(metadata.deletion_timestamp, "metadata.deletionTimestamp")


def _transitions(conditions: Iterable[PodCondition | NodeCondition]) -> Iterator[Complaint]:
    for index, condition in enumerate(conditions):
        yield from _time(condition.last_transition_time, f"status.conditions[{index}].lastTransitionTime")


def _time(stamp: str | None, path: str) -> Iterator[Complaint]:
    if stamp:
        try:
            parse_time(stamp)
        except ValueError:
            yield path, f"{stamp!r} is not a time: write it as 2026-01-31T12:00:00Z"


def _node(node: Node) -> Iterator[Complaint]:
    if not node.metadata.name:
        yield "metadata.name", "a node needs a name"
    sizes = [image.size_bytes for image in node.status.images]
    for index, size in enumerate(sizes) if sizes and max(max(sizes), -min(sizes)) >= 2**63 else ():
        yield from _integer(size, f"status.images[{index}].sizeBytes", 64)
    yield from _quantities(node.status.allocatable, "status.allocatable")
    yield from _quantities(node.status.capacity, "status.capacity")
    yield from _stamps(node.metadata)
    yield from _transitions(node.status.conditions)


def _limit_range(limits: LimitRange) -> Iterator[Complaint]:
    for index, item in enumerate(limits.spec.limits):
        for field, quantities in (
            ("max", item.max),
            ("min", item.min),
            ("default", item.default),
            ("defaultRequest", item.default_request),
            ("maxLimitRequestRatio", item.max_limit_request_ratio),
        ):
            yield from _quantities(quantities, f"spec.limits[{index}].{field}")


def _quota(quota: ResourceQuota) -> Iterator[Complaint]:
    yield from _quantities(quota.spec.hard, "spec.hard")
    yield from _quantities(quota.status.used, "status.used")


def _slice(item: ResourceSlice) -> Iterator[Complaint]:
    for index, device in enumerate(item.spec.devices):
        for name, mapping in device.node_allocatable_resource_mappings.items():
            mistake = _mistake_in(mapping.allocation_multiplier)
            if mistake:
                path = f"spec.devices[{index}].nodeAllocatableResourceMappings.{name}.allocationMultiplier"
                yield path, mistake


def _budget(budget: PodDisruptionBudget) -> Iterator[Complaint]:
    if budget.status.disruptions_allowed < 0:
        yield "status.disruptionsAllowed", f"{budget.status.disruptions_allowed} is negative"


_CHECKS: Mapping[type[Struct], Callable[[Any], Iterator[Complaint]]] = {
    Pod: _pod,
    Node: _node,
    PriorityClass: lambda item: _integer(item.value, "value", 32),
    ReplicaSet: lambda item: _stamps(item.metadata),
    PersistentVolume: lambda item: _quantities(item.spec.capacity, "spec.capacity"),
    PersistentVolumeClaim: lambda item: _quantities(item.spec.resources.requests, "spec.resources.requests"),
    PodDisruptionBudget: _budget,
    LimitRange: _limit_range,
    ResourceQuota: _quota,
    RuntimeClass: lambda item: _quantities(item.overhead.pod_fixed if item.overhead else {}, "overhead.podFixed"),
    ResourceSlice: _slice,
}
