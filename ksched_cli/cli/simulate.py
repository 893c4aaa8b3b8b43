"""`ksched simulate`."""

from __future__ import annotations

import typer

from ksched_cli.cli import options
from ksched_cli.cli.running import Shown, run_and_show
from ksched_cli.errors import UsageError

SHORT = "Place every pending pod and show why."
HELP = """Every pending pod through one scheduling cycle: which nodes fail and why, the scores, the chosen node.

Pods are tried in kube-scheduler's order, each with the placements before it in force. Nothing is bound."""

EPILOG = """Examples:

  kubectl get nodes,pods,namespaces -A -o json > cluster.json

  ksched simulate --from cluster.json

  ksched simulate --from cluster.json --from new-pods.yaml -o wide

  ksched simulate --from dump/ --config scheduler.yaml -o json --detail full

  cat pods.yaml | ksched simulate --from cluster.json --from -

Exit codes: 0 every pod fits, 1 some pod does not, 2 the input or the command line is wrong."""


def simulate(
    sources: options.From = [],  # noqa: B006  # typer takes the default from here and never changes it
    config: options.Config = None,
    feature_gates: options.FeatureGates = "",
    output: options.OutputOption = options.Output.TABLE,
    detail: options.DetailOption = options.Detail.SUMMARY,
    tie_break: options.TieBreakOption = options.TieBreak.NAME,
    seed: options.Seed = 0,
    sampling: options.Sampling = False,
    plugin: options.PluginOption = [],  # noqa: B006
    no_reuse: options.NoReuse = False,
    timings: options.Timings = False,
    exit_zero: options.ExitZero = False,
    fail_on: options.FailOnOption = [],  # noqa: B006
    no_headers: options.NoHeaders = False,
) -> None:
    if not sources:
        raise UsageError(
            "say which cluster: --from FILE, --from DIRECTORY or --from - "
            "(reading the current kube context is not possible yet; `kubectl get nodes,pods -A -o json` makes a file)"
        )
    from ksched_cli.wiring import Setup

    setup = Setup(
        sources=sources,
        config=config,
        feature_gates=feature_gates,
        plugins=plugin,
        tie_break=tie_break.value,
        seed=seed,
        sampling=sampling,
        reuse=not no_reuse,
        timings=timings,
    )
    shown = Shown(output, detail, headers=not no_headers, exit_zero=exit_zero, fail_on=fail_on)
    raise typer.Exit(run_and_show(setup, shown))
