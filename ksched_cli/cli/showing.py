"""From a result to the screen, and to the exit code."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from ksched_cli.cli.printing import command_line, warn

SOME_DO_NOT_FIT = 1
# How many of the best nodes are shown, and how many with -o wide and on a page.
_TOP, _TOP_WIDE, _TOP_OF_PAGE = 3, 10, 5
NO_ZONES: Mapping[str, str] = MappingProxyType({})


class _Held:
    """What was shown last. It is not released when its command returns: the system takes the memory of the process back
    at once, and to release the objects of a large cluster one by one takes milliseconds."""

    result: object = None


def show(
    result: object,
    output: str,
    *,
    warnings: Iterable[str] = (),
    headers: bool = True,
    timeline: bool = False,
    node_answers: bool = False,
    zones: Mapping[str, str] = NO_ZONES,
) -> None:
    """Write the warnings to stderr and the result to stdout. With the `zones`, a table on a terminal has short node
    names."""
    warn(warnings)
    from ksched_cli.report.registry import RenderOptions, render
    from ksched_cli.report.shown_nodes import ShownNodes

    short = output == "table" and sys.stdout.isatty()
    nodes = ShownNodes.shortened(zones) if short else ShownNodes(zones)
    options = RenderOptions(output, headers, None, timeline, node_answers, command_line.get(), nodes)
    _Held.result = result
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
