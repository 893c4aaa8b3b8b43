"""`ksched capacity`: how many more pods of manifests fit (`Simulator.capacity`, `plan/capacity.py`). The words are in
`report/view/capacity.py`. Exit code 1 if none of some manifest fits."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from ksched_cli.cli import options
from ksched_cli.cli.groups import AutoscaledRun, takes_groups
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, show
from ksched_cli.errors import UsageError
from ksched_cli.simulator import Simulator

HELP = """How many more pods of a manifest fit: per node and in all, what runs out first where, and what is stranded.

Replicas of each pod or workload of -f are placed one by one, each through a scheduling cycle of its own, until one
does not fit. How many replicas the manifest names does not matter; with several manifests each is counted by itself,
and with --mix sets of them are counted together. Quotas and other admission count too. Other objects of -f become part
of the cluster.

The cluster's pending pods are placed first, as `ksched simulate` would; --ignore-pending counts as if there were none.
On a cluster with Karpenter the count goes on with the nodes that it adds when --max replicas are asked for at once,
until the limits of its NodePools are used up.

Replicas never preempt: what is counted is the room that there is, not the room that could be made. Stranded is what
stays free on nodes that took some or are short of a resource; nodes that are closed to the pods do not count."""

EPILOG = """Examples:

  ksched capacity --from cluster.json -f deployment.yaml
  ksched capacity --from cluster.json -f apps/ --mix web=3,batch=1
  kubectl get pod web-1 -o yaml | ksched capacity --from cluster.json -f -
  ksched capacity --from cluster.json -f deployment.yaml --clone-node node-1=3
  ksched capacity --from cluster.json -f deployment.yaml --max 50 -o json

Exit codes: 0 some more fit, 1 of some manifest, or of the mix, none does, 2 the input or the command line is wrong,
3 the cluster could not be read."""


@takes_groups
def capacity(
    given: AutoscaledRun,
    mix: Annotated[
        str,
        typer.Option(
            metavar="A=3,B=1",
            help="Count sets of so many pods of which manifest, by name, or by kind/name where names are not enough.",
        ),
    ] = "",
    limit: Annotated[int, typer.Option("--max", min=1, metavar="N", help="Stop after so many replicas.")] = 10_000,
    ignore_pending: Annotated[
        bool, typer.Option("--ignore-pending", help="Count as if none of its pods were pending.")
    ] = False,
    output: Annotated[str, options.FormatOption("CapacityResult")] = "table",
    exit_zero: options.ExitZero = False,
    no_headers: options.NoHeaders = False,
) -> None:
    run = given.read()
    if not run.has_manifests:
        raise UsageError("say which pods to count: -f FILE with a pod or a workload")
    found = Simulator.of(replace(run.without_manifests(), allow_empty=True)).capacity(
        *run.filenames,
        reading=run.reading,
        mix=mix,
        limit=limit,
        ignore_pending=ignore_pending,
        allow_empty=run.allow_empty,
    )
    show(found, output, warnings=found.warnings, headers=not no_headers, zones=found.node_table.zones)
    none_fits = any(each.sets == 0 for each in found.capacities)
    raise typer.Exit(SOME_DO_NOT_FIT if none_fits and not exit_zero else 0)
