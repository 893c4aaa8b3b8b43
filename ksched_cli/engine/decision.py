"""The result of one cycle in rows and columns: the scores of every feasible node by plugin, the node that is
selected, and the decision (schedule_one.go: prioritizeNodes' result, selectHost, numFeasibleNodesToFind,
ScheduleResult)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.columns import Int64Column, RowColumn, equal
from ksched_cli.cluster.nodes import NodeTable
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.undo import UndoLog
from ksched_cli.framework.diagnosis import Diagnosis
from ksched_cli.framework.interfaces import PostFilterResult
from ksched_cli.framework.reasons import Reason

# Among plugins that rejected a pod: some extender did (framework.ExtenderName).
EXTENDER = "Extender"
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


MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_PERCENTAGE = 5


class TieBreak(Protocol):
    def __call__(self, ties: RowColumn) -> int:
        """One of the rows, which come in name order."""


def lowest_name(ties: RowColumn) -> int:
    return int(ties[0])


def random_choice(seed: int, undo: UndoLog | None = None) -> TieBreak:
    """A random choice, as in kube-scheduler, with a seed that makes a run repeatable."""
    from random import Random

    generator = Random(seed)

    def choose(ties: RowColumn) -> int:
        if undo is not None and undo.recording:
            undo.note(generator.setstate, generator.getstate())
        return int(ties[generator.randrange(len(ties))])

    return choose


def best_rows(table: ScoreTable, nodes: NodeTable) -> RowColumn:
    """All rows with the highest total, by name."""
    totals = table.totals
    best = (totals == totals[totals.argmax()]).nonzero()[0]
    rows: RowColumn = best if table.rows is nodes.all_rows else table.rows.take(best)
    if len(rows) == 1:
        return rows
    if nodes.rows_follow_names:
        if table.rows is not nodes.all_rows:
            # They nearly always are in order, and this kind of sort looks at each row once then.
            rows.sort(kind="stable")
        return rows
    return rows.take(nodes.name_rank.take(rows).argsort(kind="stable"))


def num_feasible_nodes_to_find(percentage: int, num_all_nodes: int) -> int:
    """numFeasibleNodesToFind: kube-scheduler's sampling; 0 per cent means adaptive."""
    if num_all_nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return num_all_nodes
    if percentage == 0:
        percentage = max(50 - num_all_nodes // 125, MIN_FEASIBLE_PERCENTAGE)
    return max(num_all_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


Result = Literal["scheduled", "unschedulable", "error", "skipped", "waiting"]

# So many of the best nodes are named where a line has room for few.
TIES_NAMED = 4

NO_ROWS: RowColumn = np.empty(0, dtype=np.int64)


class Decision(Struct):
    """`ties` are all rows with the highest total, in name order; empty when nothing was scored. `nominated_node` is
    where this cycle nominated the pod to; earlier nominations are in the nominator. A pod that Permit plugins hold is
    `waiting`, if the run has a clock. `let_go` is the node that the pod had and lost when it was to be bound.
    `group_victims` are the pods that leave for the whole pod group. `reason`: why it has no node, where no plugin
    rejects it. `failed_plugin`: the plugin whose failure is the error. `repeats` is the decision about a copy of the
    pod that this one equals in all else."""

    pod_row: int
    pod: PodInfo
    result: Result
    row: int | None = None
    ties: RowColumn = NO_ROWS
    feasible: RowColumn = NO_ROWS
    diagnosis: Diagnosis | None = None
    scores: ScoreTable | None = None
    message: str = ""
    reason: Reason | None = None
    failed_plugin: str = ""
    preemption: PostFilterResult | None = None
    nominated_node: str = ""
    let_go: str = ""
    group_victims: tuple[int, ...] = ()
    repeats: Decision | None = None

    @property
    def rejection(self) -> str:
        """The message without what PostFilter plugins add to it."""
        diagnosis = self.diagnosis
        if diagnosis is None or not diagnosis.post_filter_message or self.message != diagnosis.message():
            return self.message
        return diagnosis.filter_message()
