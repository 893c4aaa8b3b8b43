"""From a result to the screen, and to the exit code."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ksched_cli.cli.printing import command_line

SOME_DO_NOT_FIT = 1
# How many of the best nodes are shown, and how many with -o wide and on a page.
_TOP, _TOP_WIDE, _TOP_OF_PAGE = 3, 10, 5


def show(
    result: object, output: str, *, headers: bool = True, timeline: bool = False, node_answers: bool = False
) -> None:
    """Write the result to stdout."""
    from ksched_cli.report.registry import RenderOptions, render

    options = RenderOptions(output, headers, None, timeline, node_answers, command_line.get())
    render(result, sys.stdout, options)


def top_nodes(output: str, *, node_answers: bool = False) -> int:
    if node_answers:
        return _TOP_OF_PAGE
    return _TOP_WIDE if output == "wide" else _TOP


@contextmanager
def collector_off() -> Iterator[None]:
    """For loading: what is loaded stays to the end, so that the garbage collector need not look at it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
