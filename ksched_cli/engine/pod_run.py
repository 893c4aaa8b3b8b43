"""Where a run of identical pods goes, one after the other, without a cycle for each.

Where every plugin looks at one node alone, the pods of a run are decided by the totals of each node with no pod more,
with one more, with two more, and so on. The next pod goes to the node with the highest total so far; of equal ones to
the lowest name. The run ends where this no longer holds, and the next pod has a cycle of its own.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.filters import Filters
from ksched_cli.engine.lane_scores import FLOOR, TemplateScores
from ksched_cli.framework.rows import NodeRows

# How many totals one run keeps at most.
_MOST_TOTALS = 8_000_000


class PodRun:
    """The totals of every node by the number of pods of the run that it has."""

    def __init__(
        self, cluster: Cluster, filters: Filters, state: CycleState, scores: TemplateScores, pod_row: int
    ) -> None:
        self._cluster = cluster
        self._filters = filters
        self._state = state
        self._scores = scores
        self._pod_row = pod_row
        self._pod: PodInfo = cluster.pods.infos[pod_row]
        self._fixed = scores.fixed_totals()
        self._by_level: list[list[int]] = []
        self._extremes = scores.nodes_at_extremes()

    def rows(self, count: int) -> list[int]:
        """The node rows that the next pods go to, at most so many, in their order."""
        found: list[int] = []
        try:
            self._follow(found, count)
        except CycleError:
            # A pod of the run meets an error. Its own cycle reports it.
            return found
        return found

    def _follow(self, found: list[int], count: int) -> None:
        rank, first = self._cluster.nodes.name_rank.tolist(), self._totals(0)
        heads = [(-total, rank[row], row) for row, total in enumerate(first) if total != FLOOR]
        heapify(heads)
        levels = [0] * len(first)
        while heads and len(found) < count:
            row = heads[0][2]
            level = levels[row] + 1
            if (level + 1) * len(first) > _MOST_TOTALS:
                return
            total = self._totals(level)[row]
            found.append(row)
            levels[row] = level
            if total != FLOOR:
                heapreplace(heads, (-total, rank[row], row))
                continue
            heappop(heads)
            if self._moves_extremes(row):
                return

    def _moves_extremes(self, row: int) -> bool:
        """Whether the node was the last with the least or the highest score of some plugin."""
        for nodes in self._extremes:
            nodes.discard(row)
        return not all(self._extremes)

    def _totals(self, level: int) -> list[int]:
        while len(self._by_level) <= level:
            self._by_level.append(self._computed(len(self._by_level)).tolist())
        return self._by_level[level]

    def _computed(self, level: int) -> Int64Column:
        """The totals with so many pods of the run on every node."""
        usage, nodes = self._cluster.usage, NodeRows(self._cluster, self._cluster.nodes.all_rows)
        shapes = self._cluster.pods.shapes.of(np.full(len(nodes), self._pod_row))
        usage.shift(shapes, nodes.rows, level)
        try:
            passed = self._filters.run(self._state, self._pod, nodes, None)
            totals = self._fixed + self._scores.following_totals(self._pod)
        finally:
            usage.shift(shapes, nodes.rows, -level)
        totals[~passed.mask()] = FLOOR
        return totals
