"""A purchase without a solver: node after node, each time the shape that holds most for its price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ksched_cli.plan.size.problem import Matrix, PackingProblem

# A pattern: how many pods of each class go on one node.
Pattern = tuple[int, ...]


def fill(problem: PackingProblem, choice: int, order: Sequence[int] | Matrix, demand: Matrix) -> Pattern:
    """As many pods of the classes as fit on one node, one class after the other."""
    pattern = [0] * len(problem.classes)
    free = np.maximum(problem.free[choice], 0)
    caps = np.minimum(problem.most[choice], demand)
    left = np.asarray(order, dtype=np.int64)
    left = left[caps[left] > 0]
    while len(left):
        fits = (problem.requests[left] <= free).all(axis=1)
        at = int(fits.argmax())
        if not fits[at]:
            break
        each = int(left[at])
        wanted = problem.requests[each]
        requested = wanted > 0
        count = min(int((free[requested] // wanted[requested]).min(initial=caps[each])), int(caps[each]))
        pattern[each] = count
        free -= count * wanted
        # A class before this one does not fit any more: what is free only shrinks.
        left = left[at + 1 :][fits[at + 1 :]]
        if problem.rivals_of[each]:
            left = left[~np.isin(left, problem.rivals_of[each])]
    return tuple(pattern)


class GreedyBuyer:
    """Buys nodes of one problem. `worths`: what a pod of each class costs on the shape that is cheapest for it alone,
    without regard to whole nodes. `orders`: in which a node is filled, by worth and by each resource, the largest
    first."""

    def __init__(self, problem: PackingProblem) -> None:
        self._problem = problem
        self.worths = self._worths()
        self.orders = self._orders()

    def _worths(self) -> list[float]:
        problem, found = self._problem, []
        for each in range(len(problem.classes)):
            most = problem.most[:, each]
            costs = [float(problem.prices[at]) / int(most[at]) for at in np.nonzero(most)[0].tolist()]
            found.append(min(costs, default=0.0))
        return found

    def _orders(self) -> list[Matrix]:
        problem, worths = self._problem, self.worths
        count = len(problem.classes)
        found = [sorted(range(count), key=lambda each: -worths[each])]
        sizes = problem.free.max(axis=0) if len(problem.choices) else problem.requests.max(axis=0, initial=1)
        shares = problem.requests / np.maximum(sizes, 1)
        found.append(sorted(range(count), key=lambda each: -float(shares[each].max())))
        found += [sorted(range(count), key=lambda each: -float(shares[each, at])) for at in range(shares.shape[1] - 1)]
        return [np.array(each, dtype=np.int64) for each in dict.fromkeys(map(tuple, found))]

    def buy(self, demand: Matrix, bought: Counter[int] | None = None) -> list[tuple[int, Pattern]]:
        """Nodes for the demand, by choice and pattern. What no choice holds, or its limit forbids, is left over."""
        problem, left = self._problem, demand.copy()
        counts = Counter(bought or {})
        # A shape without a price is worth buying for its pods alone.
        worths = np.array([each or 1.0 for each in self.worths])
        found: list[tuple[int, Pattern]] = []
        fills: dict[tuple[int, int], tuple[float, Matrix]] = {}
        while left.any():
            best: tuple[float, int, Matrix] | None = None
            for choice in range(len(problem.choices)):
                if not _room_to_buy(problem, counts, choice):
                    continue
                for way in range(len(self.orders)):
                    value, pattern = self._filled(fills, choice, way, left, worths)
                    ratio = value / (float(problem.prices[choice]) or 1e-9)
                    if value and (best is None or ratio > best[0] * (1 + 1e-12)):
                        best = ratio, choice, pattern
            if best is None:
                break
            _, choice, pattern = best
            used = pattern > 0
            times = max(min(int((left[used] // pattern[used]).min()), _room_to_buy(problem, counts, choice)), 1)
            found += [(choice, tuple(pattern.tolist()))] * times
            counts[choice] += times
            left -= times * pattern
        return found

    def _filled(
        self, fills: dict[tuple[int, int], tuple[float, Matrix]], choice: int, way: int, left: Matrix, worths: Matrix
    ) -> tuple[float, Matrix]:
        """The worth and the pattern of one node. As long as the demand has the pods of a pattern, it stays the same."""
        known = fills.get((choice, way))
        if known is None or (known[1] > left).any():
            pattern = np.array(fill(self._problem, choice, self.orders[way], left), dtype=np.int64)
            known = fills[choice, way] = float(pattern @ worths), pattern
        return known

    def first_fit(self, demand: Matrix) -> list[tuple[int, Pattern]]:
        """First fit decreasing, with the shape of each node chosen last: the cheapest that holds its pods."""
        problem, order = self._problem, self.orders[min(1, len(self.orders) - 1)]
        most = int(demand.sum())
        pods = np.zeros((most, len(problem.classes)), dtype=np.int64)
        used = np.zeros((most, problem.requests.shape[1]), dtype=np.int64)
        # By node and choice: whether the choice holds the pods of the node.
        held = np.ones((most, len(problem.choices)), dtype=bool)
        made = 0
        for each in order.tolist():
            if not problem.most[:, each].any():
                continue
            for _ in range(int(demand[each])):
                # The row after the last node is an empty node.
                rows = slice(0, made + 1)
                after = used[rows] + problem.requests[each]
                holds = held[rows] & (after[:, None, :] <= problem.free[None, :, :]).all(axis=2)
                holds &= pods[rows, each, None] < problem.most[None, :, each]
                if problem.rivals_of[each]:
                    free_of_rivals = pods[rows][:, problem.rivals_of[each]].sum(axis=1) == 0
                    holds &= free_of_rivals[:, None]
                at = int(holds.any(axis=1).argmax())
                pods[at, each] += 1
                used[at], held[at] = after[at], holds[at]
                made = max(made, at + 1)
        prices = np.where(held[:made], problem.prices[None, :], np.iinfo(np.int64).max)
        return [(int(prices[at].argmin()), tuple(pods[at].tolist())) for at in range(made)]

    def one_shape_each(self, demand: Matrix) -> list[list[tuple[int, Pattern]]]:
        """For each choice a purchase of that choice alone, and of others for the pods that it does not take."""
        problem, found = self._problem, []
        for choice in range(len(problem.choices)):
            left, bought = demand.copy(), []
            for _ in range(_room_to_buy(problem, Counter(), choice)):
                pattern = max((fill(problem, choice, order, left) for order in self.orders), key=sum)
                if not any(pattern):
                    break
                bought.append((choice, pattern))
                left -= np.array(pattern, dtype=np.int64)
            if bought:
                found.append([*bought, *self.buy(left, Counter({choice: len(bought)}))])
        return found


def _room_to_buy(problem: PackingProblem, counts: Counter[int], choice: int) -> int:
    """How many more nodes of the choice its limit allows."""
    name = problem.choices[choice].variants[0].name
    if name not in problem.limits:
        return 1 << 30
    limit, members = problem.limits[name]
    return max(limit - sum(counts[each] for each in members), 0)
