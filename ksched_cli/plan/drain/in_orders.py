"""Drains in which chance decides otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ksched_cli.controlplane.draws import Alternative, Choices
from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.orders.ties import decisive_ties


def drain_in_orders(
    first: DrainResult, others: Sequence[Alternative], again: Callable[[Choices], DrainResult]
) -> DrainResult:
    """The first drain with the outcomes of the other orders, if they differ."""
    if not others:
        return first
    found = [again(each.choices) for each in others]
    outcomes = Counter(each.first_outcome for each in (first, *found))
    if len(outcomes) == 1:
        return first
    others_end = zip(others, (each.first_outcome for each in found), strict=True)
    draws = tuple(dict.fromkeys((*first.world.draws, *decisive_ties(first.first_outcome, others_end))))
    return replace(first, orders=dict(outcomes), world=replace(first.world, draws=draws))
