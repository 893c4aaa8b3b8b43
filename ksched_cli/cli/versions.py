"""`ksched versions [X.Y]`: the modelled minors (`Simulator.versions`), or what one of them changed
(`Simulator.version_changes`). The sentences stand with the rules, each a `Rule`."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.cli import options
from ksched_cli.cli.groups import takes_groups
from ksched_cli.cli.showing import show
from ksched_cli.errors import UsageError
from ksched_cli.simulator import Simulator

HELP = """Which minors of Kubernetes are modelled, or what one of them changed: the rules of plugins and of
kube-scheduler itself, feature gates, what it reads of its configuration, and API versions that are no longer served.
`ksched diff` names the same changes where they move a pod."""
EPILOG = """Examples:

  ksched versions
  ksched versions 1.34
  ksched versions 1.34 -o json"""


@takes_groups
def versions(
    version: Annotated[str | None, typer.Argument(metavar="[X.Y]", help="One minor: what it changed.")] = None,
    output: Annotated[str, options.FormatOption("VersionList")] = "table",
) -> None:
    if version is None:
        show(Simulator.versions(), output)
    elif output == "name":
        raise UsageError("-o name lists the minors; it goes without one")
    else:
        show(Simulator.version_changes(version), output)
