"""Renders reason codes: all in a line each, or some with their meaning and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.framework.reasons import ReasonCode
from ksched_cli.plan.reasons.codes import plugins_of
from ksched_cli.plan.reference.explain_code import ReasonCodes
from ksched_cli.report.console import Column, Grid, make_console
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.documents import entry_of


def codes_document(found: ReasonCodes, options: RenderOptions) -> list[dict[str, Any]]:
    keys = "code name level title meaning advice"
    return [{**entry_of(each, keys), "plugins": list(plugins_of(each))} for each in found.codes]


def print_reason_codes(found: ReasonCodes, out: TextIO, options: RenderOptions) -> None:
    console = make_console(options.width, out)
    if not found.in_full:
        _print_lines(found.codes, console)
        return
    for number, each in enumerate(found.codes):
        if number:
            console.print()
        _print_code(each, console)


def _print_code(code: ReasonCode, console: Console) -> None:
    """Print a code with its meaning and what to do."""
    console.print(Text.assemble((f"{code.code} {code.name}", "bold"), f"  ({code.level})"))
    console.print(Text(f"{code.title[0].upper()}{code.title[1:]}."))
    console.print()
    console.print(Text(code.meaning))
    console.print()
    console.print(Text("What to do:", style="bold"))
    for each in code.advice:
        console.print(Padding(Text(f"- {each}"), (0, 0, 0, 2)))
    plugins = plugins_of(code)
    if plugins:
        console.print()
        console.print(Text(f"Reported by {', '.join(plugins)}.", style="dim"))


def _print_lines(codes: Sequence[ReasonCode], console: Console) -> None:
    table = Grid(Column(style="bold"), Column(), Column(flows=True))
    for each in codes:
        table.add(each.code, each.name, each.title)
    console.print(table)
