"""The only place that prints lines: everything that is not a table or a document goes to stdout or stderr here."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextvars import ContextVar

# The command line that is run, for the documents that it prints.
command_line: ContextVar[str] = ContextVar("command_line", default="")


def print_row(*cells: str) -> None:
    """One line on stdout, its cells separated by tabs."""
    from ksched_cli.report.visible import visible

    print("\t".join(map(visible, cells)))  # noqa: T201


def print_text(text: str) -> None:
    """Lines on stdout that hold nothing of an input, or that a renderer has made."""
    print(text, end="" if text.endswith("\n") else "\n")  # noqa: T201


def complain(text: str) -> None:
    """One line on stderr."""
    from ksched_cli.report.visible import visible

    print(f"ksched: {visible(text)}", file=sys.stderr)  # noqa: T201


def warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        complain(f"warning: {warning}")
