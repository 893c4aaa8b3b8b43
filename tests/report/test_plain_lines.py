"""Lines and tables without rich are those of rich, line by line."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.padding import Padding
from rich.text import Text

from ksched_cli.report import console as module
from ksched_cli.report.console import Column, Grid, _Layout, make_console

cells = st.text("ab é漢 \\x1b-", max_size=14)


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


@given(st.one_of(indented(grids()), indented(lines)), st.integers(20, 90))
@settings(deadline=None)
def test_lines_are_those_of_rich(shown: Any, width: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Layout, "_plain_line", lambda *arguments: None)
        patch.setattr(module._Console, "_plain_lines", lambda *arguments: None)
        by_rich = printed(shown, width)
    assert printed(shown, width) == by_rich


def test_an_empty_line_is_an_empty_line() -> None:
    out = io.StringIO()
    make_console(80, out).print()
    assert out.getvalue() == "\n"
