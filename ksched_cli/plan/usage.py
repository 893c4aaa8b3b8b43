"""The requests of pods on nodes, and the allocatable amounts of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ksched_cli.plan.node_columns import NodeColumns


@dataclass(frozen=True, slots=True)
class NodeUse:
    """By resource: cpu in thousandths, everything else in its own unit."""

    pods: int
    requested: Mapping[str, int]
    allocatable: Mapping[str, int]


def use_of_nodes(nodes: NodeColumns) -> dict[str, NodeUse]:
    names = nodes.resources
    requested, allocatable, pods = nodes.requested.T.tolist(), nodes.allocatable.T.tolist(), nodes.pods.tolist()
    return {
        node: NodeUse(pods[row], _present(names, requested[row]), _present(names, allocatable[row]))
        for row, node in enumerate(nodes.table.names)
    }


def _present(names: Iterable[str], amounts: Iterable[int]) -> dict[str, int]:
    return {name: amount for name, amount in zip(names, amounts, strict=False) if amount}


def total_use(uses: Iterable[NodeUse]) -> NodeUse:
    pods, requested, allocatable = 0, dict[str, int](), dict[str, int]()
    for use in uses:
        pods += use.pods
        for into, amounts in ((requested, use.requested), (allocatable, use.allocatable)):
            for name, amount in amounts.items():
                into[name] = into.get(name, 0) + amount
    return NodeUse(pods, requested, allocatable)
