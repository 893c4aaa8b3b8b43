"""The search for the cheapest nodes: the program proposes sets in the order of their cost, the scheduler decides."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from ksched_cli.plan.size.components import Part, bounds_of_parts, components
from ksched_cli.plan.size.exchange import exchanges, is_allowed, sets_of_cost
from ksched_cli.plan.size.mending import SearchState, SetMender
from ksched_cli.plan.size.part_search import PartSearch
from ksched_cli.plan.size.problem import PackingProblem
from ksched_cli.plan.size.program import PurchaseProgram
from ksched_cli.plan.size.results import SearchEnd
from ksched_cli.plan.size.trials import Attempt, SizingTrials

# So many sets of the program that the scheduler rejects are mended, and so many are proposed.
_MENDED_SETS, _PROPOSED_SETS = 6, 40
# The share of the time limit after which a search without a better set ends.
_PATIENCE = 0.2
# Seconds that a search goes on without a better set at least, so that a short time limit is used.
_LEAST_PATIENCE = 1.0
# The share of the time limit that the search takes at most, unless it found a better set just before.
_WITHOUT_SUCCESS = 0.55
# The search of the parts ends after the first share of the time limit, and has the second share at least.
_PARTS, _LEAST_PARTS = 0.65, 0.1
# Starts with one shape, if there are no more choices than this.
_STARTS = 40
# All sets of a cost are tried if there are few choices, and so many sets of one cost at most.
_COUNTED_CHOICES = 8
_SETS_OF_A_COST = 400
# Exchanges are forecast so many at a time, and the cheapest of them tried.
_CHUNK = 60
# The scheduler tries so many of the sets that the search of a part finds, the cheapest first.
_OF_A_PART = 3


class PurchaseSearch(SetMender):
    """Three searches, each from the best set so far: the sets of the program, the parts of the problem one by one, and
    all exchanges of few nodes."""

    def __init__(self, trials: SizingTrials, problem: PackingProblem, deadline: float) -> None:
        super().__init__(trials, problem, deadline)
        self._tried: set[tuple[tuple[int, int], ...]] = set()
        # The search ends when no better set was found for so long.
        self._started = time.perf_counter()
        self._limit = deadline - self._started
        self._patience = max(self._limit * _PATIENCE, _LEAST_PATIENCE)
        # From here on it ends also if none of its ways found a better set for so long.
        self._most = self._started + self._limit * _WITHOUT_SUCCESS
        self._last_taken = time.perf_counter()
        self._last_better = time.perf_counter()
        self._parts: list[tuple[Part, int]] = []
        # Sets that the forecast or the scheduler rejected.
        self._unlikely: list[Mapping[int, int]] = []

    def _has_time(self) -> bool:
        now = time.perf_counter()
        if not super()._has_time() or now > self._last_better + self._patience:
            return False
        return now <= max(self._most, self._last_taken + self._patience)

    def _take(self, attempt: Attempt) -> bool:
        taken = super()._take(attempt)
        if taken:
            self._last_better = self._last_taken = time.perf_counter()
        return taken

    def run(self, *, with_solver: bool) -> SearchState:
        """A first answer, whatever the time; then cheaper ones as long as there is time."""
        self._begin()
        state = self.state
        if state.stuck:
            self._use(self._problem.without(state.stuck))
        self._last_better = time.perf_counter()
        if state.cost > 0:
            self._start_otherwise()
        if state.cost > 0 and with_solver:
            self._search()
            self._improve_parts()
        if state.cost > state.bound:
            self._improve()
        if with_solver or state.cost == 0:
            state.ended = self._ending()
        self._try_next_cheaper()
        return state

    def _ending(self) -> SearchEnd:
        if self.state.cost <= self.state.bound:
            return "optimal"
        if self._has_time():
            return "local"
        return "time" if time.perf_counter() >= self._deadline else "stalled"

    def _start_otherwise(self) -> None:
        """Other purchases without a solver, mended until the scheduler accepts them."""
        missing = self._missing(self._attempt({}))
        purchases = [self._buyer.first_fit(missing)]
        purchases += self._buyer.one_shape_each(missing) if len(self._problem.choices) <= _STARTS else []
        for purchase in purchases:
            if not self._has_time():
                return
            counts = Counter(choice for choice, _ in purchase)
            if self._cost_of(counts) < self.state.cost and is_allowed(self._problem, counts):
                self._mend_below_best(counts)

    # The program

    def _search(self) -> None:
        """Sets of the program, the cheapest first, for half of the time; the other half is for sets near the best."""
        half = time.perf_counter() + (self._deadline - time.perf_counter()) / 2
        program = PurchaseProgram(self._problem, half)
        program.relax()
        parts = components(self._problem)
        self._parts = list(zip(parts, bounds_of_parts(parts, half, program), strict=True))
        state, mended = self.state, 0
        state.bound = min(max(program.bound, sum(bound for _, bound in self._parts)), state.cost)
        self._last_better = time.perf_counter()
        for _ in range(_PROPOSED_SETS):
            if not self._has_time() or time.perf_counter() > half or state.cost <= state.bound:
                return
            found = program.next_set(state.cost, half - time.perf_counter())
            state.bound = min(max(program.bound, state.bound), state.cost)
            if found is None:
                return
            if self._is_likely(found.counts) and self._accepts_any(found.counts):
                continue
            self._unlikely.append(found.counts)
            program.reject(found.counts)
            if mended < _MENDED_SETS and self._has_time():
                mended += 1
                self._mend_below_best(found.counts)

    def _is_likely(self, counts: Mapping[int, int]) -> bool:
        """Whether the scheduler may accept the set, by the forecast and by how wrong it was so far."""
        return self._forecast.left_over(counts) <= self._forecast_error

    def _try_next_cheaper(self) -> None:
        """The scheduler rejects a cheaper set, for the reason: the dearest of those that the forecast rejected, or the
        best set without its cheapest node."""
        state = self.state
        if state.cost <= state.bound or any(state.bound <= each.cost < state.cost for each in state.rejected):
            return
        assert state.best is not None
        numbers = self._numbers(state.best.counts)
        least = min(numbers, key=lambda choice: self._problem.choices[choice].price)
        fewer = {choice: count - (choice == least) for choice, count in numbers.items() if count > (choice == least)}
        below = [each for each in self._unlikely if state.bound <= self._cost_of(each) < state.cost]
        attempt = self._trials.run(self._spread(max(below, key=self._cost_of, default=fewer)), until_failure=True)
        if not self._take(attempt):
            self._note(attempt)

    # The parts

    def _improve_parts(self) -> None:
        """Each part by itself, for an equal share of half of the time that is left. The scheduler tries the cheapest
        sets that the forecast finds, together with the best nodes of the other parts."""
        open_parts = [(part, bound) for part, bound in self._parts if part.problem.demand.any()]
        now = time.perf_counter()
        until = min(max(self._started + _PARTS * self._limit, now + _LEAST_PARTS * self._limit), self._deadline)
        # The parts get their turn, whatever the searches before took.
        self._most = max(self._most, until)
        for number, (part, bound) in enumerate(open_parts):
            self._last_better = time.perf_counter()
            if self.state.cost <= self.state.bound:
                return
            assert self.state.best is not None
            numbers = self._numbers(self.state.best.counts)
            own = {at: numbers[choice] for at, choice in enumerate(part.choices) if choice in numbers}
            now = time.perf_counter()
            share = now + (until - now) / (len(open_parts) - number)
            found = list(PartSearch(part, own, bound).cheaper(share))
            others = {choice: count for choice, count in numbers.items() if choice not in part.choices}
            for counts in list(reversed(found))[:_OF_A_PART]:
                self._last_better = time.perf_counter()
                if self._accepts_any({**others, **{part.choices[at]: count for at, count in counts.items()}}):
                    break

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
            self._unlikely.append(candidate)
            if left <= self._forecast_error:
                ranked.append((left, self._cost_of(candidate), candidate))
        for _, _, candidate in sorted(ranked, key=lambda each: each[:2]):
            if not self._has_time():
                return False
            if self._accepts_any(candidate):
                return True
        return True
