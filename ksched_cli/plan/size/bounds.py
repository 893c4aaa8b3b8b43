"""Lower bounds of the cost that are stronger than the linear relaxation of the program.

WholeNodes: nodes come in whole numbers. At any values of the pods, nodes that hold all pods are worth as much as the
pods: the sum, over the nodes, of the most that the pods of one node can be worth is no less. Each choice of values is a
condition on the numbers of nodes. The cheapest whole numbers that satisfy some conditions are a bound. A linear program
packs the pods on these numbers of nodes; if they do not fit even in fractions of patterns, its dual values are the next
condition (Benders' cuts).

Parts have no shape and no node of the cluster in common. Each is bought for by itself, so that its cost is a sum of its
own prices: rounded up to such a sum, part by part, the bound is stronger than that of the whole.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.plan.size.problem import PackingProblem, Pattern, PodClass, Room, ShapeChoice
from ksched_cli.plan.size.program import PatternPricing, PurchaseProgram, Values
from ksched_cli.plan.size.results import SearchSettings
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


# Costs up to so many grains are looked at one by one.
_COUNTED = 5_000_000


class Part(Struct, frozen=True):
    """A problem of its own, and which choices of the whole its choices are."""

    problem: PackingProblem
    choices: tuple[int, ...]


def bounds_of_parts(
    parts: Sequence[Part], deadline: float, whole: PurchaseProgram, settings: SearchSettings
) -> list[int]:
    """In grains; 0 where nothing is proven in the time. `whole` is the relaxed program of all parts together. Each part
    gets the quick bounds before the solver looks for whole patterns of any part."""
    programs, found = [], []
    for part in parts:
        program = whole
        if len(parts) > 1:
            program = PurchaseProgram(part.problem, deadline, settings.listed_patterns_of_a_part)
            program.relax()
        bound = _payable_bound(program, part.problem)
        if not part.problem.rooms:
            until = min(deadline, time.perf_counter() + settings.whole_seconds)
            bound = WholeNodes(part.problem, until, program.columns).least_cost(bound)
        programs.append(program)
        found.append(bound)
    for at, (part, program) in enumerate(zip(parts, programs, strict=True)):
        share = (deadline - time.perf_counter()) / (len(parts) - at)
        if program.is_exact and share > 0:
            program.next_set(None, min(share, settings.whole_seconds))
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
    if not own or least > _COUNTED:
        return least
    reach = np.zeros(least + own[0], dtype=bool)
    reach[0] = True
    for price in own:
        for start in range(price, len(reach), price):
            reach[start : start + price] |= reach[start - price : min(start, len(reach) - price)][: len(reach) - start]
    # A multiple of the lowest price is among them.
    return least + int(reach[least:].argmax())
