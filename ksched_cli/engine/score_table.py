"""The scores of one cycle: of every feasible node, by plugin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ksched_cli.cluster.columns import Int64Column, RowColumn, equal

# So many scores are read one by one.
_FEW = 4


class ScoreTable(NamedTuple):
    """Scores of the feasible rows, in their order; one entry per plugin that did not skip."""

    rows: RowColumn
    raw: Mapping[str, Int64Column]
    normalized: Mapping[str, Int64Column]
    weighted: Mapping[str, Int64Column]
    totals: Int64Column

    def indexes_of(self, rows: RowColumn) -> RowColumn:
        """Where these node rows stand among the rows, which ascend unless the search has begun in the middle."""
        found = self.rows.searchsorted(rows)
        if equal(self.rows.take(found, mode="clip"), rows):
            return found
        return np.array([(self.rows == row).argmax() for row in rows], dtype=np.int64)

    def scores_at(self, index: int) -> Iterator[tuple[str, int, int, int]]:
        """Each plugin with its raw, normalized and weighted score of one of the rows."""
        (scores,) = self.scores_of(np.array([index], dtype=np.int64))
        return zip(self.raw, *scores, strict=True)

    def scores_of(self, indexes: RowColumn) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Raw, normalized and weighted scores of these rows, each with one entry per plugin."""
        if not len(indexes) or not len(self.raw):
            return iter([((), (), ())] * len(indexes))
        raw, normalized = _entries(self.raw, self.raw, indexes), _entries(self.normalized, self.raw, indexes)
        if isinstance(self.weighted, FeasibleColumns):
            weighted = self.weighted.times_weight(normalized)
        else:
            weighted = _entries(self.weighted, self.raw, indexes)
        return zip(zip(*raw, strict=True), zip(*normalized, strict=True), zip(*weighted, strict=True), strict=True)


class FeasibleColumns(Mapping[str, Int64Column]):
    """Columns over all nodes, read as columns over the feasible rows. Most readers want the scores of a few nodes, so
    that a column is copied from its source only when it is read as a whole."""

    __slots__ = ("__weakref__", "_columns", "_names", "_rows", "_taken", "_weights")

    def __init__(
        self,
        names: Sequence[str],
        columns: Mapping[str, Int64Column],
        rows: RowColumn | None,
        taken: Mapping[str, Int64Column],
        weights: Mapping[str, int] | None = None,
    ) -> None:
        """`rows` is None for all nodes; `taken` are columns over the feasible rows already."""
        self._names = names
        self._columns = columns
        self._rows = rows
        self._taken = taken
        self._weights = weights

    def __getitem__(self, name: str) -> Int64Column:
        column = self._taken.get(name)
        if column is None:
            column = self._columns[name].copy() if self._rows is None else self._columns[name].take(self._rows)
        weight = 1 if self._weights is None else self._weights[name]
        return column if weight == 1 else column * weight

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def entries(self, indexes: RowColumn) -> list[list[int]]:
        """For each name the scores of these rows, without weights."""
        rows = indexes if self._rows is None else self._rows.take(indexes)
        taken, columns = self._taken, self._columns
        if len(indexes) > _FEW:
            return [
                (taken[name].take(indexes) if name in taken else columns[name].take(rows)).tolist()
                for name in self._names
            ]
        places, here = indexes.tolist(), rows.tolist()
        return [
            [*map(taken[name].item, places)] if name in taken else [*map(columns[name].item, here)]
            for name in self._names
        ]

    def times_weight(self, scores: Sequence[list[int]]) -> list[list[int]]:
        """The scores by name, each times the weight of its name."""
        weights = self._weights
        if weights is None:
            return list(scores)
        return [
            each if weights[name] == 1 else [score * weights[name] for score in each]
            for name, each in zip(self._names, scores, strict=True)
        ]


def _entries(columns: Mapping[str, Int64Column], names: Iterable[str], indexes: RowColumn) -> list[list[int]]:
    if isinstance(columns, FeasibleColumns):
        return columns.entries(indexes)
    return [columns[name].take(indexes).tolist() for name in names]
