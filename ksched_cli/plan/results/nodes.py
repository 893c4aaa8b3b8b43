"""Nodes in results, kept as columns until they are read.

`NodeColumns` is what nodes have and what pods take from them at one moment, `NodeChanges` before and after a run.
`NodeDetail` has the failure or the scores of every node in one cycle.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
from msgspec import Struct

from ksched_cli.api.core import Node
from ksched_cli.api.object_facts import NodeZones, zone_of
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column, RowColumn, distinct
from ksched_cli.cluster.nodes import NodeTable
from ksched_cli.engine.decision import TIES_NAMED
from ksched_cli.framework.status import Status
from ksched_cli.plan.results.amounts import Amounts

if TYPE_CHECKING:
    from ksched_cli.cluster.nodes import NodeTable
    from ksched_cli.engine.decision import ScoreTable


_PODS = "pods"
# The pool of a node, as providers name it: the first label that a node has counts.
POOL_LABELS = (
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/nodepool",
    "alpha.eksctl.io/nodegroup-name",
    "machine.openshift.io/cluster-api-machineset",
    "doks.digitalocean.com/node-pool",
    "node.cluster.x-k8s.io/machine-deployment",
    "ibm-cloud.kubernetes.io/worker-pool-name",
    "oci.oraclecloud.com/node-pool",
    "k8s.scaleway.com/pool-name",
    "nodepool",
    "agentpool",
)


# The labels, and the taints, of nodes that run the control plane.
CONTROL_PLANE = frozenset(f"node-role.kubernetes.io/{role}" for role in ("control-plane", "master"))


def pool_of(node: Node) -> str:
    """The name of the node's pool, empty if no label names one."""
    return next((node.metadata.labels[key] for key in POOL_LABELS if node.metadata.labels.get(key)), "")


class NodeUse(Struct, frozen=True):
    """The number of pods of a node, and its amounts."""

    pods: int
    requested: Amounts
    allocatable: Amounts


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
        return [zone_of(node) for node in self.table.objects]

    @property
    def pools(self) -> list[str]:
        """The pool of each node, empty where no label names one."""
        return [pool_of(node) for node in self.table.objects]

    @property
    def cordoned(self) -> list[str]:
        return [name for name, off in zip(self.table.names, self.table.unschedulable.tolist(), strict=True) if off]


class NodeChanges:
    """The nodes before and after a run, in which nodes may come and go."""

    def __init__(self, before: NodeColumns, after: NodeColumns) -> None:
        self.before, self.after = before, after

    @property
    def zones(self) -> Mapping[str, str]:
        """The zone of each node of both moments."""
        return NodeZones(self.before.table.objects, self.after.table.objects)

    @property
    def names(self) -> list[str]:
        """All nodes of both moments, by name."""
        before, after = self.before.table, self.after.table
        if before is after:
            return before.names_in_order
        return sorted({*before.names, *after.names})

    def document(self) -> dict[str, Any]:
        """As `nodeTable` of a document has it."""
        return self._columns

    @cached_property
    def _columns(self) -> dict[str, Any]:
        """Amounts of cpu are in thousandths, and None if a node is absent before or after the run."""
        before, after, names = self.before, self.after, self.names
        sides = (before, after)
        zones = {name: zone for each in sides for name, zone in zip(each.table.names, each.zones, strict=True) if zone}
        pools = {name: pool for each in sides for name, pool in zip(each.table.names, each.pools, strict=True)}
        resources = dict.fromkeys([*before.used_resources(), *after.used_resources()])
        return {
            "names": names,
            "zones": [zones.get(name, "") for name in names],
            **({"pools": [pools.get(name, "") for name in names]} if any(pools.values()) else {}),
            "cordoned": sorted(after.cordoned),
            "resources": {resource: self._amounts(names, resource) for resource in resources},
        }

    def _amounts(self, names: Sequence[str], resource: str) -> dict[str, Any]:
        (had, took), (has, takes) = self.before.amounts(resource), self.after.amounts(resource)
        rows, later_rows = self.before.table.row_of, self.after.table.row_of
        return {
            "allocatable": [has[later_rows[name]] if name in later_rows else had[rows[name]] for name in names],
            "before": _by_name(names, rows, took),
            "after": _by_name(names, later_rows, takes),
        }


def _by_name(names: Sequence[str], rows: Mapping[str, int], amounts: Sequence[int]) -> list[int | None]:
    return [amounts[row] if (row := rows.get(name)) is not None else None for name in names]


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


def _present(names: Iterable[str], amounts: Iterable[int]) -> Amounts:
    return Amounts({name: amount for name, amount in zip(names, amounts, strict=False) if amount})


def total_use(nodes: NodeColumns) -> NodeUse:
    """The sums of all nodes, each resource in the place in which the first node has it."""
    requested, allocatable = (_sums(nodes.resources, column) for column in (nodes.requested, nodes.allocatable))
    return NodeUse(sum(nodes.pods.tolist()), requested, allocatable)


def _sums(names: Sequence[str], columns: Int64Column) -> Amounts:
    """The sum of each column. Python's integers do not overflow."""
    found = []
    for place, (name, column) in enumerate(zip(names, columns, strict=False)):
        nodes = np.flatnonzero(column)
        if len(nodes):
            found.append((int(nodes[0]), place, name, sum(column.tolist())))
    return Amounts({name: total for _, _, name, total in sorted(found)})


def names_of(names: Sequence[str], rows: RowColumn) -> tuple[str, ...]:
    """The names of these rows."""
    return tuple(map(names.__getitem__, rows.tolist()))


# So many names are at hand; for the others the rows are sorted again.
_AT_HAND = TIES_NAMED


class TiedNames(Sequence[str]):
    """Names of nodes, in the order of the names, equal to a tuple of them. Long runs have many ties: each node of the
    cluster takes one bit."""

    __slots__ = ("_first", "_mask", "_names", "_size")

    def __init__(self, names: Sequence[str], rows: RowColumn) -> None:
        """`rows` are in the order of the names."""
        self._names = names
        self._size = len(rows)
        self._first: list[int] = rows[:_AT_HAND].tolist()
        mask = np.zeros(len(names) if self._size > _AT_HAND else 0, dtype=np.bool_)
        if len(mask):
            mask[rows] = True
        self._mask = np.packbits(mask).tobytes()

    def _rows(self) -> list[int]:
        if self._size <= _AT_HAND:
            return self._first
        mask = np.unpackbits(np.frombuffer(self._mask, dtype=np.uint8), count=len(self._names))
        return sorted(np.nonzero(mask)[0].tolist(), key=self._names.__getitem__)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return map(self._names.__getitem__, self._rows())

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            few = index.start is None and index.step is None and index.stop in range(_AT_HAND + 1)
            return tuple(map(self._names.__getitem__, (self._first if few else self._rows())[index]))
        return self._names[(self._first if 0 <= index < _AT_HAND else self._rows())[index]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[tuple[str, ...]], tuple[tuple[str, ...]]]:
        return tuple, (tuple(self),)

    def __repr__(self) -> str:
        return repr(tuple(self))


class Failure(Struct, frozen=True, gc=False):
    """One plugin's rejection: of a node, or of the pod as a whole."""

    plugin: str
    code: str
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, status: Status) -> Failure:
        return cls(status.plugin, status.code.go_name, status.texts)


class FailureGroup(Failure, frozen=True, gc=False):
    """A failure and how many nodes have it, with a few of their names. `problems` has the reasons as predicates about
    nodes."""

    nodes: int
    examples: tuple[str, ...]
    problems: tuple[str, ...] = ()


class Score(Struct, frozen=True):
    raw: int
    normalized: int
    weighted: int


class NodeScores(Mapping[str, Score]):
    """Every plugin's score of one node, kept as numbers: of most nodes the total alone is read."""

    __slots__ = ("names", "normalized", "raw", "weighted")

    def __init__(
        self, names: tuple[str, ...], raw: tuple[int, ...], normalized: tuple[int, ...], weighted: tuple[int, ...]
    ) -> None:
        self.names, self.raw, self.normalized, self.weighted = names, raw, normalized, weighted

    def __getitem__(self, name: str) -> Score:
        if name not in self.names:
            raise KeyError(name)
        at = self.names.index(name)
        return Score(self.raw[at], self.normalized[at], self.weighted[at])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def items(self) -> ItemsView[str, Score]:
        return dict(zip(self.names, map(Score, self.raw, self.normalized, self.weighted), strict=True)).items()

    def __len__(self) -> int:
        return len(self.names)

    __hash__ = None  # type: ignore[assignment]


class ScoredNode(Struct, frozen=True, gc=False):
    """A feasible node with every plugin's score, in the plugins' order."""

    node: str
    total: int
    scores: Mapping[str, Score]


K = TypeVar("K")


class ByKind(Struct, Generic[K], frozen=True):
    """Nodes, many of which have the same value: the name and the value's number of each, and the values."""

    names: Sequence[str]
    numbers: Sequence[int]
    kinds: Sequence[K]

    def __iter__(self) -> Iterator[tuple[str, K]]:
        return zip(self.names, map(self.kinds.__getitem__, self.numbers), strict=True)


class NodeDetail:
    """Everything about every node, for `--detail full`."""

    def __init__(
        self,
        nodes: NodeTable,
        feasible: RowColumn,
        failures: Sequence[tuple[Failure, RowColumn]],
        unknown_nodes: Mapping[str, Failure],
        table: ScoreTable | None,
    ) -> None:
        self._nodes = nodes
        self._feasible = feasible
        self._failures = failures
        self._unknown_nodes = unknown_nodes
        self._table = table

    @property
    def feasible(self) -> tuple[str, ...]:
        return names_of(self._nodes.names, self._feasible)

    @cached_property
    def filters(self) -> Mapping[str, Failure]:
        """The first failure of each node that is not feasible, by name."""
        found = dict(self.filters_by_kind())
        return dict(sorted({**found, **self._unknown_nodes}.items())) if self._unknown_nodes else found

    @cached_property
    def scored(self) -> tuple[ScoredNode, ...]:
        """The feasible nodes with every plugin's score."""
        scores = self.scores_by_kind()
        return tuple(
            ScoredNode(name, total, each) for (name, each), total in zip(scores, self.totals.values(), strict=True)
        )

    @property
    def totals(self) -> dict[str, int]:
        """By name."""
        if self._table is None:
            return {}
        return dict(zip(names_of(self._nodes.names, self._table.rows), self._table.totals.tolist(), strict=True))

    @property
    def node_names(self) -> Sequence[str]:
        """All nodes, by name."""
        return self._nodes.names_in_order

    def numbers_of_failures(self, number: Callable[[Failure], int]) -> IdColumn:
        """For each node by name: 0 where it is feasible, the number of its first failure where it is not, -1 where the
        cycle did not look at it."""
        numbers = np.full(len(self._nodes), -1, dtype=np.int32)
        ranks = self._nodes.name_rank
        for failure, rows in self._failures:
            numbers[ranks[rows]] = number(failure)
        for name, failure in self._unknown_nodes.items():
            if (row := self._nodes.row_of.get(name)) is not None:
                numbers[ranks[row]] = number(failure)
        numbers[ranks[self._feasible]] = 0
        return numbers

    def scores_by_name(self) -> tuple[BoolColumn, Int64Column, dict[str, tuple[Int64Column, ...]]]:
        """For each node by name: whether it has no scores, its total, and by plugin its raw, normalized and weighted
        scores."""
        missing, table = np.ones(len(self._nodes), dtype=np.bool_), self._table
        if table is None:
            return missing, np.zeros(len(missing), dtype=np.int64), {}
        at = self._nodes.name_rank[table.rows]
        missing[at] = False

        def by_name(column: Int64Column) -> Int64Column:
            spread = np.zeros(len(missing), dtype=np.int64)
            spread[at] = column
            return spread

        kinds = (table.raw, table.normalized, table.weighted)
        return (
            missing,
            by_name(table.totals),
            {name: tuple(by_name(kind[name]) for kind in kinds) for name in table.raw},
        )

    def filters_by_kind(self) -> ByKind[Failure]:
        """Nodes by name; those that only an extender named are not among them."""
        kinds = [failure for failure, _ in self._failures]
        if not kinds:
            return ByKind((), (), ())
        rows = np.concatenate([rows for _, rows in self._failures])
        numbers = np.repeat(np.arange(len(kinds)), [len(rows) for _, rows in self._failures])
        order = np.argsort(self._nodes.name_rank[rows])
        return ByKind(names_of(self._nodes.names, rows[order]), numbers[order].tolist(), kinds)

    def scores_by_kind(self) -> ByKind[Mapping[str, Score]]:
        """Feasible nodes in their order, with the scores of each plugin. Most of them score like many others."""
        table = self._table
        if table is None:
            return ByKind((), (), ())
        numbers: Int64Column = np.zeros(len(table.rows), dtype=np.int64)
        for name, raw in table.raw.items():
            numbers = _split(numbers, raw)
            if not np.array_equal(normalized := table.normalized[name], raw):
                numbers = _split(numbers, normalized)
        examples = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.int64)
        examples[numbers] = np.arange(len(numbers))
        kinds = [
            {name: Score(raw, normalized, weighted) for name, raw, normalized, weighted in table.scores_at(index)}
            for index in examples.tolist()
        ]
        return ByKind(names_of(self._nodes.names, table.rows), numbers.tolist(), kinds)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeDetail):
            return NotImplemented
        mine, theirs = ((each.feasible, each.filters, each.scored) for each in (self, other))
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NodeDetail(feasible={self.feasible}, filters={self.filters}, scored={self.scored})"


def _split(numbers: Int64Column, column: Int64Column) -> Int64Column:
    """Other numbers for nodes of one number that differ in the column."""
    lowest = column.min(initial=0) if not len(column) else column.min()
    values = column - lowest
    highest = int(values.max(initial=0))
    if highest == 0:
        return numbers
    values = distinct(values)[1]
    return distinct(numbers * (int(values.max()) + 1) + values)[1]
