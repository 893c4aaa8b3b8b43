"""Facts about a node that several commands show."""

from __future__ import annotations

from ksched_cli.api.core import Node

_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def zone_of(node: Node) -> str:
    """The zone that the labels of the node name; empty if they name none."""
    labels = node.metadata.labels
    return next((labels[key] for key in _ZONES if key in labels), "")
