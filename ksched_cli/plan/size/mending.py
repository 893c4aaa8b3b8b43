"""Sets of nodes tried with the scheduler, and mended by more nodes until every pod has one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.plan.size.forecast import Forecast
from ksched_cli.plan.size.greedy import GreedyBuyer
from ksched_cli.plan.size.problem import Matrix, PackingProblem
from ksched_cli.plan.size.results import SearchEnd
from ksched_cli.plan.size.settings import SearchSettings
from ksched_cli.plan.size.shapes import NodeShape
from ksched_cli.plan.size.trials import Attempt, SizingTrials, UnplacedDaemon, UnplacedPod


class RejectedSet(Struct, frozen=True):
    """A cheaper set of nodes, and the first pod that the scheduler finds no node for."""

    counts: Mapping[NodeShape, int]
    cost: int
    pod: str
    message: str


@dataclass
class SearchState:
    """The cheapest set so far, and what was tried. `ended`: `optimal` if the cost is the lower bound, `local` if
    every search came to its end, `stalled` if one was given up, `time` if the time limit
    ended one, `greedy` if no solver searched."""

    best: Attempt | None = None
    cost: int = 0
    bound: int = 0
    rejected: list[RejectedSet] = field(default_factory=list)
    stuck: dict[int, UnplacedPod] = field(default_factory=dict)
    ended: SearchEnd = "greedy"


class SetMender:
    """Tries sets and keeps the cheapest that the scheduler accepts in `state`."""

    def __init__(
        self, trials: SizingTrials, problem: PackingProblem, deadline: float, settings: SearchSettings
    ) -> None:
        self._trials, self._deadline, self._settings = trials, deadline, settings
        self._class_of = {row: at for at, each in enumerate(problem.classes) for row in each.pods}
        self._known: dict[frozenset[tuple[NodeShape, int]], Attempt] = {}
        # How many pods more or fewer than forecast the scheduler left without a node.
        self._forecast_error = 0
        self._use(problem)
        self.state = SearchState()

    def _use(self, problem: PackingProblem) -> None:
        self._problem = problem
        self._forecast, self._buyer = Forecast(problem), GreedyBuyer(problem)

    def _has_time(self) -> bool:
        return time.perf_counter() < self._deadline

    # Sets and what the scheduler makes of them

    def _spread(self, counts: Mapping[int, int], start: int = 0) -> dict[NodeShape, int]:
        """So many nodes of each choice, over their zones in turn."""
        found: Counter[NodeShape] = Counter()
        for choice, count in counts.items():
            found.update(self._problem.choices[choice].spread(count, start))
        return dict(found)

    def _numbers(self, counts: Mapping[NodeShape, int]) -> dict[int, int]:
        """The nodes by choice."""
        numbers = {
            at: sum(counts.get(each, 0) for each in choice.variants) for at, choice in enumerate(self._problem.choices)
        }
        return {at: number for at, number in numbers.items() if number}

    def _attempt(self, counts: Mapping[NodeShape, int]) -> Attempt:
        key = frozenset((shape, count) for shape, count in counts.items() if count)
        found = self._known.get(key)
        if found is None or found.cut_short:
            found = self._known[key] = self._trials.run({shape: count for shape, count in counts.items() if count})
            self._compare(found)
        return found

    def _compare(self, attempt: Attempt) -> None:
        forecast = self._forecast.left_over(self._numbers(attempt.counts))
        actual = sum(each.row in self._class_of for each in self._trials.waiting(attempt))
        if not attempt.cut_short or forecast < actual:
            self._forecast_error = max(self._forecast_error, abs(forecast - actual))

    def _accepts_any(self, counts: Mapping[int, int]) -> bool:
        """Whether the scheduler accepts the nodes in one of several ways to spread them over zones."""
        spreads = (self._spread(counts, start) for start in range(self._settings.zone_spreads))
        for spread in {frozenset(each.items()): each for each in spreads}.values():
            if not self._has_time():
                return False
            attempt = self._trials.run(spread, until_failure=True)
            self._compare(attempt)
            if self._take(attempt):
                return True
            self._note(attempt)
        return False

    def _take(self, attempt: Attempt) -> bool:
        """Keep the set if the scheduler accepts it and it is the cheapest so far."""
        cost = self._problem.cost(attempt.counts)
        if not self._trials.accepts(attempt) or (self.state.best is not None and cost >= self.state.cost):
            return False
        self.state.best, self.state.cost = attempt, cost
        return True

    def _note(self, attempt: Attempt) -> None:
        """Remember why the scheduler rejects the set."""
        cost = self._problem.cost(attempt.counts)
        waiting: list[UnplacedPod | UnplacedDaemon] = [*self._trials.waiting(attempt)]
        waiting += self._trials.waiting_daemons(attempt)
        if waiting:
            self.state.rejected.append(RejectedSet(attempt.counts, cost, waiting[0].pod, waiting[0].message))

    def _lacks(self, attempt: Attempt) -> tuple[int, int]:
        """How many pods have no node, those of DaemonSets on new nodes among them; and how many DaemonSets lack a pod
        on a node of the cluster, which counts less: a run without new nodes does not create these pods."""
        daemons = self._trials.waiting_daemons(attempt)
        new = sum(each.is_new for each in daemons)
        return len(self._trials.waiting(attempt)) + new, len(daemons) - new

    def _missing(self, attempt: Attempt) -> Matrix:
        """How many pods of each class have no node, or are on a node of the cluster where the pod of a DaemonSet finds
        no place beside them."""
        found = np.zeros(len(self._problem.classes), dtype=np.int64)
        crowded = {each.node for each in self._trials.waiting_daemons(attempt) if not each.is_new}
        rows = [each.row for each in self._trials.waiting(attempt)]
        rows += [row for row, node in attempt.on.items() if node in crowded]
        for row in rows:
            if row in self._class_of:
                found[self._class_of[row]] += 1
        return found

    # A first answer

    def _begin(self) -> None:
        """A set that the scheduler accepts, whatever the time, without the pods that no set helps."""
        attempt = self._attempt({})
        if not self._trials.accepts(attempt):
            grown = self._attempt(self._spread(self._forecast_grown(self._missing(attempt))))
            attempt = min(attempt, grown, key=self._lacks)
        while not self._trials.accepts(attempt):
            mended = self._mended(attempt, until_all=True)
            if mended is attempt:
                for each in self._trials.waiting(attempt):
                    self.state.stuck[each.row] = each
                    self._trials.excused.add(each.row)
                lost = self._trials.waiting_daemons(attempt)
                self._trials.excused_daemons.update(each.pod for each in lost if not each.is_new)
                break
            attempt = mended
        self.state.best, self.state.cost = attempt, self._problem.cost(attempt.counts)

    def _forecast_grown(self, missing: Matrix) -> dict[int, int]:
        """A greedy purchase with more nodes for the pods that it leaves over by the forecast."""
        numbers = Counter(choice for choice, _ in self._buyer.buy(missing))
        for turn in range(self._settings.mended_forecasts):
            left = self._forecast.left_by_class(numbers)
            more = self._buyer.buy(np.minimum(left << max(turn - 2, 0), self._problem.demand), numbers)
            if not more:
                break
            numbers.update(choice for choice, _ in more)
        return dict(numbers)

    def _mended(self, attempt: Attempt, *, until_all: bool) -> Attempt:
        """With nodes for the pods that have none. If these do not help, one node is tried after the other, or as many
        as if all pods of their classes had none, for the scheduler may give new nodes to other pods first. The same
        attempt if nothing helps."""
        missing, factor = self._missing(attempt), 1
        while missing.any():
            wanted = np.where(missing > 0, np.minimum(missing * factor, self._problem.demand), 0)
            mended = self._with_nodes_for(attempt, wanted)
            if mended is not None and self._lacks(mended) < self._lacks(attempt):
                return mended
            if not until_all or factor > self._problem.demand.max():
                break
            factor *= 4
        return self._one_more(attempt) or attempt

    def _with_nodes_for(self, attempt: Attempt, wanted: Matrix) -> Attempt | None:
        counts = Counter(attempt.counts)
        bought = Counter(self._numbers(counts))
        more = self._buyer.buy(wanted, bought)
        for choice, number in Counter(choice for choice, _ in more).items():
            variants = self._problem.choices[choice]
            counts.update(variants.spread(number, bought[choice] % len(variants.variants)))
        return self._attempt(counts) if more else None

    def _one_more(self, attempt: Attempt) -> Attempt | None:
        """The best single node: most pods for its price. The scheduler tries the nodes that the forecast likes best."""
        lacks, missing = self._lacks(attempt), self._missing(attempt) > 0
        best: tuple[tuple[float, float], Attempt] | None = None
        for at in self._likely_helpers(attempt, missing):
            choice = self._problem.choices[at]
            for variant in choice.variants:
                counts = {**attempt.counts, variant: attempt.counts.get(variant, 0) + 1}
                if not self._problem.within_limits(counts):
                    continue
                tried = self._attempt(counts)
                left, price = self._lacks(tried), choice.price or 1e-9
                rate = (lacks[0] - left[0]) / price, (lacks[1] - left[1]) / price
                if rate > (0, 0) and (best is None or rate > best[0]):
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
        if len(takers) <= self._settings.helping_nodes:
            return takers
        numbers = self._numbers(attempt.counts)
        left = self._forecast.left_over(numbers)
        gains = {at: left - self._forecast.left_over({**numbers, at: numbers.get(at, 0) + 1}) for at in takers}
        return sorted(
            takers, key=lambda at: (-gains[at] / max(problem.choices[at].price, 1e-9), problem.choices[at].price)
        )[: self._settings.helping_nodes]

    # Cheaper ones

    def _mend_below_best(self, counts: Mapping[int, int]) -> None:
        """More nodes for what the set leaves over, as long as they are cheaper than the best set. The forecast chooses
        them first, then the scheduler."""
        numbers = self._forecast_mended(dict(counts))
        if numbers is None:
            return
        attempt = self._attempt(self._spread(numbers))
        for _ in range(3):
            if self._trials.accepts(attempt) or not self._has_time():
                break
            before = self._lacks(attempt)
            attempt = self._mended(attempt, until_all=False)
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
                if problem.cost_of_choices(more) >= self.state.cost or not problem.allows(more):
                    continue
                after = self._forecast.left_over(more)
                rate = (left - after) / (choice.price or 1e-9)
                if after < left and (best is None or rate > best[0]):
                    best = rate, at, after
                if not self._has_time():
                    return None
            if best is None:
                return None
            numbers, left = {**numbers, best[1]: numbers.get(best[1], 0) + 1}, best[2]
        return numbers
