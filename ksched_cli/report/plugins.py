"""Renders plugins: all in a line each, or one in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import yaml
from rich.console import Console

from ksched_cli.plan.reference.plugins import PluginList
from ksched_cli.report.console import Column, Grid, make_console
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.rows import write_row
from ksched_cli.report.visible import shows_visible


def plugins_document(found: PluginList, options: RenderOptions) -> list[Mapping[str, Any]]:
    return list(found.plugins)


def write_plugin_names(found: PluginList, out: TextIO, options: RenderOptions) -> None:
    for each in found.plugins:
        write_row(out, each["name"])


@shows_visible
def print_plugins(found: PluginList, out: TextIO, options: RenderOptions) -> None:
    console = make_console(options.width, out)
    if found.in_full:
        _print_plugin(found.plugins[0], console)
    else:
        _print_lines(found.plugins, console)


def _print_lines(plugins: Sequence[Mapping[str, Any]], console: Console) -> None:
    table = Grid(Column("NAME"), Column("WEIGHT", right=True), Column("WHAT IT DOES", flows=True))
    for plugin in plugins:
        table.add(plugin["name"], str(plugin["weight"] or ""), plugin["summary"])
    console.print(table)


def _print_plugin(plugin: Mapping[str, Any], console: Console) -> None:
    table = Grid(Column(style="dim"), Column(flows=True))
    table.add("name", plugin["name"])
    table.add("does", plugin["summary"])
    table.add("points", ", ".join(plugin["extensionPoints"]))
    table.add("default", "yes" if plugin["default"] else "no")
    if plugin["weight"]:
        table.add("weight", str(plugin["weight"]))
    if plugin["arguments"]:
        arguments = {key: value for key, value in plugin["arguments"].items() if key not in ("apiVersion", "kind")}
        table.add("arguments", yaml.safe_dump(arguments, sort_keys=False).rstrip())
    table.add("retried on", "\n".join(plugin["events"]) or "nothing: it rejects no pod")
    table.add("from", plugin["origin"])
    console.print(table)
