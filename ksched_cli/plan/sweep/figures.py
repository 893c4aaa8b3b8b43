"""The figures of a cluster at the end of a variant, by whole columns and in whole numbers."""

from __future__ import annotations

from math import isqrt

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.cluster.resources import CPU, MEMORY
from ksched_cli.whatif.edits.lib.evictions import stays_in_a_drain

# Shares are counted in hundredths of a percent.
_WHOLE = 10_000


class ClusterFigures(Struct, frozen=True):
    """See `Figures`."""

    nodes: int
    nodes_used: int
    spread: int
    stranded_milli_cpu: int
    stranded_memory: int


class ClusterMeasure:
    """Measures a cluster. What belongs to the nodes themselves (pods of DaemonSets, mirror pods) does not count as use.
    The average pod is that of the cluster as it was when the measure was made."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        infos = cluster.pods.infos
        self._known = np.array([stays_in_a_drain(info.pod) for info in infos], dtype=np.bool_)
        counted = [dict(info.requests) for info, of_node in zip(infos, self._known, strict=True) if not of_node]
        count = max(len(counted), 1)
        self._cpu = sum(each.get(CPU, 0) for each in counted) // count
        self._memory = sum(each.get(MEMORY, 0) for each in counted) // count

    def figures(self) -> ClusterFigures:
        cluster = self._cluster
        nodes = cluster.nodes
        rows = cluster.pods.node_row
        used = np.bincount(rows[(rows >= 0) & ~self._of_nodes()], minlength=len(nodes)) > 0
        cpu, memory = self._stranded()
        return ClusterFigures(len(nodes), int(used.sum()), self._spread(), cpu, memory)

    def _of_nodes(self) -> BoolColumn:
        """Which rows of the pod table belong to their node."""
        infos = self._cluster.pods.infos
        new = [stays_in_a_drain(info.pod) for info in infos[len(self._known) :]]
        return np.concatenate([self._known, np.array(new, dtype=np.bool_)]) if new else self._known

    def _spread(self) -> int:
        allocatable = self._cluster.nodes.allocatable[CPU]
        there = allocatable > 0
        shares = self._cluster.usage.requested[CPU][there] * _WHOLE // allocatable[there]
        count = len(shares)
        total, squares = int(shares.sum()), int((shares * shares).sum())
        return isqrt(max(count * squares - total * total, 0)) // count if count else 0

    def _stranded(self) -> tuple[int, int]:
        """Free cpu and memory that remain after as many average pods as fit, of the schedulable nodes."""
        nodes, usage = self._cluster.nodes, self._cluster.usage
        free: Int64Column = np.maximum(nodes.allocatable - usage.requested, 0)
        cpu, memory = free[CPU], free[MEMORY]
        fit = np.maximum(nodes.allowed_pods - usage.pod_count, 0)
        if self._cpu:
            fit = np.minimum(fit, cpu // self._cpu)
        if self._memory:
            fit = np.minimum(fit, memory // self._memory)
        schedulable = ~nodes.unschedulable
        left_cpu, left_memory = cpu - fit * self._cpu, memory - fit * self._memory
        return int(left_cpu[schedulable].sum()), int(left_memory[schedulable].sum())
