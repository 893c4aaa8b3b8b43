"""`ksched verify`: compares ksched with the decisions of the cluster's scheduler (`Simulator.verify`). Exit code 1 if a
pod does not agree, 2 if there is nothing to compare."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from ksched_cli.cli import options
from ksched_cli.cli.groups import PodSelectionRun, takes_groups
from ksched_cli.cli.help_layout import OUTPUT
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, show
from ksched_cli.errors import InputError
from ksched_cli.simulator import Simulator

HELP = """Compares the modelled scheduler with the scheduler of the cluster, so that you know how far to trust it there.

Every running pod is scheduled again, in the order in which the pods were bound and with the earlier pods on their
nodes. Its node must be among the best. For every pending pod the scheduler wrote down why, in FailedScheduling events
and in the pod's PodScheduled condition. The newer of the two texts must be that of the answer.

The order comes from Scheduled events, which have microseconds, else from the PodScheduled condition, else from other
fields. Most times are cut to the second: within one second, ksched searches for an order that explains all placements.
The result states for how many pods the order was known, found or not found. Nodes that are younger than a placement
are no candidates for it. A node without pods that was changed later may be left out as well; the result states that.

Events are read from the cluster, or from a dump that has them. Without them, as in a snapshot, the conditions are
enough. Pods that were deleted are not in the picture, so a cluster that changes much agrees less. The cause of a
difference is stated where the cluster shows one. By default kube-scheduler looks at a part of the nodes only, in
clusters of more than 100 nodes, and it chooses among the best nodes at random."""

EPILOG = """Examples:

  ksched verify
  ksched verify --from cluster.ksched.gz -n shop
  ksched verify --config scheduler.yaml -o json

Exit codes: 0 all pods agree, or --exit-zero is given, 1 some do not, 2 the input or the command line is wrong, or no
pod was compared, 3 the cluster could not be read."""


@takes_groups
def verify(
    given: PodSelectionRun,
    output: Annotated[str, options.FormatOption("Verification")] = "table",
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit with 0 although some pod does not agree.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    simulator = Simulator.of(replace(given.read(), events=True))
    found = simulator.verify()
    show(found, output, warnings=found.warnings, zones=simulator.zones)
    if not found.compared and not exit_zero:
        raise typer.Exit(InputError.exit_code)
    differs = found.agreeing != found.compared
    raise typer.Exit(SOME_DO_NOT_FIT if differs and not exit_zero else 0)
