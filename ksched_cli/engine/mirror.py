"""A second scheduler kept in the state of a first one, to be asked what it would do there.

Both are made of the same objects, so that pods have the same rows in both. What one of them knows of a pod may differ,
for another minor knows other fields; and so may the order of nodes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ksched_cli.api.dynamic_resources import ResourceClaim
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.cluster.pods import NOWHERE
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.engine.score_table import ScoreTable

# What a cycle changes besides pods.
_CHANGED_BY_CYCLES = (PersistentVolume, PersistentVolumeClaim, ResourceClaim)


class Mirror:
    """Rows of nodes are the leader's on this side."""

    def __init__(self, leader: Scheduler, follower: Scheduler) -> None:
        self.follower = follower
        self._leader = leader
        self._versions = (-1, -1)
        theirs, mine = leader.cluster.nodes, follower.cluster.nodes
        # By the row that a node has in one the row that it has in the other.
        self._to_mine = np.array([mine.row_of[name] for name in theirs.names], dtype=np.int64)
        self._to_theirs = np.array([theirs.row_of[name] for name in mine.names], dtype=np.int64)

    def row_of(self, row: int) -> int:
        """The follower's."""
        return int(self._to_mine[row])

    def ask(self, pod_row: int) -> Decision:
        """What the follower would do now. The diagnosis is by its own rows."""
        decision = self.follower.ask(pod_row)
        return replace(
            decision,
            row=None if decision.row is None else int(self._to_theirs[decision.row]),
            ties=self._to_theirs[decision.ties],
            feasible=np.sort(self._to_theirs[decision.feasible]),
            scores=self._told(decision.scores),
        )

    def scores_of(self, pod_row: int, rows: RowColumn) -> ScoreTable | None:
        return self._told(self.follower.scores_of(pod_row, np.sort(self._to_mine[rows])))

    def _told(self, table: ScoreTable | None) -> ScoreTable | None:
        return None if table is None else replace(table, rows=self._to_theirs[table.rows])

    def catch_up(self) -> None:
        """Bring the follower to where the leader is by now."""
        self._follow_objects()
        self._follow_placements()
        self._follow_evictions()
        self._follow_nominations()
        self.follower.search_like(self._leader)

    def _follow_objects(self) -> None:
        theirs, mine = self._leader.cluster.catalog, self.follower.cluster.catalog
        if (theirs.version, mine.version) != self._versions:
            mine.follow(theirs, _CHANGED_BY_CYCLES)
            self._versions = theirs.version, mine.version

    def _follow_placements(self) -> None:
        """In the order in which they came to each node."""
        theirs, mine = self._leader.cluster, self.follower.cluster
        homes = theirs.pods.node_row.copy()
        homes[homes != NOWHERE] = self._to_mine[homes[homes != NOWHERE]]
        moved = np.nonzero(homes != mine.pods.node_row)[0]
        for pod_row in moved.tolist():
            mine.displace(pod_row)
        missing = set(moved.tolist())
        for node_row in np.unique(theirs.pods.node_row[moved]).tolist():
            for pod_row in theirs.pods_on(node_row) if node_row != NOWHERE else ():
                if pod_row in missing:
                    mine.place(pod_row, int(self._to_mine[node_row]))

    def _follow_evictions(self) -> None:
        for pod_row in self._leader.cluster.preempted - self.follower.cluster.preempted:
            self.follower.cluster.preempt(pod_row)

    def _follow_nominations(self) -> None:
        """In the order in which they were made."""
        theirs, mine = self._leader.nominator.known(), self.follower.nominator
        for pod_row, node in mine.known().items():
            if theirs.get(pod_row) != node:
                mine.delete(pod_row)
        for pod_row, node in theirs.items():
            if mine.node_of(pod_row) != node:
                mine.add(pod_row, node)
