"""The packing problem behind a purchase: classes of pods, shapes of nodes, and the room that the cluster has.

It is a relaxation. It keeps what the filters that look at one node alone demand: resources, places for pods, taints,
selectors, host ports, volumes of a node, and pods that may not share a node. What pods on other nodes decide is left to
the scheduler. So a set of nodes that the scheduler accepts solves this problem, and its optimum is a lower bound.

`GreedyBuyer` solves it without a solver: node after node, each time the shape that holds most for its price.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from math import gcd

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.plan.size.catalog import NodeShape
from ksched_cli.plan.size.results import without_zeros

Matrix = NDArray[np.int64]


class PodClass(Struct, frozen=True):
    """Pending pods that fit on the same nodes in the same numbers. `pods` are rows in the order of their cycles."""

    pods: tuple[int, ...]
    requests: tuple[int, ...]
    # The cpu and memory of a pod that scores read, as requested and with stand-ins for requests of 0.
    used: tuple[int, int] = (0, 0)
    nonzero: tuple[int, int] = (0, 0)

    @property
    def demand(self) -> int:
        return len(self.pods)


class ShapeChoice(Struct, frozen=True):
    """Shapes that differ in their zone alone: one variable of the program. `price` is in grains of the catalog; `free`
    is what DaemonSets leave of what a node can allocate."""

    variants: tuple[NodeShape, ...]
    price: int
    free: tuple[int, ...]
    most: tuple[int, ...]
    limit: int | None

    def spread(self, count: int, start: int = 0) -> dict[NodeShape, int]:
        """So many nodes over the zones in turn, from this zone on."""
        found: dict[NodeShape, int] = {}
        for number in range(count):
            variant = self.variants[(start + number) % len(self.variants)]
            found[variant] = found.get(variant, 0) + 1
        return found


class Room(Struct, frozen=True):
    """What is free on `count` nodes of the cluster that are alike, and how many pods of each class fit on one."""

    free: tuple[int, ...]
    most: tuple[int, ...]
    count: int


class ForecastNodes(Struct, frozen=True, eq=False):
    """Nodes one by one, for forecasts. `free` and `most` as in a room; `total`, `used` and `nonzero` are the cpu and
    memory that scores read, in units of the cluster."""

    names: tuple[str, ...]
    free: Matrix
    most: Matrix
    total: Matrix
    used: Matrix
    nonzero: Matrix

    def take(self, rows: Matrix) -> ForecastNodes:
        """Some of the nodes, in this order; a node may be taken several times."""
        names = tuple(self.names[row] for row in rows.tolist())
        return ForecastNodes(names, *(each[rows] for each in self._columns))

    def with_more(self, more: ForecastNodes) -> ForecastNodes:
        """With other nodes after these."""
        pairs = zip(self._columns, more._columns, strict=True)
        return ForecastNodes((*self.names, *more.names), *(np.concatenate(pair) for pair in pairs))

    def of_classes(self, members: Sequence[int]) -> ForecastNodes:
        """For a problem that has only these classes."""
        return replace(self, most=self.most[:, members])

    @property
    def _columns(self) -> tuple[Matrix, ...]:
        return self.free, self.most, self.total, self.used, self.nonzero


class PackingProblem(Struct, frozen=True, dict=True):
    """`rivals` are pairs of classes that cannot be together on a node; a class with itself is in `most`."""

    classes: tuple[PodClass, ...]
    choices: tuple[ShapeChoice, ...]
    rooms: tuple[Room, ...]
    rivals: frozenset[tuple[int, int]]
    grain: Decimal
    # The class of each pod, in the order of their cycles.
    turns: tuple[int, ...]
    # What forecasts read: the nodes of the cluster, an empty node of each choice, and a rule of the minor.
    nodes: ForecastNodes
    empty: ForecastNodes
    scores_the_difference: bool
    # Whether rules between pods compare other labels of nodes than the host name, such as the zone.
    compares_zones: bool = False

    @cached_property
    def demand(self) -> Matrix:
        return np.array([each.demand for each in self.classes], dtype=np.int64)

    @cached_property
    def requests(self) -> Matrix:
        """By class and resource."""
        found = np.array([each.requests for each in self.classes], dtype=np.int64)
        return found.reshape(len(self.classes), -1) if self.classes else found.reshape(0, 1)

    @cached_property
    def free(self) -> Matrix:
        """By choice and resource."""
        found = np.array([each.free for each in self.choices], dtype=np.int64)
        return found.reshape(len(self.choices), -1) if self.choices else found.reshape(0, self.requests.shape[1])

    @cached_property
    def most(self) -> Matrix:
        """By choice and class."""
        found = np.array([each.most for each in self.choices], dtype=np.int64)
        return found.reshape(len(self.choices), len(self.classes))

    @cached_property
    def rivals_of(self) -> tuple[list[int], ...]:
        """By class: the classes that cannot be with it on a node."""
        found: list[list[int]] = [[] for _ in self.classes]
        for a, b in sorted(self.rivals):
            found[a].append(b)
            found[b].append(a)
        return tuple(found)

    @cached_property
    def prices(self) -> Matrix:
        return np.array([each.price for each in self.choices], dtype=np.int64)

    @cached_property
    def limits(self) -> Mapping[str, tuple[int, tuple[int, ...]]]:
        """By name of a shape that has one: how many can be bought, and the choices that share this limit."""
        found: dict[str, tuple[int, tuple[int, ...]]] = {}
        for at, choice in enumerate(self.choices):
            if choice.limit is not None:
                name = choice.variants[0].name
                found[name] = choice.limit, (*found.get(name, (0, ()))[1], at)
        return found

    def without(self, pods: Collection[int]) -> PackingProblem:
        """The same problem with fewer pods. Every class stays, even if it has no pod any more."""
        classes = tuple(replace(each, pods=tuple(row for row in each.pods if row not in pods)) for each in self.classes)
        left = Counter({at: each.demand for at, each in enumerate(classes)})
        turns = []
        for at in self.turns:
            if left[at]:
                left[at] -= 1
                turns.append(at)
        return replace(self, classes=classes, turns=tuple(turns))

    def cost(self, counts: Mapping[NodeShape, int]) -> int:
        """In grains. Exact: every price is a multiple of the grain."""
        return sum(self.price_of[shape] * count for shape, count in counts.items())

    @cached_property
    def price_of(self) -> Mapping[NodeShape, int]:
        return {shape: choice.price for choice in self.choices for shape in choice.variants}

    def cost_of_choices(self, counts: Mapping[int, int]) -> int:
        """In grains, of so many nodes of each choice."""
        return sum(self.choices[choice].price * count for choice, count in counts.items())

    def allows(self, counts: Mapping[int, int]) -> bool:
        """Whether so many nodes of each choice can be bought."""
        return all(sum(counts.get(each, 0) for each in members) <= limit for limit, members in self.limits.values())

    def within_limits(self, counts: Mapping[NodeShape, int]) -> bool:
        bought: dict[str, int] = {}
        for shape, count in counts.items():
            bought[shape.name] = bought.get(shape.name, 0) + count
        return all(shape.most is None or bought[shape.name] <= shape.most for shape in counts)

    def money(self, grains: int) -> Decimal:
        return without_zeros(self.grain * grains)


def how_many_fit(requests: Sequence[int], free: Sequence[int]) -> int:
    """Copies of the requests that the free amounts hold; one at most where nothing is requested never happens, for
    every pod takes a place."""
    return min((have // want for want, have in zip(requests, free, strict=True) if want > 0), default=0)


def reduced(requests: Matrix, *frees: Matrix) -> tuple[Matrix, list[Matrix]]:
    """The same problem in small numbers: each resource in units of the greatest common divisor of its requests."""
    divisors = [gcd(*column) or 1 for column in requests.T.tolist()] if len(requests) else []
    if not divisors:
        return requests, list(frees)
    units = np.array(divisors, dtype=np.int64)
    return requests // units, [np.maximum(free, 0) // units for free in frees]


def undominated(choices: Sequence[ShapeChoice], keys: Sequence[str] = ()) -> list[ShapeChoice]:
    """Without choices that cost as much as another one or more and hold nothing that the other does not hold. `keys`:
    labels by which rules between pods compare nodes, such as the zone. A choice with other values of them stays."""
    if not choices:
        return []
    domains = [{tuple(map(each.all_labels.get, keys)) for each in choice.variants} for choice in choices]
    free, most = np.array([each.free for each in choices]), np.array([each.most for each in choices])
    prices = np.array([each.price for each in choices])
    unlimited = np.array([each.limit is None for each in choices])
    kept: list[ShapeChoice] = []
    for at, choice in enumerate(choices):
        better = (prices <= choice.price) & unlimited
        better &= (free >= free[at]).all(axis=1) & (most >= most[at]).all(axis=1)
        better[at] = False
        for other in np.nonzero(better)[0].tolist() if keys else ():
            better[other] = domains[at] <= domains[other]
        same = (prices == choice.price) & (free == free[at]).all(axis=1) & (most == most[at]).all(axis=1)
        # Of equals the first stays.
        better &= ~same | (np.arange(len(choices)) < at)
        if not better.any():
            kept.append(choice)
    return kept


# A pattern: how many pods of each class go on one node.
Pattern = tuple[int, ...]


def fill(problem: PackingProblem, choice: int, order: Sequence[int] | Matrix, demand: Matrix) -> Pattern:
    """As many pods of the classes as fit on one node, one class after the other."""
    pattern = [0] * len(problem.classes)
    free = np.maximum(problem.free[choice], 0)
    caps = np.minimum(problem.most[choice], demand)
    left = np.asarray(order, dtype=np.int64)
    left = left[caps[left] > 0]
    while len(left):
        fits = (problem.requests[left] <= free).all(axis=1)
        at = int(fits.argmax())
        if not fits[at]:
            break
        each = int(left[at])
        wanted = problem.requests[each]
        requested = wanted > 0
        count = min(int((free[requested] // wanted[requested]).min(initial=caps[each])), int(caps[each]))
        pattern[each] = count
        free -= count * wanted
        # A class before this one does not fit any more: what is free only shrinks.
        left = left[at + 1 :][fits[at + 1 :]]
        if problem.rivals_of[each]:
            left = left[~np.isin(left, problem.rivals_of[each])]
    return tuple(pattern)


class GreedyBuyer:
    """Buys nodes of one problem. `worths`: what a pod of each class costs on the shape that is cheapest for it alone,
    without regard to whole nodes. `orders`: in which a node is filled, by worth and by each resource, the largest
    first."""

    def __init__(self, problem: PackingProblem) -> None:
        self._problem = problem
        self.worths = self._worths()
        self.orders = self._orders()

    def _worths(self) -> list[float]:
        problem, found = self._problem, []
        for each in range(len(problem.classes)):
            most = problem.most[:, each]
            costs = [float(problem.prices[at]) / int(most[at]) for at in np.nonzero(most)[0].tolist()]
            found.append(min(costs, default=0.0))
        return found

    def _orders(self) -> list[Matrix]:
        problem, worths = self._problem, self.worths
        count = len(problem.classes)
        found = [sorted(range(count), key=lambda each: -worths[each])]
        sizes = problem.free.max(axis=0) if len(problem.choices) else problem.requests.max(axis=0, initial=1)
        shares = problem.requests / np.maximum(sizes, 1)
        found.append(sorted(range(count), key=lambda each: -float(shares[each].max())))
        found += [sorted(range(count), key=lambda each: -float(shares[each, at])) for at in range(shares.shape[1] - 1)]
        return [np.array(each, dtype=np.int64) for each in dict.fromkeys(map(tuple, found))]

    def buy(self, demand: Matrix, bought: Counter[int] | None = None) -> list[tuple[int, Pattern]]:
        """Nodes for the demand, by choice and pattern. What no choice holds, or its limit forbids, is left over."""
        problem, left = self._problem, demand.copy()
        counts = Counter(bought or {})
        # A shape without a price is worth buying for its pods alone.
        worths = np.array([each or 1.0 for each in self.worths])
        found: list[tuple[int, Pattern]] = []
        fills: dict[tuple[int, int], tuple[float, Matrix]] = {}
        while left.any():
            best: tuple[float, int, Matrix] | None = None
            for choice in range(len(problem.choices)):
                if not _room_to_buy(problem, counts, choice):
                    continue
                for way in range(len(self.orders)):
                    value, pattern = self._filled(fills, choice, way, left, worths)
                    ratio = value / (float(problem.prices[choice]) or 1e-9)
                    if value and (best is None or ratio > best[0] * (1 + 1e-12)):
                        best = ratio, choice, pattern
            if best is None:
                break
            _, choice, pattern = best
            used = pattern > 0
            times = max(min(int((left[used] // pattern[used]).min()), _room_to_buy(problem, counts, choice)), 1)
            found += [(choice, tuple(pattern.tolist()))] * times
            counts[choice] += times
            left -= times * pattern
        return found

    def _filled(
        self, fills: dict[tuple[int, int], tuple[float, Matrix]], choice: int, way: int, left: Matrix, worths: Matrix
    ) -> tuple[float, Matrix]:
        """The worth and the pattern of one node. As long as the demand has the pods of a pattern, it stays the same."""
        known = fills.get((choice, way))
        if known is None or (known[1] > left).any():
            pattern = np.array(fill(self._problem, choice, self.orders[way], left), dtype=np.int64)
            known = fills[choice, way] = float(pattern @ worths), pattern
        return known

    def first_fit(self, demand: Matrix) -> list[tuple[int, Pattern]]:
        """First fit decreasing, with the shape of each node chosen last: the cheapest that holds its pods."""
        problem, order = self._problem, self.orders[min(1, len(self.orders) - 1)]
        most = int(demand.sum())
        pods = np.zeros((most, len(problem.classes)), dtype=np.int64)
        used = np.zeros((most, problem.requests.shape[1]), dtype=np.int64)
        # By node and choice: whether the choice holds the pods of the node.
        held = np.ones((most, len(problem.choices)), dtype=bool)
        made = 0
        for each in order.tolist():
            if not problem.most[:, each].any():
                continue
            for _ in range(int(demand[each])):
                # The row after the last node is an empty node.
                rows = slice(0, made + 1)
                after = used[rows] + problem.requests[each]
                holds = held[rows] & (after[:, None, :] <= problem.free[None, :, :]).all(axis=2)
                holds &= pods[rows, each, None] < problem.most[None, :, each]
                if problem.rivals_of[each]:
                    free_of_rivals = pods[rows][:, problem.rivals_of[each]].sum(axis=1) == 0
                    holds &= free_of_rivals[:, None]
                at = int(holds.any(axis=1).argmax())
                pods[at, each] += 1
                used[at], held[at] = after[at], holds[at]
                made = max(made, at + 1)
        prices = np.where(held[:made], problem.prices[None, :], np.iinfo(np.int64).max)
        return [(int(prices[at].argmin()), tuple(pods[at].tolist())) for at in range(made)]

    def one_shape_each(self, demand: Matrix) -> list[list[tuple[int, Pattern]]]:
        """For each choice a purchase of that choice alone, and of others for the pods that it does not take."""
        problem, found = self._problem, []
        for choice in range(len(problem.choices)):
            left, bought = demand.copy(), []
            for _ in range(_room_to_buy(problem, Counter(), choice)):
                pattern = max((fill(problem, choice, order, left) for order in self.orders), key=sum)
                if not any(pattern):
                    break
                bought.append((choice, pattern))
                left -= np.array(pattern, dtype=np.int64)
            if bought:
                found.append([*bought, *self.buy(left, Counter({choice: len(bought)}))])
        return found


def _room_to_buy(problem: PackingProblem, counts: Counter[int], choice: int) -> int:
    """How many more nodes of the choice its limit allows."""
    name = problem.choices[choice].variants[0].name
    if name not in problem.limits:
        return 1 << 30
    limit, members = problem.limits[name]
    return max(limit - sum(counts[each] for each in members), 0)
