"""Draws in a run of a world: which decisions Kubernetes makes at random, and what other outcomes would change.

kube-scheduler takes one of the best nodes at random, ksched the first by name (`Ties`); controllers draw, too.
`DrawWatch` observes a run and returns the alternatives that may matter; `Run.run_all_orders` runs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.controlplane.draws import OF_ONE_MOMENT, Alternative, Choices, Draw, DrawKey, alternatives
from ksched_cli.engine.decision import Decision, lowest_name
from ksched_cli.plan.reasons.rules import nodes_without
from ksched_cli.world.results import Orders, WorldResult
from ksched_cli.world.world import World

R = TypeVar("R")
WHAT = "node"
# So many nodes of a tie and so many ties of a run are kept.
_MOST_NODES, _MOST_TIES = 16, 256
# Pods that at most so many nodes would take are kept, at most so many of them.
_FEW_NODES, _MOST_NARROW = 16, 256


class Tie(Struct, frozen=True):
    """`pod` is the pod before it is bound, `pod_row` its row, `rows` are the nodes of the tie, and `turn` is the place
    of the taken one. `cycle` is the number of the cycle in the run."""

    draw: Draw
    pod: PodInfo
    pod_row: int
    rows: tuple[int, ...]
    turn: int
    cycle: int


class _Narrow(Struct, frozen=True):
    """A pod that only a few nodes would take, with the node that it got."""

    pod: PodInfo
    pod_row: int
    node: int
    nodes: frozenset[int]
    cycle: int


class Ties:
    """The ties of one run, and the nodes that it takes in them."""

    def __init__(self, cluster: Cluster, choices: Choices) -> None:
        self._cluster = cluster
        self._chosen = {key: turn for key, turn in choices.items() if key[0] == WHAT}
        self._numbers: dict[str, int] = {}
        self._pod = ""
        self._cycle = 0
        self._narrow: list[_Narrow] = []
        self.made: list[Tie] = []

    @property
    def are_chosen(self) -> bool:
        """Whether this run takes another node in some tie."""
        return bool(self._chosen)

    def trying(self, rows: Sequence[int]) -> None:
        """A pod is about to have its cycle. Pods of a group share one: their ties are left alone."""
        self._pod = self._cluster.pods.infos[rows[0]].key if len(rows) == 1 else ""

    def choose(self, ties: RowColumn) -> int:
        """The node of the tie (TieBreak): the first by name, unless the run takes another one."""
        turn = self._chosen.get(self._key(self._pod), 0)
        return int(ties[turn % len(ties)])

    def decided(self, decision: Decision) -> None:
        pod, names = decision.pod.key, self._cluster.nodes.names
        key = self._key(pod)
        self._numbers[pod] = key[2] + 1
        self._cycle += 1
        if decision.row is None:
            return
        if 0 < len(decision.feasible) <= _FEW_NODES and len(self._narrow) < _MOST_NARROW:
            nodes = frozenset(decision.feasible.tolist())
            self._narrow.append(_Narrow(decision.pod, decision.pod_row, decision.row, nodes, self._cycle))
        if len(decision.ties) < 2 or len(self.made) == _MOST_TIES:
            return
        rows = tuple(decision.ties[:_MOST_NODES].tolist())
        if decision.row in rows:
            draw = Draw(WHAT, pod, tuple(names[row] for row in rows), (names[decision.row],), key[2])
            self.made.append(Tie(draw, decision.pod, decision.pod_row, rows, rows.index(decision.row), self._cycle))

    def _key(self, pod: str) -> DrawKey:
        return WHAT, pod, self._numbers.get(pod, 0)

    def alternatives(self, wanted: Sequence[BoolColumn]) -> Iterator[Alternative]:
        """The first other node of each tie that leaves a wanted node to a pod that waits for it. `wanted` has the nodes
        of each such pod."""
        for tie in self.made:
            for mask in wanted:
                others = [place for place, row in enumerate(tie.rows) if not mask[row]]
                if mask[tie.rows[tie.turn]] and others:
                    yield Alternative(tie.draw, others[0])
                    break

    def risky(self, fits: Callable[[PodInfo, tuple[int, ...], int], bool]) -> Iterator[Alternative]:
        """Other nodes of ties that a later pod got which few nodes would take: it may find no node if the tie falls on
        its node. `fits`: whether the pod fits on the node in the end if the pods of these rows were not there."""
        for tie in self.made:
            taken = tie.rows[tie.turn]
            later = [
                each
                for each in self._narrow
                if each.cycle > tie.cycle and each.pod_row != tie.pod_row and taken not in each.nodes
            ]
            for turn, row in enumerate(tie.rows):
                losing = [each for each in later if each.node == row]
                if not losing or fits(tie.pod, (tie.pod_row,), row):
                    continue
                if any(not fits(each.pod, (tie.pod_row, each.pod_row), taken) for each in losing):
                    yield Alternative(tie.draw, turn)


def decisive_runs(
    first: object, others: Sequence[Alternative], runs: Sequence[R], ends: Callable[[R], object]
) -> list[tuple[Alternative, R]]:
    """The alternatives with their runs. What happens at one moment counts as a draw only if the run `ends` otherwise
    than with `first`."""
    found = zip(others, runs, strict=True)
    return [(each, run) for each, run in found if each.draw.what not in OF_ONE_MOMENT or ends(run) != first]


def decisive_ties(first: object, others: Iterable[tuple[Alternative, object]]) -> tuple[Draw, ...]:
    """The ties between nodes, and what happens at one moment, without which the outcome would be the first one."""
    draws = (each.draw for each, outcome in others if outcome != first)
    return tuple(dict.fromkeys(draw for draw in draws if draw.what == WHAT or draw.what in OF_ONE_MOMENT))


FIRST_ORDER: Choices = MappingProxyType({})

# How many orders are tried, the first one among them, and how many cycles they may take together.
MOST_ORDERS = 8
MOST_CYCLES = 20_000
_MOST_WAITING = 4
MOST_RISKS = 64

# By workload: how many pods have no node in the end, and how many were preempted.
Ends = Mapping[str, tuple[int, int]]


class DrawWatch:
    """The cycles of the current run of a world: its ties, and the pods that have no node."""

    def __init__(self) -> None:
        self.ties: Ties | None = None
        # Whether the run is going on: what happens in the world at other times is no part of it.
        self.observes = False
        self.is_tight = False
        self._cycles = self._drawn = self._drawn_at_once = 0
        # Called once the run is too long for other orders.
        self.when_long: Callable[[], None] | None = None
        self._waiting: dict[int, PodInfo] = {}

    def begin(self, world: World, choices: Choices) -> Ties:
        """Observe another run."""
        self.ties, self.is_tight, self._cycles, self._waiting = Ties(world.cluster, choices), False, 0, {}
        self._drawn, self._drawn_at_once = len(world.api.draws.made), len(world.api.draws.of_one_moment)
        return self.ties

    def draws(self, world: World) -> Sequence[Draw]:
        """The draws of the controllers in this run."""
        return world.api.draws.made[self._drawn :]

    def trying(self, rows: Sequence[int]) -> None:
        if self.observes and self.ties is not None:
            self.ties.trying(rows)

    def decided(self, decision: Decision, *, matters: bool) -> None:
        """`matters`: whether it matters if the pod has a node."""
        if self.ties is None:
            return
        self.ties.decided(decision)
        self._cycles += 1
        if self.is_long and self.when_long is not None:
            self.when_long()
            self.when_long = None
        if decision.result == "scheduled":
            self._waiting.pop(decision.pod_row, None)
        elif matters:
            self.is_tight = True
            self._waiting[decision.pod_row] = decision.pod

    @property
    def is_long(self) -> bool:
        """Whether the run has too many cycles for another order."""
        return 2 * self._cycles > MOST_CYCLES

    def others(self, world: World, risks: int = MOST_RISKS, *, failed: bool = False) -> list[Alternative]:
        """Other outcomes of the draws of this run, where that may matter: of draws of the controllers if a
        pod was turned away or the run has `failed`, then of ties that may leave a node to a pod without one, then of
        ties that may take the node of another pod. `risks`: so many pods are looked at that another node of a tie may
        harm, and last of what happens at one moment."""
        if self.ties is None or not self._cycles or self.is_long:
            return []
        most = min(MOST_ORDERS, MOST_CYCLES // self._cycles) - 1
        found = list(alternatives(self.draws(world), most)) if self.is_tight or failed else []
        if world.scheduler.cycle.tie_break is lowest_name:
            gone = world.cluster.pods.gone
            waiting = [info for row, info in self._waiting.items() if row not in gone]
            every = (*_helpful(world, self.ties, waiting), *_risky(world, self.ties, risks))
            found += islice(dict.fromkeys(every), max(most - len(found), 0))
        if self.is_tight or failed:
            at_once = world.api.draws.of_one_moment[self._drawn_at_once :]
            found += alternatives(at_once, most - len(found))
        return found


def _helpful(world: World, ties: Ties, waiting: Sequence[PodInfo]) -> Iterator[Alternative]:
    if not waiting or not ties.made:
        return iter(())
    own = _placed(world)
    return ties.alternatives([nodes_without(world.scheduler, each, own) for each in waiting[:_MOST_WAITING]])


def _risky(world: World, ties: Ties, most: int) -> Iterator[Alternative]:
    found: dict[tuple[str, tuple[int, ...]], BoolColumn] = {}

    def fits(info: PodInfo, without: tuple[int, ...], node: int) -> bool:
        key = info.uid, without
        if key not in found:
            if len(found) == most or not world.cluster.pods.gone.isdisjoint(without):
                return True
            found[key] = nodes_without(world.scheduler, info, np.array(sorted(without), dtype=np.int64))
        return bool(found[key][node])

    return ties.risky(fits)


def _placed(world: World) -> RowColumn:
    """The pods that got a node in the run."""
    row_of = world.cluster.pods.row_of
    bound = (uid for uid, life in world.recorder.lives.items() if life.bound is not None)
    return np.array(sorted(row_of[uid] for uid in bound if uid in row_of), dtype=np.int64)


@contextmanager
def chosen(world: World, watch: DrawWatch, choices: Choices) -> Iterator[None]:
    """A run of the world with the draws of `choices`."""
    ties, draws = watch.begin(world, choices), world.api.draws
    before, draws.choices = draws.choices, choices
    if ties.are_chosen:
        world.scheduler.cycle.tie_break = ties.choose
    watch.observes = True
    try:
        yield
    finally:
        watch.observes = False
        draws.choices = before
        if ties.are_chosen:
            world.scheduler.cycle.tie_break = lowest_name


def merge_orders(
    first: WorldResult, others: Sequence[Alternative], again: Callable[[Choices], WorldResult]
) -> WorldResult:
    """The first result with what becomes of it in other orders. `again` runs the same with these choices."""
    if not others:
        return first
    ends = ends_of(first)
    tried = decisive_runs(ends, others, [ends_of(again(each.choices)) for each in others], lambda each: each)
    if not tried:
        return first
    found = [ends, *(each for _, each in tried)]
    draws = (*first.draws, *decisive_ties(ends, tried))
    names = sorted({name for ends in found for name in ends if _differs(found, name)})
    doubtful = {name: _orders(ends[name][0] if name in ends else 0 for ends in found) for name in names}
    every = _orders(sum(count for count, _ in ends.values()) for ends in found)
    return replace(first, draws=tuple(dict.fromkeys(draws)), orders=every, doubtful=doubtful)


def ends_of(result: WorldResult) -> Ends:
    unplaced = Counter(pod.workload for pod in result.moved if pod.unplaced)
    evicted = Counter(pod.workload for pod in result.moved if pod.state == "gone" and pod.preempted_by)
    return {name: (unplaced[name], evicted[name]) for name in (*unplaced, *evicted)}


def _differs(found: Sequence[Ends], name: str) -> bool:
    return len({ends.get(name, (0, 0)) for ends in found}) > 1


def _orders(unplaced: Iterable[int]) -> Orders:
    counts = list(unplaced)
    return Orders(len(counts), counts.count(0))
