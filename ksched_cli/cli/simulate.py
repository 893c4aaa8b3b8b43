"""`ksched simulate`."""

from __future__ import annotations

import typer

from ksched_cli.cli import options
from ksched_cli.cli.edit_options import EDITS_HELP, EditOptions
from ksched_cli.cli.groups import ClusterOptions, LiveClusterOptions, SchedulerOptions, make_setup, takes_groups
from ksched_cli.cli.running import Shown, run_and_show
from ksched_cli.cli.scenario import run_scenario_and_show
from ksched_cli.cli.settle import SettleOptions, settle_and_show

SHORT = "Place every pending pod and show why."
HELP = """Every pending pod through one scheduling cycle: which nodes fail and why, the scores, the chosen node.

Pods are tried in kube-scheduler's order, each with the placements before it in force. Nothing is bound.
Workloads of -f become pods, as far as they do not run already, and go through admission first; those of --from are
left alone, for a cluster that was read has its pending pods.

"""
HELP += EDITS_HELP + " `ksched diff` shows what an edit moves."

EPILOG = """Examples:

  ksched simulate

  ksched simulate --context staging -n shop

  kubectl get nodes,pods,namespaces -A -o json > cluster.json

  ksched simulate --from cluster.json

  ksched simulate --from cluster.json -f deployment.yaml -o wide

  ksched simulate --from dump/ --config scheduler.yaml -o json --detail full

  ksched simulate --from cluster.json --kube-version 1.33

  helm template shop | ksched simulate --from cluster.json -f -

  ksched simulate --from cluster.json --drain node-1 --clone-node node-2=3

  ksched simulate --from cluster.json --scale deployment/web=5 --add-node cpu=8,memory=32Gi,zone=a

  ksched simulate --from cluster.json --scenario lose-a-zone.yaml

  ksched simulate --from cluster.json -f urgent.yaml --settle --max-time 30m

  ksched simulate --from cluster.json --config scheduler.yaml --allow-extenders

  ksched simulate --from cluster.json --config scheduler.yaml --plugin fast_disk:FastDisk

Exit codes: 0 every pod fits, 1 some pod does not, 2 the input or the command line is wrong,
3 the cluster could not be read, 4 an expectation of the scenario failed."""


@takes_groups
def simulate(
    cluster: ClusterOptions,
    live: LiveClusterOptions,
    scheduler: SchedulerOptions,
    edits: EditOptions,
    settling: SettleOptions,
    output: options.OutputOption = options.Output.TABLE,
    detail: options.DetailOption = options.Detail.SUMMARY,
    timings: options.Timings = False,
    exit_zero: options.ExitZero = False,
    fail_on: options.FailOnOption = [],  # noqa: B006  # typer takes the default from here and never changes it
    no_headers: options.NoHeaders = False,
) -> None:
    setup = make_setup(cluster, live, scheduler, edits, timings=timings)
    settling.check()
    shown = Shown(output, detail, headers=not no_headers, exit_zero=exit_zero, fail_on=fail_on)
    if setup.scenario is not None:
        raise typer.Exit(run_scenario_and_show(setup, settling.limits(), shown, timeline=settling.settle))
    if settling.settle:
        raise typer.Exit(settle_and_show(setup, settling.limits(), shown))
    raise typer.Exit(run_and_show(setup, shown))
