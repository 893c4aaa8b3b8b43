"""One of many drains from the same beginning: it is rolled back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ksched_cli.controlplane.draws import Alternative
from ksched_cli.plan.drain.in_orders import drain_in_orders
from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.drain.run import DrainWorld

# Of many drains each is tried in so many other orders.
MOST_ORDERS_OF_EACH = 2
_FEW_RISKS = 4


def drain_alone(drains: DrainWorld, nodes: Sequence[str], left: int) -> tuple[DrainResult, int]:
    """One of many drains, with all copies of the pods if the drain needs them. Spare copies are set aside before and
    after it."""
    found = drain_in_trial(drains, nodes, left)
    if drains.spares.were_needed:
        drains.spares.use()
        found = drain_in_trial(drains, nodes, left)
        drains.spares.set_aside()
    return found


def drain_in_trial(drains: DrainWorld, nodes: Sequence[str], left: int) -> tuple[DrainResult, int]:
    """The result, and in how many other orders the drain was tried."""
    with drains.world.trial():
        result = drains.drain(nodes)
        others = other_orders(drains, left)
    return drain_in_orders(result, others, partial(drains.again, nodes)), len(others)


def other_orders(drains: DrainWorld, left: int = MOST_ORDERS_OF_EACH) -> list[Alternative]:
    """The other orders in which the last drain is tried, of which so many are left."""
    return drains.others(_FEW_RISKS)[: min(MOST_ORDERS_OF_EACH, left)] if left else []
