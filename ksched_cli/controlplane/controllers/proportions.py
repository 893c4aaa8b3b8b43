"""The share of a ReplicaSet when its Deployment changes its number of replicas during a rollout."""

from __future__ import annotations


def proportion(size: int, most_before: int | None, wanted: int, most: int, total: int, allowed: int) -> int:
    """GetReplicaSetProportion: how many pods the set gains, or loses if `allowed` is negative.

    `most_before` is replicas plus surge when the set was last scaled, `total` the Deployment's status.replicas.
    """
    if not size or not allowed:
        return 0
    if wanted:
        before = most_before or total
        fraction = int(size * most / before + 0.5) - size if before else 0
    else:
        fraction = -size
    return min(fraction, allowed) if allowed > 0 else max(fraction, allowed)
