"""Cheaper nodes for one part of a problem, judged by the forecast alone; the scheduler tries what is found.

If the sets between the bound and the cost of the best set are few, they are all looked at. If they are many, nodes of
the best set are exchanged at random. Nothing here needs a solver.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement
from math import comb
from random import Random

import numpy as np

from ksched_cli.plan.size.bounds import Part
from ksched_cli.plan.size.forecast import Forecast
from ksched_cli.plan.size.problem import PackingProblem
from ksched_cli.plan.size.settings import SearchSettings


class PartSearch:
    """Choices have the numbers of the part. `cut`: the time was over before the search was."""

    def __init__(self, part: Part, counts: Mapping[int, int], bound: int, settings: SearchSettings) -> None:
        self._problem, self._bound, self._settings = part.problem, bound, settings
        self._forecast = Forecast(part.problem)
        self._best = {choice: count for choice, count in counts.items() if count}
        self._free: list[list[int]] = part.problem.free.tolist()
        self._needed = _needed_resources(part.problem)
        self.cut = False

    def cheaper(self, deadline: float) -> Iterator[dict[int, int]]:
        """Sets that leave no pod over by the forecast, each cheaper than the one before."""
        listed = self._sets_below(self._problem.cost_of_choices(self._best), self._settings.listed_sets)
        if listed is not None:
            yield from self._best_of(listed, deadline)
        else:
            yield from self._exchanged(deadline)

    def _has_resources(self, chosen: Mapping[int, int]) -> bool:
        return all(
            sum(self._free[choice][resource] * count for choice, count in chosen.items()) >= wanted
            for resource, wanted in self._needed
        )

    def _sets_below(self, cost: int, most: int) -> list[dict[int, int]] | None:
        """Every set with the resources whose cost is from the bound to less than this. None if there are more than so
        many, or if a shape costs nothing."""
        problem = self._problem
        order = sorted(range(len(problem.choices)), key=lambda at: -problem.prices[at])
        if not order or not problem.prices.all():
            return None
        prices = [int(problem.prices[at]) for at in order]
        found: list[dict[int, int]] = []
        visits = 0

        def visit(at: int, spent: int, chosen: dict[int, int]) -> bool:
            """False if there are too many."""
            nonlocal visits
            visits += 1
            price, last = prices[at], at == len(order) - 1
            first = max(-((spent - self._bound) // price), 0) if last else 0
            for count in range((cost - 1 - spent) // price, first - 1, -1):
                own = {**chosen, order[at]: count} if count else chosen
                if not last:
                    if visits > 5 * most or not visit(at + 1, spent + count * price, own):
                        return False
                elif self._has_resources(own) and problem.allows(own):
                    found.append(own)
                    if len(found) > most:
                        return False
            return True

        return found if visit(0, 0, {}) else None

    def _best_of(self, listed: list[dict[int, int]], deadline: float) -> Iterator[dict[int, int]]:
        """By bisection: from a set that fails to dearer ones, from one that holds all pods to cheaper ones."""
        cost_of_choices = self._problem.cost_of_choices
        left = sorted(listed, key=lambda each: (cost_of_choices(each), sum(each.values())))
        share = 0.5
        while left:
            if time.perf_counter() >= deadline:
                self.cut = True
                return
            counts = left.pop(min(int(len(left) * share), len(left) - 1))
            if not self._forecast.holds_all(counts):
                share = (1 + share) / 2 if share < 0.95 else 0.0
                continue
            yield counts
            cost = cost_of_choices(counts)
            left, share = [each for each in left if cost_of_choices(each) < cost], 0.5

    def _exchanged(self, deadline: float) -> Iterator[dict[int, int]]:
        """Nodes of the best set exchanged for others that cost less, at random."""
        problem, settings = self._problem, self._settings
        draw, tried = Random(0), {tuple(sorted(self._best.items()))}
        choices = range(len(problem.choices))
        size = settings.exchanged_nodes
        while size > 1 and comb(len(choices) + size, size) > settings.combinations:
            size -= 1
        others = [each for put in range(size + 1) for each in combinations_with_replacement(choices, put)]
        prices = [sum(problem.choices[choice].price for choice in each) for each in others]
        vain, cost = 0, problem.cost_of_choices(self._best)
        while vain < settings.vain_exchanges:
            if time.perf_counter() >= deadline:
                self.cut = True
                return
            vain += 1
            nodes = [choice for choice, count in self._best.items() for _ in range(count)]
            out = draw.sample(nodes, min(draw.randint(1, size), len(nodes)))
            saved = sum(problem.choices[choice].price for choice in out)
            at = draw.randrange(len(others))
            if not self._bound <= cost - saved + prices[at] < cost:
                continue
            chosen = dict(Counter(nodes) - Counter(out) + Counter(others[at]))
            key = tuple(sorted(chosen.items()))
            if key in tried or not self._has_resources(chosen) or not problem.allows(chosen):
                continue
            tried.add(key)
            vain = 0
            if self._forecast.holds_all(chosen):
                self._best, cost = chosen, problem.cost_of_choices(chosen)
                yield chosen


def _needed_resources(problem: PackingProblem) -> list[tuple[int, int]]:
    """What new nodes must have of each resource at least, for the room of the cluster is not enough."""
    needed = problem.demand @ problem.requests
    for room in problem.rooms:
        needed = needed - room.count * np.array(room.free, dtype=np.int64)
    return [(resource, wanted) for resource, wanted in enumerate(needed.tolist()) if wanted > 0]
