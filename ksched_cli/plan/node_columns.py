"""What nodes have and what pods take from them, as columns: before and after a run, for documents and node maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.nodes import NodeTable

_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_PODS = "pods"


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """The nodes at one moment. `requested` has a row per resource, `pods` the number of pods of each node."""

    table: NodeTable
    resources: tuple[str, ...]
    allocatable: Int64Column
    requested: Int64Column
    pods: Int64Column

    @classmethod
    def of(cls, cluster: Cluster) -> NodeColumns:
        """A copy: later changes of the cluster do not change it."""
        names = tuple(cluster.resources.names)
        allocatable, usage = cluster.nodes.allocatable, cluster.usage
        return cls(cluster.nodes, names, allocatable, usage.requested.copy(), usage.pod_count.copy())

    def amounts(self, resource: str) -> tuple[Sequence[int], Sequence[int]]:
        """Allocatable and requested, by row of the node."""
        if resource == _PODS:
            return self.table.allowed_pods.tolist(), self.pods.tolist()
        row = self.resources.index(resource) if resource in self.resources else len(self.resources)
        zeros = [0] * len(self.table)
        columns = (self.allocatable, self.requested)
        has, takes = (column[row].tolist() if row < len(column) else zeros for column in columns)
        return has, takes

    def used_resources(self) -> list[str]:
        """cpu, memory, pods, and every other resource that some pod requests."""
        others = [
            name
            for row, name in enumerate(self.resources)
            if name not in ("cpu", "memory") and row < len(self.requested) and self.requested[row].any()
        ]
        return ["cpu", "memory", _PODS, *others]

    @property
    def zones(self) -> list[str]:
        """The zone of each node, empty where it has none."""
        labels: list[Mapping[str, str]] = [node.metadata.labels for node in self.table.objects]
        return [next((each[key] for key in _ZONES if key in each), "") for each in labels]

    @property
    def cordoned(self) -> list[str]:
        return [name for name, off in zip(self.table.names, self.table.unschedulable.tolist(), strict=True) if off]


@dataclass(frozen=True, eq=False)
class NodeChanges:
    """The nodes before and after a run, in which nodes may come and go."""

    before: NodeColumns
    after: NodeColumns

    @property
    def names(self) -> list[str]:
        """All nodes of both moments, by name."""
        before, after = self.before.table, self.after.table
        if before is after:
            return before.names_in_order
        return sorted({*before.names, *after.names})


@dataclass(frozen=True, slots=True)
class NodeUse:
    """The amounts of a node by resource: cpu in thousandths, all others in their own unit."""

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
