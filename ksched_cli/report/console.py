"""The terminal as rich sees it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ksched_cli.report.grid import Grid
from ksched_cli.report.plain_table import plain_lines
from ksched_cli.report.plain_text import PlainText

# The width of tables where no terminal has a width: pipes, files, CI logs.
PLAIN_WIDTH = 120
_NARROWEST = 40
_INDENT = "    "
# Rows of a table from which on it is written without rich.
_LONG = 50
# What `visible` writes begins with it, and no valid name has it.
_ESCAPE = "\\"


_PADDING = re.compile(r" +(?=(?:\x1b\[[0-9;]*m)*$)", re.MULTILINE)


class _Trimmed:
    """Tables are padded to their width; the padding would be noise in a file, a diff or a selection."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(_PADDING.sub("", text))

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


class _Console(Console):
    """Indents the wrapped lines of a text with escapes: no line begins in the middle of a hostile name."""

    def print(self, *objects: Any, **options: Any) -> None:
        if (
            len(objects) == 1
            and not options
            and isinstance(objects[0], Table | Grid)
            and self._prints_plain(objects[0])
        ):
            return
        super().print(*map(self._indented, objects), **options)

    def _prints_plain(self, table: Table | Grid) -> bool:
        """Write a long table without rich, where that comes to the same lines."""
        size = len(table) if isinstance(table, Grid) else table.row_count
        if size < _LONG or self.color_system is not None or self.is_terminal:
            return False
        lines: Iterable[str] | None
        lines = table.plain_lines(self, self.width) if isinstance(table, Grid) else plain_lines(table, self.width)
        if lines is None:
            return False
        for line in lines:
            self.file.write(f"{line.rstrip(' ')}\n")
        return True

    def _indented(self, shown: Any) -> Any:
        text = Text(shown) if isinstance(shown, str) else shown
        if not isinstance(text, Text) or _ESCAPE not in text.plain or cell_len(text.plain) <= self.width:
            return shown
        lines = [text.wrap(self, self.width - len(_INDENT)) for text in text.split("\n")]
        return Text("\n").join(Text(f"\n{_INDENT}").join(each) for each in lines)

    def on_broken_pipe(self) -> None:
        """rich ends the program with exit code 1; the right code is for `main` to choose."""
        raise BrokenPipeError


def print_hanging(console: Console, text: Text, indent: int = 4) -> None:
    """The text. If it takes several lines, all but the first are indented."""
    if text.cell_len <= console.width:
        console.print(text)
        return
    for number, line in enumerate(text.wrap(console, console.width - indent)):
        line.rstrip()
        if number:
            line.pad_left(indent)
        console.print(line, no_wrap=True, overflow="ignore")


def make_console(width: int | None = None, out: TextIO | None = None) -> Console:
    """Colours where a terminal or FORCE_COLOR wants them and NO_COLOR does not; COLUMNS sets the width."""
    file = out or sys.stdout
    terminal = file.isatty()
    columns = os.environ.get("COLUMNS", "")
    if width is None and columns.isdigit() and int(columns) > 0:
        width = max(int(columns), _NARROWEST)
    elif width is None and not terminal:
        width = PLAIN_WIDTH
    return _Console(
        # rich would show lines in a notebook by itself and write nothing.
        force_jupyter=False,
        force_terminal=False if isinstance(file, PlainText) else None,
        file=cast(TextIO, _Trimmed(file)),
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
