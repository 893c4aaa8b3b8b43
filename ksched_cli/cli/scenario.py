"""`ksched scenario schema|validate`, and what `--scenario` shows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.cli.options import Output
from ksched_cli.cli.printing import print_row, print_text, warn
from ksched_cli.cli.running import SOME_DO_NOT_FIT, Shown, show_document
from ksched_cli.errors import ExpectationFailed, InputError, Problem, UsageError
from ksched_cli.whatif.edits.lib.registry import edit_specs

if TYPE_CHECKING:
    from ksched_cli.wiring import RunOptions
    from ksched_cli.world.results import Limits

SHORT = "Scenario files: check them, get their schema."
HELP = f"""Scenario files for --scenario: steps of what-if edits, and what is expected after each.

A step may apply manifests, has the edits of the command line ({", ".join(spec.key for spec in edit_specs())}), and
expectations: schedulable, unschedulable, on, notOn, spread, noPreemption, survives. Steps are run one after the other.
After each step the run goes on until nothing moves, as --settle does: victims of preemption leave, and controllers
make new pods for them. The next step begins there."""
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


def run_scenario_and_show(setup: RunOptions, limits: Limits, shown: Shown, *, timeline: bool) -> int:
    """All steps, with the timeline if it is wanted; the exit code says whether what was expected has held."""
    from ksched_cli.report import scenario as report
    from ksched_cli.report.settle import ending_line, print_settlement, settlement_entries
    from ksched_cli.wiring.scenarios import play_scenario

    if shown.output is Output.NAME:
        raise UsageError("a scenario is shown as table, wide, json or yaml, not as name")
    run, gathered = play_scenario(setup, sys.stdin.buffer, limits=limits)
    known, end = {text for step in run.result.steps for text in step.warnings}, run.settlement.world
    warn(text for text in gathered.loaded.warnings if text not in known)
    if not end.settled and not timeline:
        warn([ending_line(end).plain])
    if shown.output in (Output.JSON, Output.YAML):
        entries = settlement_entries(end) if timeline else {}
        show_document({**report.scenario_document(run), **entries}, shown.output)
    else:
        from ksched_cli.report.console import make_console

        console, wide = make_console(shown.width), shown.output is Output.WIDE
        if timeline:
            print_settlement(end, console, wide=wide, headers=shown.headers)
            console.print()
        report.print_scenario(run.result, console, wide=wide)
    if run.result.failed:
        return ExpectationFailed.exit_code
    return SOME_DO_NOT_FIT if not end.settled and not shown.exit_zero else 0
