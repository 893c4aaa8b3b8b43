"""`ksched size`: which nodes to buy for the pending pods (`Simulator.size`); `size catalog` and `size schema` are about
its file of shapes. Exit code 1 if a pod has no node on the nodes bought."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from ksched_cli.cli import options
from ksched_cli.cli.groups import AutoscaledRun, PodSelectionRun, takes_groups
from ksched_cli.cli.help_layout import HelpCommand, HelpGroup
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, show
from ksched_cli.cli.streams import print_json
from ksched_cli.simulator import Simulator, parse_seconds

HELP = """The cheapest nodes of a catalog to add so that kube-scheduler places every pending pod and every manifest.

A mixed-integer program proposes sets of nodes in the order of their cost, and the scheduler tries each of them: a set
that leaves a pod without a node is no answer. The cost comes with a proven lower bound, and with the reason why the
next cheaper set fails. DaemonSets take their share of each new node.

--catalog names the shapes that can be bought. Without it they are the instance types that the NodePools of Karpenter
allow, with their prices. `ksched size catalog` makes a catalog of the cluster's own nodes and of
the node groups of its autoscalers, and `ksched size schema` prints a JSON Schema."""

EPILOG = """Examples:

  ksched size catalog --from cluster.json --rate cpu=0.04,memory=0.005 > shapes.yaml

  ksched size --from cluster.json --catalog shapes.yaml

  ksched size --from cluster.json -f deployment.yaml --catalog shapes.yaml -o json

  ksched size --from cluster.json --scale deploy/shop/web=50 --catalog shapes.yaml --time-limit 5

Exit codes: 0 every pod has a node on the nodes bought, 1 some pod has none, 2 the input or the command line is wrong,
3 the cluster could not be read."""

CATALOG_HELP = """A catalog of the shapes that a cluster shows, as YAML for `ksched size --catalog`.

The shapes are the instance types of the nodes, the instance types that Karpenter NodePools allow and a node or a
NodeClaim shows, and the node groups of Cluster API with annotations to scale from zero. Nodes of one instance type with
other labels, taints or sizes are shapes of their own, named by what differs. The amounts of a shape are the least that
one of its nodes can allocate; labels that name nodes one by one are left out.

Prices are not in a cluster: give them with --price, compute them with --rate, or fill them in.

Examples:

  ksched size catalog --from cluster.json > shapes.yaml

  ksched size catalog --from cluster.json --price m5.large=0.096 --rate cpu=0.04,memory=0.005"""

SCHEMA_HELP = """A JSON Schema of catalogs, for editors.

Examples:

  ksched size schema > catalog.schema.json"""

app = typer.Typer(cls=HelpGroup, no_args_is_help=False, invoke_without_command=True)

CatalogFile = Annotated[
    str, typer.Option("--catalog", metavar="FILE", help="The shapes that can be bought, with prices.")
]
TimeLimit = Annotated[
    str, typer.Option("--time-limit", metavar="TIME", help="How long to search, as 20s or 500ms; the best set so far.")
]
Greedy = Annotated[bool, typer.Option("--greedy", help="Search without a solver, as if highspy were not installed.")]
NoSpot = Annotated[bool, typer.Option("--no-spot", help="Leave out the shapes that the catalog marks as spot.")]
Prices = Annotated[list[str], typer.Option("--price", metavar="SHAPE=PRICE", help="The price of one node of a shape.")]
Rate = Annotated[
    str,
    typer.Option(
        "--rate",
        metavar="cpu=A,memory=B",
        help="Compute prices that are not given: so much for a core, and for a GiB of memory.",
    ),
]
Output = Annotated[str, options.FormatOption("Sizing")]
CatalogOutput = Annotated[str, options.FormatOption("DerivedCatalog")]


@app.callback()
@takes_groups
def size(
    chosen: typer.Context,
    given: AutoscaledRun,
    catalog: CatalogFile = "",
    time_limit: TimeLimit = "20s",
    greedy: Greedy = False,
    no_spot: NoSpot = False,
    output: Output = "table",
    exit_zero: options.ExitZero = False,
    no_headers: options.NoHeaders = False,
) -> None:
    if chosen.invoked_subcommand is not None:
        return
    run = given.read()
    simulator = Simulator.of(replace(run, allow_empty=True))
    found = simulator.size(
        catalog or None,
        time_limit=parse_seconds(time_limit, "--time-limit"),
        greedy=greedy,
        spot=not no_spot,
        allow_empty=run.allow_empty,
    )
    show(found, output, warnings=found.warnings, headers=not no_headers, zones=simulator.zones)
    raise typer.Exit(0 if found.fits or exit_zero else SOME_DO_NOT_FIT)


@app.command(
    "catalog", cls=HelpCommand, help=CATALOG_HELP, short_help="Make a catalog of a cluster's nodes and node groups."
)
@takes_groups
def catalog(
    given: PodSelectionRun,
    price: Prices = [],  # noqa: B006  # typer reads the default
    rate: Rate = "",
    output: CatalogOutput = "yaml",
) -> None:
    found = Simulator.of(replace(given.read(), allow_empty=True)).size_catalog(prices=price, rates=rate)
    show(found, output, warnings=found.warnings)


@app.command("schema", cls=HelpCommand, help=SCHEMA_HELP, short_help="Print a JSON Schema of catalogs.")
def schema() -> None:
    print_json(Simulator.file_schema("catalog"))
