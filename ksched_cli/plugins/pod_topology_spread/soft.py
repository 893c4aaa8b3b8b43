"""Soft spread constraints (ScheduleAnyway): what the domains of a node add to its score, and how scores are normalized
(podtopologyspread/scoring.go). Hard constraints are in the module of the room."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.columns import BoolColumn, FloatColumn, Int64Column
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.plugins.lib.resource_scoring import go_log, go_round
from ksched_cli.plugins.lib.topology_spread import CountedNodes, SpreadConstraint


class SoftConstraint(Struct, frozen=True):
    """A soft constraint of the pods of one template. `counts_pods`: whether its selector counts any. `labels` are the
    nodes with the label, None for all."""

    constraint: SpreadConstraint
    counts_pods: bool
    nodes: CountedNodes
    labels: BoolColumn | None


class SoftConstraints(Struct, frozen=True):
    """Those of the pods of one template, and which nodes have all labels that they need, None for all nodes."""

    each: tuple[SoftConstraint, ...] = ()
    labelled: BoolColumn | None = None


NO_SOFT = SoftConstraints()


class SoftDomains(Struct, frozen=True):
    """A soft constraint's counts as the nodes see them, and the weight of its topology. `labelled` is None where all
    nodes have the label."""

    constraint: SpreadConstraint
    seen: Int64Column
    labelled: BoolColumn | None
    weight: float

    def shares(self, nodes: NodeRows) -> FloatColumn:
        """What the domain of each node adds to its score."""
        shares = _shares(nodes.take(self.seen), self.weight, self.constraint.max_skew)
        return shares if self.labelled is None else np.where(nodes.take(self.labelled), shares, 0.0)


class SoftState(Struct, frozen=True):
    """preScoreState. `ignored` is None where all nodes have all labels."""

    domains: tuple[SoftDomains, ...]
    ignored: BoolColumn | None

    def scores(self, nodes: NodeRows, *, rounds: bool) -> Int64Column:
        """The sum of the shares of each node as a whole number. Of one constraint it is computed for each count."""
        whole = self._by_count(nodes, rounds=rounds)
        if whole is None:
            total = np.zeros(len(nodes))
            for each in self.domains:
                total = total + each.shares(nodes)
            whole = _whole(total, rounds=rounds)
        return whole if self.ignored is None else np.where(nodes.take(self.ignored), 0, whole)

    def _by_count(self, nodes: NodeRows, *, rounds: bool) -> Int64Column | None:
        """The sum for one constraint whose label all nodes have, looked up by count; None for others, and where there
        are more counts than nodes."""
        first = self.domains[0] if len(self.domains) == 1 else None
        if first is None or first.labelled is not None:
            return None
        seen = nodes.take(first.seen)
        highest = seen.item(seen.argmax()) if len(seen) else 0
        if highest >= len(seen):
            return None
        return _scores_up_to(highest, first.weight, first.constraint.max_skew, rounds=rounds).take(seen, mode="clip")


@lru_cache(maxsize=64)
def _scores_up_to(highest: int, weight: float, max_skew: int, *, rounds: bool) -> Int64Column:
    """The score for each count from 0 to the highest, of one constraint. Not to be written to."""
    return _whole(_shares(np.arange(highest + 1), weight, max_skew), rounds=rounds)


def _shares(counts: Int64Column, weight: float, max_skew: int) -> FloatColumn:
    """What domains with so many matching pods add."""
    return counts.astype(np.float64) * weight + float(max_skew - 1)


def _whole(total: FloatColumn, *, rounds: bool) -> Int64Column:
    return go_round(total) if rounds else total.astype(np.int64)


def normalized_scores(scores: Int64Column, highest: int, lowest: int) -> Int64Column:
    """The best score for the lowest raw score, and less for higher ones. The highest is positive."""
    if lowest < 0 or highest >= len(scores):
        return _normalized(scores, highest, lowest)
    return _normalized_up_to(highest, lowest).take(scores, mode="clip")


@lru_cache(maxsize=64)
def _normalized_up_to(highest: int, lowest: int) -> Int64Column:
    """The normalized score for each raw score from 0 to the highest. Not to be written to."""
    return _normalized(np.arange(highest + 1), highest, lowest)


def _normalized(scores: Int64Column, highest: int, lowest: int) -> Int64Column:
    # Far below 2**53, so that float64 is exact.
    normalized: Int64Column = (MAX_NODE_SCORE * (highest + lowest - scores) / highest).astype(np.int64)
    return normalized


@cache
def topology_weight(size: int) -> float:
    """topologyNormalizingWeight: small topologies must not be drowned by large ones."""
    return go_log(float(size + 2))
