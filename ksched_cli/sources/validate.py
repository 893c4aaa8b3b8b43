"""Finds values that the API server refuses: wrong quantities and times, negative quantities, and unknown words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ksched_cli.api.core import (
    TAINT_EFFECTS,
    WHEN_UNSATISFIABLE,
    Container,
    ContainerImage,
    ContainerStatus,
    Node,
    NodeCondition,
    ObjectMeta,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Quantities,
    ResourceRequirements,
    Taint,
)
from ksched_cli.api.dynamic_resources import ResourceSlice
from ksched_cli.api.object_facts import is_time
from ksched_cli.api.quantity import QuantityError, are_plain, parse_quantity
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.api.workloads import (
    DaemonSet,
    Deployment,
    Job,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    ResourceQuota,
    RuntimeClass,
    StatefulSet,
)

# (path, what is wrong)
Complaint = tuple[str, str]
Complaints = Sequence[Complaint]


def object_complaints(item: Struct) -> Complaints:
    """The mistakes in the object that decoding does not find. Few objects have any, so that paths are made only for a
    value that is wrong."""
    check = _CHECKS.get(type(item))
    return check(item) if check is not None else ()


def _quantities(quantities: Quantities, path: str) -> Complaints:
    if are_plain(quantities.values()):
        return ()
    mistakes = {name: _mistake_in(quantity) for name, quantity in quantities.items()}
    return [
        (f"{path}[{name}]" if "." in name or "/" in name else f"{path}.{name}", mistake)
        for name, mistake in mistakes.items()
        if mistake
    ]


def _requirements(resources: ResourceRequirements, path: str) -> Complaints:
    return [*_quantities(resources.requests, f"{path}.requests"), *_quantities(resources.limits, f"{path}.limits")]


def _mistake_in(quantity: str | int | float) -> str:
    """The mistake in the quantity, or an empty string."""
    try:
        return f"{quantity} is negative" if parse_quantity(quantity) < 0 else ""
    except QuantityError as mistake:
        return str(mistake)


def _integer(value: int | None, path: str, bits: int) -> Complaints:
    """A complaint if the value does not fit into Go's integer of so many bits."""
    if value is None or -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        return ()
    return [(path, f"{value} is out of range: it takes more than {bits} bits")]


def _name(metadata: ObjectMeta, kind: str) -> Complaints:
    return () if metadata.name else [("metadata.name", f"a {kind} needs a name")]


def _pod(pod: Pod) -> Complaints:
    """Most fields of most pods are empty, and the condition before a call is cheaper than the call."""
    metadata, status = pod.metadata, pod.status
    found = _pod_spec(pod.spec)
    if not metadata.name:
        found = [*_name(metadata, "pod"), *found]
    found += _pod_status(status)
    created = metadata.creation_timestamp
    if metadata.deletion_timestamp or (created and not is_time(created)):
        found += _stamps(metadata)
    if status.start_time:
        found += _time(status.start_time, "status.startTime")
    if status.conditions:
        found += _transitions(status.conditions)
    return found


def _pod_spec(spec: PodSpec) -> list[Complaint]:
    found: list[Complaint] = []
    if spec.priority:
        found += _integer(spec.priority, "spec.priority", 32)
    if spec.termination_grace_period_seconds:
        found += _integer(spec.termination_grace_period_seconds, "spec.terminationGracePeriodSeconds", 64)
    found += _containers(spec.containers, "spec.containers")
    if spec.init_containers:
        found += _containers(spec.init_containers, "spec.initContainers")
    if spec.overhead:
        found += _quantities(spec.overhead, "spec.overhead")
    if spec.resources is not None:
        found += _requirements(spec.resources, "spec.resources")
    if spec.topology_spread_constraints:
        actions = [each.when_unsatisfiable for each in spec.topology_spread_constraints]
        found += _known(actions, WHEN_UNSATISFIABLE, "spec.topologySpreadConstraints[{}].whenUnsatisfiable")
    return found


def _template(item: Any) -> Complaints:
    """Controllers make pods of it, which nothing checks again."""
    template = item.spec.template
    return [(f"spec.template.{path}", text) for path, text in _pod_spec(template.spec)] if template is not None else ()


def _containers(containers: Sequence[Container], path: str) -> Complaints:
    found: list[Complaint] = []
    for index, container in enumerate(containers):
        resources = container.resources
        requests, limits = resources.requests, resources.limits
        if not are_plain(requests.values()) or (limits and not are_plain(limits.values())):
            found += _requirements(resources, f"{path}[{index}].resources")
    return found


def _pod_status(status: PodStatus) -> Complaints:
    found: list[Complaint] = []
    if status.container_statuses:
        found += _container_statuses(status.container_statuses, "status.containerStatuses")
    if status.init_container_statuses:
        found += _container_statuses(status.init_container_statuses, "status.initContainerStatuses")
    if status.allocated_resources:
        found += _quantities(status.allocated_resources, "status.allocatedResources")
    if status.resources is not None:
        found += _quantities(status.resources.requests, "status.resources.requests")
    if status.node_allocatable_resource_claim_statuses:
        for index, claim in enumerate(status.node_allocatable_resource_claim_statuses):
            found += _quantities(claim.resources, f"status.nodeAllocatableResourceClaimStatuses[{index}].resources")
    return found


def _container_statuses(statuses: Sequence[ContainerStatus], path: str) -> Complaints:
    found: list[Complaint] = []
    for index, status in enumerate(statuses):
        if status.allocated_resources:
            found += _quantities(status.allocated_resources, f"{path}[{index}].allocatedResources")
        if status.resources is not None:
            found += _quantities(status.resources.requests, f"{path}[{index}].resources.requests")
    return found


def _stamps(metadata: ObjectMeta) -> Complaints:
    found = _time(metadata.creation_timestamp, "metadata.creationTimestamp")
    if metadata.deletion_timestamp:
        found = [*found, *_time(metadata.deletion_timestamp, "metadata.deletionTimestamp")]
    return found


def _transitions(conditions: Sequence[PodCondition | NodeCondition]) -> Complaints:
    found: list[Complaint] = []
    for index, condition in enumerate(conditions):
        stamp = condition.last_transition_time
        if stamp and not is_time(stamp):
            found += _time(stamp, f"status.conditions[{index}].lastTransitionTime")
    return found


def _time(stamp: str | None, path: str) -> Complaints:
    if not stamp or is_time(stamp):
        return ()
    return [(path, f"{stamp!r} is not a time: write it as 2026-01-31T12:00:00Z")]


def _node(node: Node) -> Complaints:
    metadata, status = node.metadata, node.status
    return [
        *_name(metadata, "node"),
        *_images(status.images),
        *_quantities(status.allocatable, "status.allocatable"),
        *_quantities(status.capacity, "status.capacity"),
        *_stamps(metadata),
        *_transitions(status.conditions),
        *(_taints(node.spec.taints) if node.spec.taints else ()),
    ]


def _taints(taints: Sequence[Taint]) -> Complaints:
    return _known([taint.effect for taint in taints], TAINT_EFFECTS, "spec.taints[{}].effect")


def _known(values: Sequence[str], known: Sequence[str], path: str) -> Complaints:
    """A complaint for each value that has no meaning to a scheduler, which would pass over it. `path` has a place for
    its index."""
    supported = ", ".join(known)
    return [
        (path.format(index), f"{value!r} is not supported, use one of {supported}")
        for index, value in enumerate(values)
        if value not in known
    ]


def _images(images: Sequence[ContainerImage]) -> Complaints:
    sizes = [image.size_bytes for image in images]
    if not sizes or -(2**63) <= min(sizes) <= max(sizes) < 2**63:
        return ()
    checked = (_integer(size, f"status.images[{index}].sizeBytes", 64) for index, size in enumerate(sizes))
    return [complaint for complaints in checked for complaint in complaints]


def _quota(quota: ResourceQuota) -> Complaints:
    return [*_quantities(quota.spec.hard, "spec.hard"), *_quantities(quota.status.used, "status.used")]


def _slice(item: ResourceSlice) -> Complaints:
    found: list[Complaint] = []
    for index, device in enumerate(item.spec.devices):
        for name, mapping in device.node_allocatable_resource_mappings.items():
            mistake = _mistake_in(mapping.allocation_multiplier)
            if mistake:
                path = f"spec.devices[{index}].nodeAllocatableResourceMappings.{name}.allocationMultiplier"
                found.append((path, mistake))
    return found


def _budget(budget: PodDisruptionBudget) -> Complaints:
    allowed = budget.status.disruptions_allowed
    return [("status.disruptionsAllowed", f"{allowed} is negative")] if allowed < 0 else ()


_CHECKS: Mapping[type[Struct], Callable[[Any], Complaints]] = {
    Pod: _pod,
    Node: _node,
    PriorityClass: lambda item: _integer(item.value, "value", 32),
    ReplicaSet: lambda item: [*_stamps(item.metadata), *_template(item)],
    **dict.fromkeys((Deployment, StatefulSet, DaemonSet, Job, ReplicationController), _template),
    PersistentVolume: lambda item: _quantities(item.spec.capacity, "spec.capacity"),
    PersistentVolumeClaim: lambda item: _quantities(item.spec.resources.requests, "spec.resources.requests"),
    PodDisruptionBudget: _budget,
    ResourceQuota: _quota,
    RuntimeClass: lambda item: _quantities(item.overhead.pod_fixed if item.overhead else {}, "overhead.podFixed"),
    ResourceSlice: _slice,
}
