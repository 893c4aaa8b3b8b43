"""Where a run of identical pods goes, one after the other, without a cycle for each.

Where every plugin looks at one node alone, the pods of a run are decided by the totals of each node with no pod more,
with one more, with two more, and so on. The next pod goes to the node with the highest total so far; of equal ones to
the lowest name. One plugin may score groups of nodes by all pods of the run: then the best node of each group is
compared, with the score of its group now. The run ends where this no longer holds, and the next pod has a cycle of its
own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from itertools import islice

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.decision import TIES_NAMED, FoundPlacement
from ksched_cli.engine.faults import CycleError
from ksched_cli.engine.filters import Filters
from ksched_cli.engine.lane_scores import TemplateScores
from ksched_cli.engine.score_groups import ScoreGroups
from ksched_cli.framework.rows import NodeRows

# The total of a node that is not feasible: below every sum of scores.
FLOOR = np.iinfo(np.int64).min // 2
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
        # How many nodes of each group have the same total.
        self._alike: dict[Hashable, Counter[int]] = {}
        self._feasible = 0
        self._best: list[Hashable] = []
        self._total = 0
        self._by_level: list[list[int]] = []
        self._extremes = scores.nodes_at_extremes()

    def rows(self, count: int) -> list[int]:
        """The node rows that the next pods go to, at most so many, in their order."""
        return list(islice(self._steps(), count))

    def placements(self, count: int) -> list[FoundPlacement]:
        """The same with what each pod's cycle would find, as far as more than one node fits."""
        found: list[FoundPlacement] = []
        for row in islice(self._steps(), count):
            if self._feasible < 2:
                break
            found.append(self._found(row))
        return found

    def _steps(self) -> Iterator[int]:
        """The rows. Each pod is counted after its row was read."""
        try:
            yield from self._follow()
        except CycleError:
            # A pod of the run meets an error. Its own cycle reports it.
            return

    def _follow(self) -> Iterator[int]:
        rank, first = self._cluster.nodes.name_rank.tolist(), self._totals(0)
        groups, all_heads = self._groups, self._heads
        for row, total in enumerate(first):
            if total != FLOOR:
                all_heads.setdefault(groups.group_of(row), []).append((-total, rank[row], row))
        for group, heads in all_heads.items():
            heapify(heads)
            self._alike[group] = Counter(head[0] for head in heads)
            self._feasible += len(heads)
        levels = [0] * len(first)
        while all_heads and len(all_heads) <= _MOST_GROUPS:
            self._best = self._best_groups()
            group = self._best[0]
            row = all_heads[group][0][2]
            level = levels[row] + 1
            if (level + 1) * len(first) > _MOST_TOTALS:
                return
            total = self._totals(level)[row]
            yield row
            levels[row] = level
            self._take_head(group)
            groups.place(row, feasible=total != FLOOR)
            if total != FLOOR:
                self._put_head(groups.group_of(row), (-total, rank[row], row))
            elif self._moves_extremes(row):
                return

    def _take_head(self, group: Hashable) -> None:
        heads = self._heads[group]
        self._alike[group][heappop(heads)[0]] -= 1
        self._feasible -= 1
        if not heads:
            del self._heads[group], self._alike[group]

    def _put_head(self, group: Hashable, head: Head) -> None:
        if group not in self._heads:
            self._heads[group], self._alike[group] = [], Counter()
        heappush(self._heads[group], head)
        self._alike[group][head[0]] += 1
        self._feasible += 1

    def _best_groups(self) -> list[Hashable]:
        """The groups that have one of the best nodes. The first of them has the node that the next pod goes to."""
        heads, weight = self._heads, self._weight
        best: tuple[int, int] | None = None
        found: list[Hashable] = []
        for group, score in self._groups.scores():
            total, rank, _ = heads[group][0]
            total -= score * weight
            if best is None or total < best[0]:
                best, found = (total, rank), [group]
            elif total == best[0]:
                if rank < best[1]:
                    best, found = (total, rank), [group, *found]
                else:
                    found.append(group)
        assert best is not None
        self._total = -best[0]
        return found

    def _found(self, row: int) -> FoundPlacement:
        first: list[tuple[int, int]] = []
        ties = 0
        for group in self._best:
            heads = self._heads[group]
            ties += self._alike[group][heads[0][0]]
            first += _lowest(heads)
        return FoundPlacement(
            row, self._total, tuple(row for _, row in sorted(first)[:TIES_NAMED]), ties, self._feasible
        )

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


def _lowest(heads: list[Head]) -> list[tuple[int, int]]:
    """Rank and row of the first nodes with the best total of a heap, by name."""
    best, open_places = heads[0][0], [(heads[0][1], 0)]
    found: list[tuple[int, int]] = []
    while open_places and len(found) < TIES_NAMED:
        rank, place = heappop(open_places)
        found.append((rank, heads[place][2]))
        for below in (2 * place + 1, 2 * place + 2):
            if below < len(heads) and heads[below][0] == best:
                heappush(open_places, (heads[below][1], below))
    return found
