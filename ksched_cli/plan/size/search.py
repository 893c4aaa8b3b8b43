"""The search for the cheapest nodes: the program proposes sets in the order of their cost, the scheduler decides."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from ksched_cli.plan.size.components import bound_by_components
from ksched_cli.plan.size.exchange import exchanges, is_allowed, sets_of_cost
from ksched_cli.plan.size.forecast import Forecast
from ksched_cli.plan.size.greedy import buy_greedily, first_fit, one_shape_each
from ksched_cli.plan.size.problem import Matrix, PackingProblem
from ksched_cli.plan.size.program import PurchaseProgram
from ksched_cli.plan.size.results import SearchEnd
from ksched_cli.plan.size.shapes import NodeShape
from ksched_cli.plan.size.trials import Attempt, SizingTrials, UnplacedPod

# How often a set that leaves pods without a node is mended by more nodes.
_MENDS = 12
# So many rejected sets of the program are mended: after that only sets that hold everything count.
_MENDED_SETS = 12
_ZONE_SPREADS = 4
# The share of the time limit after which a search without a better set ends.
_PATIENCE = 0.3
# Starts with one shape, if there are no more choices than this.
_STARTS = 40
# All sets of a cost are tried if there are few choices, and so many sets of one cost at most.
_COUNTED_CHOICES = 8
_SETS_OF_A_COST = 400
# A set is tried although the forecast leaves so many pods over.
_FORECAST_ERROR = 1
# Exchanges are forecast so many at a time, and the cheapest of them tried.
_CHUNK = 60
# The scheduler tries so many single nodes where the forecast has to choose.
_HELPERS = 4


@dataclass(frozen=True)
class RejectedSet:
    """A cheaper set of nodes, and the first pod that the scheduler finds no node for."""

    counts: Mapping[NodeShape, int]
    cost: int
    pod: str
    message: str


@dataclass
class SearchState:
    """The cheapest set so far, and what was tried. `ended`: `optimal` if the cost is the lower bound, `local` if no
    exchange of two nodes makes it cheaper, `stalled` if no better set was found for long, `time` if the time limit
    ended it, `greedy` if no solver searched."""

    best: Attempt | None = None
    cost: int = 0
    bound: int = 0
    rejected: list[RejectedSet] = field(default_factory=list)
    stuck: dict[int, UnplacedPod] = field(default_factory=dict)
    ended: SearchEnd = "greedy"


class PurchaseSearch:
    def __init__(self, trials: SizingTrials, problem: PackingProblem, deadline: float) -> None:
        self._trials, self._problem, self._deadline = trials, problem, deadline
        self._class_of = {row: at for at, each in enumerate(problem.classes) for row in each.pods}
        self._known: dict[frozenset[tuple[NodeShape, int]], Attempt] = {}
        self._forecast = Forecast(problem)
        self._tried: set[tuple[tuple[int, int], ...]] = set()
        # The search ends when no better set was found for so long.
        self._patience = (deadline - time.perf_counter()) * _PATIENCE
        self._last_better = time.perf_counter()
        self.state = SearchState()

    def _has_time(self) -> bool:
        return time.perf_counter() < self._deadline and not self._has_stalled()

    def _has_stalled(self) -> bool:
        return time.perf_counter() > self._last_better + self._patience

    def run(self, *, with_solver: bool) -> SearchState:
        """A first answer, whatever the time; then cheaper ones as long as there is time."""
        self._begin()
        state = self.state
        if state.stuck:
            self._problem = self._problem.without(state.stuck)
            self._forecast = Forecast(self._problem)
        if state.cost > 0:
            self._start_otherwise()
        if state.cost > 0 and with_solver:
            self._search()
        if state.cost > state.bound:
            self._improve()
        if with_solver or state.cost == 0:
            state.ended = self._ending()
        return state

    def _ending(self) -> SearchEnd:
        if self.state.cost <= self.state.bound:
            return "optimal"
        if self._has_time():
            return "local"
        return "time" if time.perf_counter() >= self._deadline else "stalled"

    # A first answer

    def _begin(self) -> None:
        attempt = self._attempt({})
        for _ in range(_MENDS):
            if self._trials.accepts(attempt):
                break
            attempt = self._mended(attempt, gives_up=True)
        for each in self._waiting(attempt):
            self._give_up(each)
        self.state.best, self.state.cost = attempt, self._problem.cost(attempt.counts)

    def _start_otherwise(self) -> None:
        """Other purchases without a solver, mended until the scheduler accepts them."""
        waiting = self._attempt({})
        missing = self._missing(waiting)
        purchases = [first_fit(self._problem, missing)]
        purchases += one_shape_each(self._problem, missing) if len(self._problem.choices) <= _STARTS else []
        for purchase in purchases:
            if not self._has_time():
                return
            counts = Counter(choice for choice, _ in purchase)
            if self._cost_of(counts) < self.state.cost and is_allowed(self._problem, counts):
                self._mend_below_best(self._spread(counts))

    def _cost_of(self, counts: Mapping[int, int]) -> int:
        return sum(self._problem.choices[choice].price * count for choice, count in counts.items())

    def _spread(self, counts: Mapping[int, int], start: int = 0) -> dict[NodeShape, int]:
        """So many nodes of each choice, over their zones in turn."""
        found: Counter[NodeShape] = Counter()
        for choice, count in counts.items():
            found.update(self._problem.choices[choice].spread(count, start))
        return dict(found)

    def _attempt(self, counts: Mapping[NodeShape, int]) -> Attempt:
        key = frozenset((shape, count) for shape, count in counts.items() if count)
        found = self._known.get(key)
        if found is None or found.cut_short:
            found = self._known[key] = self._trials.run({shape: count for shape, count in counts.items() if count})
        return found

    def _take(self, attempt: Attempt) -> bool:
        """Keep the set if the scheduler accepts it and it is the cheapest so far."""
        cost = self._problem.cost(attempt.counts)
        if not self._trials.accepts(attempt) or (self.state.best is not None and cost >= self.state.cost):
            return False
        self.state.best, self.state.cost = attempt, cost
        self._last_better = time.perf_counter()
        return True

    def _mended(self, attempt: Attempt, *, gives_up: bool) -> Attempt:
        """With nodes for the pods that have none. If these do not help, one node is tried after the other; pods that
        none helps are excused if the search may give up on them."""
        counts = Counter(attempt.counts)
        bought = Counter(self._numbers(counts))
        more = buy_greedily(self._problem, self._missing(attempt), bought)
        for choice, number in Counter(choice for choice, _ in more).items():
            variants = self._problem.choices[choice]
            counts.update(variants.spread(number, bought[choice] % len(variants.variants)))
        if more:
            mended = self._attempt(counts)
            if self._lacks(mended) < self._lacks(attempt):
                return mended
        helped = self._one_more(attempt)
        if helped is not None or not gives_up:
            return helped or attempt
        for each in self._waiting(attempt):
            self._give_up(each)
        return attempt

    def _give_up(self, pod: UnplacedPod) -> None:
        self.state.stuck[pod.row] = pod
        self._trials.excused.add(pod.row)

    def _lacks(self, attempt: Attempt) -> int:
        """How many pods have no node, those of DaemonSets on new nodes among them."""
        return len(self._waiting(attempt)) + len(attempt.daemons)

    def _waiting(self, attempt: Attempt) -> list[UnplacedPod]:
        return [each for each in attempt.unplaced if each.row not in self._trials.excused]

    def _missing(self, attempt: Attempt) -> Matrix:
        """How many pods of each class have no node."""
        found = np.zeros(len(self._problem.classes), dtype=np.int64)
        for each in self._waiting(attempt):
            if each.row in self._class_of:
                found[self._class_of[each.row]] += 1
        return found

    def _one_more(self, attempt: Attempt) -> Attempt | None:
        """The best single node: most pods for its price. The scheduler tries the nodes that the forecast likes best."""
        lacks, missing = self._lacks(attempt), self._missing(attempt) > 0
        best: tuple[float, Attempt] | None = None
        for at in self._likely_helpers(attempt, missing):
            choice = self._problem.choices[at]
            for variant in choice.variants:
                counts = {**attempt.counts, variant: attempt.counts.get(variant, 0) + 1}
                if not self._problem.within_limits(counts):
                    continue
                tried = self._attempt(counts)
                rate = (lacks - self._lacks(tried)) / (choice.price or 1e-9)
                if rate > 0 and (best is None or rate > best[0]):
                    best = rate, tried
            if best is not None and not self._has_time():
                break
        return best[1] if best else None

    def _likely_helpers(self, attempt: Attempt, missing: Any) -> list[int]:
        """Choices that take some pod without a node: those that place most for their price first, a few if there are
        many."""
        problem = self._problem
        takers = [
            at for at in range(len(problem.choices)) if not missing.any() or (problem.most[at] > 0)[missing].any()
        ]
        if len(takers) <= _HELPERS:
            return takers
        numbers = self._numbers(attempt.counts)
        left = self._forecast.left_over(numbers)
        gains = {at: left - self._forecast.left_over({**numbers, at: numbers.get(at, 0) + 1}) for at in takers}
        return sorted(
            takers, key=lambda at: (-gains[at] / max(problem.choices[at].price, 1e-9), problem.choices[at].price)
        )[:_HELPERS]

    # The program

    def _search(self) -> None:
        """Sets of the program, the cheapest first, for half of the time; the other half is for sets near the best."""
        half = time.perf_counter() + (self._deadline - time.perf_counter()) / 2
        self._last_better = time.perf_counter()
        program = PurchaseProgram(self._problem, half)
        program.relax()
        state, mended = self.state, 0
        state.bound = min(max(program.bound, bound_by_components(self._problem, half)), state.cost)
        while time.perf_counter() < half and state.cost > state.bound:
            found = program.next_set(state.cost, half - time.perf_counter())
            state.bound = min(max(program.bound, state.bound), state.cost)
            if found is None:
                return
            if self._accepts_any(found.counts):
                continue
            program.reject(found.counts)
            if mended < _MENDED_SETS and self._has_time():
                mended += 1
                self._mend_below_best(self._spread(found.counts))

    def _accepts_any(self, counts: Mapping[int, int]) -> bool:
        """Whether the scheduler accepts the nodes in one of several ways to spread them over zones."""
        spreads = (self._spread(counts, start) for start in range(_ZONE_SPREADS))
        for spread in {frozenset(each.items()): each for each in spreads}.values():
            if not self._has_time():
                return False
            attempt = self._trials.run(spread, until_failure=True)
            if self._take(attempt):
                return True
            self._note(attempt)
        return False

    def _mend_below_best(self, counts: Mapping[NodeShape, int]) -> None:
        """More nodes for what the set leaves over, as long as they are cheaper than the best set. The forecast chooses
        them first, then the scheduler."""
        numbers = self._forecast_mended(self._numbers(counts))
        if numbers is None:
            return
        attempt = self._attempt(self._spread(numbers))
        for _ in range(3):
            if self._trials.accepts(attempt) or not self._has_time():
                break
            before = self._lacks(attempt)
            attempt = self._mended(attempt, gives_up=False)
            if self._problem.cost(attempt.counts) >= self.state.cost or self._lacks(attempt) >= before:
                return
        self._take(attempt)

    def _forecast_mended(self, numbers: dict[int, int]) -> dict[int, int] | None:
        """With nodes until the forecast leaves no pod over. None if the best set is cheaper."""
        problem, left = self._problem, self._forecast.left_over(numbers)
        while left:
            best: tuple[float, int, int] | None = None
            for at, choice in enumerate(problem.choices):
                more = {**numbers, at: numbers.get(at, 0) + 1}
                if self._cost_of(more) >= self.state.cost or not is_allowed(problem, more):
                    continue
                after = self._forecast.left_over(more)
                rate = (left - after) / (choice.price or 1e-9)
                if after < left and (best is None or rate > best[0]):
                    best = rate, at, after
            if best is None or not self._has_time():
                return None
            numbers, left = {**numbers, best[1]: numbers.get(best[1], 0) + 1}, best[2]
        return numbers

    def _numbers(self, counts: Mapping[NodeShape, int]) -> dict[int, int]:
        """The nodes by choice."""
        numbers = {
            at: sum(counts.get(each, 0) for each in choice.variants) for at, choice in enumerate(self._problem.choices)
        }
        return {at: number for at, number in numbers.items() if number}

    def _note(self, attempt: Attempt) -> None:
        """Remember why the scheduler rejects the set."""
        waiting, cost = self._waiting(attempt), self._problem.cost(attempt.counts)
        pod, message = (waiting[0].pod, waiting[0].message) if waiting else attempt.daemons[0]
        self.state.rejected.append(RejectedSet(attempt.counts, cost, pod, message))

    # Sets near the best

    def _improve(self) -> None:
        """Try every set of a cost from the bound on, if they are few; then exchange nodes of the best set."""
        self._last_better = time.perf_counter()
        for cost in self._costs():
            if not self._try_all(list(sets_of_cost(self._problem, cost, _SETS_OF_A_COST))):
                break
            if self.state.cost <= cost:
                return
        draw = Random(0)
        self._last_better = time.perf_counter()
        for size in (1, 2):
            improved = True
            while improved and self._has_time() and self.state.cost > self.state.bound:
                assert self.state.best is not None
                before = self.state.cost
                near = exchanges(self._problem, self._numbers(self.state.best.counts), self.state.bound, before, size)
                draw.shuffle(near)
                for first in range(0, len(near), _CHUNK):
                    if not self._try_all(near[first : first + _CHUNK]) or self.state.cost < before:
                        break
                improved = self.state.cost < before

    def _costs(self) -> Iterator[int]:
        """Costs from the bound to the best set, if the sets between them can be counted."""
        if len(self._problem.choices) > _COUNTED_CHOICES or any(not each.price for each in self._problem.choices):
            return
        cost = self.state.bound
        while cost < self.state.cost and self._has_time():
            yield cost
            cost += 1

    def _try_all(self, candidates: Sequence[Mapping[int, int]]) -> bool:
        """Try the candidates, those first for which the forecast leaves fewest pods over, until one is accepted. False
        if the time is over."""
        ranked: list[tuple[int, int, Mapping[int, int]]] = []
        for candidate in candidates:
            key = tuple(sorted(candidate.items()))
            if key in self._tried:
                continue
            self._tried.add(key)
            if not self._has_time():
                return False
            left = self._forecast.left_over(candidate)
            if left <= _FORECAST_ERROR:
                ranked.append((left, self._cost_of(candidate), candidate))
        for _, _, candidate in sorted(ranked, key=lambda each: each[:2]):
            if not self._has_time():
                return False
            if self._accepts_any(candidate):
                return True
        return True
