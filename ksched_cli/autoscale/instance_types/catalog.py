"""The instance types that a cloud offers, and the file that lists them (`--instance-types FILE`).

A type corresponds to `cloudprovider.InstanceType` of Karpenter. The file is a JSON object with `instanceTypes`; SCHEMA
describes it. All mistakes of a file are reported together. A type without a price in an offering is accepted: its price
is not known, and it is never called the cheapest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from ksched_cli.api.core import Quantities
from ksched_cli.api.quantity import QuantityError, parse_quantity
from ksched_cli.errors import InputError, Problem


class Offering(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Where a type is sold. A reserved offering has the ID of its reservation, and for how many nodes it is."""

    zone: str = ""
    capacity_type: str = "on-demand"
    price: float | None = None
    available: bool = True
    reservation_id: str = ""
    reservation_capacity: int = 0


class TypeOverhead(Struct, rename="camel", forbid_unknown_fields=True):
    """What the kubelet keeps of the capacity."""

    kube_reserved: Quantities = {}
    system_reserved: Quantities = {}
    eviction_threshold: Quantities = {}


class InstanceType(Struct, rename="camel", forbid_unknown_fields=True):
    """`requirements`: the values of each label of the nodes of this type; none if the nodes have no such label."""

    name: str
    capacity: Quantities
    offerings: list[Offering]
    requirements: dict[str, list[str]] = {}
    overhead: TypeOverhead = field(default_factory=TypeOverhead)


class InstanceCatalog(Struct, rename="camel"):
    """`source`: where the types are from, for messages."""

    instance_types: list[InstanceType]
    source: str = ""


def schema() -> dict[str, Any]:
    """The JSON Schema of the file."""
    found: dict[str, Any] = msgspec.json.schema(InstanceCatalog)
    return found


def read_catalog(path: str) -> InstanceCatalog:
    """The catalog in the file. InputError for a file that cannot be read, or with all its mistakes."""
    try:
        content = Path(path).read_bytes()
    except OSError as failure:
        raise InputError(Problem(f"cannot be read: {failure.strerror}", path)) from None
    try:
        catalog = msgspec.json.decode(content, type=InstanceCatalog)
    except msgspec.ValidationError as mistake:
        raise InputError(Problem(str(mistake), path, hint="ksched instance-types --schema prints the format")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as mistake:
        raise InputError(Problem(f"broken JSON: {mistake}", path)) from None
    problems = [Problem(text, path, path=where) for where, text in _mistakes(catalog)]
    if problems:
        raise InputError(problems)
    catalog.source = path
    return catalog


def _mistakes(catalog: InstanceCatalog) -> Iterator[tuple[str, str]]:
    if not catalog.instance_types:
        yield "instanceTypes", "the list is empty"
    names = Counter(each.name for each in catalog.instance_types)
    for name in sorted(name for name, count in names.items() if count > 1 or not name):
        yield "instanceTypes", f"there are {names[name]} types {name!r}" if name else "a type has no name"
    for index, each in enumerate(catalog.instance_types):
        where = f"instanceTypes[{index}]"
        lists = {
            "capacity": each.capacity,
            "overhead.kubeReserved": each.overhead.kube_reserved,
            "overhead.systemReserved": each.overhead.system_reserved,
            "overhead.evictionThreshold": each.overhead.eviction_threshold,
        }
        for part, quantities in lists.items():
            yield from ((f"{where}.{part}.{name}", text) for name, text in _wrong_quantities(quantities))
        for number, offering in enumerate(each.offerings):
            if offering.price is not None and not 0 <= offering.price < float("inf"):
                yield f"{where}.offerings[{number}].price", f"expected a price of 0 or more, got {offering.price}"
            if offering.capacity_type == "reserved" and not offering.reservation_id:
                yield f"{where}.offerings[{number}]", "a reserved offering needs a reservationId"


def _wrong_quantities(quantities: Quantities) -> Iterator[tuple[str, str]]:
    for name, quantity in quantities.items():
        try:
            if parse_quantity(quantity) < 0:
                yield name, f"{quantity!r} is negative"
        except QuantityError as mistake:
            yield name, str(mistake)
