"""Writes a View as one screen of a terminal, which is drawn again and again in place.

The first section is the list in which the reader chooses a row: it scrolls, so that the marked row is seen, and has the
lines that the other sections leave. A row of a table is one line, which is cut where the screen ends; sentences are
wrapped. The last line has the keys.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import structs
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ksched_cli.report.console import make_console
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.sinks.terminal import write_sections, write_view
from ksched_cli.report.view.model import Section, Table, View
from ksched_cli.report.visible import visible

# The list has at least so many lines; its empty line and its header stay while it scrolls.
_LEAST, _FIXED = 6, 2
# A width in which no row of a table is wrapped.
_NO_END = 2000


class _Drawn(io.StringIO):
    """Collects what a terminal is sent, with its colours."""

    def isatty(self) -> bool:
        return True


class Screen:
    """The screen of a terminal, between `open` and its end."""

    def __init__(self) -> None:
        # Not that of tables, which leaves spaces at the end of a line out: here they cover what was there before.
        self._console = Console(no_color=bool(os.environ.get("NO_COLOR")), highlight=False)
        self._live: Live | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """The terminal has its own screen back at the end, also after an error."""
        with Live(console=self._console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
            self._live = live
            yield

    def draw(self, view: View, keys: str, *, mark: str = "", top: int = 0, options: RenderOptions) -> None:
        """Draw the View: with a `mark`, its first section as a list, in which a row begins with it; without, all lines
        from the line `top` on."""
        assert self._live is not None
        width, height = self._console.size
        room = height - 1
        lines = listed(view, mark, width, room, options) if mark else drawn(view, width, options)[top : top + room]
        lines = [*lines[:room], *[Text()] * (room - len(lines)), Text(visible(keys).ljust(width), style="reverse")]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        self._live.update(Text("\n").join(lines), refresh=True)


def drawn(view: View, width: int, options: RenderOptions) -> list[Text]:
    """The View as lines of the terminal."""
    out = _Drawn()
    write_view(view, out, structs.replace(options, width=width))
    return _lines(out)


def _lines(out: io.StringIO) -> list[Text]:
    return [Text.from_ansi(line, no_wrap=True) for line in out.getvalue().splitlines()]


def _section(section: Section, width: int, options: RenderOptions) -> list[Text]:
    out = _Drawn()
    cut = _NO_END if isinstance(section.content, Table) else width
    write_sections([section], out, structs.replace(options, width=cut))
    return _lines(out)


def listed(view: View, mark: str, width: int, height: int, options: RenderOptions) -> list[Text]:
    """As `drawn`, in so many lines."""
    head = drawn(structs.replace(view, sections=()), width, options)
    first, *others = view.sections
    below = [_section(each, width, options) for each in others]
    rest = height - len(head)
    # The list takes what the others leave, and at least half of the screen if it needs it.
    room = max(rest // 2, _LEAST, rest - sum(map(len, below)))
    rows = _section(_around(first, mark, room - _FIXED), width, options)
    return [*head, *rows, *_shared(below, rest - len(rows))]


def _around(section: Section, mark: str, room: int) -> Section:
    """The section with so many rows around the one that begins with the mark: a list may have thousands."""
    table = section.content
    if not isinstance(table, Table) or len(table.rows) <= room:
        return section
    shown = room - 1
    at = next((number for number, row in enumerate(table.rows) if row[0] == mark), 0)
    start = min(max(at - shown // 2, 0), len(table.rows) - shown)
    hidden = len(table.rows) - shown
    rows = [*table.rows[start : start + shown], (" ", f"and {hidden:,} more", *[""] * (len(table.columns) - 2))]
    return structs.replace(section, block=structs.replace(table, rows=rows))


def _shared(sections: Sequence[Sequence[Text]], room: int) -> Iterator[Text]:
    """The sections in so many lines: the short ones whole, the long ones cut. A title without a line below is left
    out."""
    for number, lines in enumerate(sections):
        fair = max(room // (len(sections) - number), room - sum(map(len, sections[number + 1 :])))
        if fair < min(len(lines), _FIXED):
            continue
        shown = lines[:fair]
        room -= len(shown)
        yield from shown


def is_screen() -> bool:
    """Whether stdout is a terminal that can be drawn in place."""
    console = make_console()
    return console.is_terminal and not console.is_dumb_terminal
