"""The page of a cluster that notebooks show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.report.html.model import Figure, Page, Tone, counting, headings, table
from ksched_cli.report.html.nodes import node_columns, node_map, zone_bars
from ksched_cli.report.html.words import count


def page(document: Mapping[str, Any]) -> Page:
    found, waiting = document.get("nodeTable", {"names": [], "zones": []}), document["pending"]
    nodes, zones = len(found["names"]), len(set(found["zones"]) - {""})
    where = f" in {count(zones, 'zone')}" if zones else ""
    tone: Tone = "warn" if waiting else "good"
    verdict = (
        f"{count(nodes, 'node')}{where} {'has' if nodes == 1 else 'have'} {count(document['running'], 'pod')}; "
        f"{len(waiting):,} {'is' if len(waiting) == 1 else 'are'} pending."
    )
    figures = [
        counting(nodes, "node"),
        Figure("cordoned", f"{len(found.get('cordoned', [])):,}"),
        counting(document["running"], "pod", "on nodes"),
        counting(len(waiting), "pending pod", tone=tone if waiting else "plain"),
    ]
    pending = [table("pending", "Pending pods", headings("Pod"), [[pod] for pod in waiting])] if waiting else []
    sections = [
        *node_map(document, intro="A cell is a node. The filled part is what pods request of it."),
        *zone_bars(document),
        *pending,
    ]
    return Page("cluster", tone, verdict, [], figures, sections, node_columns(document))
