"""Markdown of Views: its limits, and text that people copy."""

from __future__ import annotations

import io

import pytest

from ksched_cli.report.sinks import markdown
from ksched_cli.report.view.model import Line, Lines, Section, Step, Steps, Table, View, columns


def written(*sections: Section) -> list[str]:
    out = io.StringIO()
    markdown.write_view(View("drain", "n-1", "safe", "good", sections=sections), out)
    return out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("rows", "most", "shown", "more"),
    [
        (300, 2, 300, ""),
        (301, 2, 300, "and 1 more node"),
        (1302, 2, 300, "and 1,002 more nodes"),
        (301, None, 301, ""),
    ],
    ids=str,
)
def test_a_long_table(rows: int, most: int | None, shown: int, more: str) -> None:
    table = Table(columns("Node"), [[f"n-{number}"] for number in range(rows)], most=most, rows_are="node")
    lines = written(Section("nodes", "Nodes", table))
    assert len([line for line in lines if line.startswith("| n-")]) == shown
    assert lines[-1] == (more or f"| n-{rows - 1} |")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("kubectl drain n-1", "- `kubectl drain n-1`"),
        ("echo `date`", "- `` echo `date` ``"),
        ("echo ``date``", "- ``` echo ``date`` ```"),
    ],
)
def test_a_command_is_between_more_backticks_than_it_has(text: str, code: str) -> None:
    assert written(Section("do", "", Lines([Line(text, copied=True)])))[-1] == code


def test_as_many_lines_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of GitHub Actions takes so many bytes; a letter may have several."""
    lines = Section("do", "", Lines([Line("é"), Line("b")]))
    whole = ["### ksched drain: n-1: safe", "", "- é", "- b"]
    size = len("\n".join(whole).encode()) + 1
    monkeypatch.setattr(markdown, "MAX_BYTES", size)
    assert written(lines) == whole
    monkeypatch.setattr(markdown, "MAX_BYTES", size - 1)
    assert written(lines) == [*whole[:-1], "", "… and more than fits here: see the log."]


def test_steps_with_their_tables() -> None:
    table = Table(columns("Pod"), [["a"]])
    steps = [
        Step(
            "one",
            [Line("first"), Line("wide only", place="wide")],
            "of two",
            "safe",
            blocks=[table, Lines([Line("last")])],
        ),
        Step("two"),
    ]
    shown = ["**one** safe of two", "  - first", "", "| Pod |", "|---|", "| a |", "", "", "- last", "", "**two**"]
    for numbered, (first, second) in ((True, ("1.", "2.")), (False, ("-", "-"))):
        expected = [f"{first} {shown[0]}", *shown[1:-1], f"{second} {shown[-1]}"]
        assert written(Section("rounds", "", Steps(steps, numbered=numbered)))[2:] == expected
