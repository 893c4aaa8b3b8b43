"""`ksched explain-code [CODE]...`: what reason codes mean (`Simulator.reason_codes`, `plan/reference/explain_code.py`).
It reads no cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import takes_groups
from ksched_cli.cli.showing import show
from ksched_cli.simulator import Simulator

HELP = """What the reason codes of `ksched check` mean and what to do; all of them in a line each, or those
that are named.

A code never changes its meaning. Its name will do as well."""
EPILOG = """Examples:

  ksched explain-code
  ksched explain-code KS104
  ksched explain-code rollout-deadlock untolerated-taint
  ksched explain-code -o json"""

Codes = Annotated[list[str] | None, typer.Argument(metavar="CODE", help="Codes or their names.")]


@takes_groups
def explain_code(
    codes: Codes = None,
    output: Annotated[str, options.FormatOption("ReasonCodes")] = "table",
) -> None:
    show(Simulator.reason_codes(*(codes or ())), output)
