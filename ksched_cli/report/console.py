"""The rich console of a terminal or a file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, TextIO, cast

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.report.grid import Grid, width_of
from ksched_cli.report.plain_text import PlainText

# The width of tables in pipes, files and CI logs, which have none.
PLAIN_WIDTH = 120
_NARROWEST = 40
_INDENT = "    "
# `visible` writes escapes that begin with it. No valid name contains it.
_ESCAPE = "\\"


_PADDING = re.compile(r" +(?=(?:\x1b\[[0-9;]*m)*$)", re.MULTILINE)


class _Trimmed:
    """A stream that removes the padding at the end of lines."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(_PADDING.sub("", text))

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
        lines = [text.wrap(self, self.width - len(_INDENT)) for text in text.split("\n")]
        return Text("\n").join(Text(f"\n{_INDENT}").join(each) for each in lines)

    def on_broken_pipe(self) -> None:
        """Raise the error, because `main` chooses the exit code. rich would end the program with exit code 1."""
        raise BrokenPipeError


def print_hanging(console: Console, text: Text, indent: int = 4) -> None:
    """Print the text. If it takes several lines, all lines except the first are indented."""
    if text.cell_len <= console.width:
        console.print(text)
        return
    for number, line in enumerate(text.wrap(console, console.width - indent)):
        line.rstrip()
        if number:
            line.pad_left(indent)
        console.print(line, no_wrap=True, overflow="ignore")


def make_console(width: int | None = None, out: TextIO | None = None) -> Console:
    """A console that has colours on a terminal or with FORCE_COLOR, but not with NO_COLOR. COLUMNS sets the width."""
    file = out or sys.stdout
    terminal = file.isatty()
    columns = os.environ.get("COLUMNS", "")
    if width is None and columns.isdigit() and int(columns) > 0:
        width = max(int(columns), _NARROWEST)
    elif width is None and not terminal:
        width = PLAIN_WIDTH
    return _Console(
        # In a notebook rich would display lines itself and write nothing.
        force_jupyter=False,
        force_terminal=False if isinstance(file, PlainText) else None,
        file=cast(TextIO, _Trimmed(file)),
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
