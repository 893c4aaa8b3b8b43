"""A stronger bound: nodes come in whole numbers.

At any values of the pods, nodes that hold all pods are worth as much as the pods: the sum, over the nodes, of the most
that the pods of one node can be worth is no less. Each choice of values is a condition on the numbers of nodes. The
cheapest whole numbers that satisfy some conditions are a bound. A linear program packs the pods on these numbers of
nodes; if they do not fit even in fractions of patterns, its dual values are the next condition (Benders' cuts).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

import numpy as np

from ksched_cli.plan.size.greedy import Pattern
from ksched_cli.plan.size.pricing import PatternPricing, Values
from ksched_cli.plan.size.problem import PackingProblem
from ksched_cli.plan.size.solver import LinearModel

# What the solver may be wrong by: each condition is weaker by that.
_ERROR = 1e-6


class WholeNodes:
    """The problem has no room in the cluster. `columns`: patterns that are known already."""

    def __init__(self, problem: PackingProblem, deadline: float, columns: Iterable[tuple[int, Pattern]]) -> None:
        self._problem, self._deadline = problem, deadline
        self._pricing = PatternPricing(problem, deadline)
        self._choices = range(len(problem.choices))
        self._counts, self._packing = self._make_counts(), self._make_packing()
        self._known: set[tuple[int, Pattern]] = set()
        for column in columns:
            self._add_pattern(*column)

    def least_cost(self, least: int) -> int:
        """In grains, no less than `least`, which is a bound already."""
        prices = [float(choice.price) for choice in self._problem.choices]
        self._counts.add_row(float(least), math.inf, self._choices, prices)
        requests = self._problem.requests
        for resource in np.nonzero(requests.any(axis=0))[0].tolist():
            self._require(requests[:, resource] / requests[:, resource].max(), ())
        while self._has_time():
            solved = self._counts.solve(self._deadline - time.perf_counter())
            if solved.status != "optimal":
                break
            counts = [round(count) for count in solved.values]
            cost = sum(choice.price * count for choice, count in zip(self._problem.choices, counts, strict=True))
            least = max(least, cost)
            if not self._exclude(counts):
                break
        return least

    def _has_time(self) -> bool:
        return time.perf_counter() < self._deadline

    def _make_counts(self) -> LinearModel:
        """One column for each choice: how many nodes of it."""
        model = LinearModel()
        for choice in self._problem.choices:
            model.add_column(float(choice.price))
        model.make_whole(self._choices)
        for limit, members in self._problem.limits.values():
            model.add_row(-math.inf, float(limit), members, [1.0] * len(members))
        return model

    def _make_packing(self) -> LinearModel:
        """Rows: the demand of each class, and how many nodes of each choice there are. The objective is how many pods
        are left over."""
        model = LinearModel()
        for demand in self._problem.demand.tolist():
            model.add_row(float(demand), math.inf)
        for _ in self._choices:
            model.add_row(-math.inf, 0.0)
        for at in range(len(self._problem.classes)):
            model.add_column(1.0, math.inf, [at], [1.0])
        return model

    def _add_pattern(self, choice: int, pattern: Pattern) -> bool:
        """Whether the pattern is new."""
        if (choice, pattern) in self._known or not any(pattern):
            return False
        self._known.add((choice, pattern))
        rows = np.nonzero(np.array(pattern))[0].tolist()
        amounts = [float(pattern[at]) for at in rows]
        self._packing.add_column(0.0, math.inf, [*rows, len(pattern) + choice], [*amounts, 1.0])
        return True

    def _exclude(self, counts: Sequence[int]) -> bool:
        """Whether a new condition excludes these numbers of nodes."""
        classes = len(self._problem.classes)
        self._packing.set_most(classes, [float(count) for count in counts])
        while self._has_time():
            solved = self._packing.solve(self._deadline - time.perf_counter())
            if solved.status != "optimal" or solved.objective < _ERROR:
                return False
            before = len(self._known)
            if self._require(np.maximum(np.array(solved.duals[:classes]), 0.0), counts):
                return True
            if len(self._known) == before:
                return False
        return False

    def _require(self, values: Values, counts: Sequence[int]) -> bool:
        """Add the condition at these values, if it excludes these numbers of nodes or if there are none."""
        worths = []
        for choice in self._choices:
            worth, pattern = self._pricing.best_pattern(choice, values)
            worths.append(worth * (1 + _ERROR) + _ERROR)
            self._add_pattern(choice, pattern)
        wanted = float(values @ self._problem.demand) * (1 - _ERROR) - _ERROR
        if counts and float(np.array(worths) @ counts) >= wanted:
            return False
        self._counts.add_row(wanted, math.inf, self._choices, worths)
        return True
