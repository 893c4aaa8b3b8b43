"""The terminal as rich sees it."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO, cast

from rich.console import Console

# What a table is laid out for where no terminal says how wide it is: pipes, files, CI logs.
PLAIN_WIDTH = 120
_NARROWEST = 40


_PADDING = re.compile(r" +(?=(?:\x1b\[[0-9;]*m)*$)", re.MULTILINE)


class _Trimmed:
    """Tables are padded to their width; nobody wants the padding in a file, a diff or a selection."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(_PADDING.sub("", text))

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


def make_console(width: int | None = None, out: TextIO | None = None) -> Console:
    """Colours where a terminal or FORCE_COLOR wants them and NO_COLOR does not; COLUMNS sets the width."""
    file = out or sys.stdout
    terminal = file.isatty()
    columns = os.environ.get("COLUMNS", "")
    if width is None and columns.isdigit() and int(columns) > 0:
        width = max(int(columns), _NARROWEST)
    elif width is None and not terminal:
        width = PLAIN_WIDTH
    return Console(
        file=cast(TextIO, _Trimmed(file)), width=width, highlight=False, markup=False, emoji=False, soft_wrap=False
    )
