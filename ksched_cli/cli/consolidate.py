"""`ksched consolidate`: which nodes can be removed or replaced (`Simulator.consolidate`, `plan/consolidate/`). Nothing
is drained or deleted. The exit code is 0 whether nodes can go or not."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import asdict

from ksched_cli.cli import options
from ksched_cli.cli.groups import AutoscaledRun, takes_groups
from ksched_cli.cli.showing import show
from ksched_cli.simulator import Simulator, parse_seconds

HELP = """Which nodes can be drained and deleted, one after the other, with every pod placed again by the scheduler.

Each step is carried out in a simulated cluster: the node is drained as `kubectl drain` does it, budgets are kept, and
no other pod is preempted. A step that is not safe is taken back, and the node stays. The steps are commands in an
order in which they can be run; `ksched drain` shows each of them in full.

With --catalog nodes have prices by their instance type, and a cheaper shape may replace a node. Without it Karpenter's
NodePools have the shapes and the prices, and on a cluster without NodePools every node costs 1. The cost comes with a
proven lower bound.

Nodes stay if a pod on them has cluster-autoscaler.kubernetes.io/safe-to-evict: "false" or karpenter.sh/do-not-disrupt:
"true", or if kubectl refuses to drain them: pods without a controller need --force, and pods with local storage need
--delete-emptydir-data. Nodes annotated karpenter.sh/do-not-disrupt or
cluster-autoscaler.kubernetes.io/scale-down-disabled stay too."""

EPILOG = """Examples:

  ksched consolidate --from cluster.json
  ksched consolidate --from cluster.json --catalog shapes.yaml --keep-headroom cpu=10%,memory=10%
  ksched consolidate --from cluster.json --only pool=batch --survive node=1 -o json

Exit codes: 0 the question is answered, whether nodes can go or not, 2 the input or the command line is wrong, 3 the
cluster could not be read."""


class ConsolidateOptions(Struct, frozen=True):
    """The keywords of `Simulator.consolidate`."""

    catalog: Annotated[
        str,
        typer.Option("--catalog", metavar="FILE", help="Prices of instance types, and shapes that can replace nodes."),
    ] = ""
    keep_headroom: Annotated[
        str,
        typer.Option(metavar="cpu=10%,...", help="The share of each resource that stays free on schedulable nodes."),
    ] = ""
    survive: Annotated[
        str,
        typer.Option(
            metavar="node=N|zone=N", help="Every pod still has a place after any N nodes, or zones, fail together."
        ),
    ] = ""
    only: Annotated[str, typer.Option(metavar="QUERY", help="Only nodes with these labels may go.")] = ""
    force: Annotated[
        bool, typer.Option("--force", help="As of kubectl drain: pods without a controller may be evicted.")
    ] = False
    delete_emptydir_data: Annotated[
        bool,
        typer.Option("--delete-emptydir-data", help="As of kubectl drain: pods with emptyDir volumes may be evicted."),
    ] = False
    time_limit: Annotated[str, typer.Option(metavar="TIME", help="How long to search, as 20s or 500ms.")] = "20s"

    def keywords(self) -> dict[str, Any]:
        time_limit = parse_seconds(self.time_limit, "--time-limit")
        return {**asdict(self), "catalog": self.catalog or None, "time_limit": time_limit}


@takes_groups
def consolidate(
    given: AutoscaledRun,
    wanted: ConsolidateOptions,
    output: Annotated[str, options.FormatOption("Consolidation")] = "table",
    no_headers: options.NoHeaders = False,
) -> None:
    simulator = Simulator.of(given.read())
    found = simulator.consolidate(**wanted.keywords())
    show(found, output, warnings=found.warnings, headers=not no_headers, zones=simulator.zones)
