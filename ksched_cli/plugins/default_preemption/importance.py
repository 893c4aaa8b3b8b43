"""Which of two pods is the more important one (util.MoreImportantPod)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import FloatColumn, RowColumn
from ksched_cli.cluster.pods import NOT_STARTED
from ksched_cli.plugins.default_preemption.unstable_sort import MAX_INSERTION, sort_slice


def first_of_each(owner: RowColumn) -> RowColumn:
    """Where the entries of each owner begin. Owners come in ascending order."""
    begins = np.ones(len(owner), dtype=np.bool_)
    np.not_equal(owner[1:], owner[:-1], out=begins[1:])
    return np.nonzero(begins)[0]


class Importance:
    """Higher priority first, then the longer running."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def order(self, pod_rows: RowColumn, owner: RowColumn) -> RowColumn:
        """Indexes that sort the pods of each owner by importance. Owners come in ascending order."""
        if 0 < len(pod_rows) <= MAX_INSERTION and owner[0] == owner[-1]:
            return np.array(self.sort(pod_rows), dtype=np.int64)
        priority, started = self._cluster.pods.priority[pod_rows], self._cluster.pods.started(pod_rows)
        order = np.lexsort((started, -priority, owner))
        for members in _unsettled(order, priority, started, owner):
            order[members] = members[self.sort(pod_rows[members])]
        return order

    def sort(self, pod_rows: RowColumn) -> list[int]:
        """Indexes in the order in which sort.Slice leaves the pods. Of two pods that have not started each is more
        important than the other: Go reads the clock for one after the other."""
        priorities: list[int] = (-self._cluster.pods.priority[pod_rows]).tolist()
        started: list[float] = self._cluster.pods.started(pod_rows).tolist()
        keys = list(zip(priorities, started, strict=True))

        def more_important(left: int, right: int) -> bool:
            if keys[left] == keys[right]:
                return keys[left][1] == NOT_STARTED
            return keys[left] < keys[right]

        return sort_slice(range(len(keys)), more_important)


def _unsettled(order: RowColumn, priority: RowColumn, started: FloatColumn, owner: RowColumn) -> Iterator[RowColumn]:
    """The members of the owners whose pods tie, where Go's sort does not keep their order."""
    ahead, behind = order[:-1], order[1:]
    ties = (owner[ahead] == owner[behind]) & (priority[ahead] == priority[behind]) & (started[ahead] == started[behind])
    at = np.nonzero(ties)[0]
    if not len(at):
        return
    starts = first_of_each(owner)
    ends = np.append(starts[1:], len(owner))
    group = np.searchsorted(starts, at, side="right") - 1
    odd = (ends[group] - starts[group] > MAX_INSERTION) | (started[ahead[at]] == NOT_STARTED)
    for each in sorted(set(group[odd].tolist())):
        yield np.arange(starts[each], ends[each])
