"""A run of a world, and where chance may decide who has a node the same run in other orders too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from ksched_cli.controlplane.draws import Alternative, Choices
from ksched_cli.plan.orders.chance import Chance, chosen
from ksched_cli.world.world import World

R = TypeVar("R")

FIRST_ORDER: Choices = MappingProxyType({})
Run = Callable[[Choices], R]
# Makes one result of the first run, and of the runs with these alternatives.
Merge = Callable[[R, Sequence[Alternative], Run[R]], R]


def run_in_orders(world: World, chance: Chance, run: Run[R], merge: Merge[R]) -> R:
    """Run in the first order, and in others if chance decides something that may matter. The world is then at the end
    of the first order."""
    mark = world.mark()
    chance.when_long = partial(world.undo.commit, mark)
    first = run_in_order(world, chance, run, FIRST_ORDER)
    chance.when_long = None
    others = chance.others(world)
    if others:
        world.undo.roll_back(mark)
        first = merge(first, others, partial(try_order, world, chance, run))
        run_in_order(world, chance, run, FIRST_ORDER)
    elif not chance.is_long:
        world.undo.commit(mark)
    return first


def try_order(world: World, chance: Chance, run: Run[R], choices: Choices) -> R:
    """The result of a run in which chance decides so. It is rolled back."""
    with world.trial():
        return run_in_order(world, chance, run, choices)


def run_in_order(world: World, chance: Chance, run: Run[R], choices: Choices) -> R:
    """Run while chance decides so."""
    with chosen(world, chance.begin(world, choices), choices):
        return run(choices)
