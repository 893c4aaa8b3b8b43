"""Nodes drained together, or each node or zone by itself, always from the same beginning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.forks import forks_at_once
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.in_copies import drain_in_copies
from ksched_cli.plan.drain.in_trial import MOST_ORDERS_OF_EACH, drain_alone
from ksched_cli.plan.drain.results import DrainResult, DrainTrial
from ksched_cli.plan.drain.run import DrainWorld
from ksched_cli.progress import steps
from ksched_cli.sources.loaded import Loaded

# All drains together are tried in so many other orders.
_MOST_ORDERS_OF_ALL = 200
# With fewer nodes all drains together take less than a second.
_WORTH_NODES = 500


def drain_in_turn(
    scheduler: Scheduler,
    loaded: Loaded,
    groups: Sequence[tuple[str, Sequence[str]]],
    flags: Flags,
    *,
    moved_only: bool = True,
) -> Iterator[DrainTrial]:
    """Drain each group from the same beginning. With `moved_only`, `final` has only the pods to which something
    happened."""
    world = DrainWorld(scheduler, loaded, flags, moved_only=moved_only)
    members = [nodes for _, nodes in groups]
    is_single = len(groups) == 1
    results = map(world.drain_in_orders, members) if is_single else _drain_each(world, members)
    for (name, nodes), result in steps(zip(groups, results, strict=True), "drains are done", len(groups)):
        yield DrainTrial(name, tuple(nodes), result, world.node_changes() if is_single else None)


def _drain_each(drains: DrainWorld, groups: Sequence[Sequence[str]]) -> Iterator[DrainResult]:
    """Place the pending pods once, and drain each group from there, some of them also in other orders."""
    drains.place_pending()
    drains.spares.set_aside()
    if at_once := _drains_at_once(groups):
        yield from drain_in_copies(drains, groups, at_once)
        return
    left = _MOST_ORDERS_OF_ALL
    for nodes in groups:
        result, tried = drain_alone(drains, nodes, left)
        left -= tried
        yield result


def _drains_at_once(groups: Sequence[Sequence[str]]) -> int:
    """How many groups are drained at once, in copies of this process; 0 where it is not worth the copies, or where one
    drain may leave no orders for the next."""
    few = 1 < len(groups) <= _MOST_ORDERS_OF_ALL // MOST_ORDERS_OF_EACH
    return forks_at_once() if few and sum(map(len, groups)) >= _WORTH_NODES else 0
