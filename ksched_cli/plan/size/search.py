"""The search for the cheapest nodes. The scheduler decides about each set that it proposes.

`PurchaseSearch` first buys without a solver and adds nodes until every pod has one, then tries the sets that the
program proposes in the order of their cost, then searches the parts of the problem one by one (`PartSearch`, which
needs no solver: it looks at all sets between the bound and the best cost if they are few, else it exchanges nodes of
the best set at random). `Forecast` orders the trials: it computes the two default scores of resources (least allocated
and balanced) and leaves out other scores.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, islice, permutations
from math import comb
from random import Random
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.plan.size.bounds import Part, bounds_of_parts, components
from ksched_cli.plan.size.catalog import NodeShape, names_of_new_nodes
from ksched_cli.plan.size.problem import ForecastNodes, GreedyBuyer, Matrix, PackingProblem
from ksched_cli.plan.size.program import PurchaseProgram
from ksched_cli.plan.size.results import SearchEnd, SearchSettings
from ksched_cli.plan.size.trials import Attempt, SizingTrials, UnplacedDaemon, UnplacedPod


class PartSearch:
    """Choices have the numbers of the part. `cut`: the time was over before the search was."""

    def __init__(self, part: Part, counts: Mapping[int, int], bound: int, settings: SearchSettings) -> None:
        self._problem, self._bound, self._settings = part.problem, bound, settings
        self._forecast = Forecast(part.problem)
        self._best = {choice: count for choice, count in counts.items() if count}
        self._free: list[list[int]] = part.problem.free.tolist()
        self._needed = _needed_resources(part.problem)
        self.cut = False

    def cheaper(self, deadline: float) -> Iterator[dict[int, int]]:
        """Sets that leave no pod over by the forecast, each cheaper than the one before."""
        listed = self._sets_below(self._problem.cost_of_choices(self._best), self._settings.listed_sets, deadline)
        if listed is not None:
            yield from self._best_of(listed, deadline)
        else:
            yield from self._exchanged(deadline)

    def _has_resources(self, chosen: Mapping[int, int]) -> bool:
        return all(
            sum(self._free[choice][resource] * count for choice, count in chosen.items()) >= wanted
            for resource, wanted in self._needed
        )

    def _sets_below(self, cost: int, most: int, deadline: float) -> list[dict[int, int]] | None:
        """Every set with the resources whose cost is from the bound to less than this. None if there are more than so
        many, if a shape costs nothing, or if the time is over."""
        problem = self._problem
        order = sorted(range(len(problem.choices)), key=lambda at: -problem.prices[at])
        if not order or not problem.prices.all():
            return None
        prices = [int(problem.prices[at]) for at in order]
        frees = [[self._free[choice][resource] for resource, _ in self._needed] for choice in order]
        # The most of each resource that this choice and those after it sell for a price of 1.
        rates = np.maximum.accumulate((np.array(frees, dtype=float).T / prices).T[::-1])[::-1].tolist()
        found: list[dict[int, int]] = []
        visits = 0

        def visit(at: int, spent: int, chosen: dict[int, int], wanted: list[int]) -> bool:
            """False if there are too many. `wanted`: what the chosen nodes lack of each resource."""
            nonlocal visits
            visits += 1
            price, free, last = prices[at], frees[at], at == len(order) - 1
            money = cost - 1 - spent
            if any(lack > money * rate * (1 + 1e-9) for lack, rate in zip(wanted, rates[at], strict=True)):
                return True
            enough = [-(-lack // each) for lack, each in zip(wanted, free, strict=True) if lack > 0] if last else []
            first = max(-((spent - self._bound) // price), *enough, 0) if last else 0
            for count in range(money // price, first - 1, -1):
                own = {**chosen, order[at]: count} if count else chosen
                if not last:
                    if visits > 5 * most or time.perf_counter() >= deadline:
                        return False
                    left = [lack - count * each for lack, each in zip(wanted, free, strict=True)]
                    if not visit(at + 1, spent + count * price, own, left):
                        return False
                elif problem.allows(own):
                    found.append(own)
                    if len(found) > most:
                        return False
            return True

        return found if visit(0, 0, {}, [lack for _, lack in self._needed]) else None

    def _best_of(self, listed: list[dict[int, int]], deadline: float) -> Iterator[dict[int, int]]:
        """By bisection: from a set that fails to dearer ones, from one that holds all pods to cheaper ones."""
        cost_of_choices = self._problem.cost_of_choices
        left = sorted(listed, key=lambda each: (cost_of_choices(each), sum(each.values())))
        share = 0.5
        while left:
            if time.perf_counter() >= deadline:
                self.cut = True
                return
            counts = left.pop(int(len(left) * share))
            if not self._forecast.holds_all(counts):
                share = (1 + share) / 2 if share < 0.95 else 0.0
                continue
            yield counts
            cost = cost_of_choices(counts)
            left, share = [each for each in left if cost_of_choices(each) < cost], 0.5

    def _exchanged(self, deadline: float) -> Iterator[dict[int, int]]:
        """Nodes of the best set exchanged for others that cost less, at random."""
        problem, settings = self._problem, self._settings
        draw, tried = Random(0), {tuple(sorted(self._best.items()))}
        choices = range(len(problem.choices))
        size = settings.exchanged_nodes
        while size > 1 and comb(len(choices) + size, size) > settings.combinations:
            size -= 1
        others = [each for put in range(size + 1) for each in combinations_with_replacement(choices, put)]
        prices = [sum(problem.choices[choice].price for choice in each) for each in others]
        vain, cost = 0, problem.cost_of_choices(self._best)
        while vain < settings.vain_exchanges:
            if time.perf_counter() >= deadline:
                self.cut = True
                return
            vain += 1
            nodes = [choice for choice, count in self._best.items() for _ in range(count)]
            out = draw.sample(nodes, min(draw.randint(1, size), len(nodes)))
            saved = sum(problem.choices[choice].price for choice in out)
            at = draw.randrange(len(others))
            if not self._bound <= cost - saved + prices[at] < cost:
                continue
            chosen = dict(Counter(nodes) - Counter(out) + Counter(others[at]))
            key = tuple(sorted(chosen.items()))
            if key in tried or not self._has_resources(chosen) or not problem.allows(chosen):
                continue
            tried.add(key)
            vain = 0
            if self._forecast.holds_all(chosen):
                self._best, cost = chosen, problem.cost_of_choices(chosen)
                yield chosen


def _needed_resources(problem: PackingProblem) -> list[tuple[int, int]]:
    """What new nodes must have of each resource at least. 0 or less: the room of the cluster is enough."""
    needed = problem.demand @ problem.requests
    for room in problem.rooms:
        needed = needed - room.count * np.array(room.free, dtype=np.int64)
    return list(enumerate(needed.tolist()))


_BEST, _HALF = 100, 50
# Scores of nodes are kept up to so many bytes.
_KEPT = 30_000_000


class Forecast:
    """A forecast of one problem, for any number of nodes of each choice."""

    def __init__(self, problem: PackingProblem) -> None:
        self._problem = problem
        self._turns = problem.turns
        # Only nodes with room for some pod count. An empty node of each choice follows them.
        self._old = problem.nodes.take(np.nonzero(problem.nodes.most.any(axis=1))[0])
        self._taken = frozenset(problem.nodes.names)
        self._scores = _NodeScores(problem, self._old.with_more(problem.empty))

    def left_over(self, counts: Mapping[int, int]) -> int:
        """How many pods would have no node with so many nodes of each choice."""
        return int(self.left_by_class(counts).sum())

    def holds_all(self, counts: Mapping[int, int]) -> bool:
        """Whether every pod would have a node."""
        return not self.left_by_class(counts, until_failure=True).any()

    def left_by_class(self, counts: Mapping[int, int], *, until_failure: bool = False) -> Matrix:
        """Of each class how many pods would have no node."""
        kinds = self._kinds(counts)
        on: list[list[int]] = [[] for _ in kinds]
        # What the pods of a node come to: a sum of one large number for each class.
        sums = [0] * len(kinds)
        recall, marks = self._scores.recall, self._scores.marks
        left = np.zeros(len(self._problem.classes), dtype=np.int64)
        scores = np.array([recall(kind, 0, ()) for kind in kinds], dtype=np.int64).reshape(len(kinds), len(left))
        for each in self._turns:
            column = scores[:, each]
            row = int(column.argmax()) if kinds else -1
            if row < 0 or column[row] < 0:
                left[each] += 1
                if until_failure:
                    break
                continue
            on[row].append(each)
            sums[row] += marks[each]
            scores[row] = recall(kinds[row], sums[row], on[row])
        return left

    def _kinds(self, counts: Mapping[int, int]) -> list[int]:
        """The nodes in the order of their names: the first of those with the best score gets the pod."""
        found = list(zip(self._old.names, range(len(self._old.names)), strict=True))
        for choice, count in counts.items():
            kind = len(self._old.names) + choice
            for shape, number in self._problem.choices[choice].spread(count).items():
                found += [(name, kind) for name in names_of_new_nodes(shape, number, self._taken)]
        return [kind for _, kind in sorted(found)]


class _NodeScores:
    """What each class scores on a node, by the kind of the node and the pods that were placed on it. It is kept, for
    nodes of one shape fill alike."""

    def __init__(self, problem: PackingProblem, kinds: ForecastNodes) -> None:
        self._problem, self._nodes = problem, kinds
        draw = Random(0)
        self.marks = [draw.getrandbits(62) for _ in problem.classes]
        pods = [(*each.used, *each.nonzero) for each in problem.classes]
        self._pods = np.array(pods, dtype=np.int64).reshape(len(pods), 4)
        self._with_requests = (self._pods[:, :2].sum(axis=1) > 0).astype(np.int64)
        self._known: dict[tuple[int, int], Matrix] = {}
        self._most_kept = _KEPT // (8 * max(len(pods), 1) + 200)

    def recall(self, kind: int, marked: int, pods: Sequence[int]) -> Matrix:
        """-1 for classes that do not fit. `marked`: the sum of the marks of the pods, which are numbers of classes."""
        found = self._known.get((kind, marked))
        if found is None:
            found = self._score(kind, np.bincount(pods, minlength=len(self.marks)) if len(pods) else None)
            if len(self._known) < self._most_kept:
                self._known[kind, marked] = found
        return found

    def _score(self, kind: int, on: Matrix | None) -> Matrix:
        problem, nodes = self._problem, self._nodes
        free, most = nodes.free[kind], nodes.most[kind]
        used, nonzero = nodes.used[kind], nodes.nonzero[kind]
        if on is not None:
            free, most = free - on @ problem.requests, most - on
            taken = on @ self._pods
            used, nonzero = used + taken[:2], nonzero + taken[2:]
            for each in np.nonzero(on)[0].tolist() if problem.rivals else ():
                most[problem.rivals_of[each]] = 0
        fits = (problem.requests <= free).all(axis=1) & (most > 0)
        total = np.maximum(nodes.total[kind], 1)
        spare = np.maximum(nodes.total[kind] - nonzero - self._pods[:, 2:], 0)
        least = (spare * _BEST // total).sum(axis=1) // 2
        balance = _evenness((used + self._pods[:, :2]) / total)
        if problem.scores_the_difference:
            change = _HALF + balance - _evenness((used / total)[None, :])
            balance = _HALF + ((change + (change < 0)) >> 1)
        result: Matrix = np.where(fits, least + balance * self._with_requests, -1)
        return result


def _evenness(shares: NDArray[np.float64]) -> Matrix:
    """balancedResourceScore of cpu and memory."""
    within = np.minimum(shares, 1.0)
    return ((1.0 - np.abs((within[:, 0] - within[:, 1]) / 2)) * float(_BEST)).astype(np.int64)


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


class PurchaseSearch:
    """Tries sets and keeps the cheapest that the scheduler accepts in `state`. Each search begins with the best set so
    far."""

    def __init__(
        self, trials: SizingTrials, problem: PackingProblem, deadline: float, settings: SearchSettings
    ) -> None:
        self._trials, self._deadline, self._settings = trials, deadline, settings
        self._started = self._last_better = time.perf_counter()
        self._limit = deadline - self._started
        self._patience = max(self._limit * settings.patience, settings.least_patience)
        self._class_of = {row: at for at, each in enumerate(problem.classes) for row in each.pods}
        self._known: dict[frozenset[tuple[NodeShape, int]], Attempt] = {}
        # How many pods more or fewer than forecast the scheduler left without a node.
        self._forecast_error = 0
        self._parts: list[tuple[Part, int]] = []
        # Sets that the forecast or the scheduler rejected.
        self._unlikely: list[Mapping[int, int]] = []
        # Whether a search ended before it had looked at everything: for want of cheaper sets, or of time.
        self._gave_up = self._ran_out = False
        self._use(problem)
        self.state = SearchState()

    def _use(self, problem: PackingProblem) -> None:
        self._problem = problem
        self._forecast, self._buyer = Forecast(problem), GreedyBuyer(problem)

    def _has_time(self) -> bool:
        """The search also ends if it found no better set for long."""
        now = time.perf_counter()
        return now < self._deadline and now <= self._last_better + self._patience

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
        """Whether the scheduler accepts the nodes in one of several ways to spread them over zones: over all in turn
        first. If rules between pods compare zones, node after node goes to another zone then, as long as the run comes
        further before the first pod without a node."""
        settings = self._settings
        ways = [self._spread(counts, start) for start in range(settings.zone_spreads)]
        tried: dict[frozenset[tuple[NodeShape, int]], Attempt] = {}
        while ways and self._has_time():
            way = ways.pop(0)
            key = frozenset(way.items())
            if key not in tried:
                attempt = tried[key] = self._trials.run(way, until_failure=True)
                self._compare(attempt)
                if self._take(attempt):
                    return True
                self._note(attempt)
            if not ways and self._problem.compares_zones:
                best = max(tried.values(), key=lambda each: len(each.on))
                untried = (each for each in self._moved(best.counts) if frozenset(each.items()) not in tried)
                ways = list(islice(untried, max(settings.zone_moves - len(tried), 0)))
        return False

    def _moved(self, counts: Mapping[NodeShape, int]) -> Iterator[dict[NodeShape, int]]:
        """The same nodes with one of them in another zone."""
        for choice in self._problem.choices:
            for one, other in permutations(choice.variants, 2):
                if counts.get(one):
                    yield dict(Counter(counts) + Counter({other: 1}) - Counter({one: 1}))

    def _take(self, attempt: Attempt) -> bool:
        """Keep the set if the scheduler accepts it and it is the cheapest so far."""
        cost = self._problem.cost(attempt.counts)
        if not self._trials.accepts(attempt) or cost >= self.state.cost:
            return False
        self.state.best, self.state.cost = attempt, cost
        self._last_better = time.perf_counter()
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
        while state.cost > state.bound:
            self._ran_out = time.perf_counter() > half
            self._gave_up = not self._has_time()
            if self._ran_out or self._gave_up:
                return
            found = program.next_set(state.cost, half - time.perf_counter())
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
