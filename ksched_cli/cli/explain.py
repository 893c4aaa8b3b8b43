"""`ksched explain`: why a pod is Pending or on its node (`Simulator.explain`, `plan/explain/`). Fixes are tried and
printed, never made. Exit code 1 if the pod has no place."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from ksched_cli.cli import options
from ksched_cli.cli.groups import ClusterRun, takes_groups
from ksched_cli.cli.options import DrawOptions
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, collector_off, show
from ksched_cli.simulator import Simulator

HELP = """Why this pod is Pending (or why it went there): a sentence, the smallest changes that make it fit, every node
with all plugins that reject it and the numbers behind it, the scores, what preemption looked at, and the events that
would make the scheduler try again. No change is named that was not tried in a run of its own.

The pods before it in the queue are placed first, so that the answer is that of `ksched simulate`. A pod that runs
already is looked at as if it were pending, with its place given back."""

EPILOG = """Examples:

  ksched explain --from cluster.json
  ksched explain deployment/web -n shop --from cluster.json
  ksched explain shop/web-1 --from cluster.json
  ksched explain web-1 -n shop --from cluster.json -o json
  ksched explain --from cluster.json -f pod.yaml
  ksched explain shop/web-1 --from cluster.json --node east-1
  ksched explain -n shop -l app=web
  ksched explain shop/web-1 --from cluster.json --clone-node node-2

Exit codes: 0 the pod has a place, 1 it has none, 2 the input or the command line is wrong,
3 the cluster could not be read."""


@takes_groups
def explain(
    given: ClusterRun,
    draws: DrawOptions,
    pod: Annotated[
        str | None,
        typer.Argument(
            metavar="[POD|KIND/NAME]",
            help="A pod, a workload as deploy/web or sts/db, or the beginning of a name. Without it a pod of -f, or a "
            "pending one that -n and -l select. Of several pods the first that finds no place.",
        ),
    ] = None,
    node: Annotated[
        str, typer.Option(metavar="NODE", help="Also say why not there, and which weight would change that.")
    ] = "",
    no_fixes: Annotated[
        bool,
        typer.Option(
            "--no-fixes", help="Do not look for changes that would make it fit: each is tried, which takes time."
        ),
    ] = False,
    catalog: Annotated[
        str,
        typer.Option("--catalog", metavar="FILE", help="Also name the cheapest node of this catalog that would help."),
    ] = "",
    output: Annotated[str, options.FormatOption("ExplainResult")] = "table",
    exit_zero: options.ExitZero = False,
    no_headers: options.NoHeaders = False,
) -> None:
    with collector_off():
        simulator = Simulator.of(replace(given.read(), keeps_documents=True))
    found = simulator.explain(
        pod, node=node, fixes=not no_fixes, orders=draws.orders or 0, ties=draws.ties or 0, catalog=catalog or None
    )
    show(found, output, warnings=found.warnings, headers=not no_headers, zones=simulator.zones)
    waits = found.explanation.unplaced and not (found.autoscaling and found.autoscaling.placed)
    raise typer.Exit(SOME_DO_NOT_FIT if waits and not exit_zero else 0)
