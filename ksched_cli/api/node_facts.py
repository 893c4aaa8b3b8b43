"""Facts about a node that several commands show."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from ksched_cli.api.core import Node

_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def zone_of(node: Node) -> str:
    """The zone that the labels of the node name; empty if they name none."""
    labels = node.metadata.labels
    return next((labels[key] for key in _ZONES if key in labels), "")


class NodeZones(Mapping[str, str]):
    """The zone of each of these nodes, by name. Few outputs need them, so they are read when they are needed first."""

    def __init__(self, *nodes: Sequence[Node]) -> None:
        self._nodes = nodes

    @cached_property
    def _zones(self) -> dict[str, str]:
        return {node.metadata.name: zone_of(node) for nodes in self._nodes for node in nodes}

    def __getitem__(self, node: str) -> str:
        return self._zones[node]

    def __iter__(self) -> Iterator[str]:
        return iter(self._zones)

    def __len__(self) -> int:
        return len(self._zones)


def full_node_name(name: str, names: Collection[str]) -> str:
    """The name of the node that is meant: `node/NAME`, or the part before the first dot if one node has it. The name
    itself if there is no such node."""
    name = name.removeprefix("node/").removeprefix("nodes/")
    if name in names:
        return name
    meant = [each for each in names if each.startswith(f"{name}.")] if name else []
    return meant[0] if len(meant) == 1 else name
