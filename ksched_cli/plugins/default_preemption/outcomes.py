"""What a dry run came to, node by node, and the choice among the nodes (pickOneNodeForPreemption)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, FloatColumn, Int64Column, RowColumn
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.handle import Candidate
from ksched_cli.framework.status import Status

# Added to every priority so that more victims never sum up to less.
PRIORITY_OFFSET = 2**31

# A row with the figures that it is chosen by, less is better. The last three are the rank of the name, the row, and the
# list of its victims.
_Standing = tuple[float, ...]


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
        # From the second choice on: a heap of rows, some of which have changed since, and the rows to add to it.
        self._queue: list[_Standing] | None = None
        self._to_add: list[RowColumn] = []
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
        self._to_add.append(rows)

    def fail(self, rows: RowColumn, status: Status) -> None:
        if not len(rows):
            return
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
        if self._queue is not None and len(rows) == np.count_nonzero(self.helps):
            return self.candidate(self._best_of_all(self._queue, name_rank))
        self._queue = self._queue or []
        for column in (self.pdb_violations, self.highest, self.priorities, self.count):
            rows = _least(rows, column.take(rows))
        rows = _least(rows, -self.earliest.take(rows))
        return self.candidate(int(rows[name_rank.take(rows).argmin()]))

    def _best_of_all(self, queue: list[_Standing], name_rank: RowColumn) -> int:
        """The best of all rows that help. Few have changed since the last choice."""
        if self._to_add:
            rows = np.concatenate(self._to_add)
            self._to_add.clear()
            if len(rows) > len(queue):
                queue += self._standings(rows, name_rank)
                heapify(queue)
            else:
                for standing in self._standings(rows, name_rank):
                    heappush(queue, standing)
        while not self._holds(queue[0]):
            heappop(queue)
        return int(queue[0][-2])

    def _holds(self, standing: _Standing) -> bool:
        """Whether the row still helps, with the same victims."""
        row, victims = int(standing[-2]), standing[-1]
        return self.helps.item(row) and self._list_of.item(row) == victims

    def _standings(self, rows: RowColumn, name_rank: RowColumn) -> list[_Standing]:
        figures = (self.pdb_violations, self.highest, self.priorities, self.count, -self.earliest, name_rank)
        columns = [*(column[rows] for column in figures), rows, self._list_of[rows]]
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def ranked(self, rows: RowColumn, name_rank: RowColumn) -> list[int]:
        """The rows from the best to the worst."""
        return [int(standing[-2]) for standing in sorted(self._standings(rows, name_rank))]


def _least(rows: RowColumn, figures: Int64Column | FloatColumn) -> RowColumn:
    """The rows with the least figure."""
    least = figures[figures.argmin()]
    return rows if least == figures[figures.argmax()] else rows.compress(figures == least)
