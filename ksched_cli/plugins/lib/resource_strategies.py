"""How full a node is as a score: the scoring strategies, which were plugins of their own up to 1.21."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.plugins.lib.arithmetic import MAX_UTILIZATION, broken_linear, floor_quotient
from ksched_cli.plugins.lib.resource_scoring import Allocation


def least_requested(allocation: Allocation, best: int = MAX_NODE_SCORE) -> Int64Column:
    """leastRequestedScore: the share that stays free."""
    free = allocation.allocatable - allocation.requested
    if allocation.divisor is None or best > MAX_NODE_SCORE:
        return floor_quotient(np.maximum(free, 0) * best, _capacity(allocation))
    if free.size and free.item(free.argmin()) < 0:
        np.maximum(free, 0, out=free)
    # To make floats first takes half as long as to divide integers by floats.
    share = free.astype(np.float64)
    share *= best
    share /= allocation.divisor
    return share.astype(np.int64)


def most_requested(
    allocation: Allocation, best: int = MAX_NODE_SCORE, *, exceeding_is_nothing: bool = False
) -> Int64Column:
    """mostRequestedScore: the share that is taken; stand-in requests may exceed what there is, and up to 1.19 such a
    resource scored 0."""
    capacity = _capacity(allocation)
    scores = floor_quotient(np.minimum(allocation.requested, allocation.allocatable) * best, capacity)
    return np.where(allocation.requested > allocation.allocatable, 0, scores) if exceeding_is_nothing else scores


def _capacity(allocation: Allocation) -> Int64Column:
    """The allocatable amounts, with 1 for 0, to divide by."""
    return allocation.allocatable if allocation.complete else np.maximum(allocation.allocatable, 1)


def weighted_mean(scores: Int64Column, allocation: Allocation, weights: Sequence[int]) -> Int64Column:
    """Over the resources that the node has; 0 where it has none of them."""
    mean: Int64Column
    if allocation.complete:
        if len(weights) == 2 and weights[0] == weights[1] > 0:
            # Scores are not negative.
            mean = (scores[0] + scores[1]) >> 1
            return mean
        total = scores[0] * weights[0]
        for score, factor in zip(scores[1:], weights[1:], strict=True):
            total = total + score * factor
        mean = total // max(sum(weights), 1)
        return mean
    weight = np.array(weights, dtype=np.int64)[:, np.newaxis]
    counted = (allocation.allocatable != 0) * weight
    total = counted.sum(axis=0)
    mean = (scores * counted).sum(axis=0) // np.maximum(total, 1)
    return mean


def mean_over_all(scores: Int64Column, weights: Sequence[int]) -> Int64Column:
    """The mean up to 1.21: a resource that the node does not have counts as one that scores 0."""
    weight = np.array(weights, dtype=np.int64)[:, np.newaxis]
    mean: Int64Column = (scores * weight).sum(axis=0) // max(sum(weights), 1)
    return mean


def requested_to_capacity_ratio(
    allocation: Allocation,
    points: Sequence[tuple[int, int]],
    weights: Sequence[int],
    *,
    missing_is_full: bool = False,
    best: int = MAX_NODE_SCORE,
) -> Int64Column:
    """buildRequestedToCapacityRatioScorerFunction: a broken line over the utilisation in whole per cent. A resource
    that scores 0 does not count in the mean, which is rounded. Up to 1.21 a resource that the node does not have
    counted as used up, and what was free was cut off to whole per cent."""
    line = np.array([broken_linear(points, percent, best) for percent in range(MAX_UTILIZATION + 1)], dtype=np.int64)
    capacity = np.maximum(allocation.allocatable, 1)
    if missing_is_full:
        free = np.maximum(allocation.allocatable - allocation.requested, 0)
        scores = line[MAX_UTILIZATION - free * MAX_UTILIZATION // capacity]
    else:
        utilization = np.where(
            allocation.requested > allocation.allocatable,
            MAX_UTILIZATION,
            allocation.requested * MAX_UTILIZATION // capacity,
        )
        scores = np.where(allocation.allocatable != 0, line[np.clip(utilization, 0, MAX_UTILIZATION)], 0)
    counted = (scores > 0) * np.array(weights, dtype=np.int64)[:, np.newaxis]
    total, weight = (scores * counted).sum(axis=0), counted.sum(axis=0)
    return np.where(weight == 0, 0, (2 * total + weight) // np.maximum(2 * weight, 1))
