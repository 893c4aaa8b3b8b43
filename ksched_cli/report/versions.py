"""Minors of Kubernetes and their changes for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ksched_cli.plan.versions import Version, VersionChange
from ksched_cli.report.visible import shows_visible


@shows_visible
def print_found(found: Sequence[Version] | Sequence[VersionChange], console: Console) -> None:
    versions = [each for each in found if isinstance(each, Version)]
    changes = [each for each in found if isinstance(each, VersionChange)]
    if versions:
        print_versions(versions, console)
    elif changes:
        print_changes(changes, console)
    else:
        console.print("No rule of scheduling changed.")


@shows_visible
def print_versions(versions: Sequence[Version], console: Console) -> None:
    """One line for each minor."""
    table = _table()
    table.add_column("VERSION", no_wrap=True)
    table.add_column("CHECKED AGAINST")
    table.add_column("CONFIGURATION", ratio=1)
    table.add_column("CHANGES", justify="right")
    for each in versions:
        names = ", ".join(name.rpartition("/")[2] for name in each.configuration_versions)
        table.add_row(each.version, "recordings" if each.recorded else "source code", names, str(each.changes))
    console.print(table)


@shows_visible
def print_changes(changes: Sequence[VersionChange], console: Console) -> None:
    """One line for each change; the patch that brought it and the gate that switches it stand before the sentence."""
    table = _table()
    table.add_column("PLUGIN", no_wrap=True)
    table.add_column("ABOUT", no_wrap=True)
    table.add_column("CHANGE", ratio=1)
    for each in changes:
        gate = f"Gate {each.gate} is on by default. " if each.gate else ""
        patch = f"Since {each.patch}: " if each.patch else ""
        table.add_row("\n".join(each.plugins), "\n".join(each.about), patch + gate + each.change)
    console.print(table)


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
