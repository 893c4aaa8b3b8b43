"""The node table: one row per node, in kube-scheduler's listing order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ksched_cli.api.core import Node, Taint
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.cluster.columns import NOWHERE, BoolColumn, IdColumn, Int64Column, RowColumn, Vocabulary
from ksched_cli.cluster.images import ImageIndex
from ksched_cli.cluster.labels import LabelColumns
from ksched_cli.cluster.node_tree import listing_order, zone_key
from ksched_cli.cluster.resources import CPU, ResourceIndex, is_scalar
from ksched_cli.releases.minors import DEFAULT, Release

Amounts = tuple[tuple[str, str | int | float], ...]


class NodeTable:
    """The node objects as columns. What pods take from them is in `Usage`.

    Rows are dense and follow `nodeTree.list`, so that row order is the order in which kube-scheduler looks at nodes.
    Whatever changes a node makes a new table; rows may then have other numbers. A table takes over from `before` what
    that has about the same node objects.
    """

    def __init__(
        self,
        arrival: Sequence[Node] | None,
        resources: ResourceIndex,
        release: Release = DEFAULT,
        before: NodeTable | None = None,
        kept: RowColumn | None = None,
        *,
        storage_counts: bool = True,
    ) -> None:
        """`kept` has the row of each node in the table before, where that is known; without `arrival` those are all.
        Without `storage_counts` no node has ephemeral storage; a table with one `before` does as that."""
        self._release = release
        self._storage_counts: bool = storage_counts if before is None else before._storage_counts
        self._arrival: tuple[Node, ...] | None = tuple(arrival) if arrival is not None else None
        self._zone_keys: Vocabulary[tuple[str, str]] = before._zone_keys if before is not None else Vocabulary()
        kept = _rows_of_the_same(arrival or (), before) if kept is None else kept
        zones = self._zones_of_arrival(kept, before)
        # For each row how many nodes were added before it.
        self.arrival_rank: RowColumn = listing_order(zones)
        self._zone: IdColumn = zones[self.arrival_rank]
        # The row that each node has in the table before, NOWHERE for those that are new or have changed.
        self.source: RowColumn = kept[self.arrival_rank]
        source = self.source
        self.objects: list[Node] = self._nodes_of_rows(before)
        self.all_rows: RowColumn = np.arange(len(self.objects), dtype=np.int64)
        self.name_column = self._names_of_rows(before, source)
        self.names: list[str] = self.name_column.tolist()
        self.row_of: dict[str, int] = dict(zip(self.names, range(len(self.names)), strict=True))
        self.labels = LabelColumns(self.objects)
        if before is not None:
            self.labels.take_over(before.labels, source)
        self.images = ImageIndex(self, before, source)
        self.taint_sets: Vocabulary[tuple[Taint, ...]] = before.taint_sets if before is not None else Vocabulary()
        self.unschedulable: BoolColumn = np.zeros(len(self.objects), dtype=np.bool_)
        self.taint_set: IdColumn = np.zeros(len(self.objects), dtype=np.int32)
        self.allowed_pods: Int64Column = np.zeros(len(self.objects), dtype=np.int64)
        self.allocatable: Int64Column = np.zeros((0, len(self.objects)), dtype=np.int64)
        self._read_nodes(resources, before, source)
        self.name_rank: RowColumn = self._ranked_names(before, source)

    @property
    def arrival(self) -> tuple[Node, ...]:
        """The nodes in the order in which they were added."""
        if self._arrival is None:
            places = np.empty(len(self), dtype=np.int64)
            places[self.arrival_rank] = self.all_rows
            self._arrival = tuple(self.objects[row] for row in places.tolist())
        return self._arrival

    def _zones_of_arrival(self, kept: RowColumn, before: NodeTable | None) -> IdColumn:
        zones = np.empty(len(kept), dtype=np.int32)
        if before is not None:
            zones[:] = before._zone[kept] if len(before) else -1
        new = np.nonzero(kept == NOWHERE)[0]
        labels = (self.arrival[place].metadata.labels for place in new.tolist())
        zones[new] = [self._zone_keys.id(zone_key(each, self._release)) for each in labels]
        return zones

    def _nodes_of_rows(self, before: NodeTable | None) -> list[Node]:
        if self._arrival is None:
            assert before is not None
            return before._object_column[self.source].tolist()  # type: ignore[no-any-return]
        arrived = np.fromiter(self._arrival, dtype=object, count=len(self._arrival))
        return arrived[self.arrival_rank].tolist()  # type: ignore[no-any-return]

    @cached_property
    def _object_column(self) -> NDArray[np.object_]:
        return np.fromiter(self.objects, dtype=object, count=len(self.objects))

    def _names_of_rows(self, before: NodeTable | None, source: RowColumn) -> NDArray[np.object_]:
        """As an array, so that a row costs no Python where `before` has the node."""
        if before is None or not len(before):
            return np.fromiter((node.metadata.name for node in self.objects), dtype=object, count=len(self.objects))
        names = before.name_column[source]
        for row in np.nonzero(source == NOWHERE)[0].tolist():
            names[row] = self.objects[row].metadata.name
        return names

    def _ranked_names(self, before: NodeTable | None, source: RowColumn) -> RowColumn:
        rank = np.empty(len(self.objects), dtype=np.int64)
        if before is not None and not (source == NOWHERE).any():
            # How many of the ranks before are still there, up to each.
            still = np.zeros(len(before), dtype=np.int64)
            still[before.name_rank[source]] = 1
            rank = still.cumsum()[before.name_rank[source]] - 1
        else:
            rank[sorted(range(len(self.names)), key=self.names.__getitem__)] = self.all_rows
        return rank

    def __len__(self) -> int:
        return len(self.objects)

    def without(self, names: Collection[str], resources: ResourceIndex) -> NodeTable:
        """The table of all nodes but these."""
        there = np.ones(len(self), dtype=np.bool_)
        there[[self.row_of[name] for name in names]] = False
        rows = np.empty(len(self), dtype=np.int64)
        rows[self.arrival_rank] = self.all_rows
        stays = there[rows]
        return NodeTable(None, resources, self._release, self, rows[stays])

    def new_rows(self, before: NodeTable) -> RowColumn:
        """For each row of the table before the row of the node in this one, NOWHERE where the node is gone."""
        new = np.full(len(before), NOWHERE, dtype=np.int64)
        here = np.nonzero(self.source != NOWHERE)[0]
        new[self.source[here]] = here
        for row in np.nonzero(new == NOWHERE)[0].tolist():
            new[row] = self.row_of.get(before.names[row], NOWHERE)
        return new

    def only_spec_differs(self, node: Node) -> bool:
        """Whether this version of a node differs in nothing but its spec, of all that is in the columns."""
        old = self.objects[self.row_of[node.metadata.name]]
        if (old.metadata.labels, old.status.allocatable) != (node.metadata.labels, node.status.allocatable):
            return False
        return old.status.images == node.status.images

    def with_own_specs(self) -> NodeTable:
        """A copy whose specs can be set without a change of this table."""
        table = copy(self)
        table.objects = self.objects.copy()
        table.unschedulable, table.taint_set = self.unschedulable.copy(), self.taint_set.copy()
        return table

    def set_spec_of(self, node: Node) -> None:
        """Take in this version of a node, of which only the spec differs. Only for a table that nothing else has."""
        row = self.row_of[node.metadata.name]
        self._arrival = None
        self.__dict__.pop("_object_column", None)
        self.objects[row] = node
        self.unschedulable[row] = node.spec.unschedulable
        self.taint_set[row] = self.taint_sets.id(tuple(node.spec.taints))

    @cached_property
    def names_in_order(self) -> list[str]:
        """The names sorted: `name_rank` of a row is its place in them."""
        return sorted(self.names)

    @cached_property
    def rows_follow_names(self) -> bool:
        """Whether the rows are in the order of the names, as they often are."""
        return bool(np.array_equal(self.name_rank, self.all_rows))

    @cached_property
    def zones(self) -> IdColumn:
        """For each row the number of its zone, -1 where it has none (utilnode.GetZoneKey)."""
        known: dict[int, int] = {}
        keys = self._zone_keys.values
        numbers = (known.setdefault(zone, len(known)) if any(keys[zone]) else -1 for zone in self._zone.tolist())
        return np.fromiter(numbers, dtype=np.int32, count=len(self._zone))

    def _read_nodes(self, resources: ResourceIndex, before: NodeTable | None, source: RowColumn) -> None:
        """Fill the columns: from the table before, and from the objects of nodes that it does not have."""
        new = np.nonzero(source == NOWHERE)[0]
        nodes = [self.objects[row] for row in new.tolist()]
        self.unschedulable[new] = [node.spec.unschedulable for node in nodes]
        self.taint_set[new] = [self.taint_sets.id(tuple(node.spec.taints)) for node in nodes]
        # Nodes of one instance type have the same amounts.
        kinds: Vocabulary[Amounts] = Vocabulary()
        kind = np.array([kinds.id(tuple(node.status.allocatable.items())) for node in nodes], dtype=np.int64)
        cells = [self._cells(each, resources) for each in kinds.values]
        self.widen(len(resources))
        allowed = np.array([pods for pods, _ in cells], dtype=np.int64)
        amounts = np.zeros((len(self.allocatable), len(kinds)), dtype=np.int64)
        for number, (_, found) in enumerate(cells):
            for resource, amount in found:
                amounts[resource, number] = amount
        self.allowed_pods[new] = allowed[kind]
        self.allocatable[:, new] = amounts[:, kind]
        if before is not None:
            here = np.nonzero(source != NOWHERE)[0]
            there = source[here]
            self.unschedulable[here] = before.unschedulable[there]
            self.taint_set[here] = before.taint_set[there]
            self.allowed_pods[here] = before.allowed_pods[there]
            self.allocatable[: len(before.allocatable), here] = before.allocatable[:, there]

    def _cells(self, allocatable: Amounts, resources: ResourceIndex) -> tuple[int, list[tuple[int, int]]]:
        """How many pods a node takes, and its other amounts, each with the row of the resource."""
        pods, found = 0, []
        for name, quantity in allocatable:
            if name == "pods":
                pods = value(quantity)
            elif name == "cpu":
                found.append((CPU, milli_value(quantity)))
            elif name == "ephemeral-storage" and not self._storage_counts:
                continue
            elif name in ("memory", "ephemeral-storage") or is_scalar(name):
                found.append((resources.row(name), value(quantity)))
        return pods, found

    def widen(self, resources: int) -> None:
        """Room for resources that some pod requests and no node has."""
        missing = resources - self.allocatable.shape[0]
        if missing > 0:
            empty = np.zeros((missing, len(self)), dtype=np.int64)
            self.allocatable = np.concatenate([self.allocatable, empty])


def _rows_of_the_same(arrival: Sequence[Node], before: NodeTable | None) -> RowColumn:
    """The row of each node object in the table before, NOWHERE where that does not have this object."""
    if before is None:
        return np.full(len(arrival), NOWHERE, dtype=np.int64)
    row_of, objects = before.row_of, before.objects
    rows = (row_of.get(node.metadata.name, NOWHERE) for node in arrival)
    return np.fromiter(
        (row if row >= 0 and objects[row] is node else NOWHERE for row, node in zip(rows, arrival, strict=True)),
        dtype=np.int64,
        count=len(arrival),
    )
