"""`ksched instance-types [NAME]...`: what clouds sell (`Simulator.instance_types`, `plan/instance_types.py`), from
packaged data or a file; no cloud is contacted. Exit code 1 if no type matches."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import takes_groups
from ksched_cli.cli.showing import SOME_DO_NOT_FIT, show
from ksched_cli.cli.streams import print_json
from ksched_cli.errors import UsageError
from ksched_cli.simulator import RunOptions, Simulator

HELP = """Which instance types Karpenter can choose from, cheapest first, and what each leaves for pods.

The types are those of a cloud and a region, of the cloud of a dump's nodes, or of a file in the format of
--instance-types. Names and on-demand prices of EC2, Azure and Compute Engine are built in; --prices gives others.
What is left is the capacity without the share of the kubelet; DaemonSets take theirs from it. With -o json the list
is a file for --instance-types."""

EPILOG = """Examples:

  ksched instance-types --cloud ec2 --region us-east-1 'm6*.xlarge'
  ksched instance-types --from cluster.json --gpu
  ksched instance-types --instance-types types.json --prices prices.yaml -o json

Exit codes: 0 some type matches, 1 none does, 2 the input or the command line is wrong."""

_File = typer.Option(metavar="FILE", help="The instance types of this file, as JSON.")


@takes_groups
def instance_types(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Types by name; * is any text.")] = None,
    source: Annotated[
        list[str], typer.Option("--from", metavar="SOURCE", help="The cloud of the nodes in this dump.")
    ] = [],  # noqa: B006
    instance_types: Annotated[str, _File] = "",
    cloud: Annotated[str, typer.Option(metavar="CLOUD", help="The built-in types of ec2, azure or gce.")] = "",
    region: Annotated[str, typer.Option(metavar="REGION", help="The region of --cloud, for prices.")] = "",
    zone: Annotated[list[str], typer.Option(metavar="ZONE", help="Zones of --cloud. Default: the first.")] = [],  # noqa: B006
    prices: Annotated[
        str, typer.Option(metavar="FILE", help="Prices of instance types, on demand and spot, as YAML or JSON.")
    ] = "",
    arch: Annotated[str, typer.Option(metavar="ARCH", help="Types of this architecture, as arm64.")] = "",
    min_cpu: Annotated[str, typer.Option(metavar="CPU", help="Types with at least so much cpu.")] = "",
    min_memory: Annotated[str, typer.Option(metavar="MEMORY", help="Types with at least so much memory, as 8Gi.")] = "",
    gpu: Annotated[bool, typer.Option("--gpu", help="Types with a GPU or another accelerator.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print a JSON Schema of --instance-types files.")] = False,
    output: Annotated[str, options.FormatOption("InstanceTypeList")] = "table",
    no_headers: options.NoHeaders = False,
) -> None:
    if schema:
        print_json(Simulator.file_schema("instance-types"))
        return
    if sum(map(bool, (source, instance_types, cloud))) != 1:
        raise UsageError("say whose instance types: one of --cloud, --from and --instance-types")
    if (region or zone) and not cloud:
        raise UsageError("--region and --zone go with --cloud")
    run = RunOptions(sources=source, stdin=sys.stdin.buffer, instance_types=instance_types, prices=prices)
    found = Simulator.instance_types(
        run, *(names or ()), cloud=cloud, region=region, zones=zone,
        arch=arch, min_cpu=min_cpu, min_memory=min_memory, gpu=gpu,
    )  # fmt: skip
    show(found, output, headers=not no_headers)
    raise typer.Exit(0 if found.instance_types else SOME_DO_NOT_FIT)
