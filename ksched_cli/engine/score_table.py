"""The scores of one cycle: of every feasible node, by plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ksched_cli.cluster.columns import Int64Column, RowColumn, equal

# So many scores are read one by one.
_FEW = 4
Columns = Mapping[str, Int64Column]


class ScoreTable:
    """Scores of the feasible `rows`, in their order; one entry per plugin that did not skip. A column may come as one
    of all nodes: most readers want the scores of few nodes, and copy nothing."""

    __slots__ = ("_normalized", "_raw", "_weighted", "_weights", "rows", "totals")

    def __init__(
        self,
        rows: RowColumn,
        raw: Columns,
        normalized: Columns,
        weights: Mapping[str, int],
        totals: Int64Column,
        weighted: Columns | None = None,
    ) -> None:
        """`weighted` where it is more than `normalized` times `weights`."""
        self.rows = rows
        self.totals = totals
        self._raw = raw
        self._normalized = normalized
        self._weights = weights
        self._weighted = weighted

    @property
    def plugins(self) -> tuple[str, ...]:
        """The plugins and extenders that scored."""
        return tuple(self._raw)

    def with_rows(self, rows: RowColumn) -> ScoreTable:
        """The same scores, of nodes that have other rows."""
        return ScoreTable(rows, self.raw, self.normalized, self._weights, self.totals, self._weighted)

    @property
    def raw(self) -> dict[str, Int64Column]:
        return {name: self._of_rows(column) for name, column in self._raw.items()}

    @property
    def normalized(self) -> dict[str, Int64Column]:
        return {name: self._of_rows(column) for name, column in self._normalized.items()}

    @property
    def weighted(self) -> dict[str, Int64Column]:
        if self._weighted is not None:
            return dict(self._weighted)
        return {name: column * self._weights[name] for name, column in self.normalized.items()}

    def _of_rows(self, column: Int64Column) -> Int64Column:
        return column.copy() if len(column) == len(self.rows) else column.take(self.rows)

    def indexes_of(self, rows: RowColumn) -> RowColumn:
        """Where these node rows stand among the rows, which ascend unless the search has begun in the middle."""
        found = self.rows.searchsorted(rows)
        if equal(self.rows.take(found, mode="clip"), rows):
            return found
        return np.array([(self.rows == row).argmax() for row in rows], dtype=np.int64)

    def scores_at(self, index: int) -> Iterator[tuple[str, int, int, int]]:
        """Each plugin with its raw, normalized and weighted score of one of the rows."""
        (scores,) = self.scores_of(np.array([index], dtype=np.int64))
        return zip(self._raw, *scores, strict=True)

    def scores_of(self, indexes: RowColumn) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Raw, normalized and weighted scores of these rows, each with one entry per plugin."""
        if not len(indexes) or not self._raw:
            return iter([((), (), ())] * len(indexes))
        raw, normalized = self._entries(self._raw, indexes), self._entries(self._normalized, indexes)
        if self._weighted is not None:
            weighted = self._entries(self._weighted, indexes)
        else:
            weights = self._weights
            weighted = [
                each if weights[name] == 1 else [score * weights[name] for score in each]
                for name, each in zip(self._raw, normalized, strict=True)
            ]
        return zip(zip(*raw, strict=True), zip(*normalized, strict=True), zip(*weighted, strict=True), strict=True)

    def _entries(self, columns: Columns, indexes: RowColumn) -> list[list[int]]:
        """For each plugin the entries of these rows."""
        found, size, here = [], len(self.rows), self.rows.take(indexes)
        at, places = indexes.tolist(), here.tolist()
        for name in self._raw:
            column = columns[name]
            if len(indexes) > _FEW:
                found.append(column.take(indexes if len(column) == size else here).tolist())
            else:
                found.append([*map(column.item, at if len(column) == size else places)])
        return found
