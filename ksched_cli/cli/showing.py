"""From a result to the screen, and to the exit code."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SOME_DO_NOT_FIT = 1
# How many of the best nodes are shown, and how many with -o wide.
_TOP, _TOP_WIDE = 3, 10


def show(result: object, output: str, *, headers: bool = True, timeline: bool = False) -> None:
    """Write the result to stdout."""
    from ksched_cli.report.registry import RenderOptions, render

    render(result, sys.stdout, RenderOptions(output, headers, timeline=timeline))


def top_nodes(output: str) -> int:
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
