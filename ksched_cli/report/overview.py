"""The document of a cluster, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.registry import RenderOptions
from ksched_cli.sources.own_documents import API_VERSION

if TYPE_CHECKING:
    from ksched_cli.plan.overview import ClusterOverview


def overview_document(found: ClusterOverview, options: RenderOptions) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Cluster",
        "pending": list(found.pending),
        "running": found.running,
        **node_table_entry(found.nodes),
        "coverage": dict(found.coverage),
    }
