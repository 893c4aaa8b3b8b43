"""What becomes of pods under random orders and tie-breaks: a sweep over both, pod by pod."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ksched_cli.plan.sweep.statistics import PodOdds


class DrawOdds(Struct, frozen=True):
    """So many random arrival orders, each with so many random tie-breaks; 0 where the order or the tie-break is as in a
    single run. `pods` has the pods to which something happens."""

    orders: int
    ties: int
    pods: Mapping[str, PodOdds]
