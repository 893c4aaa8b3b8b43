"""The cluster before anything is done to it, for notebooks (`ClusterOverview` of `plan/overview.py`). No command prints
it."""

from __future__ import annotations

from ksched_cli.errors import counted
from ksched_cli.plan.overview import ClusterOverview
from ksched_cli.report.view.documents import value_of
from ksched_cli.report.view.model import Figure, Section, Table, Tone, View, columns, counting
from ksched_cli.report.view.shared import node_map, zone_bars

Document = ClusterOverview


def view(found: ClusterOverview) -> View:
    """`6 nodes in 2 zones: 8 pods run, 4 are pending`."""
    table = value_of(found.node_table)
    nodes, zones = len(table["names"]), len(set(table["zones"]) - {""})
    where = f" in {counted(zones, 'zone')}" if zones else ""
    waiting = len(found.pending)
    tone: Tone = "warn" if waiting else "good"
    pending = Table(columns("Pending pod"), [[pod] for pod in found.pending], most=20)
    return View(
        "cluster",
        f"{counted(nodes, 'node')}{where}",
        f"{counted(found.running, 'pod')} {'runs' if found.running == 1 else 'run'}",
        tone,
        [f"{waiting:,} {'is' if waiting == 1 else 'are'} pending"],
        figures=[
            counting(nodes, "node"),
            Figure("cordoned", f"{len(table.get('cordoned', [])):,}"),
            counting(found.running, "pod", "on nodes"),
            counting(waiting, "pending pod", tone=tone if waiting else "plain"),
        ],
        sections=[
            node_map(found.node_table, "A cell is a node. The filled part is what pods request of it."),
            zone_bars(found.node_table),
            *([Section("pending", "Pending pods", pending)] if waiting else []),
        ],
    )
