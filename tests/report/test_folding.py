"""Rows of a table that become one row, and texts that a table repeats."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.report.sinks.folding import filled_columns, fold, fold_with_members, quote_once
from ksched_cli.report.view.model import Table, columns

HEADS = "Pod: same=pod; Workload: workload; Node: node same=node; Why"
WEB = "Deployment/web"


def row(pod: str, node: str = "", why: str = "no room", workload: str = WEB) -> list[Any]:
    return [pod, workload, node, why]


@pytest.mark.parametrize(
    ("rows", "folded"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([row("a"), row("b")], [row("a"), row("b")], id="up to two rows stay"),
        pytest.param([row("a"), row("b"), row("c")], [["3 pods of Deployment/web", WEB, [""], "no room"]], id="three that are alike"),
        pytest.param(
            [row("a"), row("x", why="cordoned"), row("b")],
            [["2 pods of Deployment/web", WEB, [""], "no room"], row("x", why="cordoned")],
            id="two with one between",
        ),
        pytest.param(
            [row("a", "n-1"), row("b", "n-2"), row("c", "n-1")],
            [["3 pods of Deployment/web", WEB, ["n-1", "n-2"], "no room"]],
            id="each node once",
        ),
        pytest.param(
            [row("a", workload=""), row("b", workload=""), row("c", workload="")],
            [["a and 2 more", "", [""], "no room"]],
            id="without a workload",
        ),
        pytest.param([row("a"), row("a"), row("a")], [["a", WEB, [""], "no room"]], id="one pod in several rows"),
        pytest.param(
            [row("a"), row("b", workload="Job/b"), row("c", why="cordoned")],
            [row("a"), row("b", workload="Job/b"), row("c", why="cordoned")],
            id="three that differ",
        ),
    ],
)  # fmt: skip
def test_rows_that_are_alike_become_one(rows: list[Any], folded: list[Any]) -> None:
    assert [*fold(Table(columns(HEADS), rows)).rows] == folded


def test_of_few_rows_the_copies_of_a_workload_become_one() -> None:
    rows = [row("a"), row("x", workload=""), row("b"), row("y", workload="")]
    folded, members = fold_with_members(Table(columns(HEADS), rows), 20, copies=True)
    assert members == [[0, 2], [1], [3]]
    assert [each[0] for each in folded.rows] == ["2 pods of Deployment/web", "x", "y"]
    assert fold_with_members(Table(columns(HEADS), rows), 4, copies=True)[1] == [[0, 2], [1], [3]]
    assert fold_with_members(Table(columns(HEADS), rows), 20)[1] == [[0], [1], [2], [3]]
    assert fold_with_members(Table(columns(HEADS), rows), 3)[1] == [[0, 2], [1, 3]]


def test_rows_of_another_tone_stay_apart() -> None:
    table = Table(
        columns("Name: same=thing; Why"),
        [["a", "x"], ["b", "x"], ["c", "x"], ["d", "x"]],
        row_tones={1: "bad", 3: "bad"},
    )
    folded = fold(table)
    assert [*folded.rows] == [["a and 1 more", "x"], ["b and 1 more", "x"]]
    assert folded.row_tones == {1: "bad"}


def test_a_long_text_stands_once() -> None:
    long, short = "x" * 61, "y" * 60
    table = Table(
        columns("Pod; Why: once; Note"),
        [["a", long, long], ["b", short, ""], ["c", short, ""], ["d", long, ""], ["a", long, ""]],
    )
    assert [each[1] for each in quote_once(table).rows] == [long, short, short, "for the same reasons as a", long]
    assert [each[2] for each in quote_once(table).rows] == [long, "", "", "", ""]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        pytest.param([], [0, 1, 2, 3], id="without rows every column is there"),
        pytest.param([["", "", 0, []]], [0, 2], id="the first always, and a number 0"),
        pytest.param([["", "", 0, []], ["", 1, 0, ["x"]]], [0, 1, 2, 3], id="what some row has"),
    ],
)
def test_empty_columns_are_left_out(rows: list[Any], shown: list[int]) -> None:
    table = Table(columns("A; B: number hides_zeros; C: number; D: list; E: page"), rows)
    assert filled_columns(table, lambda place: place == "everywhere") == shown
