"""Shortens the names of nodes for renderers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TextIO, TypeVar

from rich.text import Text

from ksched_cli.report.console import make_console
from ksched_cli.report.registry import RenderOptions

T = TypeVar("T")


def shows_nodes(render: Callable[[T, TextIO, RenderOptions], None]) -> Callable[[T, TextIO, RenderOptions], None]:
    """Decorate a renderer: its result has short names of nodes, and a note names the suffix that is left out."""

    @wraps(render)
    def of_shown(result: T, out: TextIO, options: RenderOptions) -> None:
        shown = options.nodes.shown(result)
        render(shown, out, options)
        if shown is not result:
            print_note(out, options)

    return of_shown


def print_note(out: TextIO, options: RenderOptions) -> None:
    """Print the suffix that node names are shown without."""
    note = f"node names without {options.nodes.suffix} (-o wide shows them in full)"
    make_console(options.width, out).print(Text(note, style="dim"))
