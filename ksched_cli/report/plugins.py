"""Plugins for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from ksched_cli.report.visible import shows_visible


@shows_visible
def print_plugins(plugins: Sequence[Mapping[str, Any]], console: Console) -> None:
    """A line or two each."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("NAME", no_wrap=True)
    table.add_column("WEIGHT", justify="right")
    table.add_column("WHAT IT DOES", ratio=1)
    for plugin in plugins:
        table.add_row(plugin["name"], str(plugin["weight"] or ""), plugin["summary"])
    console.print(table)


@shows_visible
def print_plugin(plugin: Mapping[str, Any], console: Console) -> None:
    """Everything about one."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1)
    table.add_row("name", plugin["name"])
    table.add_row("does", plugin["summary"])
    table.add_row("points", ", ".join(plugin["extensionPoints"]))
    table.add_row("default", "yes" if plugin["default"] else "no")
    if plugin["weight"]:
        table.add_row("weight", str(plugin["weight"]))
    if plugin["arguments"]:
        arguments = {key: value for key, value in plugin["arguments"].items() if key not in ("apiVersion", "kind")}
        table.add_row("arguments", yaml.safe_dump(arguments, sort_keys=False).rstrip())
    table.add_row("retried on", "\n".join(plugin["events"]) or "nothing: it rejects no pod")
    table.add_row("from", plugin["origin"])
    console.print(table)
