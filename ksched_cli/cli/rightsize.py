"""`ksched rightsize`: the largest requests with which pods fit (`Simulator.rightsize`). Exit code 1 if a pod does not
fit as it is."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import ManifestRun, takes_groups
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, show
from ksched_cli.errors import UsageError
from ksched_cli.simulator import Simulator

HELP = """How much cpu and memory the pods of -f may request at most and still fit, now and on each shape of node.

The scheduler tries every replica with larger and smaller requests, all other pending pods among them. For each shape
the table shows how many pods fit on an empty node, how much each of them may request without one less, how little it
must request for one more, and what stays free beside them: the odd request strands it.

Shapes are those of --catalog, or the instance types of the nodes. No usage metrics are read."""

EPILOG = """Examples:

  ksched rightsize --from cluster.json -f deployment.yaml
  ksched rightsize --from cluster.json -f deployment.yaml --catalog shapes.yaml -o json

Exit codes: 0 every pod fits with the requests as they are, 1 some pod does not, 2 the input or the command line is
wrong, 3 the cluster could not be read."""

CatalogFile = Annotated[str, typer.Option("--catalog", metavar="FILE", help="The shapes to look at, with prices.")]
Output = Annotated[str, options.FormatOption("Rightsizing")]


@takes_groups
def rightsize(
    given: ManifestRun,
    catalog: CatalogFile = "",
    output: Output = "table",
    exit_zero: options.ExitZero = False,
    no_headers: options.NoHeaders = False,
) -> None:
    run = given.read()
    if not run.has_manifests:
        raise UsageError("say which pods to size: -f FILE with a pod or a workload")
    simulator = Simulator.of(run)
    found = simulator.rightsize(catalog or None)
    show(found, output, warnings=found.warnings, headers=not no_headers, zones=simulator.zones)
    raise typer.Exit(0 if found.fits or exit_zero else SOME_DO_NOT_FIT)
