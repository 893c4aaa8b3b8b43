"""How many pods of each node match a selector, kept up to date from the cluster's journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from msgspec import Struct, field

from ksched_cli.api.selectors import Selector
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.cluster.nodes import NodeTable
from ksched_cli.cluster.pods import PodTable
from ksched_cli.cluster.usage import Usage

V = TypeVar("V")

# Past this share of touched nodes counting afresh is less work than going through their pods.
_RECOUNT_SHARE = 8


class LabelSetMatches:
    """Which of the pod table's label sets a selector matches; each pair is computed once."""

    def __init__(self, pods: PodTable) -> None:
        self._pods = pods
        self._known: dict[Selector, BoolColumn] = {}

    def of(self, selector: Selector) -> BoolColumn:
        """One entry per label set id. Label sets that came since the last call are judged now."""
        sets = self._pods.label_sets.values
        known = self._known.get(selector)
        have = 0 if known is None else len(known)
        if known is None or have < len(sets):
            fresh = np.array([selector.matches(dict(each)) for each in sets[have:]], dtype=np.bool_)
            known = self._known[selector] = fresh if known is None else np.concatenate([known, fresh])
        return known


class PodCount(Struct):
    """How many pods of each node match. `changes` lists the rows whose number has changed, each with the difference, in
    order."""

    per_node: Int64Column
    position: int
    version: int
    changes: list[tuple[int, int]] = field(default_factory=list)


class CountedCluster(Protocol):
    """What counting reads of a cluster (Cluster)."""

    @property
    def pods(self) -> PodTable: ...

    @property
    def nodes(self) -> NodeTable: ...

    @property
    def usage(self) -> Usage: ...

    @property
    def journal(self) -> Sequence[int]: ...

    def derived(self, owner: object, make: Callable[[], V]) -> V: ...


class PodCounts:
    """Pods that are not leaving, by node, for every (namespace, selector) that was requested."""

    def __init__(self, cluster: CountedCluster) -> None:
        self._cluster = cluster
        self.matches = LabelSetMatches(cluster.pods)
        self._version = 0

    def per_node(self, namespace: str, selector: Selector) -> Int64Column:
        """countPodsMatchSelector for every node. Not to be written to."""
        return self.current(namespace, selector).per_node

    def version(self, namespace: str, selector: Selector) -> int:
        """A number that is another one after any count has changed."""
        return self.current(namespace, selector).version

    def current(self, namespace: str, selector: Selector) -> PodCount:
        """The numbers as they are now. Not to be written to; another object after pods were counted afresh."""
        cluster = self._cluster
        counts: dict[tuple[str, Selector], PodCount] = cluster.derived(self, dict)
        key = namespace, selector
        count = counts.get(key)
        touched = cluster.journal[count.position :] if count else []
        if count is None or len(touched) * _RECOUNT_SHARE > len(cluster.nodes):
            per_node = self._recount(namespace, selector)
            self._version += 1
            count = counts[key] = PodCount(per_node, len(cluster.journal), self._version)
        elif touched:
            self._update(count, set(touched), namespace, selector)
        return count

    def _counting(self, namespace: str, selector: Selector) -> BoolColumn:
        """Which rows of the pod table count, wherever they are."""
        pods = self._cluster.pods
        known = pods.namespaces.find(namespace)
        if known is None:
            return np.zeros(len(pods), dtype=np.bool_)
        counting: BoolColumn = self.matches.of(selector)[pods.label_set] & (pods.namespace == known) & ~pods.terminating
        return counting

    def _recount(self, namespace: str, selector: Selector) -> Int64Column:
        pods = self._cluster.pods
        counting = self._counting(namespace, selector)
        rows = pods.node_row[counting & (pods.node_row >= 0)]
        counts: Int64Column = np.bincount(rows, minlength=len(self._cluster.nodes)).astype(np.int64)
        for pod, copies in self._cluster.usage.copies.items():
            if counting[pod]:
                counts += copies
        return counts

    def _update(self, count: PodCount, touched: set[int], counted: str, selector: Selector) -> None:
        pods = self._cluster.pods
        known, matching = pods.namespaces.find(counted), self.matches.of(selector)
        # A loop over few pods reads single entries.
        namespace, label_set, terminating = pods.namespace.item, pods.label_set.item, pods.terminating.item
        copies = [
            each
            for pod, each in self._cluster.usage.copies.items()
            if namespace(pod) == known and matching[label_set(pod)] and not terminating(pod)
        ]
        for row in touched:
            now = sum(int(each[row]) for each in copies) if copies else 0
            for pod in self._cluster.usage.pods[row]:
                if namespace(pod) == known and matching[label_set(pod)] and not terminating(pod):
                    now += 1
            before = count.per_node.item(row)
            if before != now:
                count.per_node[row] = now
                count.changes.append((row, now - before))
                self._version += 1
                count.version = self._version
        count.position = len(self._cluster.journal)
