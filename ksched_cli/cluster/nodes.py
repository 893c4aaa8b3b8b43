"""The node table: one row per node, in kube-scheduler's listing order."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np

from ksched_cli.api.core import Node, Taint
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column, RowColumn, Vocabulary
from ksched_cli.cluster.images import ImageIndex
from ksched_cli.cluster.labels import LabelColumns
from ksched_cli.cluster.node_tree import listing_order, zone_key
from ksched_cli.cluster.resources import CPU, ResourceIndex, is_scalar
from ksched_cli.releases.minors import NEWEST, Release


class NodeTable:
    """What node objects say. What pods take from them is in `Usage`.

    Rows are dense and follow `nodeTree.list`, so that row order is the order in which kube-scheduler looks at nodes.
    Whatever changes a node makes a new table; rows may then have other numbers.
    """

    def __init__(self, arrival: Sequence[Node], resources: ResourceIndex, release: Release = NEWEST) -> None:
        self._release = release
        self.arrival = tuple(arrival)
        self.objects: list[Node] = listing_order(arrival, release)
        self.names: list[str] = [node.metadata.name for node in self.objects]
        self.name_column = np.array(self.names, dtype=object)
        self.row_of: dict[str, int] = {name: row for row, name in enumerate(self.names)}
        self.labels = LabelColumns([node.metadata.labels for node in self.objects])
        self.images = ImageIndex(self.objects, self.arrival)
        self.unschedulable: BoolColumn = np.array([node.spec.unschedulable for node in self.objects], dtype=np.bool_)
        self.taint_sets: Vocabulary[tuple[Taint, ...]] = Vocabulary()
        self.taint_set: IdColumn = np.array(
            [self.taint_sets.id(tuple(node.spec.taints)) for node in self.objects], dtype=np.int32
        )
        self.allowed_pods: Int64Column = np.zeros(len(self.objects), dtype=np.int64)
        self.allocatable: Int64Column = self._read_allocatable(resources)
        self.all_rows: RowColumn = np.arange(len(self.objects), dtype=np.int64)
        self.name_rank: RowColumn = np.empty(len(self.objects), dtype=np.int64)
        self.name_rank[sorted(range(len(self.names)), key=self.names.__getitem__)] = np.arange(len(self.names))

    def __len__(self) -> int:
        return len(self.objects)

    def with_spec_of(self, node: Node) -> NodeTable | None:
        """A table with this version of a node. None if more than its spec has changed that is in the columns."""
        row = self.row_of[node.metadata.name]
        old = self.objects[row]
        if (old.metadata.labels, old.status.allocatable) != (node.metadata.labels, node.status.allocatable):
            return None
        if old.status.images != node.status.images:
            return None
        place = int(self.arrival_rank[row])
        table = copy(self)
        table.arrival = (*self.arrival[:place], node, *self.arrival[place + 1 :])
        table.objects = [*self.objects[:row], node, *self.objects[row + 1 :]]
        table.unschedulable, table.taint_set = self.unschedulable.copy(), self.taint_set.copy()
        table.unschedulable[row] = node.spec.unschedulable
        table.taint_set[row] = self.taint_sets.id(tuple(node.spec.taints))
        return table

    @cached_property
    def names_in_order(self) -> list[str]:
        """The names sorted: `name_rank` of a row is its place in them."""
        return sorted(self.names)

    @cached_property
    def arrival_rank(self) -> RowColumn:
        """For each row how many nodes were added before it."""
        rank = np.empty(len(self.objects), dtype=np.int64)
        rank[[self.row_of[node.metadata.name] for node in self.arrival]] = np.arange(len(self.objects))
        return rank

    @cached_property
    def zones(self) -> IdColumn:
        """For each row the number of its zone, -1 where it has none (utilnode.GetZoneKey)."""
        known: dict[tuple[str, str], int] = {}
        keys = (zone_key(node.metadata.labels, self._release) for node in self.objects)
        return np.array([known.setdefault(key, len(known)) if any(key) else -1 for key in keys], dtype=np.int32)

    def _read_allocatable(self, resources: ResourceIndex) -> Int64Column:
        cells: list[tuple[int, int, int]] = []
        for row, node in enumerate(self.objects):
            for name, quantity in node.status.allocatable.items():
                if name == "pods":
                    self.allowed_pods[row] = value(quantity)
                elif name == "cpu":
                    cells.append((CPU, row, milli_value(quantity)))
                elif name in ("memory", "ephemeral-storage") or is_scalar(name):
                    cells.append((resources.row(name), row, value(quantity)))
        matrix = np.zeros((len(resources), len(self.objects)), dtype=np.int64)
        for resource, row, amount in cells:
            matrix[resource, row] = amount
        return matrix

    def widen(self, resources: int) -> None:
        """Room for resources that some pod asks for and no node has."""
        missing = resources - self.allocatable.shape[0]
        if missing > 0:
            empty = np.zeros((missing, len(self)), dtype=np.int64)
            self.allocatable = np.concatenate([self.allocatable, empty])
