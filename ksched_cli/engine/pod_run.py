"""Where a run of identical pods goes, one after the other, without a cycle for each.

Where every plugin looks at one node alone, the pods of a run are decided by the totals of each node with no pod more,
with one more, with two more, and so on. The next pod goes to the node with the highest total so far; of equal ones to
the lowest name. One plugin may score groups of nodes by all pods of the run: then the best node of each group is
compared, with the score of its group now. The run ends where this no longer holds, and the next pod has a cycle of its
own.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.filters import Filters
from ksched_cli.engine.lane_scores import FLOOR, TemplateScores
from ksched_cli.engine.score_groups import ScoreGroups
from ksched_cli.framework.rows import NodeRows

# How many totals one run keeps at most.
_MOST_TOTALS = 8_000_000
# With more groups of nodes, cycles are faster.
_MOST_GROUPS = 300

# The total of a node with its sign changed, the rank of its name, and its row.
Head = tuple[int, int, int]


class PodRun:
    """The totals of every node by the number of pods of the run that it has."""

    def __init__(
        self,
        cluster: Cluster,
        filters: Filters,
        state: CycleState,
        scores: TemplateScores,
        pod_row: int,
        groups: ScoreGroups,
        weight: int,
    ) -> None:
        self._cluster = cluster
        self._filters = filters
        self._state = state
        self._scores = scores
        self._pod_row = pod_row
        self._pod: PodInfo = cluster.pods.infos[pod_row]
        self._fixed = scores.fixed_totals()
        self._groups = groups
        self._weight = weight
        self._heads: dict[Hashable, list[Head]] = {}
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
        groups, all_heads = self._groups, self._heads
        for row, total in enumerate(first):
            if total != FLOOR:
                all_heads.setdefault(groups.group_of(row), []).append((-total, rank[row], row))
        for heads in all_heads.values():
            heapify(heads)
        levels = [0] * len(first)
        while all_heads and len(all_heads) <= _MOST_GROUPS and len(found) < count:
            group = self._best_group()
            row = all_heads[group][0][2]
            level = levels[row] + 1
            if (level + 1) * len(first) > _MOST_TOTALS:
                return
            total = self._totals(level)[row]
            found.append(row)
            levels[row] = level
            heappop(all_heads[group])
            if not all_heads[group]:
                del all_heads[group]
            groups.place(row, feasible=total != FLOOR)
            if total != FLOOR:
                heappush(all_heads.setdefault(groups.group_of(row), []), (-total, rank[row], row))
            elif self._moves_extremes(row):
                return

    def _best_group(self) -> Hashable:
        """The group of the node that the next pod goes to."""
        heads, weight = self._heads, self._weight
        best: tuple[int, int, Hashable] | None = None
        for group, score in self._groups.scores():
            total, rank, _ = heads[group][0]
            if best is None or (total - score * weight, rank) < best[:2]:
                best = total - score * weight, rank, group
        assert best is not None
        return best[2]

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
