"""`ksched demo`: `ksched simulate` over a cluster that comes with ksched. The exit code is 0 even if pods do
not fit."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import takes_groups
from ksched_cli.cli.showing import ExitRules
from ksched_cli.cli.simulate import simulate_and_show
from ksched_cli.simulator import RunOptions

HELP = """A small packaged cluster, to see what ksched prints without having a cluster.

Some pods find a place, one wins a tie, two fail for different reasons, one is held back by a gate. With --autoscaled
the cluster has Karpenter, which adds nodes for most of its pods."""

EPILOG = """Examples:

  ksched demo
  ksched demo -o wide
  ksched demo --autoscaled
  ksched demo -o json --detail full"""


@takes_groups
def demo(
    autoscaled: Annotated[bool, typer.Option("--autoscaled", help="A cluster with Karpenter.")] = False,
    kube_version: options.KubeVersion = "auto",
    output: Annotated[str, options.FormatOption("Simulation", without="svg")] = "table",
    detail: options.DetailOption = options.Detail.SUMMARY,
) -> None:
    name = "demo_karpenter.yaml" if autoscaled else "demo_cluster.yaml"
    with as_file(files("ksched_cli.cli").joinpath(name)) as cluster:
        # Pods that do not fit are what the demo is about, so they are not a failure of it.
        run = RunOptions(sources=[str(cluster)], kube_version=kube_version, autoscaler="auto")
        raise typer.Exit(simulate_and_show(run, ExitRules(exit_zero=True), output, detail))
