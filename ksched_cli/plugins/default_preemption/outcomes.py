"""What a dry run came to, node by node, and the choice among the nodes (pickOneNodeForPreemption)."""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, FloatColumn, Int64Column, RowColumn
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.handle import Candidate
from ksched_cli.framework.status import Status

# Added to every priority so that more victims never sum up to less.
PRIORITY_OFFSET = 2**31


class Outcomes:
    """One entry per node: not tried, a candidate with the figures it is chosen by, or the status that rules it out."""

    def __init__(self, size: int) -> None:
        self.tried: BoolColumn = np.zeros(size, dtype=np.bool_)
        self.helps: BoolColumn = np.zeros(size, dtype=np.bool_)
        self.pdb_violations: Int64Column = np.zeros(size, dtype=np.int64)
        self.highest: Int64Column = np.zeros(size, dtype=np.int64)
        self.priorities: Int64Column = np.zeros(size, dtype=np.int64)
        self.count: Int64Column = np.zeros(size, dtype=np.int64)
        self.earliest: FloatColumn = np.zeros(size)
        self._list_of: RowColumn = np.zeros(size, dtype=np.int64)
        self._start: RowColumn = np.zeros(size, dtype=np.int64)
        self._lists: list[RowColumn] = []
        self.statuses = NodeStatuses(size)
        # The message about these nodes when none of them helped, until one of them is tried once more.
        self.words: tuple[RowColumn, tuple[str, str]] | None = None

    def forget(self, rows: list[int]) -> None:
        if rows:
            self.words = None
        self.tried[rows] = False
        self.helps[rows] = False

    def list_victims(self, rows: RowColumn, victims: RowColumn, starts: RowColumn) -> None:
        """Stores the victims of all these rows in one list, and where those of each row start."""
        self.words = None
        self._list_of[rows] = len(self._lists)
        self._start[rows] = starts
        self._lists.append(victims)

    def fail(self, rows: RowColumn, status: Status) -> None:
        if len(rows):
            self.words = None
        self.tried[rows] = True
        for row in rows.tolist():
            self.statuses.set(row, status)

    def fail_as(self, rows: RowColumn, statuses: NodeStatuses) -> None:
        if len(rows):
            self.words = None
            self.tried[rows] = True
            self.statuses.take_over(statuses, rows)

    def put(self, candidate: Candidate, priorities: Int64Column, started: FloatColumn) -> None:
        """Stores a candidate that an extender returned, with the figures of its victims."""
        row = candidate.row
        if not candidate.victims:
            self.put_empty(row)
            return
        self.tried[row] = self.helps[row] = True
        self.pdb_violations[row] = candidate.pdb_violations
        self.highest[row] = priorities[0]
        self.priorities[row] = (priorities + PRIORITY_OFFSET).sum()
        self.count[row] = len(priorities)
        self.earliest[row] = started[priorities == priorities.max()].min()
        self.list_victims(np.array([row]), np.array(candidate.victims, dtype=np.int64), np.zeros(1, dtype=np.int64))

    def put_empty(self, row: int) -> None:
        """Stores a candidate without victims, which is better than any other."""
        self.tried[row] = self.helps[row] = True
        self.pdb_violations[row] = self.count[row] = self.priorities[row] = 0
        self.highest[row] = np.iinfo(np.int64).min
        self.list_victims(np.array([row]), np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64))

    def candidate(self, row: int) -> Candidate:
        start = self._start[row]
        victims = self._lists[self._list_of[row]][start : start + self.count[row]]
        return Candidate(row, tuple(victims.tolist()), int(self.pdb_violations[row]))

    def best(self, rows: RowColumn, name_rank: RowColumn) -> Candidate:
        """pickOneNodeForPreemption. Where all criteria tie Go takes any node, and here it is the lowest name."""
        for column in (self.pdb_violations, self.highest, self.priorities, self.count):
            rows = _least(rows, column.take(rows))
        rows = _least(rows, -self.earliest.take(rows))
        return self.candidate(int(rows[name_rank.take(rows).argmin()]))

    def ranked(self, rows: RowColumn, name_rank: RowColumn) -> list[int]:
        """The rows from the best to the worst."""
        criteria = (name_rank, -self.earliest, self.count, self.priorities, self.highest, self.pdb_violations)
        ranked: list[int] = rows[np.lexsort([column[rows] for column in criteria])].tolist()
        return ranked


def _least(rows: RowColumn, figures: Int64Column | FloatColumn) -> RowColumn:
    """The rows with the least figure."""
    least = figures[figures.argmin()]
    return rows if least == figures[figures.argmax()] else rows.compress(figures == least)
