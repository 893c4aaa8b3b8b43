"""Pods counted by topology key and value (interpodaffinity.topologyToMatchedTermCount): columns by label value id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column, RowColumn
from ksched_cli.cluster.labels import ABSENT, LabelColumn
from ksched_cli.framework.rows import NodeRows


class TopologyCounts:
    """Counts by value of a topology key. Nodes without the key do not count. `turns` lists the values whose count has
    become positive or zero, in order."""

    __slots__ = ("_weighted", "counts", "ids", "key", "total", "turns")

    def __init__(self, key: str, column: LabelColumn) -> None:
        self.key = key
        self.ids = column.ids
        self.counts: IdColumn = np.zeros(len(column.values), dtype=np.int32)
        self.total = 0
        self.turns: list[int] = []
        # By weight: the counts times the weight.
        self._weighted: dict[int, Int64Column] = {}

    def weighted(self, weight: int) -> Int64Column:
        """The counts times the weight, as they are now. Not to be kept or written to."""
        found = self._weighted.get(weight)
        if found is None:
            found = self._weighted[weight] = self.counts * np.int64(weight)
        return found

    def add(self, node_row: int, amount: int) -> None:
        value = self.ids.item(node_row)
        if value != ABSENT:
            before = self.counts.item(value)
            self.counts[value] = before + amount
            self.total += amount
            if (before > 0) != (before + amount > 0):
                self.turns.append(value)
            for weight, column in self._weighted.items():
                column[value] += amount * weight

    def add_rows(self, node_rows: RowColumn) -> None:
        self._weighted.clear()
        self.counts += np.bincount(self.ids[node_rows], minlength=len(self.counts)).astype(np.int32)
        self.counts[ABSENT] = 0
        self.total = int(self.counts.sum())


class TrialCounts:
    """Counts of several topology keys, for one cycle to change."""

    __slots__ = ("_by_key",)

    def __init__(self, by_key: Mapping[str, IdColumn] | None = None) -> None:
        self._by_key = dict(by_key or {})

    @classmethod
    def sum_of(cls, tallies: Iterable[TopologyCounts]) -> TrialCounts:
        found = cls()
        for tally in tallies:
            known = found._by_key.get(tally.key)
            if known is None:
                found._by_key[tally.key] = tally.counts.copy()
            else:
                known += tally.counts
        return found

    def update(self, column: LabelColumn, key: str, row: int, amount: int) -> None:
        """Counts a pod that came to the node or left it."""
        value = column.ids[row]
        if value != ABSENT:
            counts = self._by_key.setdefault(key, np.zeros(len(column.values), dtype=np.int32))
            counts[value] += amount

    def of(self, key: str, column: LabelColumn) -> IdColumn:
        known = self._by_key.get(key)
        return np.zeros(len(column.values), dtype=np.int32) if known is None else known

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._by_key)

    @property
    def empty(self) -> bool:
        return not any(np.count_nonzero(counts) for counts in self._by_key.values())

    def copy(self) -> TrialCounts:
        return TrialCounts({key: counts.copy() for key, counts in self._by_key.items()})

    def crowded(self, nodes: NodeRows) -> BoolColumn:
        """Nodes with a counted pod in one of their topologies."""
        crowded: BoolColumn | None = None
        for key, counts in self._by_key.items():
            here = counts.take(nodes.take(nodes.cluster.nodes.labels.column(key).ids)) > 0
            crowded = here if crowded is None else crowded | here
        return np.zeros(len(nodes), dtype=np.bool_) if crowded is None else crowded
