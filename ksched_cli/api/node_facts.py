"""Facts about a node that several commands show."""

from __future__ import annotations

from collections.abc import Collection

from ksched_cli.api.core import Node

_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def zone_of(node: Node) -> str:
    """The zone that the labels of the node name; empty if they name none."""
    labels = node.metadata.labels
    return next((labels[key] for key in _ZONES if key in labels), "")


def full_node_name(name: str, names: Collection[str]) -> str:
    """The name of the node that is meant: `node/NAME`, or the part before the first dot if one node has it. The name
    itself if there is no such node."""
    name = name.removeprefix("node/").removeprefix("nodes/")
    if name in names:
        return name
    meant = [each for each in names if each.startswith(f"{name}.")] if name else []
    return meant[0] if len(meant) == 1 else name
