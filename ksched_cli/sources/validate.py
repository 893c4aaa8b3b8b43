"""Finds values in decoded objects that the API server refuses: wrong quantities and times, negative quantities, and
unknown words. A type has rows: a field, and the check of its value. Objects of a dump were accepted once, so few have a
mistake: a row of an empty field costs nothing, and paths are made only for a value that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from msgspec import Struct

from ksched_cli.api.core import TAINT_EFFECTS, WHEN_UNSATISFIABLE, Container, ContainerImage, Node, Pod, Quantities
from ksched_cli.api.dynamic_resources import NodeAllocatableResourceMapping, ResourceSlice
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

# (path below the checked value, what is wrong)
Complaint = tuple[str, str]
Complaints = Sequence[Complaint]
_Check: TypeAlias = Callable[[Any], Complaints]


def object_complaints(item: Struct) -> Complaints:
    """The mistakes in the object that decoding does not find."""
    check = _CHECKS.get(type(item))
    return [(path.removeprefix("."), text) for path, text in check(item)] if check is not None else ()


# Checks


def _rows(rows: Mapping[str, _Check]) -> _Check:
    """The fields of an object that are not empty."""
    # With two names at least, attrgetter returns a tuple.
    get = attrgetter(*(re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", field) for field in rows), "__class__")
    checks = list(rows.values())

    def check(item: Any) -> Complaints:
        found: list[Complaint] = []
        for value, inner, field in zip(get(item), checks, rows, strict=False):
            if value and (mistakes := inner(value)):
                found += [(f".{field}{path}", text) for path, text in mistakes]
        return found

    return check


def _items(inner: _Check) -> _Check:
    def check(values: Sequence[Any]) -> Complaints:
        found: list[Complaint] = []
        for at, value in enumerate(values):
            if mistakes := inner(value):
                found += [(f"[{at}]{path}", text) for path, text in mistakes]
        return found

    return check


def _quantities(quantities: Quantities) -> Complaints:
    if are_plain(quantities.values()):
        return ()
    mistakes = {name: _mistake_in(quantity) for name, quantity in quantities.items()}
    return [
        (f"[{name}]" if "." in name or "/" in name else f".{name}", mistake)
        for name, mistake in mistakes.items()
        if mistake
    ]


def _mistake_in(quantity: str | int | float) -> str:
    """The mistake in the quantity, or an empty string."""
    try:
        return f"{quantity} is negative" if parse_quantity(quantity) < 0 else ""
    except QuantityError as mistake:
        return str(mistake)


def _integer(bits: int) -> _Check:
    """The value fits into Go's integer of so many bits."""
    least, text = -(2 ** (bits - 1)), f"is out of range: it takes more than {bits} bits"
    return lambda value: () if least <= value < -least else [("", f"{value} {text}")]


def _time(stamp: str) -> Complaints:
    return () if is_time(stamp) else [("", f"{stamp!r} is not a time: write it as 2026-01-31T12:00:00Z")]


def _named(kind: str) -> _Check:
    return lambda metadata: [(".name", f"a {kind} needs a name"), *_STAMPS(metadata)][bool(metadata.name) :]


def _containers(containers: Sequence[Container]) -> Complaints:
    """The quantities of most containers are plain: one look at each shows it."""
    for each in containers:
        if not are_plain(each.resources.requests.values()) or not are_plain(each.resources.limits.values()):
            return _CONTAINERS(containers)
    return ()


def _word(field: str, known: Sequence[str]) -> _Check:
    """A field with a word that a scheduler knows: it would pass over another one."""
    get, text = attrgetter(re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", field)), ", ".join(known)
    return lambda item: (
        () if get(item) in known else [(f".{field}", f"{get(item)!r} is not supported, use one of {text}")]
    )


def _images(images: Sequence[ContainerImage]) -> Complaints:
    """Nodes have many images, and the sizes of all are compared together."""
    sizes = [image.size_bytes for image in images]
    return () if -(2**63) <= min(sizes) <= max(sizes) < 2**63 else _SIZES(images)


def _multipliers(mappings: Mapping[str, NodeAllocatableResourceMapping]) -> Complaints:
    mistakes = {name: _mistake_in(each.allocation_multiplier) for name, each in mappings.items()}
    return [(f".{name}.allocationMultiplier", mistake) for name, mistake in mistakes.items() if mistake]


# Rows

_INT32, _INT64 = _integer(32), _integer(64)
_STAMPS = _rows({"creationTimestamp": _time, "deletionTimestamp": _time})
_SIZES = _items(_rows({"sizeBytes": _INT64}))
_REQUIREMENTS = _rows({"requests": _quantities, "limits": _quantities})
_REQUESTS = _rows({"requests": _quantities})
_CONTAINERS = _items(_rows({"resources.requests": _quantities, "resources.limits": _quantities}))
_STATUSES = _items(_rows({"allocatedResources": _quantities, "resources": _REQUESTS}))
_CONDITIONS = _items(_rows({"lastTransitionTime": _time}))
_POD_SPEC = _rows(
    {
        "priority": _INT32,
        "terminationGracePeriodSeconds": _INT64,
        "containers": _containers,
        "initContainers": _containers,
        "overhead": _quantities,
        "resources": _REQUIREMENTS,
        "topologySpreadConstraints": _items(_word("whenUnsatisfiable", WHEN_UNSATISFIABLE)),
    }
)
# Controllers make pods of a template, which nothing checks again.
_TEMPLATE = _rows({"spec.template": _rows({"spec": _POD_SPEC})})

_CHECKS: Mapping[type[Struct], _Check] = {
    Pod: _rows(
        {
            "metadata": _named("pod"),
            "spec": _POD_SPEC,
            "status.containerStatuses": _STATUSES,
            "status.initContainerStatuses": _STATUSES,
            "status.allocatedResources": _quantities,
            "status.resources": _REQUESTS,
            "status.nodeAllocatableResourceClaimStatuses": _items(_rows({"resources": _quantities})),
            "status.startTime": _time,
            "status.conditions": _CONDITIONS,
        }
    ),
    Node: _rows(
        {
            "metadata": _named("node"),
            "status.images": _images,
            "status.allocatable": _quantities,
            "status.capacity": _quantities,
            "status.conditions": _CONDITIONS,
            "spec.taints": _items(_word("effect", TAINT_EFFECTS)),
        }
    ),
    PriorityClass: _rows({"value": _INT32}),
    ReplicaSet: _rows({"metadata": _STAMPS, "spec.template": _rows({"spec": _POD_SPEC})}),
    **dict.fromkeys((Deployment, StatefulSet, DaemonSet, Job, ReplicationController), _TEMPLATE),
    PersistentVolume: _rows({"spec.capacity": _quantities}),
    PersistentVolumeClaim: _rows({"spec.resources.requests": _quantities}),
    PodDisruptionBudget: _rows(
        {"status.disruptionsAllowed": lambda allowed: [("", f"{allowed} is negative")] if allowed < 0 else ()}
    ),
    ResourceQuota: _rows({"spec.hard": _quantities, "status.used": _quantities}),
    RuntimeClass: _rows({"overhead": _rows({"podFixed": _quantities})}),
    ResourceSlice: _rows({"spec.devices": _items(_rows({"nodeAllocatableResourceMappings": _multipliers}))}),
}
