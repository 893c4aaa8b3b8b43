"""Lines and tables without rich are those of rich, line by line."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.report import console as module
from ksched_cli.report.console import Column, Grid, make_console, wrapped_words
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.sinks.folding import brief_message
from ksched_cli.report.sinks.lines import write_json_line, write_lines
from tests.cli.transcripts import same_as_golden

NINE = " ".join(["ab"] * 9)

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
        patch.setattr(module, "_plain_lines", lambda *arguments: None)
        patch.setattr(module._Console, "_plain_lines", lambda *arguments: None)
        by_rich = printed(shown, width)
    assert printed(shown, width) == by_rich


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("aaaa bb", 4, ["aaaa", "bb"]),
        ("aaaaaaaaaa bb", 4, ["aaaa", "aaaa", "aa", "bb"]),
        ("aaaaaaaaaa b", 4, ["aaaa", "aaaa", "aa b"]),
        ("a bbbbbbbbb c", 4, ["a", "bbbb", "bbbb", "b c"]),
        ("aaaa aaaa", 9, ["aaaa aaaa"]),
    ],
)
def test_a_word_that_is_wider_than_a_line_is_cut(text: str, width: int, lines: list[str]) -> None:
    assert wrapped_words(text, width) == lines


@given(st.text("ab  -/", min_size=1, max_size=60).filter(lambda text: text[0] != " "), st.integers(1, 12))
@settings(deadline=None)
def test_words_are_wrapped_as_rich_wraps_them(text: str, width: int) -> None:
    wrapped = Text(text).wrap(Console(width=width), width)
    assert wrapped_words(text, width) == [line.plain.rstrip() for line in wrapped]


class Pipe(io.StringIO):
    """Counts the lines that a reader has after each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def flush(self) -> None:
        self.seen.append(len(self.getvalue().splitlines()))


def test_a_reader_has_each_line_at_once() -> None:
    rows: Any = [{"variant": number} for number in range(3)]
    pipe = Pipe()
    write_lines(rows, pipe, RenderOptions("jsonl"))
    assert (pipe.seen, pipe.getvalue()) == ([1, 2, 3], '{"variant":0}\n{"variant":1}\n{"variant":2}\n')
    pipe = Pipe()
    for row in rows[:2]:
        write_json_line(row, pipe)
    assert (pipe.seen, pipe.getvalue()) == ([1, 2], '{"variant": 0}\n{"variant": 1}\n')


def test_an_empty_line_is_an_empty_line() -> None:
    out = io.StringIO()
    make_console(80, out).print()
    assert out.getvalue() == "\n"


@pytest.mark.parametrize(
    ("message", "short"),
    [
        pytest.param(
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. no new claims to deallocate, "
            "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.",
            "1 Insufficient cpu, 2 cordoned",
            id="1.36",
        ),
        pytest.param("0/1 nodes are available: 1 Too many pods.", "1 Too many pods", id="without preemption"),
        pytest.param(
            "0/4 nodes are available: 1 Too many pods, 1 node(s) had untolerated taint {a: b}, "
            "2 node(s) had untolerated taint {c: }.",
            "1 Too many pods, 3 tainted",
            id="taints",
        ),
        pytest.param(
            "0/9 nodes are available: 1 Too many pods, 2 node(s) had taint {a: b}, that the pod didn't tolerate.",
            "1 Too many pods, 2 tainted {a: b}",
            id="one taint of an old minor",
        ),
        pytest.param(
            "0/9 nodes are available: 1 Insufficient cpu, 8 node(s) didn't satisfy plugin(s) [A, B].",
            "1 Insufficient cpu, 8 excluded by A, B",
            id="the nodes of other pods of a DaemonSet",
        ),
        pytest.param("a/b: 0/1 nodes are available: 1 Too many pods.; x", "a/b: 1 Too many pods; x", id="with more"),
        pytest.param('persistentvolumeclaim "a" not found', 'persistentvolumeclaim "a" not found', id="another text"),
    ],
)
def test_short_messages(message: str, short: str) -> None:
    assert brief_message(message) == short


def test_where_a_row_has_no_room_the_columns_that_do_not_fit_stand_before_the_text() -> None:
    grid = Grid(Column("POD"), Column("RESULT"), Column("NODE"), Column("WHY", flows=True))
    grid.add("shop/web-1", "scheduled", "a-node-with-a-very-long-name", "the only node that fits")
    grid.add("shop/web-2", "unschedulable", "", "2 Insufficient cpu")
    assert list(grid.plain_lines(make_console(40), 40)) == [
        "POD         RESULT",
        "    NODE  WHY",
        "shop/web-1  scheduled",
        "    a-node-with-a-very-long-name  the",
        "    only node that fits",
        "shop/web-2  unschedulable",
        "    2 Insufficient cpu",
    ]


def layouts() -> Iterator[tuple[str, Grid]]:
    """Tables of every kind of column, with rows that take several lines where there is little room."""
    why = "2 nodes lack cpu, 1 node has taint dedicated=gpu:NoSchedule and 3 nodes are cordoned"
    pods = Grid(Column("POD"), Column("FIT", right=True), Column("ZONE", optional=True), Column("LOST", hides_zeros=True), Column("WHY", flows=True))  # fmt: skip
    pods.add("shop/web-1", "12", "europe-west-1a", "0", why)
    pods.add("shop/web-2", "3", "", "", "no room")
    yield "one column flows, one is optional, one has zeros", pods
    two = Grid(Column("NAME"), Column("MORE", flows=True), Column("WHY", flows=True), Column("LOST", hides_zeros=True))
    two.add("a", "a short text", why, "0")
    two.add("b", why, "a short text", "2")
    two.add("c", "", "", "0")
    yield "two columns flow", two
    fixed = Grid(Column("NAME"), Column("FIRST"), Column("SECOND"), Column("N", right=True))
    fixed.add("a-name-of-twenty-two-x", "another-name-of-twenty", "two\nlines", "1,000")
    fixed.add("b", "c", "d", "7")
    yield "no column flows", fixed
    facts = Grid(Column(style="dim"), Column(flows=True))
    facts.add("does", why)
    facts.add("long", "a-word-of-more-than-forty-letters-which-has-no-room-in-a-narrow-line b c")
    yield "without titles", facts
    text = Grid(Column("WHY", flows=True), headers=False)
    text.add(why)
    yield "a text alone, without its title", text
    yield "no rows", Grid(Column("A"), Column("B", hides_zeros=True), Column("C", flows=True))


def test_tables_in_lines_of_each_width() -> None:
    shown = [
        f"--- {title}, {width} columns\n{printed(grid, width)}"
        for title, grid in layouts()
        for width in (110, 80, 64, 52, 40)
    ]
    same_as_golden("grids", "".join(shown), columns=110)


@pytest.mark.parametrize(
    ("width", "name", "words", "lines"),
    [
        pytest.param(84, 50, 11, ["{name}  {words}"], id="it just fits"),
        pytest.param(83, 50, 11, ["{name}  ab ab ab ab ab ab ab ab ab ab", " " * 52 + "ab"], id="it does not fit"),
        pytest.param(
            80,
            50,
            25,
            ["{name}  " + NINE, " " * 52 + NINE, " " * 52 + "ab ab ab ab ab ab ab"],
            id="28 columns beside the name",
        ),
        pytest.param(79, 50, 25, ["{name}", "    {words}"], id="27 columns, and fewer lines below"),
        pytest.param(79, 50, 14, ["{name}", "    {words}"], id="27 columns, and as many lines below"),
        pytest.param(90, 60, 28, ["{name}", "    {words}"], id="half as many lines below"),
    ],
)
def test_where_a_text_stands(width: int, name: int, words: int, lines: list[str]) -> None:
    """A text stands beside a name of so many letters, or below it if that saves a third of the lines."""
    grid = Grid(Column(), Column(flows=True))
    grid.add("n" * name, " ".join(["ab"] * words))
    texts = {"name": "n" * name, "words": " ".join(["ab"] * words)}
    assert list(grid.plain_lines(make_console(width), width)) == [line.format(**texts) for line in lines]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (40, ["{a}  {b}", "    why why why", "{a}", "    why"]),
        (39, ["{a}", "    {b}  why", "    why why", "{a}", "    why"]),
    ],
)
def test_columns_that_stand_above_a_text(width: int, lines: list[str]) -> None:
    """As many as fit; the others, unless they are empty or hide zeros, stand before the text."""
    grid = Grid(Column(), Column(hides_zeros=True), Column(flows=True))
    grid.add("a" * 10, "b" * 28, "why why why")
    grid.add("a" * 10, "0" if width == 39 else "", "why")
    assert list(grid.plain_lines(make_console(width), width)) == [line.format(a="a" * 10, b="b" * 28) for line in lines]


@pytest.mark.parametrize(
    ("letters", "lines"),
    [
        pytest.param(36, ["name", "    {word}", "    and more"], id="a line below has room for it"),
        pytest.param(37, [f"name  {'w' * 34}", "      www and more"], id="no line has room for it"),
    ],
)
def test_a_long_word_is_whole_if_a_line_has_room_for_it(letters: int, lines: list[str]) -> None:
    grid = Grid(Column(), Column(flows=True))
    grid.add("name", f"{'w' * letters} and more")
    assert list(grid.plain_lines(make_console(40), 40)) == [line.format(word="w" * letters) for line in lines]
