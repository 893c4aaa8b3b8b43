"""The packing problem behind a purchase: classes of pods, shapes of nodes, and the room that the cluster has.

It is a relaxation. It keeps what the filters that look at one node alone demand: resources, places for pods, taints,
selectors, host ports, volumes of a node, and pods that may not share a node. What pods on other nodes decide is left to
the scheduler. So a set of nodes that the scheduler accepts solves this problem, and its optimum is a lower bound.
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

from ksched_cli.plan.size.shapes import NodeShape

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
    """Shapes that differ in their zone alone: one variable of the program. `price` is in grains of the catalog; `total`
    is what a node can allocate, `free` what DaemonSets leave of it."""

    variants: tuple[NodeShape, ...]
    price: int
    total: tuple[int, ...]
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

    total: tuple[int, ...]
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
        return self.grain * grains


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


def undominated(choices: Sequence[ShapeChoice]) -> list[ShapeChoice]:
    """Without choices that cost as much as another one or more and hold nothing that the other does not hold."""
    if not choices:
        return []
    free, most = np.array([each.free for each in choices]), np.array([each.most for each in choices])
    prices = np.array([each.price for each in choices])
    unlimited = np.array([each.limit is None for each in choices])
    kept: list[ShapeChoice] = []
    for at, choice in enumerate(choices):
        better = (prices <= choice.price) & unlimited
        better &= (free >= free[at]).all(axis=1) & (most >= most[at]).all(axis=1)
        better[at] = False
        same = (prices == choice.price) & (free == free[at]).all(axis=1) & (most == most[at]).all(axis=1)
        # Of equals the first stays.
        better &= ~same | (np.arange(len(choices)) < at)
        if not better.any():
            kept.append(choice)
    return kept
