"""The search for the cheapest nodes: the program proposes sets in the order of their cost, the scheduler decides."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ksched_cli.plan.sizing.greedy import buy_greedily
from ksched_cli.plan.sizing.problem import Matrix, PackingProblem
from ksched_cli.plan.sizing.program import PurchaseProgram
from ksched_cli.plan.sizing.results import SearchEnd
from ksched_cli.plan.sizing.shapes import NodeShape
from ksched_cli.plan.sizing.trials import Attempt, SizingTrials, UnplacedPod

# How often a set that leaves pods without a node is mended by more nodes.
_MENDS = 12
# So many rejected sets of the program are mended: after that only sets that hold everything count.
_MENDED_SETS = 12
_ZONE_SPREADS = 4


@dataclass(frozen=True)
class RejectedSet:
    """A cheaper set of nodes, and the first pod that the scheduler finds no node for."""

    counts: Mapping[NodeShape, int]
    cost: int
    pod: str
    message: str


@dataclass
class SearchState:
    """The cheapest set so far, and what was tried. `ended`: `optimal` if the cost is the lower bound, `exhausted` if
    the scheduler rejected every cheaper set of the program, `time` if the time limit ended the search, `greedy` if no
    solver searched."""

    best: Attempt | None = None
    cost: int = 0
    bound: int = 0
    rejected: list[RejectedSet] = field(default_factory=list)
    stuck: dict[int, UnplacedPod] = field(default_factory=dict)
    ended: SearchEnd = "greedy"
    rounds: int = 0


class PurchaseSearch:
    def __init__(self, trials: SizingTrials, problem: PackingProblem, deadline: float) -> None:
        self._trials, self._problem, self._deadline = trials, problem, deadline
        self._class_of = {row: at for at, each in enumerate(problem.classes) for row in each.pods}
        self._known: dict[frozenset[tuple[NodeShape, int]], Attempt] = {}
        self.state = SearchState()

    def _has_time(self) -> bool:
        return time.perf_counter() < self._deadline

    def run(self, *, with_solver: bool) -> SearchState:
        """A first answer, whatever the time; then cheaper ones as long as there is time."""
        self._begin()
        state = self.state
        if state.cost > 0 and with_solver:
            self._search()
        if state.best is not None and state.cost > state.bound:
            self._trim()
        if with_solver or state.cost == 0:
            state.ended = self._ending()
        return state

    def _ending(self) -> SearchEnd:
        if self.state.cost <= self.state.bound:
            return "optimal"
        return "exhausted" if self._has_time() else "time"

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
        return True

    def _mended(self, attempt: Attempt, *, gives_up: bool) -> Attempt:
        """With nodes for the pods that have none. If these do not help, one node is tried after the other; pods that
        none helps are excused if the search may give up on them."""
        counts = Counter(attempt.counts)
        bought = Counter(
            {at: sum(counts[each] for each in choice.variants) for at, choice in enumerate(self._problem.choices)}
        )
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
        """The best single node: most pods for its price."""
        lacks = self._lacks(attempt)
        best: tuple[float, Attempt] | None = None
        missing = self._missing(attempt) > 0
        for at, choice in enumerate(self._problem.choices):
            if missing.any() and not (self._problem.most[at] > 0)[missing].any():
                continue
            for variant in choice.variants:
                counts = {**attempt.counts, variant: attempt.counts.get(variant, 0) + 1}
                if not self._problem.within_limits(counts):
                    continue
                tried = self._attempt(counts)
                gain = lacks - self._lacks(tried)
                rate = gain / (choice.price or 1e-9)
                if gain > 0 and (best is None or rate > best[0]):
                    best = rate, tried
            if best is not None and not self._has_time():
                break
        return best[1] if best else None

    # The program

    def _search(self) -> None:
        program = PurchaseProgram(self._problem, self._deadline)
        program.relax()
        state, mended = self.state, 0
        state.bound, state.rounds = min(program.bound, state.cost), program.rounds
        while self._has_time() and state.cost > state.bound:
            found = program.next_set(state.cost, self._deadline - time.perf_counter())
            state.bound = min(max(program.bound, state.bound), state.cost)
            if found is None:
                return
            accepted = False
            for counts in self._spreads(found.counts):
                attempt = self._trials.run(counts, until_failure=True)
                if self._take(attempt):
                    accepted = True
                    break
                self._note(attempt, found.cost)
                if mended < _MENDED_SETS and self._has_time():
                    mended += 1
                    self._mend_below_best(counts)
                if not self._has_time():
                    break
            if not accepted:
                program.reject(found.counts)

    def _mend_below_best(self, counts: Mapping[NodeShape, int]) -> None:
        """More nodes for what the set leaves over, as long as they are cheaper than the best set."""
        attempt = self._attempt(counts)
        for _ in range(3):
            if self._trials.accepts(attempt) or not self._has_time():
                break
            before = self._lacks(attempt)
            attempt = self._mended(attempt, gives_up=False)
            if self._problem.cost(attempt.counts) >= self.state.cost or self._lacks(attempt) >= before:
                return
        self._take(attempt)

    def _spreads(self, counts: Mapping[int, int]) -> Iterator[dict[NodeShape, int]]:
        """The nodes over the zones of their shapes, in several ways if there are zones to choose from."""
        seen: set[frozenset[tuple[NodeShape, int]]] = set()
        for start in range(_ZONE_SPREADS):
            spread: Counter[NodeShape] = Counter()
            for choice, count in counts.items():
                spread.update(self._problem.choices[choice].spread(count, start))
            key = frozenset(spread.items())
            if key not in seen:
                seen.add(key)
                yield dict(spread)

    def _note(self, attempt: Attempt, cost: int) -> None:
        """Remember why the scheduler rejects the set."""
        waiting = self._waiting(attempt)
        pod, message = (waiting[0].pod, waiting[0].message) if waiting else attempt.daemons[0]
        self.state.rejected.append(RejectedSet(attempt.counts, cost, pod, message))

    # Cheaper by one step

    def _trim(self) -> None:
        """Leave out a node, or take a cheaper one in its place, as long as the scheduler accepts it."""
        improved = True
        while improved and self._has_time() and self.state.cost > self.state.bound:
            improved = False
            for counts, cost in self._smaller_sets():
                if not self._has_time():
                    return
                attempt = self._trials.run(counts, until_failure=True)
                if self._take(attempt):
                    improved = True
                    break
                self._note(attempt, cost)

    def _smaller_sets(self) -> list[tuple[dict[NodeShape, int], int]]:
        """Sets that differ by one node, the cheapest that may hold everything first."""
        assert self.state.best is not None
        current = self.state.best.counts
        found: list[tuple[dict[NodeShape, int], int]] = []
        for shape in current:
            fewer = {**current, shape: current[shape] - 1}
            found.append((fewer, self._problem.cost(fewer)))
            for other in self._problem.price_of:
                if self._problem.price_of[other] < self._problem.price_of[shape]:
                    swapped = {**fewer, other: fewer.get(other, 0) + 1}
                    if self._problem.within_limits(swapped):
                        found.append((swapped, self._problem.cost(swapped)))
        found = [each for each in found if each[1] >= self.state.bound and self._may_hold(each[0])]
        return sorted(found, key=lambda each: each[1])

    def _may_hold(self, counts: Mapping[NodeShape, int]) -> bool:
        """Whether the free resources add up to what the pods request."""
        problem = self._problem
        free = np.zeros(problem.requests.shape[1], dtype=np.int64)
        for room in problem.rooms:
            free += room.count * np.array(room.free, dtype=np.int64)
        for choice in problem.choices:
            free += sum(counts.get(each, 0) for each in choice.variants) * np.array(choice.free, dtype=np.int64)
        return bool((free >= problem.demand @ problem.requests).all())
