"""Scores that follow the pods on each node, over all nodes, changed in place when pods come and go."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import ref

from ksched_cli.cluster.columns import Int64Column, RowColumn


class _Loan:
    """Exists as long as one of the tables that read the columns as they are now."""

    __slots__ = ("__weakref__",)


class LentColumns(dict[str, Int64Column]):
    """Columns by plugin, for a table. As long as it exists, they are not written to."""

    __slots__ = ("_loan",)

    def __init__(self, columns: Mapping[str, Int64Column], loan: _Loan) -> None:
        super().__init__(columns)
        self._loan = loan


class FollowingScores:
    """Scores of all nodes by plugin, and their weighted sum. Plugins that normalize are not among these. Tables read
    columns that are lent to them, and none keeps `total`: most tables are gone before the next pod is placed."""

    __slots__ = ("_loan", "_raw", "total")

    def __init__(self, raw: dict[str, Int64Column], total: Int64Column) -> None:
        self._raw = raw
        self.total = total
        self._loan: ref[_Loan] | None = None

    def lend(self, others: Mapping[str, Int64Column]) -> LentColumns:
        """The columns together with those of other plugins."""
        loan = None if self._loan is None else self._loan()
        if loan is None:
            loan = _Loan()
            self._loan = ref(loan)
        return LentColumns({**others, **self._raw}, loan)

    def write(self, rows: RowColumn, raw: Mapping[str, Int64Column], total: Int64Column) -> None:
        """Set the scores of these rows."""
        if self._loan is not None and self._loan() is not None:
            self._raw = {name: column.copy() for name, column in self._raw.items()}
        self._loan = None
        for name, column in self._raw.items():
            column[rows] = raw[name]
        self.total[rows] = total
