"""Node labels by column: string work once per distinct value, then a gather by id."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set

import numpy as np

from ksched_cli.api.core import Node
from ksched_cli.cluster.columns import NOWHERE, BoolColumn, IdColumn, RowColumn

ABSENT = 0

# While there are so many rows for each of some values, the rows are looked up value by value.
_ROWS_PER_VALUE = 200


class LabelColumn:
    """One label key over all nodes: ids[row] indexes `values`, and id 0 means the node has no such label. Values are
    numbered in the order in which the rows have them."""

    __slots__ = ("_is_complete", "_rows_by_value", "ids", "values")

    def __init__(self, ids: IdColumn, values: list[str | None]) -> None:
        self.ids = ids
        self.values = values
        self._rows_by_value: tuple[RowColumn, RowColumn] | None = None
        self._is_complete: bool | None = None

    @classmethod
    def of(cls, labels: Iterable[str | None], size: int) -> LabelColumn:
        """The column of the value in each row, None where the label is absent."""
        given = list(labels)
        values = list(dict.fromkeys([None, *given]))
        number = {value: index for index, value in enumerate(values)}
        return cls(np.fromiter(map(number.__getitem__, given), dtype=np.int32, count=size), values)

    @property
    def is_complete(self) -> bool:
        """Whether all rows have the label."""
        if self._is_complete is None:
            self._is_complete = np.count_nonzero(self.ids) == len(self.ids)
        return self._is_complete

    @property
    def present(self) -> BoolColumn:
        present: BoolColumn = self.ids != ABSENT
        return present

    def where(self, holds: Callable[[str | None], bool]) -> BoolColumn:
        """Which rows satisfy a condition on the value (None where the label is absent), computed once per value."""
        verdicts = np.fromiter((holds(value) for value in self.values), dtype=np.bool_, count=len(self.values))
        return verdicts[self.ids]

    def rows_with(self, wanted: BoolColumn) -> RowColumn:
        """The rows whose value is wanted, in ascending order; one entry of `wanted` for each value."""
        return self.rows_of(wanted.nonzero()[0].tolist())

    def rows_of(self, values: Collection[int]) -> RowColumn:
        """The rows with one of these values, in ascending order. No value occurs twice."""
        if not values:
            return np.empty(0, dtype=np.int64)
        if len(values) * _ROWS_PER_VALUE > len(self.ids):
            wanted = np.zeros(len(self.values), dtype=np.bool_)
            wanted[list(values)] = True
            return wanted.take(self.ids, mode="clip").nonzero()[0]
        if self._rows_by_value is None:
            counts = np.bincount(self.ids, minlength=len(self.values))
            self._rows_by_value = self.ids.argsort(kind="stable"), np.append(0, counts.cumsum())
        rows, starts = self._rows_by_value
        found = [rows[starts[value] : starts[value + 1]] for value in values]
        return found[0] if len(found) == 1 else np.sort(np.concatenate(found), kind="stable")

    def moved(self, source: RowColumn, others: Mapping[int, str | None]) -> LabelColumn:
        """The column whose rows are these rows of this one, and have `others` where `source` is NOWHERE."""
        values = list(self.values)
        ids = self.ids[source] if len(self.ids) else np.zeros(len(source), dtype=np.int32)
        known = {value: number for number, value in enumerate(values)} if others else {}
        for row, value in others.items():
            ids[row] = known.setdefault(value, len(values))
            if ids[row] == len(values):
                values.append(value)
        rows = np.arange(len(ids))
        first = np.full(len(values), len(ids))
        # Of several rows that are written to one entry, the last one stays: the first row.
        first[ids[::-1]] = rows[::-1]
        first[ABSENT] = -1
        used = np.concatenate([[ABSENT], ids[first[ids] == rows]])
        number = np.zeros(len(values), dtype=np.int32)
        number[used] = np.arange(len(used))
        return LabelColumn(number[ids], np.fromiter(values, dtype=object, count=len(values))[used].tolist())


class LabelColumns:
    """Columns made when a key is first used. All are dropped when the labels of any node change."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._columns: dict[str, LabelColumn] = {}

    def column(self, key: str) -> LabelColumn:
        found = self._columns.get(key)
        if found is None:
            values = [node.metadata.labels.get(key) for node in self._nodes]
            found = self._columns[key] = LabelColumn.of(values, len(self._nodes))
        return found

    def keys(self) -> Set[str]:
        """The labels that have a column by now."""
        return self._columns.keys()

    def take_over(self, before: LabelColumns, source: RowColumn) -> None:
        """Make the columns that `before` has, from these rows of it and from the labels where `source` is NOWHERE."""
        new = np.nonzero(source == NOWHERE)[0].tolist()
        for key, column in before._columns.items():
            self._columns[key] = column.moved(source, {row: self._nodes[row].metadata.labels.get(key) for row in new})
