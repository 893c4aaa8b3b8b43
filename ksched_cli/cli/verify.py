"""`ksched verify`."""

from __future__ import annotations

import sys

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import LiveClusterOptions, PodOptions, SchedulerOptions, make_setup, takes_groups
from ksched_cli.cli.printing import print_row, warn
from ksched_cli.cli.running import SOME_DO_NOT_FIT, show_document

SHORT = "How far the answers agree with what your cluster did."
HELP = """Holds the modelled scheduler against the one of the cluster, so that you know how far to trust it there.

Every pod that runs is scheduled again, in the order in which they were placed and with those before it where they are;
its node should be among the best. Of every pod that waits the scheduler has written down why, in FailedScheduling
events and in the pod's PodScheduled condition; the newer text should be that of the answer. Each difference comes with
what it may come from.

Events are read of the cluster, or of a dump that has them; without them, as in a snapshot, the conditions are enough.
What has been deleted since is not in the picture, so a cluster that changes much agrees less. Clusters of more than 100
nodes are searched in part by default, and ties are drawn."""

EPILOG = """Examples:

  ksched verify

  ksched verify --from cluster.ksched.gz -n shop

  ksched verify --config scheduler.yaml -o json

Exit codes: 0 all pods agree, or --exit-zero is given, 1 some do not, 2 the input or the command line is wrong,
3 the cluster could not be read."""


@takes_groups
def verify(
    cluster: PodOptions,
    live: LiveClusterOptions,
    scheduler: SchedulerOptions,
    output: options.OutputOption = options.Output.TABLE,
    exit_zero: options.ExitZeroAnyway = False,
) -> None:
    setup = make_setup(cluster, live, scheduler)
    from ksched_cli.wiring.verifying import verify as run

    verified = run(setup, sys.stdin.buffer)
    warn(verified.warnings)
    verification = verified.verification
    from ksched_cli.report.verify import print_verification, verification_document

    if output in (options.Output.JSON, options.Output.YAML):
        show_document(verification_document(verification, verified.coverage), output)
    elif output is options.Output.NAME:
        for each in (*verification.placements, *verification.pending):
            print_row(f"pod/{each.pod}", each.agreement.value)
    else:
        from ksched_cli.report.console import make_console
        from ksched_cli.report.table import print_omissions

        console = make_console()
        print_verification(verification, console, wide=output is options.Output.WIDE)
        print_omissions(verified.coverage, console)
    differs = verification.agreeing != verification.compared
    raise typer.Exit(SOME_DO_NOT_FIT if differs and not exit_zero else 0)
