"""What chance decided in a run of a world, and runs in which it decides otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

import numpy as np
from msgspec.structs import replace

from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.controlplane.draws import Alternative, Choices, Draw, alternatives
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.selection import lowest_name
from ksched_cli.plan.deciding import nodes_without
from ksched_cli.plan.orders.ties import Ties, decisive_ties
from ksched_cli.world.results import Orders, WorldResult
from ksched_cli.world.world import World

# How many orders are tried, the first one among them, and how many cycles they may take together.
MOST_ORDERS = 8
MOST_CYCLES = 20_000
_MOST_WAITING = 4
MOST_RISKS = 64

# By workload: how many pods have no node in the end, and how many were preempted.
Ends = Mapping[str, tuple[int, int]]


class Chance:
    """The cycles of the current run of a world: its ties, and the pods that have no node."""

    def __init__(self) -> None:
        self.ties: Ties | None = None
        self.is_tight = False
        self._cycles = self._drawn = 0
        # Called once the run is too long for other orders.
        self.when_long: Callable[[], None] | None = None
        self._waiting: dict[int, PodInfo] = {}

    def begin(self, world: World, choices: Choices) -> Ties:
        """Observe another run."""
        self.ties, self.is_tight, self._cycles, self._waiting = Ties(world.cluster, choices), False, 0, {}
        self._drawn = len(world.api.draws.made)
        return self.ties

    def draws(self, world: World) -> Sequence[Draw]:
        """The draws of the controllers in this run."""
        return world.api.draws.made[self._drawn :]

    def trying(self, rows: Sequence[int]) -> None:
        if self.ties is not None:
            self.ties.trying(rows)

    def decided(self, decision: Decision, *, matters: bool = True) -> None:
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
        """Other outcomes of what chance decided in this run, where that may matter: of draws of the controllers if a
        pod was turned away or the run has `failed`, then of ties that may leave a node to a pod without one, then of
        ties that may take the node of another pod. `risks`: so many pods are looked at that another node of a tie may
        harm."""
        if self.ties is None or not self._cycles or self.is_long:
            return []
        most = min(MOST_ORDERS, MOST_CYCLES // self._cycles) - 1
        found = list(alternatives(self.draws(world), most)) if self.is_tight or failed else []
        if world.scheduler.takes_lowest_name:
            gone = world.cluster.pods.gone
            waiting = [pod for row, pod in self._waiting.items() if row not in gone]
            every = (*_helpful(world, self.ties, waiting), *_risky(world, self.ties, risks))
            found += islice(dict.fromkeys(every), max(most - len(found), 0))
        return found


def _helpful(world: World, ties: Ties, waiting: Sequence[PodInfo]) -> Iterator[Alternative]:
    if not waiting or not ties.made:
        return iter(())
    own = _placed(world)
    return ties.alternatives([nodes_without(world.scheduler, each, own) for each in waiting[:_MOST_WAITING]])


def _risky(world: World, ties: Ties, most: int) -> Iterator[Alternative]:
    found: dict[tuple[str, tuple[int, ...]], BoolColumn] = {}

    def fits(pod: PodInfo, without: tuple[int, ...], node: int) -> bool:
        key = pod.uid, without
        if key not in found:
            if len(found) == most or not world.cluster.pods.gone.isdisjoint(without):
                return True
            found[key] = nodes_without(world.scheduler, pod, np.array(sorted(without), dtype=np.int64))
        return bool(found[key][node])

    return ties.risky(fits)


def _placed(world: World) -> RowColumn:
    """The pods that got a node in the run."""
    row_of = world.cluster.pods.row_of
    bound = (uid for uid, life in world.recorder.lives.items() if life.bound is not None)
    return np.array(sorted(row_of[uid] for uid in bound if uid in row_of), dtype=np.int64)


@contextmanager
def chosen(world: World, ties: Ties, choices: Choices) -> Iterator[None]:
    """Chance decides as `choices` have it inside the block."""
    draws = world.api.draws
    before, draws.choices = draws.choices, choices
    if ties.are_chosen:
        world.scheduler.break_ties(ties.choose)
    try:
        yield
    finally:
        draws.choices = before
        if ties.are_chosen:
            world.scheduler.break_ties(lowest_name)


def in_orders(
    first: WorldResult, others: Sequence[Alternative], again: Callable[[Choices], WorldResult]
) -> WorldResult:
    """The first result with what becomes of it in other orders. `again` runs the same with these choices."""
    if not others:
        return first
    found = [ends_of(first), *(ends_of(again(each.choices)) for each in others)]
    draws = (*first.draws, *decisive_ties(found[0], zip(others, found[1:], strict=True)))
    names = sorted({name for ends in found for name in ends if _differs(found, name)})
    doubtful = {name: _orders(ends.get(name, (0, 0)) for ends in found) for name in names}
    every = _orders((sum(count for count, _ in ends.values()), 0) for ends in found)
    return replace(first, draws=tuple(dict.fromkeys(draws)), orders=every, doubtful=doubtful)


def ends_of(result: WorldResult) -> Ends:
    unplaced = Counter(pod.workload for pod in result.moved if pod.unplaced)
    evicted = Counter(pod.workload for pod in result.moved if pod.state == "gone" and pod.why.startswith("preempted"))
    return {name: (unplaced[name], evicted[name]) for name in (*unplaced, *evicted)}


def _differs(found: Sequence[Ends], name: str) -> bool:
    return len({ends.get(name, (0, 0)) for ends in found}) > 1


def _orders(counts: Iterable[tuple[int, int]]) -> Orders:
    unplaced = [count for count, _ in counts]
    return Orders(len(unplaced), unplaced.count(0))
