"""Tables for people, and the rich console of a terminal or a file.

A column is as wide as its widest cell; only a column that flows is wrapped. Where a row does not fit the width, the
columns that flow stand below the row, indented, behind the other columns for which the row has no room. No word of a
header is broken."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TextIO, TypeAlias, cast

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import strip_control_codes
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from ksched_cli.report.registry import PlainText

# A cell without styles is a str, because a table may have 200,000 rows.
_Cell: TypeAlias = str | Text

_GAP = 2
_INDENT = 4
# The least width of columns that flow, unless their text is narrower. _NARROWEST suits short texts only.
_NARROW, _NARROWEST = 28, 16
# If the rows take more lines each, columns that flow stand below if that saves a third of the lines.
_TALL = 2


class Column(Struct, frozen=True):
    """`flows`: its cells are wrapped. `right`: they are aligned to the right. `hides_zeros`: the column is left out if
    each cell is 0 or empty. `optional`: it is left out if the table has fewer lines without it."""

    title: str = ""
    right: bool = False
    flows: bool = False
    hides_zeros: bool = False
    optional: bool = False
    style: str = ""


class Grid:
    """Rows of cells under the titles of their columns."""

    def __init__(self, *columns: Column, headers: bool = True) -> None:
        self._columns = columns
        self._headers = headers and any(each.title for each in columns)
        self._rows: list[list[_Cell]] = []

    def add(self, *cells: str | Text, style: str = "") -> None:
        """A row. `style` is for all of its cells that have none."""
        row: list[_Cell] = []
        for cell, column in zip(cells, self._columns, strict=True):
            if not style and not column.style:
                row.append(_stripped(cell) if isinstance(cell, str) else cell)
                continue
            text = cell.copy() if isinstance(cell, Text) else Text(cell)
            text.style = text.style or style or column.style
            row.append(text)
        self._rows.append(row)

    def __len__(self) -> int:
        return len(self._rows)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in map(_as_text, self.lines(console, options.max_width)):
            line.no_wrap, line.overflow, line.end = True, "ignore", "\n"
            yield line

    def plain_lines(self, console: Console, width: int) -> Iterator[str]:
        """The table as lines without styles."""
        return map(_plain, self.lines(console, width))

    def lines(self, console: Console, width: int) -> list[_Cell]:
        """The table as lines. A line without styles may be a str."""
        shown = [
            number
            for number, column in enumerate(self._columns)
            if not (column.hides_zeros and all(_plain(row[number]) in ("", "0") for row in self._rows))
        ]
        lines = self._lines(shown, console, width)
        needed = [number for number in shown if not self._columns[number].optional]
        # With a line for each row the table cannot be shorter.
        if len(needed) == len(shown) or len(lines) <= len(self._rows) + self._headers:
            return lines
        shorter = self._lines(needed, console, width)
        return shorter if len(shorter) < len(lines) else lines

    def _lines(self, shown: Sequence[int], console: Console, width: int) -> list[_Cell]:
        columns = [self._columns[number] for number in shown]
        every = len(shown) == len(self._columns)
        rows = self._rows if every else [[row[number] for number in shown] for row in self._rows]
        titles = [[Text(column.title, style="dim") for column in columns]] if self._headers else []
        return _Layout(columns, [*titles, *rows], width).lines(console)


@dataclass
class _Layout:
    """The layout of the cells of a table in a given width."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[_Cell]]
    width: int

    @cached_property
    def _widths(self) -> list[int]:
        return [
            max((width_of(line) for row in self.rows for line in _plain(row[number]).split("\n")), default=0)
            for number in range(len(self.columns))
        ]

    @cached_property
    def _flowing(self) -> list[int]:
        return [number for number, column in enumerate(self.columns) if column.flows]

    @cached_property
    def _fixed(self) -> list[int]:
        return [number for number in range(len(self.columns)) if number not in self._flowing]

    @cached_property
    def _words(self) -> dict[int, int]:
        """The width of the longest word of each column that flows: names are whole, unless no line has room for one."""
        room = self.width - _INDENT
        texts = ({_plain(row[number]) for row in self.rows} for number in self._flowing)
        longest = [max((width_of(word) for text in each for word in text.split()), default=0) for each in texts]
        return {number: word if word <= room else 0 for number, word in zip(self._flowing, longest, strict=True)}

    def _span(self, numbers: Iterable[int]) -> int:
        """The width of these columns, including the gap behind each."""
        return sum(self._widths[number] + _GAP for number in numbers)

    def flow_widths(self, narrowest: int) -> dict[int, int] | None:
        """The widths of the columns that flow beside the others; None if one would be narrower than `narrowest`."""
        left = self.width - self._span(self._fixed) - _GAP * max(len(self._flowing) - 1, 0)
        wanted = {number: self._widths[number] for number in self._flowing}
        if sum(wanted.values()) <= left:
            return wanted
        widths = {number: min(width, max(narrowest, self._words[number])) for number, width in wanted.items()}
        spare = left - sum(widths.values())
        if spare < 0:
            return None
        for number in sorted(self._flowing, key=lambda number: wanted[number]):
            more = min(wanted[number] - widths[number], spare)
            widths[number] += more
            spare -= more
        return widths

    def lines(self, console: Console) -> list[_Cell]:
        """All rows. Narrow columns stand beside the others only if that takes fewer lines."""
        wide, narrow = self.flow_widths(_NARROW), self.flow_widths(_NARROWEST)
        beside = [] if wide is None else [line for row in self.rows for line in self._beside(row, wide, console)]
        if wide is not None and len(beside) <= _TALL * len(self.rows):
            return beside
        below = [line for row in self.rows for line in self._below(row, console)]
        if wide is not None:
            return below if 3 * len(below) < 2 * len(beside) else beside
        if narrow is None:
            return below
        beside = [line for row in self.rows for line in self._beside(row, narrow, console)]
        return beside if len(beside) < len(below) else below

    @cached_property
    def _above(self) -> list[int]:
        """The fixed columns that stand in the first line of a row if the others stand below."""
        first, *others = self._fixed or [0]
        shown, left = [first], self.width - self._widths[first]
        for number in others:
            if self._widths[number] + _GAP <= left:
                shown.append(number)
                left -= self._widths[number] + _GAP
        return shown

    def _below(self, row: Sequence[_Cell], console: Console) -> Iterator[_Cell]:
        """The fixed columns that fit, and below them the other fixed columns before the text that flows."""
        for line in self._beside(row, {}, console, self._above):
            yield from _wrapped(_as_text(line), self.width, 0, console)
        others = [(self.columns[number], _as_text(row[number])) for number in self._fixed if number not in self._above]
        beside = [
            cell for column, cell in others if cell.plain.strip() and not (column.hides_zeros and cell.plain == "0")
        ]
        for number in self._flowing:
            text = _as_text(row[number])
            joined = Text(" " * _GAP).join([*beside, *([text] if text.plain.strip() else [])])
            yield from _wrapped(joined, self.width, _INDENT, console)
            beside = []
        if beside:
            yield from _wrapped(Text(" " * _GAP).join(beside), self.width, _INDENT, console)

    def _beside(
        self, row: Sequence[_Cell], widths: Mapping[int, int], console: Console, numbers: Sequence[int] | None = None
    ) -> Iterator[_Cell]:
        """The lines of the row, or of some of its columns. Wrapped cells make columns of several lines."""
        plain = console.color_system is None
        shown = range(len(self.columns)) if numbers is None else numbers
        cells = [self._cell(_plain(row[at]) if plain else row[at], at, widths.get(at), console) for at in shown]
        for index in range(max(map(len, cells), default=0)):
            line = [
                each[index] if index < len(each) else " " * widths.get(at, self._widths[at])
                for at, each in zip(shown, cells, strict=True)
            ]
            yield _joined(line)

    def _cell(self, cell: _Cell, number: int, flow: int | None, console: Console) -> Sequence[_Cell]:
        """The lines of a cell, as wide as its column; `flow` is the width of a column that flows."""
        width = self._widths[number] if flow is None else flow
        right = self.columns[number].right and flow is None
        if isinstance(cell, str) and (lines := _plain_lines(cell, width, right, flow is not None)) is not None:
            return lines
        text, padded = _as_text(cell), []
        for each in (text.split("\n") if flow is None else text.wrap(console, max(width, 1))) or [Text()]:
            line = each.copy()
            if flow is not None:
                line.rstrip()
            (line.pad_left if right else line.pad_right)(max(width - line.cell_len, 0))
            padded.append(line)
        return padded


def _plain_lines(text: str, width: int, right: bool, flows: bool) -> list[str] | None:
    """The lines of a cell without styles, made without rich; None if only rich can lay it out."""
    if "\n" in text or text.startswith(" "):
        return None
    space = width - width_of(text)
    if space >= 0:
        return [" " * space + text if right else text + " " * space]
    can_wrap = flows and width > 0 and text.isascii() and text.isprintable()
    return [line.ljust(width) for line in wrapped_words(text, width)] if can_wrap else None


def wrapped_words(text: str, width: int) -> list[str]:
    """The lines of a text without control codes and wide characters, broken between words as rich breaks it
    (`divide_line`); a word that is wider than a line is cut."""
    starts, used, at = [0], 0, 0
    for found in _WORD.finditer(text):
        start, word = found.start(), found.group()
        length = len(word.rstrip())
        if length <= width - used:
            used += len(word)
        elif length > width:
            for at in range(start, start + len(word), width):
                if at:
                    starts.append(at)
            used = start + len(word) - at
        elif used and start:
            starts.append(start)
            used = len(word)
    return [text[one:other].rstrip() for one, other in pairwise([*dict.fromkeys(starts), len(text)])]


_WORD = re.compile(r"\s*\S+\s*")


def width_of(text: str) -> int:
    """The number of columns that the text takes on a terminal."""
    return len(text) if text.isascii() else cell_len(text)


def _stripped(text: str) -> str:
    """The text without control codes; the same object if it has none."""
    stripped = strip_control_codes(text)
    return text if stripped == text else stripped


def _plain(cell: _Cell) -> str:
    return cell if isinstance(cell, str) else cell.plain


def _as_text(cell: _Cell) -> Text:
    return Text(cell) if isinstance(cell, str) else cell


def _joined(cells: Sequence[_Cell]) -> _Cell:
    texts = [cell for cell in cells if isinstance(cell, str)]
    if len(texts) == len(cells):
        return (" " * _GAP).join(texts).rstrip()
    line = Text(" " * _GAP).join(map(_as_text, cells))
    line.rstrip()
    return line


def _wrapped(text: Text, width: int, indent: int, console: Console) -> Iterator[Text]:
    """The text in indented lines. Without an indent, the lines after the first are indented. An empty text has no
    line."""
    if not text.plain.strip():
        return
    more = _INDENT if not indent and text.cell_len > width else 0
    for number, line in enumerate(text.wrap(console, max(width - indent - more, 1))):
        line.rstrip()
        line.pad_left(indent + (more if number else 0))
        yield line


# The width of tables in pipes, files and CI logs, which have none.
PLAIN_WIDTH = 120
_LEAST_WIDTH = 40
_HANGING_INDENT = "    "
# `visible` writes escapes that begin with it. No valid name contains it.
_ESCAPE = "\\"


_PADDING = re.compile(r" +(?=(?:\x1b\[[0-9;]*m)*$)", re.MULTILINE)


class _Trimmed:
    """A stream that removes the padding at the end of lines."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        # The pattern looks at each space of a line, and most lines have no padding.
        is_trimmed = not ("\x1b" in text or " \n" in text or text.endswith(" "))
        return self._file.write(text if is_trimmed else _PADDING.sub("", text))

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


class _Console(Console):
    """Indents the wrapped lines of a text with escapes: no line begins in the middle of a hostile name."""

    def print(self, *objects: Any, **options: Any) -> None:
        lines = self._plain_lines(objects) if not options and not self._is_styled else None
        if lines is None:
            super().print(*map(self._indented, objects), **options)
            return
        for line in lines:
            self.file.write(f"{line.rstrip(' ')}\n")

    @cached_property
    def _is_styled(self) -> bool:
        return self.color_system is not None or self.is_terminal

    def _plain_lines(self, objects: Sequence[Any]) -> Iterable[str] | None:
        """The lines that rich would write without styles, for the usual lines and tables: rich takes 0.3 ms a line."""
        if len(objects) != 1:
            return None if objects else [""]
        shown, indent = objects[0], 0
        if isinstance(shown, Padding) and (shown.top, shown.right, shown.bottom) == (0, 0, 0):
            indent, shown = shown.left, shown.renderable
        if isinstance(shown, Grid):
            return (f"{' ' * indent}{line}" for line in shown.plain_lines(self, self.width - indent))
        if not isinstance(shown, str | Text):
            return None
        plain = shown.plain if isinstance(shown, Text) else shown
        is_line = plain.isprintable() and width_of(plain) <= self.width - indent
        return [f"{' ' * indent}{plain}"] if is_line else None

    def _indented(self, shown: Any) -> Any:
        text = Text(shown) if isinstance(shown, str) else shown
        if not isinstance(text, Text) or _ESCAPE not in text.plain or cell_len(text.plain) <= self.width:
            return shown
        lines = [text.wrap(self, self.width - len(_HANGING_INDENT)) for text in text.split("\n")]
        return Text("\n").join(Text(f"\n{_HANGING_INDENT}").join(each) for each in lines)

    def on_broken_pipe(self) -> None:
        """Raise the error, because `main` chooses the exit code. rich would end the program with exit code 1."""
        raise BrokenPipeError


_HANGING = 4


def print_hanging(console: Console, text: Text) -> None:
    """Print the text. If it takes several lines, all lines except the first are indented."""
    if text.cell_len <= console.width:
        console.print(text)
        return
    for number, line in enumerate(text.wrap(console, console.width - _HANGING)):
        line.rstrip()
        if number:
            line.pad_left(_HANGING)
        console.print(line, no_wrap=True, overflow="ignore")


def _width_behind(file: TextIO) -> int:
    """The width of lines for a file or a pipe. A pipe of a person, who has a terminal for stderr, mostly ends on that
    terminal, behind `head` or `less`: its lines are not wider than the terminal."""
    try:
        if sys.stderr.isatty() and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            return min(max(os.get_terminal_size(sys.stderr.fileno()).columns, _LEAST_WIDTH), PLAIN_WIDTH)
    except (OSError, ValueError):
        # The stream has no file, or the terminal no size.
        pass
    return PLAIN_WIDTH


def make_console(width: int | None = None, out: TextIO | None = None) -> Console:
    """A console that has colours on a terminal or with FORCE_COLOR, but not with NO_COLOR. COLUMNS sets the width."""
    file = out or sys.stdout
    terminal = file.isatty()
    columns = os.environ.get("COLUMNS", "")
    if width is None and columns.isdigit() and int(columns) > 0:
        width = max(int(columns), _LEAST_WIDTH)
    elif width is None and not terminal:
        width = _width_behind(file)
    return _Console(
        # In a notebook rich would display lines itself and write nothing.
        force_jupyter=False,
        force_terminal=False if isinstance(file, PlainText) else None,
        # An empty NO_COLOR is no wish (no-color.org), which rich knows from version 14 on.
        no_color=bool(os.environ.get("NO_COLOR")),
        file=cast(TextIO, _Trimmed(file)),
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
