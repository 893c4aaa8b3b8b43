"""Lines and tables without rich are those of rich, line by line."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ksched_cli.report import console as module
from ksched_cli.report import plain_table
from ksched_cli.report.console import make_console
from ksched_cli.report.grid import Column, Grid, _Layout

cells = st.text("ab é漢 \\x1b-", max_size=14)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    padding: Any = draw(st.sampled_from([(0, 2, 0, 0), (0, 1, 0, 1), (0, 1)]))
    table = Table(box=None, pad_edge=draw(st.booleans()), padding=padding, show_header=draw(st.booleans()))
    count = draw(st.integers(1, 4))
    for number in range(count):
        table.add_column(
            draw(st.sampled_from(["POD", "NODE", ""])),
            justify=draw(st.sampled_from(["left", "right"])),
            no_wrap=draw(st.booleans()),
            ratio=1 if number == count - 1 else None,
        )
    for _ in range(draw(st.integers(0, 6))):
        row = [draw(cells) for _ in range(count)]
        table.add_row(*(Text(cell, style="red") if draw(st.booleans()) else cell for cell in row))
    return table


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    kinds = st.builds(Column, st.sampled_from(["POD", "WHY", ""]), right=st.booleans(), flows=st.booleans())
    columns = draw(st.lists(kinds, min_size=1, max_size=4))
    grid = Grid(*columns, headers=draw(st.booleans()))
    for _ in range(draw(st.integers(0, 6))):
        grid.add(*(draw(cells) for _ in columns), style=draw(st.sampled_from(["", "red"])))
    return grid


def indented(shown: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    spaces = st.sampled_from([(0, 0, 0, 2), (0, 0, 0, 4), (0, 1, 0, 2), (1, 0, 0, 0)])
    return st.one_of(shown, st.builds(Padding, shown, spaces))


texts = st.text("ab é漢 \\\t\x1b\n-[/]:", max_size=60)
lines = st.one_of(texts, st.builds(Text, texts, style=st.sampled_from(["", "red"])))


def printed(shown: Any, width: int) -> str:
    out = io.StringIO()
    make_console(width, out).print(shown)
    return out.getvalue()


@given(st.one_of(tables(), indented(grids()), indented(lines)), st.integers(20, 90))
@settings(deadline=None)
def test_lines_are_those_of_rich(shown: Any, width: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Layout, "_plain_line", lambda *arguments: None)
        patch.setattr(module._Console, "_plain_lines", lambda *arguments: None)
        by_rich = printed(shown, width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_table, "_LONG", 0)
        assert printed(shown, width) == by_rich


def test_a_long_table_is_written_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("POD")
    for number in range(100):
        table.add_row(f"pod-{number}")
    monkeypatch.setattr(Table, "__rich_console__", lambda *arguments: pytest.fail("rich lays the table out"))
    assert printed(table, 80).splitlines() == ["POD", *(f"pod-{number}" for number in range(100))]


def test_an_empty_line_is_an_empty_line() -> None:
    out = io.StringIO()
    make_console(80, out).print()
    assert out.getvalue() == "\n"
