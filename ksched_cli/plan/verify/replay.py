"""Schedule again the pods that the cluster's scheduler placed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ksched_cli.api.core import Node
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.verify.evidence import Evidence
from ksched_cli.plan.verify.history import BindingSecond, History, binding_seconds
from ksched_cli.plan.verify.late_nodes import LateNodes, assumption
from ksched_cli.plan.verify.order_search import CycleBudget, TriedPod, find_order, is_explained, take_back
from ksched_cli.plan.verify.past_cluster import PastCluster
from ksched_cli.plan.verify.results import Agreement, Checked, Order

# All searches together may take so many cycles, and more on small clusters, where they are quick.
_CYCLES, _NODE_CYCLES = 2_000, 2_000_000
# So many nodes are assumed to have been late in one second.
_MOST_LATE = 8


@dataclass(frozen=True)
class _Solved:
    """A step with its pods in the order that was found, and the nodes that were assumed to be late."""

    step: BindingSecond
    turns: list[TriedPod]
    late: Sequence[str] = ()

    @property
    def explained(self) -> bool:
        return is_explained(self.turns)


def replay(scheduler: Scheduler, history: History, nodes: Sequence[Node], evidence: Evidence) -> Iterator[Checked]:
    """One cycle for each pod, with the earlier pods on their real nodes. The scheduler's cluster has the pods as
    pending and the first nodes of the history; all `nodes` come in their time."""
    for solved in _Replay(scheduler, history, nodes).solve(list(binding_seconds(history, nodes))):
        order, assumed = _order_of(solved), assumption(solved.late)
        for turn in filter(_is_reported, solved.turns):
            yield _checked(turn, order, assumed, evidence)


class _Replay:
    def __init__(self, scheduler: Scheduler, history: History, nodes: Sequence[Node]) -> None:
        self._cluster = PastCluster(scheduler)
        self._budget = CycleBudget(max(_CYCLES, _NODE_CYCLES // max(1, len(nodes))))
        self._late = LateNodes(nodes, history)

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
        """Whether pods may have been scheduled in one of the steps and bound in the other."""
        in_time = second.second == first.second + 1 and second.quiet and first.hidden == second.hidden
        pods = [*first.tried, *second.tried]
        known = in_time and all(each.bound.known for each in pods)
        return known and self._budget.left >= len(pods) and self._cluster.repeatable

    def _solve_as_one(self, done: Sequence[_Solved], upcoming: BindingSecond | None = None) -> _Solved | None:
        """One step of all pods of the steps. Pods of `done` are on their nodes. None if that does not explain all
        pods."""
        steps = [*(each.step for each in done), *([upcoming] if upcoming else [])]
        members = [placed for step in steps for placed in step.tried]
        turns = [turn for each in done for turn in each.turns]
        take_back(self._cluster, turns)
        found = find_order(self._cluster, members, self._budget)
        self._budget.left -= len(members)
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
        while not is_explained(turns) and self._budget.left >= len(turns):
            better = {turn.answer.text for turn in turns if turn.answer.agreement is Agreement.OTHER_NODE}
            more = self._late.among(sorted(better), step)
            if not more or len(late) + len(more) > _MOST_LATE:
                break
            late += more
            self._cluster.hide(step.hidden.union(late))
            self._budget.left -= len(turns)
            take_back(self._cluster, turns)
            turns = find_order(self._cluster, step.tried, self._budget)
        self._cluster.hide(step.hidden)
        return _Solved(step, turns, late) if is_explained(turns) else before


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
