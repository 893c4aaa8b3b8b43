"""`ksched plugins [NAME]`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import takes_groups
from ksched_cli.cli.printing import warn
from ksched_cli.cli.showing import show
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT

SHORT = "What each plugin does, where, and with which arguments."
HELP = """What each plugin does, its extension points, its default weight, its arguments, and the events that make
kube-scheduler retry a pod that it rejected."""
EPILOG = f"""Examples:

  ksched plugins

  ksched plugins {NODE_RESOURCES_FIT}

  ksched plugins -o json --kube-version 1.33"""

Name = Annotated[Optional[str], typer.Argument(metavar="[NAME]", show_default=False, help="One plugin, in full.")]  # noqa: UP045


Output = Annotated[str, options.FormatOption("PluginList")]


@takes_groups
def plugins(
    name: Name = None,
    kube_version: options.KubeVersion = "auto",
    feature_gates: options.FeatureGates = "",
    plugin: options.PluginOption = [],  # noqa: B006  # typer takes the default from here and never changes it
    output: Output = "table",
) -> None:
    from ksched_cli.simulator import RunOptions, Simulator

    run = RunOptions(kube_version=kube_version, feature_gates=feature_gates, plugins=plugin)
    found = Simulator.plugins(name, run)
    warn(found.warnings)
    show(found, output)
