"""Sets of nodes near a good one, and all sets of a cost, as candidates for the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement

import numpy as np

from ksched_cli.plan.size.problem import PackingProblem

Numbers = tuple[tuple[int, int], ...]


def sets_of_cost(problem: PackingProblem, cost: int, most: int) -> Iterator[dict[int, int]]:
    """Up to so many sets whose cost is this one, those of few nodes first, if they have the resources."""
    order = sorted(
        (at for at, choice in enumerate(problem.choices) if choice.price), key=lambda at: -problem.prices[at]
    )
    holding, visits = Holding(problem), 0

    def visit(at: int, left: int, chosen: dict[int, int]) -> Iterator[dict[int, int]]:
        nonlocal visits
        visits += 1
        if visits > 50 * most:
            return
        if not left:
            yield dict(chosen)
            return
        if at == len(order):
            return
        choice = order[at]
        price = int(problem.prices[choice])
        if at == len(order) - 1 and left % price:
            return
        for count in range(left // price, -1, -1):
            yield from visit(at + 1, left - count * price, {**chosen, choice: count} if count else chosen)

    found = 0
    for chosen in visit(0, cost, {}):
        if holding.holds(chosen) and is_allowed(problem, chosen):
            yield chosen
            found += 1
            if found == most:
                return


def sets_in_range(problem: PackingProblem, low: int, below: int, most: int) -> list[dict[int, int]] | None:
    """Every set with the resources whose cost is from `low` to less than `below`. None if there are more than so many,
    or if a shape costs nothing."""
    order = sorted(range(len(problem.choices)), key=lambda at: -problem.prices[at])
    if not order or not problem.prices.all():
        return None
    prices = [int(problem.prices[at]) for at in order]
    holding, found, visits = Holding(problem), [], 0

    def visit(at: int, cost: int, chosen: dict[int, int]) -> bool:
        """False if there are too many."""
        nonlocal visits
        visits += 1
        price, last = prices[at], at == len(order) - 1
        first = max(-((cost - low) // price), 0) if last else 0
        for count in range((below - 1 - cost) // price, first - 1, -1):
            own = {**chosen, order[at]: count} if count else chosen
            if not last:
                if visits > 5 * most or not visit(at + 1, cost + count * price, own):
                    return False
            elif holding.holds(own) and is_allowed(problem, own):
                found.append(own)
                if len(found) > most:
                    return False
        return True

    return found if visit(0, 0, {}) else None


def exchanges(
    problem: PackingProblem, counts: Mapping[int, int], low: int, below: int, size: int
) -> list[dict[int, int]]:
    """Sets that differ by up to `size` nodes taken out and put in, with a cost from `low` to less than `below`; the
    dearest first: they are the most likely to hold everything."""
    current, holding = Counter(counts), Holding(problem)
    cost = sum(int(problem.prices[choice]) * count for choice, count in counts.items())
    found: dict[Numbers, tuple[int, dict[int, int]]] = {}
    for out in range(size + 1):
        for removed in combinations_with_replacement(sorted(current), out):
            lost = Counter(removed)
            if any(current[choice] < count for choice, count in lost.items()):
                continue
            for put in range(size + 1):
                for added in combinations_with_replacement(range(len(problem.choices)), put):
                    price = cost - sum(int(problem.prices[each]) for each in removed)
                    price += sum(int(problem.prices[each]) for each in added)
                    if not low <= price < below:
                        continue
                    chosen = {choice: count for choice, count in (current - lost + Counter(added)).items() if count}
                    key = tuple(sorted(chosen.items()))
                    if key not in found and holding.holds(chosen) and is_allowed(problem, chosen):
                        found[key] = price, chosen
    return [chosen for _, chosen in sorted(found.values(), key=lambda each: -each[0])]


class Holding:
    """Whether sets have the resources that the pods request, room of the cluster included."""

    def __init__(self, problem: PackingProblem) -> None:
        self._free = problem.free.tolist()
        # What new nodes must have of each resource at least.
        needed = problem.demand @ problem.requests
        for room in problem.rooms:
            needed = needed - room.count * np.array(room.free, dtype=np.int64)
        self._needed: list[int] = needed.tolist()

    def holds(self, chosen: Mapping[int, int]) -> bool:
        return all(
            sum(self._free[choice][resource] * count for choice, count in chosen.items()) >= wanted
            for resource, wanted in enumerate(self._needed)
            if wanted > 0
        )


def is_allowed(problem: PackingProblem, chosen: Mapping[int, int]) -> bool:
    return all(sum(chosen.get(each, 0) for each in members) <= limit for limit, members in problem.limits.values())
