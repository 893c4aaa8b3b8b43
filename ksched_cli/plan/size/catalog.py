"""Shapes of nodes that can be bought, the nodes that are made of them, and catalog files.

A file is read strictly, every mistake at once with its line and path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, convert, field, to_builtins

from ksched_cli.api.conversion import path_text, problems_in
from ksched_cli.api.core import Node, Taint
from ksched_cli.api.defaults import default_node
from ksched_cli.api.label_names import is_label_key, is_label_value
from ksched_cli.api.quantity import QuantityError, parse_quantity
from ksched_cli.api.yaml_reader import Document
from ksched_cli.errors import InputError, Problem, did_you_mean
from ksched_cli.sources.own_documents import components_of, expected_kind, json_schema, read_one_document

ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
OS = "kubernetes.io/os"
HOSTNAME = "kubernetes.io/hostname"


class NodeShape(Struct, frozen=True, dict=True):
    """A kind of node that can be bought in one zone (empty: the catalog names no zone). `most`: how many nodes of this
    name can be bought, over all zones; None for as many as are needed."""

    name: str
    price: Decimal
    allocatable: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    most: int | None = None
    spot: bool = False
    zone: str = ""
    # Other labels that have the name of the zone.
    zone_labels: tuple[str, ...] = ()

    @cached_property
    def node_name(self) -> str:
        """The base of the names of its nodes."""
        return node_base(self.name, self.zone)

    @property
    def title(self) -> str:
        return f"{self.name} in {self.zone}" if self.zone else self.name

    def __hash__(self) -> int:
        return hash(self.node_name)

    @cached_property
    def all_labels(self) -> dict[str, str]:
        """With those that the kubelet and the cloud provider set, unless the catalog does."""
        of_zone = dict.fromkeys((ZONE, *self.zone_labels), self.zone) if self.zone else {}
        return {OS: "linux", INSTANCE_TYPE: self.name, **self.labels, **of_zone}

    def document(self) -> dict[str, Any]:
        """The node as `--add-node` takes it: ready and empty."""
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.node_name, "labels": self.all_labels},
            "spec": {"taints": [to_builtins(each) for each in self.taints]} if self.taints else {},
            "status": {
                "capacity": dict(self.allocatable),
                "allocatable": dict(self.allocatable),
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    def template(self) -> Node:
        """The same as an object."""
        node = convert(self.document(), Node)
        default_node(node)
        return node


def node_base(name: str, zone: str) -> str:
    """A name that a node can have: the names of some instance types have capital letters and underscores."""
    return (f"{name}-{zone}" if zone else name).lower().replace("_", "-")


class ShapeCatalog(Struct, frozen=True, dict=True):
    """Shapes in the order of the catalog, each zone of a shape by itself. `unit` is what prices are in."""

    shapes: tuple[NodeShape, ...]
    unit: str = ""
    source: str = ""

    def without_spot(self) -> ShapeCatalog:
        return ShapeCatalog(tuple(each for each in self.shapes if not each.spot), self.unit, self.source)

    @cached_property
    def grain(self) -> Decimal:
        """The largest amount of which every price, and so every cost, is a multiple; 0 if all prices are 0."""
        return grain_of(each.price for each in self.shapes)


def grain_of(prices: Iterable[Decimal]) -> Decimal:
    from fractions import Fraction
    from math import gcd, lcm

    exact = [Fraction(each) for each in prices if each]
    common = lcm(*(each.denominator for each in exact))
    grain = Fraction(gcd(*(each.numerator * (common // each.denominator) for each in exact)), common)
    return Decimal(grain.numerator) / Decimal(grain.denominator)


def names_of_new_nodes(shape: NodeShape, count: int, taken: frozenset[str] | set[str]) -> Iterator[str]:
    """The names that `--add-node` gives to so many nodes of the shape."""
    base = shape.node_name
    if count == 1 and base not in taken:
        yield base
        return
    number = made = 0
    while made < count:
        number += 1
        name = f"{base}-{number}"
        if name not in taken:
            made += 1
            yield name


KIND = "Catalog"

Amount = str | int | float
_Path = tuple[str | int, ...]

# The kubelet's own defaults.
_PODS = "110"
_EVICTION_HARD = {"memory.available": "100Mi"}
# What an eviction signal is taken from.
_SIGNALS = {"memory.available": "memory", "nodefs.available": "ephemeral-storage"}
# No node is larger or smaller than this: a suffix is missing or one too many.
_MOST: Mapping[str, tuple[Fraction, str]] = {
    "cpu": (Fraction(4096), "4096 cores"),
    "memory": (Fraction(2**50), "1Pi"),
    "pods": (Fraction(10_000), "10,000 pods"),
}
_LEAST: Mapping[str, tuple[Fraction, str]] = {
    "cpu": (Fraction(1, 100), "10m"),
    "memory": (Fraction(2**24), "16Mi"),
    "pods": (Fraction(1), "one pod"),
}
_HINTS = {"cpu": "write cores such as 4 or 3920m", "memory": "write a suffix, such as 16Gi", "pods": "write 110"}


class TaintDocument(Struct, forbid_unknown_fields=True, rename="camel"):
    key: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    value: str = ""


class KubeletDocument(Struct, forbid_unknown_fields=True, rename="camel"):
    """What the kubelet keeps back of the capacity, as in KubeletConfiguration."""

    kube_reserved: dict[str, Amount] = {}
    system_reserved: dict[str, Amount] = {}
    eviction_hard: dict[str, Amount] = {}


class ShapeDocument(Struct, forbid_unknown_fields=True, rename="camel"):
    name: str
    price: Amount | None = None
    allocatable: dict[str, Amount] = {}
    capacity: dict[str, Amount] = {}
    kubelet: KubeletDocument = field(default_factory=KubeletDocument)
    labels: dict[str, str] = {}
    taints: list[TaintDocument] = []
    zones: list[str] = []
    zone_labels: list[str] = []
    max: int | None = None
    spot: bool = False


class CatalogDocument(Struct, forbid_unknown_fields=True, rename="camel"):
    api_version: Literal["ksched/v1"]
    kind: Literal["Catalog"]
    shapes: list[ShapeDocument]
    unit: str = ""


def catalog_of(document: Mapping[str, Any], source: str = "catalog") -> ShapeCatalog:
    """The catalog of a document as YAML and JSON have it."""
    return _CatalogReader(Document(dict(document), 0), source).read()


def read_shapes_of(catalog: str | Mapping[str, Any] | None) -> ShapeCatalog | None:
    """The catalog of a file or a document; None if none is given. InputError with every mistake in it."""
    if isinstance(catalog, str):
        return _CatalogReader(read_one_document(catalog, expected_kind(KIND)), catalog).read()
    return None if catalog is None else catalog_of(catalog)


def catalog_schema() -> dict[str, Any]:
    """A JSON Schema of catalogs, for editors and CI."""
    document, definitions = components_of(CatalogDocument, lambda name, field: field)
    document["properties"]["shapes"]["minItems"] = 1
    shape = definitions["ShapeDocument"]
    amount = {"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}]}
    shape["properties"] |= {"price": amount, "max": {"type": "integer", "minimum": 0}}
    shape["properties"]["name"] = {"type": "string", "minLength": 1}
    for name in ("allocatable", "capacity"):
        shape["properties"][name] = {"type": "object", "additionalProperties": amount, "minProperties": 1}
    shape["required"] = ["name", "price"]
    shape["oneOf"] = [{"required": ["allocatable"]}, {"required": ["capacity"]}]
    return json_schema(document, definitions, "A catalog of node shapes for ksched size")


class _CatalogReader:
    def __init__(self, document: Document, source: str) -> None:
        self._document, self._source = document, source
        self._problems: list[Problem] = []

    def read(self) -> ShapeCatalog:
        found, mistakes = problems_in(self._document.value, CatalogDocument)
        for path, text in mistakes:
            self._add(path, text)
        shapes: list[NodeShape] = []
        given = found.shapes if found is not None else []
        if found is not None and not given and not mistakes:
            self._add(("shapes",), "the catalog has no shape")
        if not mistakes:
            self._check_names(given)
            for at, each in enumerate(given):
                shapes += self._shape(each, ("shapes", at))
        if self._problems:
            raise InputError(sorted(self._problems, key=lambda problem: problem.line or 0))
        return ShapeCatalog(tuple(shapes), found.unit, self._source)

    def _add(self, path: _Path, text: str, hint: str = "") -> None:
        line = self._document.line_of(path) or None
        self._problems.append(Problem(text, self._source, line, path_text(path), hint))

    def _check_names(self, given: list[ShapeDocument]) -> None:
        seen: dict[str, int] = {}
        for at, each in enumerate(given):
            for name in dict.fromkeys(node_base(each.name, zone) for zone in each.zones or [""]):
                if name in seen:
                    other = f"shapes[{seen[name]}] has a shape of this name too"
                    self._add(("shapes", at, "name"), f"{each.name}: {other}")
                seen.setdefault(name, at)

    def _shape(self, given: ShapeDocument, path: _Path) -> Iterator[NodeShape]:
        """The shape in each of its zones; nothing if something is wrong with it."""
        before = len(self._problems)
        if not is_label_value(given.name) or not given.name:
            self._add((*path, "name"), f"{given.name!r} cannot be the value of the label of an instance type")
        price = self._price(given, path)
        if bool(given.allocatable) == bool(given.capacity):
            text = "has neither allocatable nor capacity" if not given.capacity else "has both allocatable and capacity"
            self._add(path, f"{given.name} {text}", "write one of them")
        name = "allocatable" if given.allocatable else "capacity"
        amounts = self._amounts(getattr(given, name), (*path, name))
        if not given.allocatable and amounts:
            amounts = self._left_by_kubelet(amounts, given.kubelet, path)
        self._check_amounts(given, amounts, (*path, name))
        self._check_labels(given, path)
        if given.max is not None and given.max < 0:
            self._add((*path, "max"), f"max is {given.max}: it cannot be negative")
        if len(self._problems) > before or price is None:
            return
        taints = tuple(Taint(each.key, each.value, each.effect) for each in given.taints)
        allocatable = {"pods": _PODS, **{key: _quantity(key, each) for key, each in amounts.items()}}
        for zone in given.zones or [""]:
            yield NodeShape(
                given.name,
                price,
                allocatable,
                given.labels,
                taints,
                given.max,
                given.spot,
                zone,
                tuple(given.zone_labels),
            )

    def _price(self, given: ShapeDocument, path: _Path) -> Decimal | None:
        if given.price is None:
            hint = "write what one node costs, for example an hour: price: 0.192"
            self._add(path, f"{given.name} has no price", hint)
            return None
        try:
            price = Decimal(str(given.price))
        except InvalidOperation:
            self._add((*path, "price"), f"{given.price!r} is not a price", "write a number such as 0.192")
            return None
        if not price.is_finite() or price < 0:
            self._add((*path, "price"), f"the price is {given.price}: it cannot be negative or without end")
            return None
        return price

    def _amounts(self, given: Mapping[str, Amount], path: _Path) -> dict[str, Fraction]:
        found: dict[str, Fraction] = {}
        for name, text in given.items():
            try:
                found[name] = parse_quantity(text)
            except QuantityError as mistake:
                self._add((*path, name), str(mistake))
                continue
            if found[name] < 0:
                self._add((*path, name), f"{name} is {text}: it cannot be negative")
                del found[name]
        return found

    def _left_by_kubelet(
        self, capacity: Mapping[str, Fraction], kubelet: KubeletDocument, path: _Path
    ) -> dict[str, Fraction]:
        """Node allocatable: the capacity less kubeReserved, systemReserved and the thresholds of hard eviction."""
        left, place = dict(capacity), (*path, "kubelet")
        for name in ("kube_reserved", "system_reserved"):
            for resource, amount in self._amounts(getattr(kubelet, name), (*place, _camel(name))).items():
                if resource in left:
                    left[resource] -= amount
        thresholds = {**_EVICTION_HARD, **kubelet.eviction_hard}
        for signal, text in thresholds.items():
            taken_from = _SIGNALS.get(signal, "")
            if taken_from not in left:
                continue
            if isinstance(text, str) and text.endswith("%"):
                left[taken_from] -= capacity[taken_from] * self._percent(text, (*place, "evictionHard", signal))
            else:
                left[taken_from] -= sum(self._amounts({signal: text}, (*place, "evictionHard")).values())
        for resource, amount in left.items():
            if amount < 0:
                self._add(place, f"the kubelet keeps back more {resource} than the capacity")
        return left

    def _percent(self, text: str, path: _Path) -> Fraction:
        try:
            return Fraction(Decimal(text[:-1])) / 100
        except InvalidOperation:
            self._add(path, f"{text!r} is not a percentage")
            return Fraction(0)

    def _check_amounts(self, given: ShapeDocument, amounts: Mapping[str, Fraction], path: _Path) -> None:
        stated = given.allocatable or given.capacity
        for name in ("cpu", "memory"):
            if stated and name not in stated:
                self._add(path, f"{given.name} has no {name}", _HINTS[name])
        for name, amount in amounts.items():
            if name in _MOST and amount > _MOST[name][0]:
                self._add((*path, name), f"{name} is {stated.get(name)}, more than {_MOST[name][1]}", _HINTS[name])
            if name in _LEAST and amount < _LEAST[name][0]:
                self._add((*path, name), f"{name} is {stated.get(name)}, less than {_LEAST[name][1]}", _HINTS[name])
            if "/" not in name and name not in _NATIVE and not name.startswith("hugepages-"):
                hint = did_you_mean(name, _NATIVE, "extended resources have a domain: example.com/gpu")
                self._add((*path, name), f"{name} is no resource of a node", hint)

    def _check_labels(self, given: ShapeDocument, path: _Path) -> None:
        for key, value in given.labels.items():
            if not is_label_key(key) or not is_label_value(value):
                self._add((*path, "labels", key), f"{key}={value} is not a label")
        for at, each in enumerate(given.taints):
            if not is_label_key(each.key) or not is_label_value(each.value):
                self._add((*path, "taints", at), f"{each.key}={each.value} is not a taint")
        for at, zone in enumerate(given.zones):
            if not zone or not is_label_value(zone):
                self._add((*path, "zones", at), f"{zone!r} cannot be the name of a zone")
            elif zone in given.zones[:at]:
                self._add((*path, "zones", at), f"{zone} is there twice")
        for at, key in enumerate(given.zone_labels):
            if not is_label_key(key):
                self._add((*path, "zoneLabels", at), f"{key!r} is not the key of a label")
        if given.zone_labels and not given.zones:
            self._add((*path, "zoneLabels"), f"{given.name} has no zones", "write zones, too")


_NATIVE = ("cpu", "memory", "pods", "ephemeral-storage")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _quantity(name: str, amount: Fraction) -> str:
    """Allocatable amounts are whole: cpu in thousandths, the rest in units."""
    return f"{amount * 1000 // 1}m" if name == "cpu" else str(amount // 1)
