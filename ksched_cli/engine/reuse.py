"""The results of plugins for every node, kept for the next pod with the same request.

A plugin whose answer for a node depends on that node and on what it signs for runs again only for the nodes
that a placement touched since. `Cluster.reuse` switches all of this off.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.node_memory import NodeMemory
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.rows import NodeRows

Run = Callable[[NodeRows, NodeStatuses], NodeRows]


class FilteredNodes(Struct, frozen=True):
    """Every node's status, and the rows that passed; None for all."""

    statuses: NodeStatuses
    passed: RowColumn | None

    def nodes(self, cluster: Cluster) -> NodeRows:
        return NodeRows(cluster, self.passed)


class FilterMemory:
    """For filters that look at one node alone: first those that only nodes themselves matter to, then those that
    follow the pods on them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._fixed: NodeMemory[FilteredNodes] = NodeMemory(cluster)
        self._following: NodeMemory[FilteredNodes] = NodeMemory(cluster)

    def recall(self, fixed: Hashable, run_fixed: Run, following: Hashable, run_following: Run) -> FilteredNodes:
        """The result of both kinds of filters: each has a signature, and a function that runs it on some rows."""

        def begin() -> FilteredNodes:
            return self._run(run_fixed, NodeRows(self._cluster), NodeStatuses(len(self._cluster.nodes)))

        ground = self._fixed.recall(fixed, begin)

        def afresh() -> FilteredNodes:
            return self._run(run_following, ground.nodes(self._cluster), ground.statuses.copy())

        def renew(known: FilteredNodes, touched: RowColumn) -> FilteredNodes:
            statuses = known.statuses
            rows = touched[ground.statuses.codes[touched] == 0]
            before = statuses.codes[rows] == 0
            statuses.forget(rows)
            run_following(NodeRows(self._cluster, rows), statuses)
            if np.array_equal(before, statuses.codes[rows] == 0):
                return known
            return FilteredNodes(statuses, np.nonzero(statuses.codes == 0)[0])

        return self._following.recall((fixed, following), afresh, renew)

    @staticmethod
    def _run(run: Run, nodes: NodeRows, statuses: NodeStatuses) -> FilteredNodes:
        passed = run(nodes, statuses)
        return FilteredNodes(statuses, None if passed.whole else passed.rows)


class ScoreMemory:
    """For raw scores that depend on one node alone. Nodes where the pod does not fit are scored along with the rest:
    which of them count is another question for every pod."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._by_plugin: defaultdict[str, NodeMemory[Int64Column]] = defaultdict(lambda: NodeMemory(cluster))

    def recall(
        self, plugin: str, key: Hashable, score: Callable[[NodeRows], Int64Column], *, follows_pods: bool
    ) -> Int64Column:
        def renew(known: Int64Column, rows: RowColumn) -> Int64Column:
            # Decisions of earlier pods hold the old column.
            renewed = known.copy()
            renewed[rows] = score(NodeRows(self._cluster, rows))
            return shared(renewed)

        memory = self._by_plugin[plugin]
        return memory.recall(key, lambda: shared(score(NodeRows(self._cluster))), renew if follows_pods else None)


def shared(column: Int64Column) -> Int64Column:
    """Many pods are handed the same column: a plugin that normalises in place must not change it for the others."""
    column.flags.writeable = False
    return column
