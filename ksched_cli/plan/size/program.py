"""The mixed-integer program: columns are patterns of pods that fit together on one node (Gilmore and Gomory).

Column generation solves the linear relaxation; the program over the columns that it found gives the sets of nodes. The
bound is that of the dual: at any moment the dual values, scaled until no pattern of any shape is worth more than its
price, are a proof that nothing is cheaper (Farley's bound). If the time ends early, the proof stands.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ksched_cli.plan.size.greedy import Pattern, buy_greedily, fill
from ksched_cli.plan.size.problem import PackingProblem
from ksched_cli.plan.size.solver import LinearModel

_EPSILON = 1e-7
# Every maximal pattern of a shape is listed up to this number: then the program is exact and not only its relaxation.
_LISTED = 400
_VISITS = 20_000
# Room of the cluster is modelled in whole pods up to this many variables, and in fractions beyond.
_WHOLE_ROOMS = 400


@dataclass(frozen=True)
class ProgramSet:
    """The nodes that the program proposes, by choice, and what they cost in grains."""

    counts: Mapping[int, int]
    cost: int


class PurchaseProgram:
    """Sets of nodes in the order of their cost. `bound` is in grains, and grows as columns are found."""

    def __init__(self, problem: PackingProblem, deadline: float) -> None:
        self._problem, self._deadline = problem, deadline
        self._columns: list[tuple[int, Pattern]] = []
        self._known: set[tuple[int, Pattern]] = set()
        self._complete: set[int] = set()
        self._rejected: list[dict[int, int]] = []
        self._pricing: dict[int, LinearModel] = {}
        self._first_shortage = 0
        self.bound = 0
        self.converged = False
        self.rounds = 0
        self._list_patterns()
        self.add(buy_greedily(problem, problem.demand))
        self.add(self._singles())

    # Columns

    def add(self, columns: Iterable[tuple[int, Pattern]]) -> None:
        for column in columns:
            if column not in self._known and any(column[1]):
                self._known.add(column)
                self._columns.append(column)

    def _singles(self) -> Iterable[tuple[int, Pattern]]:
        """For each class and shape as many as fit, and what fits beside them."""
        for each in range(len(self._problem.classes)):
            for choice in np.nonzero(self._problem.most[:, each])[0].tolist()[:64]:
                yield choice, fill(self._problem, choice, [each], self._problem.demand)

    def _list_patterns(self) -> None:
        """Every maximal pattern of the shapes that have few."""
        if len(self._problem.classes) > 12 or len(self._problem.choices) > 64:
            return
        for choice in range(len(self._problem.choices)):
            found = maximal_patterns(self._problem, choice, _LISTED)
            if found is not None:
                self.add((choice, pattern) for pattern in found)
                self._complete.add(choice)

    @property
    def is_exact(self) -> bool:
        """Whether the program has every pattern that can matter."""
        return len(self._complete) == len(self._problem.choices) and self._rooms_are_whole

    @property
    def _rooms_are_whole(self) -> bool:
        return len(self._problem.rooms) * len(self._problem.classes) <= _WHOLE_ROOMS

    # The linear relaxation

    def relax(self) -> None:
        """Generate columns until none is worth its price, or the time is over."""
        problem = self._problem
        while not self.converged and time.perf_counter() < self._deadline:
            self.rounds += 1
            solved = self._master(whole=False).solve(self._deadline - time.perf_counter())
            if solved.status != "optimal":
                return
            duals = np.array(solved.duals)
            values = np.maximum(duals[: len(problem.classes)], 0.0)
            penalties = self._limit_penalties(duals)
            worths, found = self._price(values, penalties)
            self._raise_bound(solved.objective, worths, penalties)
            before = len(self._columns)
            self.add(found)
            self.converged = len(self._columns) == before

    def _limit_penalties(self, duals: Any) -> list[float]:
        """What each choice pays in the dual because its number is limited."""
        first = len(self._problem.classes) + sum(len(room.free) for room in self._problem.rooms)
        found = [0.0] * len(self._problem.choices)
        for at, (_, members) in enumerate(self._problem.limits.values()):
            for choice in members:
                found[choice] = max(-float(duals[first + at]), 0.0)
        return found

    def _price(self, values: Any, penalties: Sequence[float]) -> tuple[list[float], list[tuple[int, Pattern]]]:
        """The most that a pattern of each shape can be worth, and patterns that are worth more than the shape costs."""
        worths: list[float] = []
        found: list[tuple[int, Pattern]] = []
        for choice, shape in enumerate(self._problem.choices):
            price = shape.price + penalties[choice]
            if choice in self._complete:
                worths.append(price)
                continue
            quick = self._quick_bound(choice, values)
            if quick <= price + _EPSILON:
                worths.append(quick)
                continue
            if time.perf_counter() > self._deadline:
                worths.append(quick)
                continue
            worth, pattern = self._best_pattern(choice, values)
            worths.append(worth)
            if worth > price + _EPSILON * max(1.0, price):
                found.append((choice, pattern))
        return worths, found

    def _quick_bound(self, choice: int, values: Any) -> float:
        """No pattern is worth more than all of one resource at the best rate."""
        problem = self._problem
        usable = (problem.most[choice] > 0) & (values > 0)
        if not usable.any():
            return 0.0
        count = float((values * np.minimum(problem.most[choice], problem.demand))[usable].sum())
        rates = [count]
        for resource in range(problem.requests.shape[1]):
            asked = problem.requests[usable, resource]
            if (asked > 0).all():
                rates.append(float((values[usable] / asked).max()) * float(problem.free[choice, resource]))
        return min(rates)

    def _best_pattern(self, choice: int, values: Any) -> tuple[float, Pattern]:
        """A small knapsack: the pattern that is worth most, and a bound on the worth of any pattern."""
        problem = self._problem
        model = self._pricing.get(choice)
        if model is None:
            model = self._pricing[choice] = self._knapsack(choice)
        count = len(problem.classes)
        model.set_costs(values)
        solved = model.solve(self._deadline - time.perf_counter())
        pattern = tuple(round(each) for each in solved.values[:count]) if solved.values else (0,) * count
        if not self._fits(choice, pattern):
            pattern = (0,) * count
        return min(max(solved.bound, 0.0), self._quick_bound(choice, values)), pattern

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
            asked = np.nonzero(problem.requests[:, resource])[0].tolist()
            if asked:
                free = float(max(problem.free[choice, resource], 0))
                model.add_row(-math.inf, free, asked, problem.requests[asked, resource].tolist())
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

    def _raise_bound(self, objective: float, worths: Sequence[float], penalties: Sequence[float]) -> None:
        """Scale the dual values until they are a proof, and round up to a whole number of grains."""
        scale = 1.0
        for shape, worth, penalty in zip(self._problem.choices, worths, penalties, strict=True):
            over = worth - penalty
            if over > shape.price:
                scale = min(scale, shape.price / over)
        proven = scale * objective
        self.bound = max(self.bound, math.ceil(proven - 1e-6 - 1e-8 * abs(proven)))

    # The program

    def _master(self, *, whole: bool) -> LinearModel:
        """Rows: the demand of each class, what the rooms of the cluster hold, and the limits of shapes."""
        problem = self._problem
        model = LinearModel()
        for each in problem.demand.tolist():
            model.add_row(float(each), math.inf)
        for room in problem.rooms:
            for free in room.free:
                model.add_row(-math.inf, float(max(free, 0) * room.count))
        for limit, _ in problem.limits.values():
            model.add_row(-math.inf, float(limit))
        limit_rows: dict[int, int] = {}
        first = len(problem.classes) + sum(len(room.free) for room in problem.rooms)
        for at, (_, members) in enumerate(problem.limits.values()):
            limit_rows.update(dict.fromkeys(members, first + at))
        integers: list[int] = []
        tie_break = 0.25 / max(int(problem.demand.sum()), 1)
        for choice, pattern in self._columns:
            rows = [at for at, count in enumerate(pattern) if count]
            amounts = [float(pattern[at]) for at in rows]
            if choice in limit_rows:
                rows, amounts = [*rows, limit_rows[choice]], [*amounts, 1.0]
            cost = problem.choices[choice].price + (tie_break if whole else 0.0)
            integers.append(model.add_column(float(cost), math.inf, rows, amounts))
        integers += self._add_rooms(model)
        self._add_shortage(model)
        if whole:
            self._make_whole(model, integers)
        return model

    def _add_rooms(self, model: LinearModel) -> list[int]:
        """Pods in the rooms of the cluster cost nothing. Returns the columns, if they are to be whole numbers."""
        problem, made = self._problem, []
        row = len(problem.classes)
        for room in problem.rooms:
            for each, most in enumerate(room.most):
                if not most:
                    continue
                asked = np.nonzero(problem.requests[each])[0]
                rows = [each, *(row + asked).tolist()]
                amounts = [1.0, *problem.requests[each, asked].astype(float).tolist()]
                made.append(model.add_column(0.0, float(most * room.count), rows, amounts))
            row += len(room.free)
        return made if self._rooms_are_whole else []

    def _add_shortage(self, model: LinearModel) -> None:
        """Pods may go without a node at a price that is higher than any node of the catalog."""
        price = 1000.0 * max(float(self._problem.prices.max(initial=1)), 1.0)
        made = [model.add_column(price, math.inf, [each], [1.0]) for each in range(len(self._problem.classes))]
        self._first_shortage = made[0]

    def _shortage_of(self, solution: Sequence[float]) -> Sequence[float]:
        """How many pods of each class go without a node."""
        return solution[self._first_shortage : self._first_shortage + len(self._problem.classes)]

    def _make_whole(self, model: LinearModel, integers: Sequence[int]) -> None:
        model.make_whole(integers)
        of_choice: dict[int, list[int]] = {}
        for column, (choice, _) in enumerate(self._columns):
            of_choice.setdefault(choice, []).append(column)
        for rejected in self._rejected:
            more: list[int] = []
            for choice, columns in of_choice.items():
                at = model.add_column(0.0, 1.0)
                least = float(rejected.get(choice, 0) + 1)
                model.add_row(0.0, math.inf, [*columns, at], [1.0] * len(columns) + [-least])
                more.append(at)
            model.make_whole(more)
            model.add_row(1.0, math.inf, more, [1.0] * len(more))

    def next_set(self, below: int | None, seconds: float) -> ProgramSet | None:
        """The cheapest set of nodes that is not rejected. None if there is none below this cost, or in this time."""
        model = self._master(whole=True)
        model.set_gap(0.3)
        if below is not None:
            prices = [float(self._problem.choices[choice].price) for choice, _ in self._columns]
            model.add_row(-math.inf, float(below - 1), range(len(prices)), prices)
        solved = model.solve(min(seconds, self._deadline - time.perf_counter()))
        if solved.status == "infeasible" and below is not None:
            self._prove(below)
        if not solved.values or any(each > 0.5 for each in self._shortage_of(solved.values)):
            return None
        values = [round(each) for each in solved.values[: len(self._columns)]]
        counts: Counter[int] = Counter()
        for (choice, _), count in zip(self._columns, values, strict=True):
            if count:
                counts[choice] += count
        cost = sum(self._problem.choices[choice].price * count for choice, count in counts.items())
        if solved.status == "optimal":
            self._prove(cost)
        return ProgramSet(counts, cost)

    def _prove(self, cost: int) -> None:
        """No set is cheaper than this, if the program has every pattern and no set is rejected."""
        if self.is_exact and not self._rejected:
            self.bound = max(self.bound, cost)

    def reject(self, counts: Mapping[int, int]) -> None:
        """The scheduler did not accept these nodes: from now on at least one more of some shape."""
        self._rejected.append(dict(counts))


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
        asked = (have // want for want, have in zip(requests[at], left, strict=True) if want)
        return min(caps[at], min(asked, default=0))

    def visit(at: int, left: list[int]) -> bool:
        """False if there are too many."""
        nonlocal visits
        visits += 1
        if at == count:
            if all(pattern[each] >= caps[each] or not fits(each, left) for each in range(count)):
                found.append(tuple(pattern))
            return len(found) <= most and visits <= _VISITS
        for number in range(fits(at, left), -1, -1):
            pattern[at] = number
            if visits > _VISITS or not visit(
                at + 1, [have - number * want for want, have in zip(requests[at], left, strict=True)]
            ):
                return False
        pattern[at] = 0
        return True

    return found if visit(0, free) else None
