"""`ksched capacity`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.edit_options import EDITS_HELP, EditOptions
from ksched_cli.cli.groups import LiveClusterOptions, ManifestOptions, SchedulerOptions, make_setup, takes_groups
from ksched_cli.cli.printing import print_row, warn
from ksched_cli.cli.running import SOME_DO_NOT_FIT, show_document
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.wiring.counting import CapacityResult

SHORT = "How many more pods fit, where, and what runs out first."
HELP = """How many more pods of a manifest fit: per node and in all, what runs out first where, and what is stranded.

Replicas of each pod or workload of -f are placed one by one, each through a scheduling cycle of its own, until one
does not fit. How many replicas the manifest names does not matter; with several manifests each is counted by itself,
and with --mix sets of them are counted together. Quotas and other admission count too. Other objects of -f become part
of the cluster.

The cluster's pending pods are placed first, as `ksched simulate` would; --ignore-pending counts as if there were none.
Replicas never preempt: what is counted is the room that there is, not the room that could be made. Stranded is what
stays free on nodes that took some or are short of a resource; nodes that are closed to the pods do not count.

"""
HELP += EDITS_HELP

EPILOG = """Examples:

  ksched capacity --from cluster.json -f deployment.yaml

  ksched capacity --from cluster.json -f apps/ --mix web=3,batch=1

  kubectl get pod web-1 -o yaml | ksched capacity --from cluster.json -f -

  ksched capacity --from cluster.json -f deployment.yaml --clone-node node-1=3

  ksched capacity --from cluster.json -f deployment.yaml --max 50 -o json

Exit codes: 0 some more fit, 1 of some manifest, or of the mix, none does, 2 the input or the command line is wrong,
3 the cluster could not be read."""

Mix = Annotated[
    str,
    typer.Option(
        "--mix",
        metavar="A=3,B=1",
        help="Count sets of so many pods of which manifest, by name, or by kind/name where names are not enough.",
        show_default=False,
    ),
]
Max = Annotated[int, typer.Option("--max", min=1, metavar="N", help="Stop after so many replicas.")]
IgnorePending = Annotated[bool, typer.Option("--ignore-pending", help="Count as if none of its pods were pending.")]


@takes_groups
def capacity(
    cluster: ManifestOptions,
    live: LiveClusterOptions,
    scheduler: SchedulerOptions,
    edits: EditOptions,
    mix: Mix = "",
    limit: Max = 10_000,
    ignore_pending: IgnorePending = False,
    output: options.OutputOption = options.Output.TABLE,
    exit_zero: options.ExitZero = False,
    no_headers: options.NoHeaders = False,
) -> None:
    if not cluster.has_manifests:
        raise UsageError("say which pods to count: -f FILE with a pod or a workload")
    setup = make_setup(cluster, live, scheduler, edits)
    from ksched_cli.wiring.counting import count_capacity

    counted = count_capacity(setup, sys.stdin.buffer, mix=mix, limit=limit, pending_first=not ignore_pending)
    warn(counted.warnings)
    _show(counted, output, headers=not no_headers)
    none_fits = any(each.sets == 0 for each in counted.capacities)
    raise typer.Exit(SOME_DO_NOT_FIT if none_fits and not exit_zero else 0)


def _show(counted: CapacityResult, output: options.Output, *, headers: bool) -> None:
    from ksched_cli.report.capacity import capacity_document, print_capacities
    from ksched_cli.report.console import make_console
    from ksched_cli.report.simulate_document import stats_entry
    from ksched_cli.report.simulate_table import print_omissions

    if output is options.Output.NAME:
        for each in counted.capacities:
            for name, fits in each.fits.items():
                print_row(name, str(fits))
    elif output in (options.Output.JSON, options.Output.YAML):
        show_document(capacity_document(counted.capacities, counted.coverage, stats_entry(counted.stats)), output)
    else:
        console = make_console()
        print_capacities(counted.capacities, console, wide=output is options.Output.WIDE, headers=headers)
        print_omissions(counted.coverage, console)
