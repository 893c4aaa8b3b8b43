"""What nodes have and what pods take from them, as columns: before and after a run, for documents and node maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.nodes import NodeTable

_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_PODS = "pods"


class NodeUse(Struct, frozen=True):
    """The amounts of a node by resource: cpu in thousandths, all others in their own unit."""

    pods: int
    requested: Mapping[str, int]
    allocatable: Mapping[str, int]


class NodeColumns(Struct, frozen=True, eq=False):
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
        has, takes = self.columns_of(resource)
        return has.tolist(), takes.tolist()

    def columns_of(self, resource: str) -> tuple[Int64Column, Int64Column]:
        """Allocatable and requested as columns, zeros for a resource that no node has."""
        row = self.resources.index(resource) if resource in self.resources else len(self.resources)
        zeros = np.zeros(len(self.table), dtype=np.int64)
        has, takes = (column[row] if row < len(column) else zeros for column in (self.allocatable, self.requested))
        return has, takes

    def use_of(self, node: str) -> NodeUse | None:
        """What the node has and what its pods take; None for a node that does not exist."""
        row = self.table.row_of.get(node)
        if row is None:
            return None
        requested, allocatable = (column[:, row].tolist() for column in (self.requested, self.allocatable))
        amounts = _present(self.resources, requested), _present(self.resources, allocatable)
        return NodeUse(int(self.pods[row]), *amounts)

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


class NodeChanges(Struct, frozen=True, eq=False):
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


def differing_nodes(before: NodeColumns, after: NodeColumns) -> list[str]:
    """The names of the nodes that were added or removed, or whose use differs, in their order."""
    names, others = before.table.names, after.table.row_of
    row_after = np.array([others.get(name, -1) for name in names], dtype=np.int64)
    on_both = np.flatnonzero(row_after >= 0)
    rows = row_after[on_both]
    differs = before.pods[on_both] != after.pods[rows]
    for resource in {*before.resources, *after.resources}:
        for was, now in zip(before.columns_of(resource), after.columns_of(resource), strict=True):
            differs |= was[on_both] != now[rows]
    added = others.keys() - before.table.row_of.keys()
    removed = before.table.row_of.keys() - others.keys()
    return sorted({*added, *removed, *(names[row] for row in on_both[differs])})


def _present(names: Iterable[str], amounts: Iterable[int]) -> dict[str, int]:
    return {name: amount for name, amount in zip(names, amounts, strict=False) if amount}


def total_use(nodes: NodeColumns) -> NodeUse:
    """The sums of all nodes, each resource in the place in which the first node has it."""
    requested, allocatable = (_sums(nodes.resources, column) for column in (nodes.requested, nodes.allocatable))
    return NodeUse(sum(nodes.pods.tolist()), requested, allocatable)


def _sums(names: Sequence[str], columns: Int64Column) -> dict[str, int]:
    """The sum of each column. Python's integers do not overflow."""
    found = []
    for place, (name, column) in enumerate(zip(names, columns, strict=False)):
        nodes = np.flatnonzero(column)
        if len(nodes):
            found.append((int(nodes[0]), place, name, sum(column.tolist())))
    return {name: total for _, _, name, total in sorted(found)}
