"""Schedule again the pods that the cluster's scheduler placed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from msgspec import Struct

from ksched_cli.api.core import Node
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.forks import WORTH_ANSWERS, Fork, forks_at_once, is_copy
from ksched_cli.plan.verify.cycle_budget import CycleBudget
from ksched_cli.plan.verify.evidence import Evidence
from ksched_cli.plan.verify.history import BindingSecond, History, binding_seconds
from ksched_cli.plan.verify.late_nodes import LateNodes, assumption
from ksched_cli.plan.verify.order_search import TriedPod, find_order, is_explained, take_back
from ksched_cli.plan.verify.past_cluster import PastCluster
from ksched_cli.plan.verify.results import Agreement, Checked, Order

# All searches together may take so many cycles, and more on small clusters, where they are quick.
_CYCLES, _NODE_CYCLES = 2_000, 2_000_000
# So many nodes are assumed to have been late in one second.
_MOST_LATE = 8


class _Solved(Struct, frozen=True):
    """A step with its pods in the order that was found, and the nodes that were assumed to be late."""

    step: BindingSecond
    turns: list[TriedPod]
    late: Sequence[str] = ()

    @property
    def explained(self) -> bool:
        return is_explained(self.turns)


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
    middle = run.middle_of(steps) if is_long and forks_at_once() else None
    if middle is None:
        return run.checked(steps)

    def compute() -> _Rest | None:
        return run.rest(steps, middle) if is_copy() else None

    copy = Fork(compute)
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
        self._budget = CycleBudget(max(_CYCLES, _NODE_CYCLES // max(1, len(nodes))))
        self._late = LateNodes(nodes, history)
        self._evidence = evidence

    @property
    def spent(self) -> int:
        """The cycles that all searches so far have spent."""
        return self._budget.spent

    def middle_of(self, steps: Sequence[BindingSecond]) -> int | None:
        """The first step of the second half of the pods. None where no step is independent of the step before it."""
        if not self._cluster.repeatable:
            return None
        pods = list(accumulate(len(step.tried) for step in steps))
        apart = [index for index in range(1, len(steps)) if not _are_mixable(steps[index - 1], steps[index])]
        return min(apart, key=lambda index: abs(2 * pods[index - 1] - pods[-1]), default=None)

    def rest(self, steps: Sequence[BindingSecond], middle: int) -> _Rest:
        """The steps from the middle on, with the pods before it on their nodes."""
        for step in steps[:middle]:
            self._cluster.advance(step)
            for placed in step.tried:
                self._cluster.put(placed)
        return _Rest(self.checked(steps[middle:]), self._budget.spare)

    def checked(self, steps: Sequence[BindingSecond]) -> list[Checked]:
        """The pods of these steps, compared."""
        found = []
        for solved in self.solve(steps):
            order, assumed = _order_of(solved), assumption(solved.late)
            found += [_checked(turn, order, assumed, self._evidence) for turn in filter(_is_reported, solved.turns)]
        return found

    def solve(self, steps: Sequence[BindingSecond]) -> list[_Solved]:
        """Each step by itself, or two in one where that explains them: pods are bound in parallel, so that one that was
        scheduled first may be bound in the next second."""
        solved: list[_Solved] = []
        upcoming = deque(steps)
        while upcoming:
            step = upcoming.popleft()
            self._cluster.advance(step)
            found = self._solve(step)
            joint = None
            if not found.explained and upcoming and self._may_mix(step, upcoming[0]):
                joint = self._solve_as_one([found], upcoming[0])
                if joint is not None:
                    upcoming.popleft()
            if not found.explained and joint is None and solved and self._may_mix(solved[-1].step, step):
                joint = self._solve_as_one([solved[-1], found])
                if joint is not None:
                    solved.pop()
            solved.append(joint or found)
        return solved

    def _may_mix(self, first: BindingSecond, second: BindingSecond) -> bool:
        """Whether pods may have been scheduled in one of the steps and bound in the other, and can be tried so."""
        if not _are_mixable(first, second) or not self._cluster.repeatable:
            return False
        return self._budget.allows(len(first.tried) + len(second.tried))

    def _solve_as_one(self, done: Sequence[_Solved], upcoming: BindingSecond | None = None) -> _Solved | None:
        """One step of all pods of the steps. Pods of `done` are on their nodes. None if that does not explain all
        pods."""
        steps = [*(each.step for each in done), *([upcoming] if upcoming else [])]
        members = [placed for step in steps for placed in step.tried]
        turns = [turn for each in done for turn in each.turns]
        take_back(self._cluster, turns)
        found = find_order(self._cluster, members, self._budget)
        self._budget.spend(len(members))
        if is_explained(found):
            return _Solved(replace(steps[-1], tried=members), found)
        take_back(self._cluster, found)
        for turn in turns:
            self._cluster.put(turn.placed)
        return None

    def _solve(self, step: BindingSecond) -> _Solved:
        solved = _Solved(step, find_order(self._cluster, step.tried, self._budget))
        if solved.explained or not self._cluster.repeatable:
            return solved
        return self._without_late_nodes(solved)

    def _without_late_nodes(self, before: _Solved) -> _Solved:
        """The step again without the better nodes, as long as these may have been late, if that explains all
        placements."""
        step, turns = before.step, before.turns
        late: list[str] = []
        while not is_explained(turns) and self._budget.allows(len(turns)):
            better = {turn.answer.text for turn in turns if turn.answer.agreement is Agreement.OTHER_NODE}
            more = self._late.among(sorted(better), step)
            if not more or len(late) + len(more) > _MOST_LATE:
                break
            late += more
            self._cluster.hide(step.hidden.union(late))
            self._budget.spend(len(turns))
            take_back(self._cluster, turns)
            turns = find_order(self._cluster, step.tried, self._budget)
        self._cluster.hide(step.hidden)
        return _Solved(step, turns, late) if is_explained(turns) else before


def _are_mixable(first: BindingSecond, second: BindingSecond) -> bool:
    """Whether the second step follows at once and nothing but bindings happened in between, at times that are known."""
    in_time = second.second == first.second + 1 and second.quiet and first.hidden == second.hidden
    return in_time and all(each.bound.known for each in (*first.tried, *second.tried))


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


def _order_of(solved: _Solved) -> Order:
    """How the order was found. The likely order is known if all times are of bindings and differ."""
    likely = solved.step.tried
    known = all(each.bound.exact for each in likely) if len(likely) > 1 else likely[0].bound.known
    if known and [turn.placed for turn in solved.turns] == likely:
        return Order.KNOWN
    return Order.FOUND if solved.explained else Order.NOT_FOUND
