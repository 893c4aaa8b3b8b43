"""A cluster at a glance: its nodes with what runs on them, and the pods that wait for a node, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ksched_cli.engine.pending import pending
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.run import Run


class ClusterOverview(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="Cluster"):
    """`pending` by name; `running` counts the pods that have a node."""

    pending: tuple[str, ...]
    running: int
    node_table: NodeChanges | Any
    coverage: Mapping[str, Any]


def cluster_overview(source: LoadedInput) -> ClusterOverview:
    """The cluster before any pending pod is placed."""
    prepared = Run(source)
    cluster = prepared.scheduler.cluster
    waiting = sorted(cluster.pods.infos[row].key for row in pending(cluster))
    running = int(prepared.nodes.pods.sum())
    nodes = NodeChanges(prepared.nodes, prepared.nodes)
    return ClusterOverview(pending=tuple(waiting), running=running, node_table=nodes, coverage=prepared.coverage)
