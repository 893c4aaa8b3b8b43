"""Parts of a packing problem that have no shape and no node of the cluster in common, and a bound made of theirs.

Each part is bought for by itself, so that its cost is a sum of its own prices: rounded up to such a sum, part by part,
the bound is stronger than that of the whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.plan.size.problem import PackingProblem, PodClass, Room, ShapeChoice
from ksched_cli.plan.size.program import PurchaseProgram
from ksched_cli.plan.size.whole_nodes import WholeNodes

# Costs up to so many grains are looked at one by one.
_COUNTED = 5_000_000
# A part has few classes: more of its patterns are listed than of a whole problem.
_LISTED = 3000
# So long the solver may take for the whole numbers of a part.
_SECONDS = 4.0


class Part(Struct, frozen=True):
    """A problem of its own, and which choices of the whole its choices are."""

    problem: PackingProblem
    choices: tuple[int, ...]


def bounds_of_parts(parts: Sequence[Part], deadline: float, whole: PurchaseProgram) -> list[int]:
    """In grains; 0 where nothing is proven in the time. `whole` is the relaxed program of all parts together. Each part
    gets the quick bounds before the solver looks for whole patterns of any part."""
    programs, found = [], []
    for part in parts:
        program = whole
        if len(parts) > 1:
            program = PurchaseProgram(part.problem, deadline, _LISTED)
            program.relax()
        bound = _payable_bound(program, part.problem)
        if not part.problem.rooms:
            until = min(deadline, time.perf_counter() + _SECONDS)
            bound = WholeNodes(part.problem, until, program.columns).least_cost(bound)
        programs.append(program)
        found.append(bound)
    for at, (part, program) in enumerate(zip(parts, programs, strict=True)):
        share = (deadline - time.perf_counter()) / (len(parts) - at)
        if program.is_exact and share > 0:
            program.next_set(None, min(share, _SECONDS))
            found[at] = max(found[at], _payable_bound(program, part.problem))
    return found


def _payable_bound(program: PurchaseProgram, problem: PackingProblem) -> int:
    return payable(program.bound, [choice.price for choice in problem.choices])


def components(problem: PackingProblem) -> list[Part]:
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


def _part(problem: PackingProblem, members: list[int]) -> Part:
    own = [at for at, each in enumerate(problem.choices) if any(each.most[at] for at in members)]
    classes: tuple[PodClass, ...] = tuple(problem.classes[at] for at in members)
    choices: tuple[ShapeChoice, ...] = tuple(
        replace(problem.choices[at], most=tuple(problem.choices[at].most[each] for each in members)) for at in own
    )
    rooms: tuple[Room, ...] = tuple(
        replace(each, most=tuple(each.most[at] for at in members))
        for each in problem.rooms
        if any(each.most[at] for at in members)
    )
    numbers = {at: number for number, at in enumerate(members)}
    rivals = frozenset((numbers[a], numbers[b]) for a, b in problem.rivals if a in numbers and b in numbers)
    turns = tuple(numbers[at] for at in problem.turns if at in numbers)
    nodes, empty = problem.nodes.of_classes(members), problem.empty.take(np.array(own, dtype=np.int64))
    flag = problem.scores_the_difference
    part = PackingProblem(classes, choices, rooms, rivals, problem.grain, turns, nodes, empty.of_classes(members), flag)
    return Part(part, tuple(own))


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
