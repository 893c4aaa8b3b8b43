"""Shapes of nodes that can be bought, and the nodes that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any

from msgspec import Struct, field, to_builtins

from ksched_cli.api.core import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from ksched_cli.api.defaults import default_node
from ksched_cli.api.meta import ObjectMeta

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
        return {OS: "linux", INSTANCE_TYPE: self.name, **self.labels, **({ZONE: self.zone} if self.zone else {})}

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
        labels = self.all_labels
        node = Node(
            ObjectMeta(self.node_name, labels=labels),
            NodeSpec(taints=self.taints),
            NodeStatus(dict(self.allocatable), dict(self.allocatable), (NodeCondition("Ready", "True"),)),
        )
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
    if not exact:
        return Decimal(0)
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
