"""Many drains at once, in copies of this process. A copy ends with its drain, so that nothing is rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec import Struct

from ksched_cli.controlplane.draws import Alternative, Choices
from ksched_cli.forks import compute_in_forks, is_copy
from ksched_cli.plan.drain.in_orders import drain_in_orders
from ksched_cli.plan.drain.in_trial import MOST_ORDERS_OF_EACH, drain_in_trial, other_orders
from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.drain.run import DrainWorld
from ksched_cli.world.world import World


class _FirstOrder(Struct, frozen=True):
    """A drain in the first order, and the other orders to try. It is to be repeated if it `needs_spares`."""

    result: DrainResult
    others: Sequence[Alternative]
    needs_spares: bool


def drain_in_copies(drains: DrainWorld, groups: Sequence[Sequence[str]], at_once: int) -> Iterator[DrainResult]:
    """Drain each group in the first order, and then those for which chance may decide otherwise in other orders. Each
    order has a copy of this process."""
    waiting: list[_FirstOrder] = []
    more: list[Callable[[], DrainResult]] = []
    firsts = compute_in_forks([partial(_first_order, drains, nodes) for nodes in groups], at_once)
    for nodes, first in zip(groups, firsts, strict=True):
        if first.needs_spares:
            more.append(partial(_drain_with_spares, drains, nodes))
        else:
            more += [partial(_other_order, drains, nodes, each.choices) for each in first.others]
        if more:
            waiting.append(first)
        else:
            yield first.result
    results = compute_in_forks(more, at_once)
    for first in waiting:
        if first.needs_spares:
            yield next(results)
        else:
            yield drain_in_orders(first.result, first.others, lambda _: next(results))


def _first_order(drains: DrainWorld, nodes: Sequence[str]) -> _FirstOrder:
    drains.spares.were_needed = False
    with _last_trial(drains.world):
        result = drains.drain(nodes)
        others = other_orders(drains)
    return _FirstOrder(result, others, drains.spares.were_needed)


def _other_order(drains: DrainWorld, nodes: Sequence[str], choices: Choices) -> DrainResult:
    with _last_trial(drains.world):
        return drains.drain(nodes, choices)


def _drain_with_spares(drains: DrainWorld, nodes: Sequence[str]) -> DrainResult:
    drains.spares.use()
    result, _ = drain_in_trial(drains, nodes, MOST_ORDERS_OF_EACH)
    drains.spares.set_aside()
    return result


@contextmanager
def _last_trial(world: World) -> Iterator[None]:
    """A trial with which a copy of this process ends: the copy notes nothing that a roll back would need."""
    if is_copy():
        world.undo.forget_in_process()
        yield
        return
    with world.trial():
        yield
