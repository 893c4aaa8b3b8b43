"""Finds values of a dump that the API server refuses, and that decoding does not: wrong and negative quantities, times
that are none, and unknown words.

One walk over an object finds them: fields of the type Quantities, and the fields of `_ROWS`. Few objects have any, and
there are many pods and nodes: `_IS_FINE` has for such kinds a check of the same fields that takes a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from ksched_cli.api.core import (
    TAINT_EFFECTS,
    WHEN_UNSATISFIABLE,
    ContainerStatus,
    Node,
    NodeCondition,
    ObjectMeta,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Quantities,
    Taint,
    TopologySpreadConstraint,
)
from ksched_cli.api.dynamic_resources import NodeAllocatableResourceMapping, ResourceSlice
from ksched_cli.api.object_facts import is_time
from ksched_cli.api.quantity import QuantityError, are_plain, parse_quantity
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.api.workloads import (
    DaemonSet,
    Deployment,
    Job,
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
    """The mistakes in the object that decoding does not find."""
    is_fine = _IS_FINE.get(type(item))
    if is_fine is None or is_fine(item):
        return ()
    kind = type(item).__name__.lower()
    nameless = [("metadata.name", f"a {kind} needs a name")] if isinstance(item, Pod | Node) else []
    return [*(() if item.metadata.name else nameless), *_complaints(item, "")]  # type: ignore[attr-defined]


def _complaints(value: Any, path: str) -> Iterator[Complaint]:
    """What is wrong below this value."""
    if isinstance(value, Struct):
        for name, written, check in _fields(type(value)):
            inner, here = getattr(value, name), f"{path}.{written}" if path else written
            yield from _complaints(inner, here) if check is None else check(inner, here)
    elif isinstance(value, tuple):
        for index, each in enumerate(value):
            yield from _complaints(each, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _complaints(each, f"{path}.{key}")


@cache
def _fields(kind: type[Struct]) -> Sequence[tuple[str, str, Callable[[Any, str], Iterable[Complaint]] | None]]:
    """The fields of a type: attribute, name in documents, and the check of its values."""
    checks = {each.name: _quantities for each in fields(kind) if each.type == Quantities}
    return [(each.name, each.encode_name, _ROWS.get((kind, each.name), checks.get(each.name))) for each in fields(kind)]


# Checks


def _quantities(quantities: Quantities, path: str) -> Iterator[Complaint]:
    for name, quantity in quantities.items():
        yield from _quantity(quantity, f"{path}[{name}]" if "." in name or "/" in name else f"{path}.{name}")


def _quantity(quantity: str | int | float, path: str) -> Iterator[Complaint]:
    try:
        if parse_quantity(quantity) < 0:
            yield path, f"{quantity} is negative"
    except QuantityError as mistake:
        yield path, str(mistake)


def _time(stamp: str | None, path: str) -> Iterator[Complaint]:
    if stamp and not is_time(stamp):
        yield path, f"{stamp!r} is not a time: write it as 2026-01-31T12:00:00Z"


def _one_of(words: Sequence[str]) -> Callable[[str, str], Iterator[Complaint]]:
    """The scheduler would pass over any other word."""

    def check(word: str, path: str) -> Iterator[Complaint]:
        if word not in words:
            yield path, f"{word!r} is not supported, use one of {', '.join(words)}"

    return check


_ROWS: Mapping[tuple[type[Struct], str], Callable[[Any, str], Iterable[Complaint]]] = {
    (ObjectMeta, "creation_timestamp"): _time,
    (ObjectMeta, "deletion_timestamp"): _time,
    (PodStatus, "start_time"): _time,
    (PodCondition, "last_transition_time"): _time,
    (NodeCondition, "last_transition_time"): _time,
    (Taint, "effect"): _one_of(TAINT_EFFECTS),
    (TopologySpreadConstraint, "when_unsatisfiable"): _one_of(WHEN_UNSATISFIABLE),
    (NodeAllocatableResourceMapping, "allocation_multiplier"): _quantity,
}


# Kinds


def _pod(pod: Pod) -> bool:
    """Most fields of most pods are empty, and the condition before a loop is cheaper than the loop."""
    metadata, status = pod.metadata, pod.status
    return (
        bool(metadata.name)
        and _stamps(metadata)
        and _pod_spec(pod.spec)
        and (not status.start_time or is_time(status.start_time))
        and (not status.conditions or _transitions(status.conditions))
        and (not status.container_statuses or _containers(status.container_statuses))
        and (not status.init_container_statuses or _containers(status.init_container_statuses))
        and not status.allocated_resources
        and status.resources is None
        and not status.node_allocatable_resource_claim_statuses
    )


def _pod_spec(spec: PodSpec) -> bool:
    if spec.overhead or spec.resources is not None:
        return False
    for container in (*spec.containers, *spec.init_containers) if spec.init_containers else spec.containers:
        resources = container.resources
        requests, limits = resources.requests, resources.limits
        if not are_plain(requests.values()) or (limits and not are_plain(limits.values())):
            return False
    spreads = spec.topology_spread_constraints
    return not spreads or all(each.when_unsatisfiable in WHEN_UNSATISFIABLE for each in spreads)


def _template(item: Any) -> bool:
    """Controllers make pods of it, which nothing checks again."""
    return item.spec.template is None or _pod_spec(item.spec.template.spec)


def _containers(statuses: Sequence[ContainerStatus]) -> bool:
    for status in statuses:
        if status.allocated_resources and not are_plain(status.allocated_resources.values()):
            return False
        if status.resources is not None and not are_plain(status.resources.requests.values()):
            return False
    return True


def _stamps(metadata: ObjectMeta) -> bool:
    return not metadata.deletion_timestamp and (not metadata.creation_timestamp or is_time(metadata.creation_timestamp))


def _transitions(conditions: Sequence[PodCondition | NodeCondition]) -> bool:
    stamps = [each.last_transition_time for each in conditions]
    return all(not stamp or is_time(stamp) for stamp in stamps)


def _node(node: Node) -> bool:
    metadata, status = node.metadata, node.status
    return (
        bool(metadata.name)
        and _stamps(metadata)
        and are_plain(status.allocatable.values())
        and are_plain(status.capacity.values())
        and _transitions(status.conditions)
        and all(taint.effect in TAINT_EFFECTS for taint in node.spec.taints)
    )


# Whether a look at an object of this kind shows that nothing is wrong with it. Other kinds are not checked.
_IS_FINE: Mapping[type[Struct], Callable[[Any], bool]] = {
    Pod: _pod,
    Node: _node,
    **dict.fromkeys((Deployment, StatefulSet, DaemonSet, Job, ReplicationController), _template),
    ReplicaSet: lambda item: _template(item) and _stamps(item.metadata),
    PersistentVolume: lambda item: are_plain(item.spec.capacity.values()),
    PersistentVolumeClaim: lambda item: are_plain(item.spec.resources.requests.values()),
    ResourceSlice: lambda item: not any(each.node_allocatable_resource_mappings for each in item.spec.devices),
    **dict.fromkeys((ResourceQuota, RuntimeClass), lambda item: False),
}
