"""`ksched scenario schema|validate`: the files of --scenario. `ksched simulate --scenario` runs them."""

from __future__ import annotations

import typer

from ksched_cli.cli.file_commands import add_file_commands
from ksched_cli.cli.help_layout import HelpGroup
from ksched_cli.simulator import Simulator, edit_specs

HELP = f"""Scenario files for --scenario: steps of what-if edits, and what is expected after each.

A step may apply manifests, has the edits of the command line ({", ".join(spec.key for spec in edit_specs())}), and
expectations: schedulable, unschedulable, on, notOn, spread, noPreemption, survives. Steps are run one after the other.
After each step the run goes on until nothing moves, as --settle does: victims of preemption leave, and controllers
make new pods for them. The next step begins there."""
app = typer.Typer(cls=HelpGroup, no_args_is_help=True)

add_file_commands(
    app,
    kind="scenario",
    names="nodes and pods",
    example="lose-a-zone.yaml",
    validate=Simulator.validate_scenario,
)
