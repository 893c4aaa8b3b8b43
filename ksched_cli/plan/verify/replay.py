"""Schedules again the pods that the cluster's scheduler placed, second by second, each with the earlier pods on their
real nodes (`PlacementSearch` finds the order within a second). The second half of a long history is replayed on another
core."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from ksched_cli.api.core import Node
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.run.each import WORTH_ANSWERS, Copy, copies_at_once
from ksched_cli.plan.verify.history import BindingSecond, Evidence, History, PastCluster, binding_seconds
from ksched_cli.plan.verify.results import Agreement, Checked, Order
from ksched_cli.plan.verify.search import PlacementSearch, SolvedSecond, TriedPod, are_mixable
from ksched_cli.process import is_copy


class _Rest(Struct, frozen=True):
    """The steps from the middle on as a copy of this process has replayed them, with all cycles of the budget. `spare`:
    how many of these may be spent before the middle without a difference."""

    checked: list[Checked]
    spare: int


def replay(scheduler: Scheduler, history: History, nodes: Sequence[Node], evidence: Evidence) -> list[Checked]:
    """One cycle for each pod, with the earlier pods on their real nodes. The scheduler's cluster has the pods as
    pending and the first nodes of the history; all `nodes` come in their time. The second half of a long history is
    replayed on another core: the pods before it are on their real nodes, wherever they would go."""
    run, steps = _Replay(scheduler, history, nodes, evidence), list(binding_seconds(history, nodes))
    is_long = len(history.tried) * len(nodes) >= WORTH_ANSWERS
    middle = run.middle_of(steps) if is_long and copies_at_once() else None
    if middle is None:
        return run.checked(steps)

    def compute() -> _Rest | None:
        return run.rest(steps, middle) if is_copy() else None

    copy = Copy(compute)
    try:
        checked = run.checked(steps[:middle])
        rest = copy.result()
    finally:
        copy.stop()
    if rest is None or rest.spare < run.spent:
        return checked + run.checked(steps[middle:])
    return checked + rest.checked


class _Replay:
    def __init__(self, scheduler: Scheduler, history: History, nodes: Sequence[Node], evidence: Evidence) -> None:
        self._cluster = PastCluster(scheduler)
        self._search = PlacementSearch(self._cluster, nodes, history)
        self._evidence = evidence

    @property
    def spent(self) -> int:
        """The cycles that all searches so far have spent."""
        return self._search.budget.spent

    def middle_of(self, steps: Sequence[BindingSecond]) -> int | None:
        """The first step of the second half of the pods. None where no step is independent of the step before it."""
        if not self._cluster.repeatable:
            return None
        pods = list(accumulate(len(step.tried) for step in steps))
        apart = [index for index in range(1, len(steps)) if not are_mixable(steps[index - 1], steps[index])]
        return min(apart, key=lambda index: abs(2 * pods[index - 1] - pods[-1]), default=None)

    def rest(self, steps: Sequence[BindingSecond], middle: int) -> _Rest:
        """The steps from the middle on, with the pods before it on their nodes."""
        for step in steps[:middle]:
            self._cluster.advance(step)
            for placed in step.tried:
                self._cluster.put(placed)
        return _Rest(self.checked(steps[middle:]), self._search.budget.spare)

    def checked(self, steps: Sequence[BindingSecond]) -> list[Checked]:
        """The pods of these steps, compared."""
        found = []
        for solved in self.solve(steps):
            order, assumed = _order_of(solved), assumption(solved.late)
            found += [_checked(turn, order, assumed, self._evidence) for turn in filter(_is_reported, solved.turns)]
        return found

    def solve(self, steps: Sequence[BindingSecond]) -> list[SolvedSecond]:
        """Each step by itself, or two in one where that explains them: pods are bound in parallel, so that one that was
        scheduled first may be bound in the next second."""
        solved: list[SolvedSecond] = []
        upcoming = deque(steps)
        while upcoming:
            step = upcoming.popleft()
            self._cluster.advance(step)
            found = self._search.solve(step)
            joint = None
            if not found.explained and upcoming:
                joint = self._search.solve_as_one([found], upcoming[0])
                if joint is not None:
                    upcoming.popleft()
            if not found.explained and joint is None and solved:
                joint = self._search.solve_as_one([solved[-1], found])
                if joint is not None:
                    solved.pop()
            solved.append(joint or found)
        return solved


def _is_reported(turn: TriedPod) -> bool:
    return turn.placed.reported


def _checked(turn: TriedPod, order: Order, assumed: str, evidence: Evidence) -> Checked:
    placed, answer = turn.placed, turn.answer
    known = answer.agreement in (Agreement.SAME, Agreement.ERROR)
    return Checked(
        placed.key,
        answer.agreement,
        placed.node,
        answer.text,
        "" if known else evidence.of_placement(placed, answer),
        order=order,
        bound_at=placed.bound.stamp,
        bound_in=placed.bound.source.value,
        assumed=assumed,
    )


def _order_of(solved: SolvedSecond) -> Order:
    """How the order was found. The likely order is known if all times are of bindings and differ."""
    likely = solved.step.tried
    known = all(each.bound.exact for each in likely) if len(likely) > 1 else likely[0].bound.known
    if known and [turn.placed for turn in solved.turns] == likely:
        return Order.KNOWN
    return Order.FOUND if solved.explained else Order.NOT_FOUND


def assumption(names: Sequence[str]) -> str:
    took = "took no pods yet: it holds none of that time and was changed later"
    if len(names) > 1:
        took = "took no pods yet: they hold none of that time and were changed later"
    return f"{', '.join(names)} {took}" if names else ""
