"""The commands `validate` and `schema` of a kind of file that ksched reads, such as a scenario or a sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from ksched_cli.cli.help_layout import HelpCommand
from ksched_cli.cli.streams import print_json, print_row
from ksched_cli.errors import InputError, Problem
from ksched_cli.simulator import Simulator

_VALIDATE_HELP = """Whether the files can be run; if not, every mistake with its line and path.

Names of {names} are checked when a {kind} runs, for that needs a cluster.

Examples:

  ksched {kind} validate {example}"""

_SCHEMA_HELP = """A JSON Schema of {kind} files, for editors.

Examples:

  ksched {kind} schema > {kind}.schema.json"""


def file_problems(files: Iterable[str], validate: Callable[[str], object]) -> list[Problem]:
    """The problems of all files. A file without a problem is printed as valid."""
    problems: list[Problem] = []
    for file in files:
        try:
            validate(file)
        except InputError as mistake:
            problems.extend(mistake.problems)
        else:
            print_row(f"{file}: valid")
    return problems


def add_file_commands(
    app: typer.Typer,
    *,
    kind: str,
    names: str,
    example: str,
    validate: Callable[[str], object],
) -> None:
    """Add both commands to the command `kind`. `validate` raises InputError. Only a run can check the `names` of a
    file."""
    help_text = _VALIDATE_HELP.format(kind=kind, names=names, example=example)
    files = typer.Argument(metavar="FILE", help=f"{kind.capitalize()} files.")

    def validate_files(given: Any) -> None:
        if problems := file_problems(given, validate):
            raise InputError(problems)

    def print_schema() -> None:
        print_json(Simulator.file_schema(kind))

    validate_files.__annotations__["given"] = Annotated[list[str], files]
    short = f"Check {kind} files, all mistakes at once."
    app.command("validate", cls=HelpCommand, help=help_text, short_help=short)(validate_files)
    app.command(
        "schema", cls=HelpCommand, help=_SCHEMA_HELP.format(kind=kind), short_help="Print a JSON Schema for editors."
    )(print_schema)
