"""The scores of PodTopologySpread in a run of identical pods.

Soft constraints give a node a score by the number of matching pods in its zone and on the node itself. So nodes fall
into few groups of equal score: nodes of one zone with equally many matching pods. Each pod of a run changes the number
of its zone, and takes its node to another group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import trunc

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, Int64Column, RowColumn
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.plugins.pod_topology_spread.soft import SoftDomains, topology_weight

# By constraint: the domain of the nodes, or how many matching pods a node has where each node is its own domain.
Group = tuple[int, ...]

# In the place of a domain or a number of pods, where the node lacks the label and gets no share.
_NO_SHARE = -1
# The group of nodes that are left out, for they lack a label: their score is 0.
_IGNORED: Group = ()


class Topology:
    """The domains of one soft constraint. `keys` has for each node its domain, or the number of matching pods where
    each node is a domain of its own. `counts` is on where the pods of the run match."""

    def __init__(self, soft: SoftDomains, scored: RowColumn, *, counts: bool) -> None:
        self._base = float(soft.constraint.max_skew - 1)
        self._counts = counts
        self._nodes = len(scored)
        self._domains: list[int] | None = None
        keys: Int64Column = soft.seen
        if soft.ids is not None and soft.counted is not None:
            keys = soft.ids.astype(np.int64)
            self._domains, self._counted = keys.tolist(), soft.counted.tolist()
            by_domain = np.zeros(int(keys.max(initial=0)) + 1, dtype=np.int64)
            by_domain[keys] = soft.seen
            self._matching: list[int] = by_domain.tolist()
            self._scored = Counter(keys[scored].tolist())
        self.keys: Int64Column = keys if soft.labelled is None else np.where(soft.labelled, keys, _NO_SHARE)
        self._weight = self._weighed()

    def _weighed(self) -> float:
        return topology_weight(self._nodes if self._domains is None else len(self._scored))

    def share(self, key: int) -> float:
        """What the domain adds to the score of a node."""
        if key == _NO_SHARE:
            return 0.0
        return (key if self._domains is None else self._matching[key]) * self._weight + self._base

    def count(self, row: int, key: int) -> int:
        """Count a pod of the run on the node; what stands for the node's domain then."""
        if not self._counts:
            return key
        if self._domains is None:
            return key if key == _NO_SHARE else key + 1
        if self._counted[row]:
            self._matching[self._domains[row]] += 1
        return key

    def leave(self, row: int) -> None:
        """The node takes no more pods."""
        self._nodes -= 1
        if self._domains is not None:
            domain = self._domains[row]
            self._scored[domain] -= 1
            if not self._scored[domain]:
                del self._scored[domain]
        self._weight = self._weighed()


class SpreadGroups:
    """Groups of feasible nodes with equal scores, kept up to date from pod to pod of the run."""

    def __init__(
        self, topologies: Sequence[Topology], feasible: RowColumn, ignored: BoolColumn | None, *, rounds: bool
    ) -> None:
        self._topologies = topologies
        self._rounds = rounds
        keys = np.array([each.keys[feasible] for each in topologies], dtype=np.int64).reshape(-1, len(feasible)).T
        left_out = [False] * len(feasible) if ignored is None else ignored[feasible].tolist()
        self._group_of: dict[int, Group] = {
            row: _IGNORED if out else tuple(key)
            for row, key, out in zip(feasible.tolist(), keys.tolist(), left_out, strict=True)
        }
        self._sizes = Counter(self._group_of.values())

    def group_of(self, row: int) -> Group:
        """The group of a feasible node."""
        return self._group_of[row]

    def scores(self) -> list[tuple[Group, int]]:
        """The normalized score of each group that has a node, as `score` and `normalize` compute it."""
        raw = {group: self._raw(group) for group in self._sizes if group is not _IGNORED}
        highest, lowest = max(raw.values(), default=0), min(raw.values(), default=0)
        best = highest + lowest
        found: list[tuple[Group, int]] = [
            (group, MAX_NODE_SCORE * (best - score) // highest if highest else MAX_NODE_SCORE)
            for group, score in raw.items()
        ]
        if _IGNORED in self._sizes:
            found.append((_IGNORED, 0))
        return found

    def _raw(self, group: Group) -> int:
        total = 0.0
        for topology, key in zip(self._topologies, group, strict=True):
            total += topology.share(key)
        whole = trunc(total)
        return whole + 1 if self._rounds and total - whole >= 0.5 else whole

    def place(self, row: int, *, feasible: bool) -> None:
        """Count a pod of the run on the node, which then still takes another one, or not."""
        group = self._group_of.pop(row)
        self._sizes[group] -= 1
        if not self._sizes[group]:
            del self._sizes[group]
        moved = group
        if group is not _IGNORED:
            moved = tuple(topology.count(row, key) for topology, key in zip(self._topologies, group, strict=True))
        if feasible:
            self._group_of[row] = moved
            self._sizes[moved] += 1
        elif group is not _IGNORED:
            for topology in self._topologies:
                topology.leave(row)
