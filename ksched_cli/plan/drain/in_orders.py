"""Drains in which chance decides otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from ksched_cli.controlplane.draws import Alternative, Choices
from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.orders.ties import WHAT


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
    decisive = [
        each.draw
        for each, result in zip(others, found, strict=True)
        if each.draw.what == WHAT and result.first_outcome != first.first_outcome
    ]
    draws = tuple(dict.fromkeys((*first.world.draws, *decisive)))
    return replace(first, orders=dict(outcomes), world=replace(first.world, draws=draws))
