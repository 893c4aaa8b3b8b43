"""`ksched scenario schema|validate`, and what `--scenario` shows."""

from __future__ import annotations

import typer

from ksched_cli.cli.file_commands import add_file_commands
from ksched_cli.cli.help_layout import HelpGroup
from ksched_cli.cli.settle import SettleOptions
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, ExitRules, show
from ksched_cli.errors import ExpectationFailed, UsageError
from ksched_cli.simulator import RunOptions, Simulator, edit_specs

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


def run_scenario_and_show(
    run: RunOptions, settling: SettleOptions, exit_rules: ExitRules, output: str, *, headers: bool
) -> int:
    """All steps, with the timeline if it is wanted; the exit code of a failed expectation comes first."""
    if output == "name":
        raise UsageError("a scenario is shown as table, wide, json or yaml, not as name")
    assert run.scenario is not None
    simulator = Simulator.of(run)
    found = simulator.scenario(run.scenario, settling.limits())
    warnings, timeline = list(found.warnings), settling.settle or output == "html"
    if not found.settled and not settling.settle:
        from ksched_cli.report.settle import ending_line

        warnings.append(ending_line(found.settlement.world).plain)
    show(found, output, warnings=warnings, headers=headers, timeline=timeline, zones=simulator.zones)
    if found.result.failed:
        return ExpectationFailed.exit_code
    return SOME_DO_NOT_FIT if not found.settled and not exit_rules.exit_zero else 0
