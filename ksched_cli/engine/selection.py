"""Which of the best nodes is taken, and how many nodes are looked at."""

from __future__ import annotations

from typing import Protocol

from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.nodes import NodeTable
from ksched_cli.cluster.undo import UndoLog
from ksched_cli.engine.score_table import ScoreTable

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
