"""`ksched explain-code [CODE]...`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.cli.printing import print_text
from ksched_cli.errors import Problem, UsageError

if TYPE_CHECKING:
    from ksched_cli.plan.codes import ReasonCode

SHORT = "What a reason code of `check` means, and what to do."
HELP = """What the reason codes of `ksched check` mean and what to do; all of them in a line each, or those
that are named.

A code never changes its meaning. Its name will do as well."""
EPILOG = """Examples:

  ksched explain-code

  ksched explain-code KS104

  ksched explain-code rollout-deadlock untolerated-taint

  ksched explain-code -o json"""


class CodeOutput(StrEnum):
    TABLE = "table"
    JSON = "json"


Codes = Annotated[list[str], typer.Argument(metavar="CODE", show_default=False, help="Codes or their names.")]
Output = Annotated[CodeOutput, typer.Option("-o", "--output", help="table for people, json for programs.")]


def explain_code(
    codes: Codes = [],  # noqa: B006  # typer takes the default from here and never changes it
    output: Output = CodeOutput.TABLE,
) -> None:
    from ksched_cli.plan.codes import all_codes

    found = find_codes(codes) if codes else list(all_codes().values())
    if output is CodeOutput.JSON:
        from ksched_cli.report.check_document import code_entry
        from ksched_cli.report.encoding import json_text

        print_text(json_text([code_entry(each) for each in found], indent=2))
        return
    from ksched_cli.report.check_table import print_code, print_codes
    from ksched_cli.report.console import make_console

    console = make_console()
    if not codes:
        print_codes(all_codes(), console)
    for number, each in enumerate(found if codes else ()):
        if number:
            console.print()
        print_code(each, console)


def find_codes(texts: Sequence[str]) -> list[ReasonCode]:
    """All that are unknown at once, with the nearest names."""
    from ksched_cli.plan.codes import all_codes, find_code

    found = [find_code(text) for text in texts]
    known = all_codes()
    names = [*known, *(each.name for each in known.values())]
    problems = []
    for text, each in zip(texts, found, strict=True):
        if each is None:
            close = _nearest(text, names)
            hint = f"did you mean {' or '.join(close)}?" if close else "`ksched explain-code` lists them all"
            problems.append(Problem(f"there is no code {text}", hint=hint))
    if problems:
        raise UsageError(problems)
    return [each for each in found if each is not None]


def _nearest(text: str, names: list[str]) -> list[str]:
    """Codes by their number, names by their letters."""
    digits = text.upper().removeprefix("KS")
    if digits.isdecimal():
        codes = [name for name in names if name.startswith("KS")]
        return sorted(sorted(codes, key=lambda code: abs(int(code[2:]) - int(digits)))[:2])
    return difflib.get_close_matches(text.lower(), names, 3, 0.5)
