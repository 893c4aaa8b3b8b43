"""Cheaper nodes for one part of a problem: sets between its bound and its cost, judged by the forecast alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement
from math import comb
from random import Random

from ksched_cli.plan.size.components import Part
from ksched_cli.plan.size.exchange import Holding, is_allowed, sets_in_range
from ksched_cli.plan.size.forecast import Forecast

# All sets of a part are listed up to this number; beyond, nodes of the best set are exchanged at random.
_LISTED = 30_000
# So many nodes at most are taken out, and so many put in, by a random exchange; fewer if there are many choices.
_EXCHANGED, _COMBINED = 3, 20_000
# Random exchanges in a row that find nothing new, after which there is nothing new to find.
_VAIN = 2000


class PartSearch:
    """Choices have the numbers of the part."""

    def __init__(self, part: Part, counts: Mapping[int, int], bound: int) -> None:
        self._problem, self._bound = part.problem, bound
        self._forecast, self._holding = Forecast(part.problem), Holding(part.problem)
        self._best = {choice: count for choice, count in counts.items() if count}

    def cheaper(self, deadline: float) -> Iterator[dict[int, int]]:
        """Sets that leave no pod over by the forecast, each cheaper than the one before."""
        listed = sets_in_range(self._problem, self._bound, self._cost(self._best), _LISTED)
        if listed is not None:
            yield from self._best_of(listed, deadline)
        else:
            yield from self._exchanged(deadline)

    def _cost(self, counts: Mapping[int, int]) -> int:
        return sum(self._problem.choices[choice].price * count for choice, count in counts.items())

    def _best_of(self, listed: list[dict[int, int]], deadline: float) -> Iterator[dict[int, int]]:
        """By bisection: from a set that fails to dearer ones, from one that holds all pods to cheaper ones."""
        left = sorted(listed, key=lambda each: (self._cost(each), sum(each.values())))
        share = 0.5
        while left and time.perf_counter() < deadline:
            at = min(int(len(left) * share), len(left) - 1)
            counts = left.pop(at)
            if not self._forecast.holds_all(counts):
                share = (1 + share) / 2 if share < 0.95 else 0.0
                continue
            yield counts
            cost = self._cost(counts)
            left, share = [each for each in left if self._cost(each) < cost], 0.5

    def _exchanged(self, deadline: float) -> Iterator[dict[int, int]]:
        """Nodes of the best set exchanged for others that cost less, at random."""
        draw, tried = Random(0), {tuple(sorted(self._best.items()))}
        choices = range(len(self._problem.choices))
        size = _EXCHANGED
        while size > 1 and comb(len(choices) + size, size) > _COMBINED:
            size -= 1
        others = [each for put in range(size + 1) for each in combinations_with_replacement(choices, put)]
        prices = [sum(self._problem.choices[choice].price for choice in each) for each in others]
        vain, cost = 0, self._cost(self._best)
        while vain < _VAIN and time.perf_counter() < deadline:
            vain += 1
            nodes = [choice for choice, count in self._best.items() for _ in range(count)]
            out = draw.sample(nodes, min(draw.randint(1, size), len(nodes)))
            saved = sum(self._problem.choices[choice].price for choice in out)
            at = draw.randrange(len(others))
            if not self._bound <= cost - saved + prices[at] < cost:
                continue
            chosen = dict(Counter(nodes) - Counter(out) + Counter(others[at]))
            key = tuple(sorted(chosen.items()))
            if key in tried or not self._holding.holds(chosen) or not is_allowed(self._problem, chosen):
                continue
            tried.add(key)
            vain = 0
            if self._forecast.holds_all(chosen):
                self._best, cost = chosen, self._cost(chosen)
                yield chosen
