"""The requests of pods on nodes, and the allocatable amounts of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ksched_cli.cluster.cache import Cluster


@dataclass(frozen=True, slots=True)
class NodeUse:
    """By resource: cpu in thousandths, everything else in its own unit."""

    pods: int
    requested: Mapping[str, int]
    allocatable: Mapping[str, int]


def use_of_nodes(cluster: Cluster) -> dict[str, NodeUse]:
    names = cluster.resources.names
    requested, allocatable = cluster.usage.requested.T.tolist(), cluster.nodes.allocatable.T.tolist()
    return {
        node: NodeUse(
            int(cluster.usage.pod_count[row]), _present(names, requested[row]), _present(names, allocatable[row])
        )
        for row, node in enumerate(cluster.nodes.names)
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
