"""Patterns of pods that fit together on one node: all that are maximal, and those that are worth most at given values
of the pods (the pricing problem of column generation, a small knapsack)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ksched_cli.plan.size.greedy import Pattern, fill
from ksched_cli.plan.size.problem import PackingProblem
from ksched_cli.plan.size.solver import LinearModel

# The search for all patterns of a shape is given up after so many steps for each pattern that is wanted.
_VISITS = 50


def maximal_patterns(problem: PackingProblem, choice: int, most: int) -> list[Pattern] | None:
    """Every pattern to which no pod can be added; None if there are more than so many."""
    count = len(problem.classes)
    caps = [min(int(problem.most[choice, at]), int(problem.demand[at])) for at in range(count)]
    free = [max(int(each), 0) for each in problem.free[choice]]
    requests = problem.requests.tolist()
    rivals = [{b if a == at else a for a, b in problem.rivals if at in (a, b)} for at in range(count)]
    found: list[Pattern] = []
    pattern, visits = [0] * count, 0

    def fits(at: int, left: Sequence[int]) -> int:
        if any(pattern[other] for other in rivals[at]):
            return 0
        copies = (have // want for want, have in zip(requests[at], left, strict=True) if want)
        return min(caps[at], min(copies, default=0))

    def visit(at: int, left: list[int]) -> bool:
        """False if there are too many."""
        nonlocal visits
        visits += 1
        if at == count:
            if all(pattern[each] >= caps[each] or not fits(each, left) for each in range(count)):
                found.append(tuple(pattern))
            return len(found) <= most and visits <= _VISITS * most
        most_here = fits(at, left)
        # Fewer pods of the last class leave room for one more.
        for number in range(most_here, most_here - 1 if at == count - 1 else -1, -1):
            pattern[at] = number
            if visits > _VISITS * most or not visit(
                at + 1, [have - number * want for want, have in zip(requests[at], left, strict=True)]
            ):
                return False
        pattern[at] = 0
        return True

    return found if visit(0, free) else None


Values = NDArray[np.float64]


class PatternPricing:
    """`quick_patterns` is greedy. `best_pattern` solves a knapsack and returns a proven limit on the worth, too."""

    def __init__(self, problem: PackingProblem, deadline: float) -> None:
        self._problem, self._deadline = problem, deadline
        self._knapsacks: dict[int, LinearModel] = {}
        # By choice and class: shares of a node that a pod takes, all resources together and of the scarcest.
        shares = problem.requests[None, :, :] / np.maximum(problem.free[:, None, :], 1)
        self._sizes = (shares.sum(axis=2), shares.max(axis=2, initial=0.0))

    def quick_patterns(self, choice: int, values: Values, more_than: float) -> list[Pattern]:
        """Patterns that are worth more than so much, filled in the order of worth per size, and of worth."""
        found: dict[Pattern, None] = {}
        for sizes in (*(own[choice] for own in self._sizes), np.ones(len(values))):
            order = np.argsort(-values / np.maximum(sizes, 1e-12), kind="stable")
            pattern = fill(self._problem, choice, order[values[order] > 0], self._problem.demand)
            if float(np.array(pattern) @ values) > more_than:
                found[pattern] = None
        return list(found)

    def quick_bound(self, choice: int, values: Values) -> float:
        """No pattern is worth more than all of one resource at the best rate."""
        problem = self._problem
        usable = (problem.most[choice] > 0) & (values > 0)
        if not usable.any():
            return 0.0
        count = float((values * np.minimum(problem.most[choice], problem.demand))[usable].sum())
        rates = [count]
        for resource in range(problem.requests.shape[1]):
            requests = problem.requests[usable, resource]
            if (requests > 0).all():
                rates.append(float((values[usable] / requests).max()) * float(problem.free[choice, resource]))
        return min(rates)

    def best_pattern(self, choice: int, values: Values) -> tuple[float, Pattern]:
        """A small knapsack: the pattern that is worth most, and a bound on the worth of any pattern."""
        model = self._knapsacks.get(choice)
        if model is None:
            model = self._knapsacks[choice] = self._knapsack(choice)
        count = len(self._problem.classes)
        model.set_costs(values.tolist())
        solved = model.solve(self._deadline - time.perf_counter())
        pattern = tuple(round(each) for each in solved.values[:count]) if solved.values else (0,) * count
        if not self._fits(choice, pattern):
            pattern = (0,) * count
        return min(max(solved.bound, 0.0), self.quick_bound(choice, values)), pattern

    def _fits(self, choice: int, pattern: Pattern) -> bool:
        used = np.array(pattern, dtype=np.int64) @ self._problem.requests
        return bool((used <= np.maximum(self._problem.free[choice], 0)).all())

    def _knapsack(self, choice: int) -> LinearModel:
        problem = self._problem
        model = LinearModel(maximise=True)
        for each in range(len(problem.classes)):
            model.add_column(0.0, float(min(problem.most[choice, each], problem.demand[each])))
        model.make_whole(range(len(problem.classes)))
        for resource in range(problem.requests.shape[1]):
            requesting = np.nonzero(problem.requests[:, resource])[0].tolist()
            if requesting:
                free = float(max(problem.free[choice, resource], 0))
                model.add_row(-math.inf, free, requesting, problem.requests[requesting, resource].tolist())
        for a, b in problem.rivals:
            self._exclude(model, choice, a, b)
        return model

    def _exclude(self, model: LinearModel, choice: int, a: int, b: int) -> None:
        """One of two classes may be on the node, not both: a binary variable decides which."""
        most = [max(float(self._problem.most[choice, each]), 1.0) for each in (a, b)]
        at = model.add_column(0.0, 1.0)
        model.make_whole([at])
        model.add_row(-math.inf, 0.0, [a, at], [1.0, -most[0]])
        model.add_row(-math.inf, most[1], [b, at], [1.0, most[1]])
