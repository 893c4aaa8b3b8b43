"""Scores that follow the pods on each node are changed in place, and tables that are held stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksched_cli.engine.decision import Decision
from ksched_cli.engine.following_scores import FollowingScores
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.engine.score_table import ScoreTable
from tests.builders import make_node, make_pod
from tests.harness import make_scheduler


def scores() -> FollowingScores:
    return FollowingScores({"Fit": np.array([1, 2, 3])}, np.array([2, 4, 6]))


def write(following: FollowingScores) -> None:
    rows = np.array([1])
    following.write(rows, {"Fit": np.array([7])}, np.array([14]))


def test_columns_that_are_lent_are_not_written_to() -> None:
    following = scores()
    lent, again = following.lend({"Taint": np.array([0, 0, 0])}), following.lend({})
    write(following)
    assert {name: column.tolist() for name, column in lent.items()} == {"Taint": [0, 0, 0], "Fit": [1, 2, 3]}
    assert again["Fit"] is lent["Fit"]
    assert following.lend({})["Fit"].tolist() == [1, 7, 3]
    assert following.total.tolist() == [2, 14, 6]


def test_columns_without_readers_are_changed_in_place() -> None:
    following = scores()
    column = following.lend({})["Fit"]
    write(following)
    assert column.tolist() == [1, 7, 3]


def scheduler_of(*, reuse: bool = True) -> Scheduler:
    nodes = [make_node(f"n{row}").allocatable(cpu=str(4 + row), memory="8Gi", pods=10).obj() for row in range(3)]
    pods = [make_pod(f"p{index}").label("app", "ab"[index % 2]).requests(cpu="1").obj() for index in range(12)]
    return make_scheduler(nodes, pods, reuse=reuse)


def numbers_of(table: ScoreTable | None) -> list[Any]:
    assert table is not None
    columns = [{name: column.tolist() for name, column in each.items()} for each in (table.raw, table.normalized)]
    return [*columns, table.totals.tolist()]


def test_tables_of_earlier_decisions_stay_as_they_were() -> None:
    scheduler, afresh = scheduler_of(), scheduler_of(reuse=False)
    held: list[Decision] = []
    wanted: list[Any] = []
    for row in range(12):
        held.append(scheduler.schedule(row))
        wanted.append(numbers_of(afresh.schedule(row).scores))
        assert [numbers_of(each.scores) for each in held] == wanted
