"""A deployment of another size: which of its replica sets get how many of the pods (DeploymentController.scale)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Sized(Protocol):
    """A replica set. `desired` and `most` are the deployment's replicas, without and with its surge, as they were when
    the set was last seen to; None where it does not say."""

    replicas: int
    desired: int | None
    most: int | None

    @property
    def age(self) -> tuple[str, str]: ...


def scale(new: Sized | None, old: Sequence[Sized], wanted: int, surge: int, *, available: int, rolling: bool) -> None:
    """Another number of replicas before another template. `available`: the pods of the new set that are."""
    everything = [*old, *([new] if new is not None else [])]
    active = [each for each in everything if each.replicas]
    only = _active_or_latest(new, old, active)
    if only is not None:
        only.replicas = wanted
    elif new is not None and (new.replicas, new.desired, available) == (wanted, wanted, wanted):
        for each in old:
            each.replicas = 0
    elif rolling:
        _share_out(active, wanted, surge)
    for each in everything:
        each.desired, each.most = wanted, wanted + surge


def _active_or_latest(new: Sized | None, old: Sequence[Sized], active: Sequence[Sized]) -> Sized | None:
    """FindActiveOrLatest: None where several have pods."""
    if len(active) > 1:
        return None
    if active:
        return active[0]
    return new if new is not None else max(old, key=lambda each: each.age, default=None)


def _share_out(active: list[Sized], wanted: int, surge: int) -> None:
    """From the largest to the smallest, each in proportion; what rounding leaves over is for the largest."""
    size = sum(each.replicas for each in active)
    more = (wanted + surge if wanted else 0) - size
    # Of sets of one size the newer gains first and the older loses first.
    order = sorted(active, key=lambda each: each.age, reverse=more > 0)
    order.sort(key=lambda each: -each.replicas)
    added = 0
    for each in order if more else ():
        share = _proportion(each, wanted, wanted + surge, size, more - added)
        each.replicas += share
        added += share
    if order and more != added:
        order[0].replicas = max(order[0].replicas + more - added, 0)


def _proportion(each: Sized, wanted: int, most: int, size: int, allowed: int) -> int:
    """GetReplicaSetProportion."""
    if not each.replicas or not allowed:
        return 0
    if wanted:
        before = each.most or size
        fraction = int(each.replicas * most / before + 0.5) - each.replicas
    else:
        fraction = -each.replicas
    return min(fraction, allowed) if allowed > 0 else max(fraction, allowed)
