"""Minors of Kubernetes, and the changes of one of them."""

from __future__ import annotations

from typing import Any, TextIO

from msgspec import to_builtins
from rich.table import Table

from ksched_cli.plan.versions import VersionChanges, VersionList
from ksched_cli.report.console import make_console
from ksched_cli.report.registry import RenderOptions, documents, renders
from ksched_cli.report.rows import write_row
from ksched_cli.report.visible import shows_visible


@documents("VersionList")
def versions_document(found: VersionList, options: RenderOptions) -> Any:
    return to_builtins(found.versions)


@renders("VersionList", "name")
def write_version_names(found: VersionList, out: TextIO, options: RenderOptions) -> None:
    for each in found.versions:
        write_row(out, each.version)


@renders("VersionList", "table", "wide")
@shows_visible
def print_versions(found: VersionList, out: TextIO, options: RenderOptions) -> None:
    """One line for each minor."""
    table = _table()
    table.add_column("VERSION", no_wrap=True)
    table.add_column("CHECKED AGAINST")
    table.add_column("CONFIGURATION", ratio=1)
    table.add_column("CHANGES", justify="right")
    for each in found.versions:
        names = ", ".join(name.rpartition("/")[2] for name in each.configuration_versions)
        table.add_row(each.version, "recordings" if each.recorded else "source code", names, str(each.changes))
    make_console(options.width, out).print(table)


@documents("VersionChanges")
def version_changes_document(found: VersionChanges, options: RenderOptions) -> Any:
    return to_builtins(found.changes)


@renders("VersionChanges", "table", "wide")
@shows_visible
def print_changes(found: VersionChanges, out: TextIO, options: RenderOptions) -> None:
    """One line for each change; the patch that brought it and the gate that switches it stand before the sentence."""
    console = make_console(options.width, out)
    if not found.changes:
        console.print("No rule of scheduling changed.")
        return
    table = _table()
    table.add_column("PLUGIN", no_wrap=True)
    table.add_column("ABOUT", no_wrap=True)
    table.add_column("CHANGE", ratio=1)
    for each in found.changes:
        gate = f"Gate {each.gate} is on by default. " if each.gate else ""
        patch = f"Since {each.patch}: " if each.patch else ""
        table.add_row("\n".join(each.plugins), "\n".join(each.about), patch + gate + each.change)
    console.print(table)


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
