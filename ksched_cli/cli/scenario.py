"""`ksched scenario schema|validate`, and what `--scenario` shows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.cli.options import Output
from ksched_cli.cli.printing import print_row, print_text, warn
from ksched_cli.errors import ExpectationFailed, InputError, Problem, UsageError

if TYPE_CHECKING:
    from ksched_cli.wiring import Setup

SHORT = "Scenario files: check them, get their schema."
HELP = """Scenario files for --scenario: steps of what-if edits, and what is expected after each.

A step may apply manifests, has the edits of the command line (addNode, cloneNode, removeNode, cordon, uncordon,
drain, taint, label, scale, delete), and expectations: schedulable, unschedulable, on, notOn, spread, noPreemption,
survives. Steps are run one after the other: what one has placed is there in the next, and victims of preemption have
left."""
app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=HELP)

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Scenario files.")]

VALIDATE_HELP = """Whether the files can be run; if not, every mistake with its line and path.

Names of nodes and pods are looked at when a scenario is run, for it takes a cluster to know them.

Examples:

  ksched scenario validate lose-a-zone.yaml"""

SCHEMA_HELP = """A JSON Schema of scenario files, for editors.

Examples:

  ksched scenario schema > scenario.schema.json"""


@app.command("validate", help=VALIDATE_HELP, short_help="Check scenario files, all mistakes at once.")
def validate(files: Files) -> None:
    from ksched_cli.wiring.scenarios import check_scenario

    problems: list[Problem] = []
    for file in files:
        try:
            check_scenario(file)
        except InputError as mistake:
            problems.extend(mistake.problems)
        else:
            print_row(f"{file}: valid")
    if problems:
        raise InputError(problems)


@app.command("schema", help=SCHEMA_HELP, short_help="Print a JSON Schema for editors.")
def schema() -> None:
    from ksched_cli.report.encoding import json_text
    from ksched_cli.wiring.scenarios import scenario_schema

    print_text(json_text(scenario_schema(), indent=2))


def run_scenario_and_show(setup: Setup, output: Output) -> int:
    """All steps; the exit code tells whether what was expected has held."""
    from ksched_cli.report import scenario as report
    from ksched_cli.report.encoding import write_json, write_yaml
    from ksched_cli.wiring.scenarios import play_scenario

    if output is Output.NAME:
        raise UsageError("a scenario is shown as table, wide, json or yaml, not as name")
    result, gathered = play_scenario(setup, sys.stdin.buffer)
    known = {text for step in result.steps for text in step.warnings}
    warn(text for text in gathered.loaded.warnings if text not in known)
    if output is Output.JSON:
        write_json(report.to_document(result), sys.stdout)
    elif output is Output.YAML:
        write_yaml(report.to_document(result), sys.stdout)
    else:
        from ksched_cli.report.console import make_console

        report.print_scenario(result, make_console(), wide=output is Output.WIDE)
    return ExpectationFailed.exit_code if result.failed else 0
