"""The mixed-integer program: columns are patterns of pods that fit together on one node (Gilmore and Gomory).

Column generation solves the linear relaxation; the program over the columns that it found gives the sets of nodes. The
bound is that of the dual: at any moment the dual values, scaled until no pattern of any shape is worth more than its
price, are a proof that nothing is cheaper (Farley's bound). If the time ends early, the proof stands.

The second half finds the patterns: all that are maximal, and those that are worth most at given values of the pods
(the pricing problem, a small knapsack).
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.plan.size.problem import GreedyBuyer, PackingProblem, Pattern, fill, how_many_fit
from ksched_cli.plan.size.solver import LinearModel

_EPSILON = 1e-7
# Of sets that cost the same, those with few nodes first: all nodes together may cost so much more, in grains. A set is
# optimal if it is this close to the bound of the solver.
_TIE_BREAK, _GAP = 0.25, 0.3
# Room of the cluster is modelled in whole pods up to this many variables, and in fractions beyond.
_WHOLE_ROOMS = 400


class ProgramSet(Struct, frozen=True):
    """The nodes that the program proposes, by choice, and what they cost in grains."""

    counts: Mapping[int, int]
    cost: int


class PurchaseProgram:
    """Sets of nodes in the order of their cost. `bound` is in grains, and grows as columns are found. If every shape
    has at most `listed` maximal patterns, the program is exact and not only its relaxation."""

    def __init__(self, problem: PackingProblem, deadline: float, listed: int) -> None:
        self._problem, self._deadline = problem, deadline
        self._columns: list[tuple[int, Pattern]] = []
        self._known: set[tuple[int, Pattern]] = set()
        self._complete: set[int] = set()
        self._rejected: list[dict[int, int]] = []
        self._pricing = PatternPricing(problem, deadline)
        self._linear: LinearModel | None = None
        self._linear_columns = 0
        self.bound = 0
        self.converged = False
        self._list_patterns(listed)
        self.add(GreedyBuyer(problem).buy(problem.demand))

    # Columns

    def add(self, columns: Iterable[tuple[int, Pattern]]) -> None:
        for column in columns:
            if column not in self._known and any(column[1]):
                self._known.add(column)
                self._columns.append(column)

    def _list_patterns(self, listed: int) -> None:
        """Every maximal pattern of the shapes that have few, in half of the time."""
        if len(self._problem.classes) > 12 or len(self._problem.choices) > 64:
            return
        until = (time.perf_counter() + self._deadline) / 2
        for choice in range(len(self._problem.choices)):
            if time.perf_counter() >= until:
                return
            found = maximal_patterns(self._problem, choice, listed)
            if found is not None:
                self.add((choice, pattern) for pattern in found)
                self._complete.add(choice)

    @property
    def columns(self) -> Sequence[tuple[int, Pattern]]:
        """The patterns that were found, each with the choice of its node."""
        return self._columns

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
        while not self.converged and time.perf_counter() < self._deadline:
            solved = self._linear_master().solve(self._deadline - time.perf_counter())
            if solved.status != "optimal":
                return
            duals = np.array(solved.duals)
            values = np.maximum(duals[: len(self._problem.classes)], 0.0)
            penalties = self._limit_penalties(duals)
            before = len(self._columns)
            self.add(self._quick_columns(values, penalties))
            if len(self._columns) > before:
                continue
            worths, found = self._price(values, penalties)
            self._raise_bound(solved.objective, worths, penalties)
            self.add(found)
            self.converged = len(self._columns) == before

    def _linear_master(self) -> LinearModel:
        """The linear program with the columns found since the last call: it goes on from its last solution."""
        if self._linear is None:
            self._linear, _ = self._master()
        self._add_patterns(self._linear, self._columns[self._linear_columns :], 0.0)
        self._linear_columns = len(self._columns)
        return self._linear

    def _limit_penalties(self, duals: Any) -> list[float]:
        """What each choice pays in the dual because its number is limited."""
        found = [0.0] * len(self._problem.choices)
        for at, (_, members) in enumerate(self._problem.limits.values()):
            for choice in members:
                found[choice] = max(-float(duals[self._first_limit + at]), 0.0)
        return found

    @property
    def _first_limit(self) -> int:
        return len(self._problem.classes) + sum(len(room.free) for room in self._problem.rooms)

    def _quick_columns(self, values: Any, penalties: Sequence[float]) -> list[tuple[int, Pattern]]:
        """Patterns that are worth more than their shape costs, found greedily."""
        found = []
        for choice, shape in enumerate(self._problem.choices):
            price = shape.price + penalties[choice]
            if choice not in self._complete:
                least = price + _EPSILON * max(1.0, price)
                found += [(choice, each) for each in self._pricing.quick_patterns(choice, values, least)]
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
            quick = self._pricing.quick_bound(choice, values)
            if quick <= price + _EPSILON or time.perf_counter() > self._deadline:
                worths.append(quick)
                continue
            worth, pattern = self._pricing.best_pattern(choice, values)
            worths.append(worth)
            if worth > price + _EPSILON * max(1.0, price):
                found.append((choice, pattern))
        return worths, found

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

    def _master(self) -> tuple[LinearModel, list[int]]:
        """Rows: the demand of each class, what the rooms of the cluster hold, and the limits of shapes. Columns: the
        rooms and the shortage. With it the columns of the rooms, if they are to be whole numbers."""
        problem = self._problem
        model = LinearModel()
        for each in problem.demand.tolist():
            model.add_row(float(each), math.inf)
        for room in problem.rooms:
            for free in room.free:
                model.add_row(-math.inf, float(max(free, 0) * room.count))
        for limit, _ in problem.limits.values():
            model.add_row(-math.inf, float(limit))
        integers = self._add_rooms(model)
        self._add_shortage(model)
        return model, integers

    def _add_rooms(self, model: LinearModel) -> list[int]:
        """Pods in the rooms of the cluster cost nothing. Returns the columns, if they are to be whole numbers."""
        problem, made = self._problem, []
        row = len(problem.classes)
        for room in problem.rooms:
            for each, most in enumerate(room.most):
                if not most:
                    continue
                resources = np.nonzero(problem.requests[each])[0]
                rows = [each, *(row + resources).tolist()]
                amounts = [1.0, *problem.requests[each, resources].astype(float).tolist()]
                made.append(model.add_column(0.0, float(most * room.count), rows, amounts))
            row += len(room.free)
        return made if self._rooms_are_whole else []

    def _add_shortage(self, model: LinearModel) -> None:
        """Pods may go without a node at a price that is higher than any node of the catalog."""
        price = 1000.0 * max(float(self._problem.prices.max(initial=1)), 1.0)
        made = [model.add_column(price, math.inf, [each], [1.0]) for each in range(len(self._problem.classes))]
        self._first_shortage, self._first_pattern = made[0], made[-1] + 1

    def _add_patterns(self, model: LinearModel, columns: Iterable[tuple[int, Pattern]], tie_break: float) -> list[int]:
        """Nodes with a pattern. Each costs the price of its shape and the tie break, and counts for the limit."""
        problem, made = self._problem, []
        limit_rows: dict[int, int] = {}
        for at, (_, members) in enumerate(problem.limits.values()):
            limit_rows.update(dict.fromkeys(members, self._first_limit + at))
        for choice, pattern in columns:
            counts = np.array(pattern, dtype=np.int64)
            rows = np.nonzero(counts)[0].tolist()
            amounts = counts[rows].astype(float).tolist()
            if choice in limit_rows:
                rows, amounts = [*rows, limit_rows[choice]], [*amounts, 1.0]
            made.append(model.add_column(problem.choices[choice].price + tie_break, math.inf, rows, amounts))
        return made

    def _exclude_rejected(self, model: LinearModel) -> None:
        of_choice: dict[int, list[int]] = {}
        for at, (choice, _) in enumerate(self._columns):
            of_choice.setdefault(choice, []).append(self._first_pattern + at)
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
        model, integers = self._master()
        nodes = self._add_patterns(model, self._columns, _TIE_BREAK / max(int(self._problem.demand.sum()), 1))
        model.make_whole([*integers, *nodes])
        self._exclude_rejected(model)
        model.set_gap(_GAP)
        if below is not None:
            prices = [float(self._problem.choices[choice].price) for choice, _ in self._columns]
            model.add_row(-math.inf, float(below - 1), nodes, prices)
        solved = model.solve(min(seconds, self._deadline - time.perf_counter()))
        if solved.status == "stopped" and below is None and math.isfinite(solved.bound):
            self._prove(math.ceil(solved.bound - _TIE_BREAK - 1e-6 - 1e-8 * abs(solved.bound)))
        if not solved.values or any(each > 0.5 for each in self._shortage_of(solved.values)):
            return None
        counts: Counter[int] = Counter()
        for (choice, _), count in zip(self._columns, (round(solved.values[at]) for at in nodes), strict=True):
            if count:
                counts[choice] += count
        cost = sum(self._problem.choices[choice].price * count for choice, count in counts.items())
        if solved.status == "optimal":
            self._prove(cost)
        return ProgramSet(counts, cost)

    def _shortage_of(self, solution: Sequence[float]) -> Sequence[float]:
        """How many pods of each class go without a node."""
        return solution[self._first_shortage : self._first_pattern]

    def _prove(self, cost: int) -> None:
        """No set is cheaper than this, if the program has every pattern and no set is rejected."""
        if self.is_exact and not self._rejected:
            self.bound = max(self.bound, cost)

    def reject(self, counts: Mapping[int, int]) -> None:
        """The scheduler did not accept these nodes: from now on at least one more of some shape."""
        self._rejected.append(dict(counts))


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
        return min(caps[at], how_many_fit(requests[at], left))

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
