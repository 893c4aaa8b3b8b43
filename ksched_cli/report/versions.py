"""Renders the minors of Kubernetes, and the changes of one of them."""

from __future__ import annotations

from typing import Any, TextIO

from msgspec import to_builtins

from ksched_cli.plan.reference.versions import VersionChanges, VersionList
from ksched_cli.report.console import Column, Grid, make_console, print_hanging
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.rows import write_row
from ksched_cli.report.summary_line import GOOD, summary_line
from ksched_cli.report.visible import shows_visible


def versions_document(found: VersionList, options: RenderOptions) -> Any:
    return to_builtins(found.versions)


def write_version_names(found: VersionList, out: TextIO, options: RenderOptions) -> None:
    for each in found.versions:
        write_row(out, each.version)


@shows_visible
def print_versions(found: VersionList, out: TextIO, options: RenderOptions) -> None:
    """Print one line for each minor."""
    recorded = sum(each.recorded for each in found.versions)
    context = f"{found.versions[0].version} to {found.versions[-1].version}"
    line = summary_line(
        "Kubernetes", f"{len(found.versions)} minors", GOOD, [f"{recorded} checked against recordings"], context
    )
    console = make_console(options.width, out)
    print_hanging(console, line)
    console.print()
    table = Grid(
        Column("VERSION"), Column("CHECKED AGAINST"), Column("CHANGES", right=True), Column("CONFIGURATION", flows=True)
    )
    for each in found.versions:
        names = ", ".join(name.rpartition("/")[2] for name in each.configuration_versions)
        table.add(each.version, "recordings" if each.recorded else "source code", str(each.changes), names)
    console.print(table)


def version_changes_document(found: VersionChanges, options: RenderOptions) -> Any:
    return to_builtins(found.changes)


@shows_visible
def print_changes(found: VersionChanges, out: TextIO, options: RenderOptions) -> None:
    """Print one line for each change, with its patch and its gate before the sentence."""
    console = make_console(options.width, out)
    if not found.changes:
        console.print("No rule of scheduling changed.")
        return
    table = Grid(Column("PLUGIN"), Column("ABOUT"), Column("CHANGE", flows=True))
    for each in found.changes:
        gate = f"Gate {each.gate} is on by default. " if each.gate else ""
        patch = f"Since {each.patch}: " if each.patch else ""
        table.add("\n".join(each.plugins), "\n".join(each.about), patch + gate + each.change)
    console.print(table)
