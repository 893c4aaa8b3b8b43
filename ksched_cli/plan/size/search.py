"""The search for the cheapest nodes: purchases without a solver, then the sets that the program proposes in the order
of their cost, then the parts of the problem one by one. The scheduler decides about each set."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

from ksched_cli.plan.size.bounds import Part, bounds_of_parts, components
from ksched_cli.plan.size.mending import SearchState, SetMender
from ksched_cli.plan.size.part_search import PartSearch
from ksched_cli.plan.size.problem import PackingProblem
from ksched_cli.plan.size.program import PurchaseProgram
from ksched_cli.plan.size.results import SearchEnd
from ksched_cli.plan.size.settings import SearchSettings
from ksched_cli.plan.size.trials import Attempt, SizingTrials


class PurchaseSearch(SetMender):
    """Each search begins with the best set so far."""

    def __init__(
        self, trials: SizingTrials, problem: PackingProblem, deadline: float, settings: SearchSettings
    ) -> None:
        super().__init__(trials, problem, deadline, settings)
        self._started = self._last_better = time.perf_counter()
        self._limit = deadline - self._started
        self._patience = max(self._limit * settings.patience, settings.least_patience)
        self._parts: list[tuple[Part, int]] = []
        # Sets that the forecast or the scheduler rejected.
        self._unlikely: list[Mapping[int, int]] = []
        # Whether a search ended before it had looked at everything: for want of cheaper sets, or of time.
        self._gave_up = self._ran_out = False

    def _has_time(self) -> bool:
        """The search ends if it found no better set for long."""
        return super()._has_time() and time.perf_counter() <= self._last_better + self._patience

    def _take(self, attempt: Attempt) -> bool:
        taken = super()._take(attempt)
        if taken:
            self._last_better = time.perf_counter()
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
            if with_solver:
                self._search()
            else:
                self._parts = [(part, 0) for part in components(self._problem)]
            self._improve_parts()
        if with_solver or state.cost == 0:
            state.ended = self._ending()
        self._try_next_cheaper()
        return state

    def _ending(self) -> SearchEnd:
        if self.state.cost <= self.state.bound:
            return "optimal"
        if self._ran_out or time.perf_counter() >= self._deadline:
            return "time"
        return "stalled" if self._gave_up else "local"

    def _start_otherwise(self) -> None:
        """Other purchases without a solver, mended until the scheduler accepts them."""
        missing = self._missing(self._attempt({}))
        purchases = [self._buyer.first_fit(missing)]
        if len(self._problem.choices) <= self._settings.one_shape_choices:
            purchases += self._buyer.one_shape_each(missing)
        for purchase in purchases:
            if not self._has_time():
                return
            counts = Counter(choice for choice, _ in purchase)
            if self._problem.cost_of_choices(counts) < self.state.cost and self._problem.allows(counts):
                self._mend_below_best(counts)

    # The program

    def _search(self) -> None:
        """Sets of the program, the cheapest first, for half of the time; the other half is for the parts."""
        half = time.perf_counter() + (self._deadline - time.perf_counter()) / 2
        program = PurchaseProgram(self._problem, half, self._settings.listed_patterns)
        program.relax()
        parts = components(self._problem)
        self._parts = list(zip(parts, bounds_of_parts(parts, half, program, self._settings), strict=True))
        state = self.state
        state.bound = min(max(program.bound, sum(bound for _, bound in self._parts)), state.cost)
        self._last_better = time.perf_counter()
        for _ in range(self._settings.proposed_sets):
            if state.cost <= state.bound:
                return
            self._ran_out = time.perf_counter() > half
            self._gave_up = not self._has_time()
            if self._ran_out or self._gave_up:
                return
            found = program.next_set(state.cost, half - time.perf_counter())
            state.bound = min(max(program.bound, state.bound), state.cost)
            if found is None:
                return
            if self._is_likely(found.counts) and self._accepts_any(found.counts):
                continue
            self._unlikely.append(found.counts)
            program.reject(found.counts)

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
        below = [each for each in self._unlikely if state.bound <= self._problem.cost_of_choices(each) < state.cost]
        dearest = max(below, key=self._problem.cost_of_choices, default=fewer)
        attempt = self._trials.run(self._spread(dearest), until_failure=True)
        if not self._take(attempt):
            self._note(attempt)

    # The parts

    def _improve_parts(self) -> None:
        """Each part by itself, for an equal share of the time that is left. The scheduler tries the cheapest sets that
        the forecast finds, together with the best nodes of the other parts."""
        settings, state = self._settings, self.state
        open_parts = [(part, bound) for part, bound in self._parts if part.problem.demand.any()]
        # Small parts first: they leave the larger ones what they do not need of their share.
        open_parts.sort(key=lambda each: len(each[0].choices) * len(each[0].problem.classes))
        now = time.perf_counter()
        until = max(self._started + settings.parts_until * self._limit, now + settings.parts_share * self._limit)
        until = min(until, self._deadline)
        for number, (part, bound) in enumerate(open_parts):
            if state.cost <= state.bound:
                return
            assert state.best is not None
            numbers = self._numbers(state.best.counts)
            own = {at: numbers[choice] for at, choice in enumerate(part.choices) if choice in numbers}
            others = {choice: count for choice, count in numbers.items() if choice not in part.choices}
            search = PartSearch(part, own, bound, settings)
            now = time.perf_counter()
            found = list(search.cheaper(now + (until - now) / (len(open_parts) - number)))
            self._ran_out = self._ran_out or search.cut
            for counts in found[: -settings.tried_of_a_part - 1 : -1]:
                self._last_better = time.perf_counter()
                if self._accepts_any({**others, **{part.choices[at]: count for at, count in counts.items()}}):
                    break
