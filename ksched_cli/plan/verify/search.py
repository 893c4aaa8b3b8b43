"""Schedules again the pods that the cluster's scheduler placed, second by second; earlier pods are on their real nodes.

Times are cut to the second, and a scheduler binds hundreds of pods in one. `PlacementSearch` looks for an order of the
pods in which each would go to its node. It tries the likely order; then, pod by pod, the first in that order that would
go to its node, taking back a pod where no other would; then the same without better nodes that may have been late;
then the pods of two seconds that follow each other at once, because pods are bound in parallel. It never tries a state
twice, and to it pods of one template on one node are the same. All of it spends cycles of one budget. What no search
explains is reported as it is: the likely order.

The second half of a long history is replayed on another core.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import msgspec
from msgspec import Struct, structs

from ksched_cli.api.core import Node, Volume
from ksched_cli.api.object_facts import parse_time, version_number
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.run.each import WORTH_ANSWERS, Copy, copies_at_once
from ksched_cli.plan.verify.history import (
    BindingSecond,
    Evidence,
    History,
    PastCluster,
    Placed,
    ReplayAnswer,
    binding_seconds,
)
from ksched_cli.plan.verify.results import Agreement, Checked, Order, VerifySettings
from ksched_cli.process import is_copy


@dataclass
class CycleBudget:
    """`left`: how many cycles all searches of a run may still spend, beyond one for each pod. `spare`: with so many
    cycles less, every search so far would have found the same."""

    left: int
    spent: int = 0
    spare: int = sys.maxsize

    def allows(self, cycles: int) -> bool:
        """Whether so many cycles are left."""
        if self.left < cycles:
            return False
        self._needs(cycles)
        return True

    def limit(self, most: int) -> int:
        """The cycles of a search that may spend this many at most."""
        return min(self.left, most)

    def spend(self, cycles: int) -> None:
        self.left -= cycles
        self.spent += cycles

    def spend_on_search(self, cycles: int, most: int) -> None:
        """The cycles that a search within `limit` has spent. One that has reached its limit would find something else
        within another."""
        self._needs(cycles + 1 if cycles < self.limit(most) else most)
        self.spend(cycles)

    def _needs(self, cycles: int) -> None:
        self.spare = min(self.spare, max(self.left - cycles, 0))


class TriedPod(Struct, frozen=True):
    """A pod that was tried when its turn came."""

    placed: Placed
    answer: ReplayAnswer


class SolvedSecond(Struct, frozen=True):
    """A second with its pods in the order that was found, and the nodes that were assumed to be late."""

    step: BindingSecond
    turns: list[TriedPod]
    late: Sequence[str] = ()

    @property
    def explained(self) -> bool:
        return is_explained(self.turns)


def is_explained(turns: Sequence[TriedPod]) -> bool:
    return _explained(turns) == len(turns)


def _explained(turns: Sequence[TriedPod]) -> int:
    return sum(turn.answer.agreement.agrees for turn in turns)


def are_mixable(first: BindingSecond, second: BindingSecond) -> bool:
    """Whether the second step follows at once and nothing but bindings happened in between, at times that are known."""
    in_time = second.second == first.second + 1 and second.quiet and first.hidden == second.hidden
    return in_time and all(each.bound.known for each in (*first.tried, *second.tried))


class PlacementSearch:
    """Searches an order of the pods that were bound in one second in which the scheduler chooses the nodes that they
    have. If there is none, it takes out nodes that may have come later. `budget` limits the cycles of all searches."""

    def __init__(self, cluster: PastCluster, nodes: Sequence[Node], history: History, settings: VerifySettings) -> None:
        self._cluster, self._late, self._settings = cluster, _LateNodes(nodes, history), settings
        self.budget = CycleBudget(settings.cycles_with(len(nodes)))

    def solve(self, step: BindingSecond) -> SolvedSecond:
        """The pods of a second in an order that explains all placements, or as many as were found to be explained. The
        pods are on their nodes afterwards."""
        found = SolvedSecond(step, self._find_order(step.tried))
        if found.explained or not self._cluster.repeatable:
            return found
        return self._without_late_nodes(found)

    def solve_as_one(self, done: Sequence[SolvedSecond], upcoming: BindingSecond | None = None) -> SolvedSecond | None:
        """One step of all pods of these seconds. Pods of `done` are on their nodes. None if the pods may not have been
        scheduled in one of the seconds and bound in the other, or if that does not explain all of them."""
        steps = [*(each.step for each in done), *([upcoming] if upcoming else [])]
        members = [placed for step in steps for placed in step.tried]
        if not are_mixable(*steps) or not self._cluster.repeatable or not self.budget.allows(len(members)):
            return None
        turns = [turn for each in done for turn in each.turns]
        self._take_back(turns)
        found = self._find_order(members)
        self.budget.spend(len(members))
        if is_explained(found):
            return SolvedSecond(replace(steps[-1], tried=members), found)
        self._take_back(found)
        for turn in turns:
            self._cluster.put(turn.placed)
        return None

    def _find_order(self, members: Sequence[Placed]) -> list[TriedPod]:
        likely = [self._take(placed) for placed in members]
        may_differ = 1 < len(members) <= self._settings.most_pods and self._cluster.repeatable
        if not may_differ or is_explained(likely) or not self.budget.allows(len(members)):
            return likely
        self._take_back(likely)
        orders = _Orders(self._cluster, members, self.budget.limit(self._settings.most_cycles))
        found = orders.search()
        self.budget.spend_on_search(orders.spent, self._settings.most_cycles)
        return max(likely, found, key=_explained)

    def _without_late_nodes(self, before: SolvedSecond) -> SolvedSecond:
        """The second again without the better nodes, as long as these may have been late, if that explains all
        placements."""
        step, turns = before.step, before.turns
        late: list[str] = []
        while not is_explained(turns) and self.budget.allows(len(turns)):
            better = {turn.answer.text for turn in turns if turn.answer.agreement is Agreement.OTHER_NODE}
            more = self._late.among(sorted(better), step)
            if not more or len(late) + len(more) > self._settings.late_nodes:
                break
            late += more
            self._cluster.hide(step.hidden.union(late))
            self.budget.spend(len(turns))
            self._take_back(turns)
            turns = self._find_order(step.tried)
        self._cluster.hide(step.hidden)
        return SolvedSecond(step, turns, late) if is_explained(turns) else before

    # Pods on their nodes

    def _take(self, placed: Placed) -> TriedPod:
        turn = TriedPod(placed, self._cluster.answer(self._cluster.decide(placed), placed))
        self._cluster.put(placed)
        return turn

    def _take_back(self, turns: Sequence[TriedPod]) -> None:
        for turn in turns:
            self._cluster.take_back(turn.placed)


class _Orders:
    """Orders of members, by their number in the likely order. `spent` counts cycles."""

    def __init__(self, cluster: PastCluster, members: Sequence[Placed], cycles: int) -> None:
        self.spent = 0
        self._cluster = cluster
        self._members = members
        self._cycles = cycles
        self._taken = [False] * len(members)
        templates: dict[Hashable, int] = {}
        self._template = [templates.setdefault(_template_of(each), len(templates)) for each in members]
        kinds: dict[Hashable, int] = {}
        pairs = zip(self._template, (each.node for each in members), strict=True)
        self._kind = [kinds.setdefault(pair, len(kinds)) for pair in pairs]
        # How many members of each kind have been taken: the state of the search.
        self._counts = [0] * len(kinds)

    def search(self) -> list[TriedPod]:
        """All members in an order. If no next member is explained, the likeliest member is next."""
        turns: list[TriedPod] = []
        while True:
            turns += self._explain_most()
            first = next((number for number, taken in enumerate(self._taken) if not taken), None)
            if first is None:
                return turns
            self.spent += 1
            placed = self._members[first]
            turns.append(TriedPod(placed, self._cluster.answer(self._cluster.decide(placed), placed)))
            self._put(first)

    def _explain_most(self) -> list[TriedPod]:
        """The longest row of explained members. They are on their nodes afterwards."""
        path: list[int] = []
        best: list[int] = []
        branches = [self._explained_next()]
        seen = {tuple(self._counts)}
        while branches:
            number = next(branches[-1], None)
            if number is None:
                if len(path) > len(best):
                    best = path.copy()
                if all(self._taken) or self.spent >= self._cycles:
                    break
                branches.pop()
                if path:
                    self._take_back(path.pop())
                continue
            self._put(number)
            if tuple(self._counts) in seen:
                self._take_back(number)
                continue
            seen.add(tuple(self._counts))
            path.append(number)
            branches.append(self._explained_next())
        self._go_over(path, best)
        members = [self._members[number] for number in best]
        return [TriedPod(placed, ReplayAnswer(Agreement.SAME, placed.node)) for placed in members]

    def _explained_next(self) -> Iterator[int]:
        """The members that would go to their nodes now, one of each kind."""
        best: dict[int, frozenset[str]] = {}
        seen: set[int] = set()
        for number, placed in enumerate(self._members):
            kind, template = self._kind[number], self._template[number]
            if self._taken[number] or kind in seen:
                continue
            seen.add(kind)
            if template not in best:
                if self.spent >= self._cycles:
                    return
                self.spent += 1
                best[template] = self._cluster.best_nodes(placed)
            if placed.node in best[template]:
                yield number

    def _go_over(self, path: Sequence[int], best: Sequence[int]) -> None:
        """Change the state after one row of members into the state after another row."""
        for number in set(path) - set(best):
            self._take_back(number)
        for number in best:
            if not self._taken[number]:
                self._put(number)

    def _put(self, number: int) -> None:
        self._taken[number] = True
        self._counts[self._kind[number]] += 1
        self._cluster.put(self._members[number])

    def _take_back(self, number: int) -> None:
        self._taken[number] = False
        self._counts[self._kind[number]] -= 1
        self._cluster.take_back(self._members[number])


def _template_of(placed: Placed) -> Hashable:
    """The fields of a pod that a scheduler reads. The node and the token volume of a pod are left out; the name is part
    of the template only if claims may be named after the pod."""
    pod = placed.pod
    volumes = tuple(each for each in pod.spec.volumes if each != Volume(each.name))
    name = pod.metadata.name if pod.spec.resource_claims or any(each.ephemeral for each in volumes) else ""
    spec = structs.replace(pod.spec, node_name="", volumes=volumes)
    labels = frozenset(pod.metadata.labels.items())
    statuses = (pod.status.container_statuses, pod.status.resources, pod.status.allocated_resources)
    amounts = msgspec.json.encode([(each.name, each.allocated_resources, each.resources) for each in statuses[0]])
    rest = msgspec.json.encode([pod.metadata.owner_references, spec, *statuses[1:]])
    return pod.metadata.namespace, labels, name, placed.nominated, amounts, rest


_NEVER = float("inf")


class _LateNodes:
    """Nodes that may have been late: no pod was bound to them, and they changed after the second in question. The
    result shows this as an assumption."""

    def __init__(self, nodes: Iterable[Node], history: History) -> None:
        self._nodes = {node.metadata.name: node for node in nodes}
        self._first_pod: dict[str, float] = {}
        for placed in (*history.tried, *history.others):
            first = self._first_pod.get(placed.node, _NEVER)
            self._first_pod[placed.node] = min(first, placed.bound.second)

    def among(self, names: Iterable[str], step: BindingSecond) -> list[str]:
        """The nodes of these that may have been late in this second."""
        return [
            name
            for name in names
            if self._first_pod.get(name, _NEVER) > step.second and self._changed_later(self._nodes[name], step)
        ]

    def _changed_later(self, node: Node, step: BindingSecond) -> bool:
        written = [version_number(each.pod.metadata.resource_version) for each in step.tried]
        # A pod's version is that of its last change, which is after its binding.
        if all(written) and version_number(node.metadata.resource_version) > min(written):
            return True
        return any(at >= step.second for at in _changes(node))


def _changes(node: Node) -> Iterator[float]:
    """The times at which the node was created and last became ready."""
    if node.metadata.creation_timestamp:
        yield parse_time(node.metadata.creation_timestamp)
    for condition in node.status.conditions:
        if condition.type == "Ready" and condition.last_transition_time:
            yield parse_time(condition.last_transition_time)


class _Rest(Struct, frozen=True):
    """The steps from the middle on as a copy of this process has replayed them, with all cycles of the budget. `spare`:
    how many of these may be spent before the middle without a difference."""

    checked: list[Checked]
    spare: int


def replay(
    scheduler: Scheduler, history: History, nodes: Sequence[Node], evidence: Evidence, settings: VerifySettings
) -> list[Checked]:
    """One cycle for each pod, with the earlier pods on their real nodes. The scheduler's cluster has the pods as
    pending and the first nodes of the history; all `nodes` come in their time. The second half of a long history is
    replayed on another core: the pods before it are on their real nodes, wherever they would go."""
    run, steps = _Replay(scheduler, history, nodes, evidence, settings), list(binding_seconds(history, nodes))
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
    def __init__(
        self,
        scheduler: Scheduler,
        history: History,
        nodes: Sequence[Node],
        evidence: Evidence,
        settings: VerifySettings,
    ) -> None:
        self._cluster = PastCluster(scheduler)
        self._search = PlacementSearch(self._cluster, nodes, history, settings)
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
