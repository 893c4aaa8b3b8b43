"""What plugins said of every node, kept for the next pod that asks the same.

A plugin whose answer for a node depends on that node and on what it signs for is asked again only about the nodes
that a placement touched since. `Cluster.reuse` switches all of this off.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.rows import NodeRows

# Past this share of touched nodes asking about all of them is less work than picking them out.
_AFRESH_SHARE = 8
# Most runs have few templates; a run of pods that are all different must not fill the memory with columns.
_KEPT = 64

V = TypeVar("V")
Run = Callable[[NodeRows, NodeStatuses], NodeRows]


@dataclass
class _Entry(Generic[V]):
    value: V
    position: int


class NodeMemory(Generic[V]):
    """Values about all nodes by what they depend on, the longest unused given up first."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def recall(self, key: Hashable, afresh: Callable[[], V], renew: Callable[[V, RowColumn], V] | None = None) -> V:
        """The value as of now; without `renew` placements do not matter to it. An entry about which something fails
        is gone, so that it fails again next time."""
        cluster = self._cluster
        entries: OrderedDict[Hashable, _Entry[V]] = cluster.derived(self, OrderedDict)
        entry = entries.pop(key, None)
        now = len(cluster.journal)
        if entry is None:
            entry = _Entry(afresh(), now)
        elif entry.position < now and renew is not None:
            touched = cluster.journal[entry.position :]
            if len(touched) * _AFRESH_SHARE > len(cluster.nodes):
                entry.value = afresh()
            else:
                entry.value = renew(entry.value, np.array(sorted(set(touched)), dtype=np.int64))
            entry.position = now
        entries[key] = entry
        if len(entries) > _KEPT:
            entries.popitem(last=False)
        return entry.value


@dataclass(frozen=True)
class FilteredNodes:
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
        """Both kinds by what they sign, and how each is run on some rows."""

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
            return _shared(renewed)

        memory = self._by_plugin[plugin]
        return memory.recall(key, lambda: _shared(score(NodeRows(self._cluster))), renew if follows_pods else None)


def _shared(column: Int64Column) -> Int64Column:
    """Many pods are handed the same column: a plugin that normalises in place must not change it for the others."""
    column.flags.writeable = False
    return column
