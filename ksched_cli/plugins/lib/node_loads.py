"""Nodes of equal size and use, so that what is computed of cpu and memory is computed once for all of them."""

from __future__ import annotations

from typing import cast

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import FloatColumn, Int64Column, RowColumn, grown
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.plugins.lib.arithmetic import EXACT

# To find the loads takes as long as to compute this often without them.
_PAYS = 24
# With more than one load for so many nodes, a computation for each node takes as long.
_NODES_PER_LOAD = 4

# The places of columns in a load, each of cpu and of memory.
_ALLOCATABLE, _REQUESTED, _NONZERO, _PODS = slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 8)

Load = tuple[int, ...]


class NodeLoads:
    """What nodes have and what their pods request, as the journal lists it. `place` is for each node the entry of its
    load in all columns. Loads that no node has any more stay, until there are too many."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._uses = 0
        self._is_of_use = True
        self._position = -1
        self._known: dict[Load, int] = {}
        self._columns: Int64Column = np.zeros((8, 0), dtype=np.int64)
        self._divisor: FloatColumn = np.zeros((2, 0))
        self.place: RowColumn = np.zeros(0, dtype=np.int64)

    @classmethod
    def of(cls, nodes: NodeRows) -> NodeLoads | None:
        """The loads of all nodes; None where others are evaluated, or where most nodes have a load of their own."""
        cluster = nodes.cluster
        if not nodes.whole or nodes.bare or not cluster.reuse:
            return None
        loads = cluster.derived(cls, lambda: cls(cluster))
        loads._uses += 1
        return loads if loads._uses > _PAYS and loads._is_current() else None

    @property
    def allocatable(self) -> Int64Column:
        return self._columns[_ALLOCATABLE, : len(self._known)]

    @property
    def divisor(self) -> FloatColumn:
        """`allocatable` in float64, which holds it without rounding."""
        return self._divisor[:, : len(self._known)]

    @property
    def requested(self) -> Int64Column:
        return self._columns[_REQUESTED, : len(self._known)]

    @property
    def nonzero(self) -> Int64Column:
        """The requests that scoring uses."""
        return self._columns[_NONZERO, : len(self._known)]

    @property
    def pods(self) -> Int64Column:
        """How many pods a node may have, and how many it has."""
        return self._columns[_PODS, : len(self._known)]

    def _is_current(self) -> bool:
        """Bring the loads up to date; whether they are of use."""
        if not self._is_of_use:
            return False
        journal = self._cluster.journal
        most = len(self._cluster.nodes) // _NODES_PER_LOAD
        touched = set(journal[self._position :]) if self._position >= 0 else set()
        if self._position < 0 or len(self._known) + len(touched) > most:
            self._find_all()
            self._is_of_use = 2 * len(self._known) <= most and self._are_exact()
        else:
            for row in touched:
                self.place[row] = self._place_of(self._load_of(row))
        self._position = len(journal)
        return self._is_of_use

    def _are_exact(self) -> bool:
        return bool(self.allocatable.all() and self.allocatable.max(initial=0) < EXACT // MAX_NODE_SCORE)

    def _find_all(self) -> None:
        nodes, usage = self._cluster.nodes, self._cluster.usage
        matrices = nodes.allocatable[:2], usage.requested[:2], usage.nonzero, nodes.allowed_pods[np.newaxis]
        columns = np.concatenate([*matrices, usage.pod_count[np.newaxis]]).tolist()
        self._known.clear()
        self.place = np.array([self._place_of(load) for load in zip(*columns, strict=True)], dtype=np.int64)

    def _load_of(self, row: int) -> Load:
        nodes, usage = self._cluster.nodes, self._cluster.usage
        allocatable, requested, nonzero = nodes.allocatable.item, usage.requested.item, usage.nonzero.item
        return (
            *(allocatable(0, row), allocatable(1, row), requested(0, row), requested(1, row)),
            *(nonzero(0, row), nonzero(1, row), nodes.allowed_pods.item(row), usage.pod_count.item(row)),
        )

    def _place_of(self, load: Load) -> int:
        known = self._known.get(load)
        if known is None:
            known = self._known[load] = len(self._known)
            if known >= self._columns.shape[1]:
                self._columns = cast(Int64Column, grown(self._columns, known + 1))
                self._divisor = cast(FloatColumn, grown(self._divisor, known + 1))
            self._columns[:, known] = load
            self._divisor[:, known] = load[_ALLOCATABLE]
        return known
