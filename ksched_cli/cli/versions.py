"""`ksched versions [X.Y]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from ksched_cli.cli import options
from ksched_cli.cli.printing import print_row, print_text
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ksched_cli.plan.versions import Version, VersionChange

SHORT = "Which minors of Kubernetes are modelled, and what each changed."
HELP = """Which minors of Kubernetes are modelled, or what one of them changed: the rules of plugins and of
kube-scheduler itself, feature gates that came on, and what it reads of its configuration. `ksched diff` names the same
changes where they move a pod."""
EPILOG = """Examples:

  ksched versions

  ksched versions 1.34

  ksched versions 1.34 -o json"""

VersionGiven = Annotated[
    Optional[str],  # noqa: UP045
    typer.Argument(metavar="[X.Y]", show_default=False, help="One minor: what it changed."),
]


def versions(version: VersionGiven = None, output: options.OutputOption = options.Output.TABLE) -> None:
    from ksched_cli.plan.versions import list_changes, list_versions

    if version is not None and output is options.Output.NAME:
        raise UsageError("-o name lists the minors; it goes without one")
    if version is None:
        _show(list_versions(), output)
    else:
        _show(list_changes(version), output)


def _show(found: Sequence[Version] | Sequence[VersionChange], output: options.Output) -> None:
    import msgspec

    from ksched_cli.report import versions as report
    from ksched_cli.report.console import make_console
    from ksched_cli.report.encoding import json_text, yaml_text

    match output:
        case options.Output.JSON:
            print_text(json_text(msgspec.to_builtins(found), indent=2))
        case options.Output.YAML:
            print_text(yaml_text(msgspec.to_builtins(found)))
        case options.Output.NAME:
            for each in found:
                print_row(each.version)
        case _:
            report.print_found(found, make_console())
