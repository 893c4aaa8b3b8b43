"""Parts of a packing problem that have no shape and no node of the cluster in common, and a bound made of theirs.

Each part is bought for by itself, so that its cost is a sum of its own prices: rounded up to such a sum, part by part,
the bound is stronger than that of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ksched_cli.plan.size.problem import PackingProblem, PodClass, Room, ShapeChoice
from ksched_cli.plan.size.program import PurchaseProgram

# Costs up to so many grains are looked at one by one.
_COUNTED = 5_000_000


def bound_by_components(problem: PackingProblem, deadline: float) -> int:
    """In grains. 0 where nothing is proven in the time."""
    total = 0
    for part in components(problem):
        program = PurchaseProgram(part, deadline)
        program.relax()
        if program.is_exact:
            program.next_set(None, deadline)
        total += payable(program.bound, [choice.price for choice in part.choices])
    return total


def components(problem: PackingProblem) -> list[PackingProblem]:
    """Classes that share a shape or a node of the cluster are in one part."""
    count = len(problem.classes)
    group = list(range(count))

    def root(at: int) -> int:
        while group[at] != at:
            at = group[at]
        return at

    for row in [*(each.most for each in problem.choices), *(each.most for each in problem.rooms)]:
        members = [at for at, most in enumerate(row) if most]
        for at in members[1:]:
            group[root(at)] = root(members[0])
    roots = sorted({root(at) for at in range(count)})
    return [_part(problem, [at for at in range(count) if root(at) == each]) for each in roots]


def _part(problem: PackingProblem, members: list[int]) -> PackingProblem:
    classes: tuple[PodClass, ...] = tuple(problem.classes[at] for at in members)
    number = {at: index for index, at in enumerate(members)}
    choices: tuple[ShapeChoice, ...] = tuple(
        replace(each, most=tuple(each.most[at] for at in members))
        for each in problem.choices
        if any(each.most[at] for at in members)
    )
    rooms: tuple[Room, ...] = tuple(
        replace(each, most=tuple(each.most[at] for at in members))
        for each in problem.rooms
        if any(each.most[at] for at in members)
    )
    rivals = frozenset((number[a], number[b]) for a, b in problem.rivals if a in number and b in number)
    return PackingProblem(classes, choices, rooms, rivals, problem.grain)


def payable(least: int, prices: Iterable[int]) -> int:
    """The least sum of these prices, each taken as often as one likes, that is no less than so much."""
    own = sorted({price for price in prices if price})
    if least <= 0 or not own or least > _COUNTED:
        return max(least, 0)
    reach = np.zeros(least + own[0], dtype=bool)
    reach[0] = True
    for price in own:
        for start in range(price, len(reach), price):
            reach[start : start + price] |= reach[start - price : min(start, len(reach) - price)][: len(reach) - start]
    above = np.nonzero(reach[least:])[0]
    return least + int(above[0]) if len(above) else least
