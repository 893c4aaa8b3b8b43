"""`ksched plugins [NAME]`: what each plugin does, or one in full (`Simulator.plugins`, `plan/reference/plugins.py`).
Plugins of --plugin are listed, too."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import takes_groups
from ksched_cli.cli.showing import show
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT
from ksched_cli.simulator import RunOptions, Simulator

HELP = """What each plugin does, its extension points, its default weight, its arguments, and the events that make
kube-scheduler retry a pod that it rejected."""
EPILOG = f"""Examples:

  ksched plugins
  ksched plugins {NODE_RESOURCES_FIT}
  ksched plugins -o json --kube-version 1.33"""


@takes_groups
def plugins(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One plugin, in full.")] = None,
    kube_version: options.KubeVersion = "auto",
    feature_gates: options.FeatureGates = "",
    plugin: options.PluginOption = [],  # noqa: B006  # typer takes the default from here and never changes it
    output: Annotated[str, options.FormatOption("PluginList")] = "table",
) -> None:
    run = RunOptions(kube_version=kube_version, feature_gates=feature_gates, plugins=plugin)
    found = Simulator.plugins(name, run)
    show(found, output, warnings=found.warnings)
