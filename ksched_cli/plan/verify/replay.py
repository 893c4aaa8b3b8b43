"""Schedule again the pods that the cluster's scheduler placed.

How many cycles the searches of a replay may spend.

The order in which pods were bound in one second, as far as their placements show it.

Times are cut to the second, and a scheduler binds hundreds of pods in one. The search tries pods in their likely order
and takes the first that would go to its node. Where none would, it takes back the last one and tries another. It never
tries a state twice, and to it pods of one template on one node are the same.


Nodes that may not have been candidates yet: cordoned, not ready, or created later in the same second."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import msgspec
from msgspec import Struct, structs

from ksched_cli.api.core import Node
from ksched_cli.api.pod_facts import parse_time
from ksched_cli.api.volumes import Volume
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
    version_of,
)
from ksched_cli.plan.verify.results import Agreement, Checked, Order
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


# No scheduler binds more in a second: so many with one time have it from something else, such as a restored backup.
_MOST_PODS = 1000
# Cycles for one second, beyond one for each pod.
_MOST_CYCLES = 1000


class TriedPod(Struct, frozen=True):
    """A pod that was tried when its turn came."""

    placed: Placed
    answer: ReplayAnswer


def find_order(cluster: PastCluster, members: Sequence[Placed], budget: CycleBudget) -> list[TriedPod]:
    """The members in an order that explains all placements, or else as many as were found to be explained by one. They
    are on their nodes afterwards."""
    best = [_take(cluster, placed) for placed in members]
    if not 1 < len(members) <= _MOST_PODS or not cluster.repeatable:
        return best
    for by_need in (False, True):
        if is_explained(best) or not budget.allows(len(members)):
            break
        take_back(cluster, best)
        search = _Search(cluster, members, budget.limit(_MOST_CYCLES), by_need=by_need)
        best = max(best, search.run(), key=_explained)
        budget.spend_on_search(search.spent, _MOST_CYCLES)
    return best


def take_back(cluster: PastCluster, turns: Sequence[TriedPod]) -> None:
    for turn in turns:
        cluster.take_back(turn.placed)


def is_explained(turns: Sequence[TriedPod]) -> bool:
    return _explained(turns) == len(turns)


def _explained(turns: Sequence[TriedPod]) -> int:
    return sum(turn.answer.agreement.agrees for turn in turns)


def _take(cluster: PastCluster, placed: Placed) -> TriedPod:
    turn = TriedPod(placed, cluster.answer(cluster.decide(placed), placed))
    cluster.put(placed)
    return turn


class _Search:
    """A search over members, by their number in the likely order. `by_need`: members whose nodes have most pods still
    to come are tried first, so that no node has its pods too early. `spent` counts cycles."""

    def __init__(self, cluster: PastCluster, members: Sequence[Placed], cycles: int, *, by_need: bool) -> None:
        self.spent = 0
        self._cluster = cluster
        self._members = members
        self._cycles = cycles
        self._by_need = by_need
        self._taken = [False] * len(members)
        templates: dict[Hashable, int] = {}
        self._template = [templates.setdefault(_template_of(each), len(templates)) for each in members]
        kinds: dict[Hashable, int] = {}
        pairs = zip(self._template, (each.node for each in members), strict=True)
        self._kind = [kinds.setdefault(pair, len(kinds)) for pair in pairs]
        # How many members of each kind have been taken: the state of the search.
        self._counts = [0] * len(kinds)
        self._to_come = Counter(each.node for each in members)

    def run(self) -> list[TriedPod]:
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
        found = self._explained_now()
        return iter(sorted(found, key=self._need)) if self._by_need else found

    def _need(self, number: int) -> int:
        return -self._to_come[self._members[number].node]

    def _explained_now(self) -> Iterator[int]:
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
        self._to_come[self._members[number].node] -= 1
        self._counts[self._kind[number]] += 1
        self._cluster.put(self._members[number])

    def _take_back(self, number: int) -> None:
        self._taken[number] = False
        self._to_come[self._members[number].node] += 1
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


class LateNodes:
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
        written = [version_of(each.pod.metadata) for each in step.tried]
        # A pod's version is that of its last change, which is after its binding.
        if all(written) and version_of(node.metadata) > min(written):
            return True
        return any(at >= step.second for at in _changes(node))


def _changes(node: Node) -> Iterator[float]:
    """The times at which the node was created and last became ready."""
    if node.metadata.creation_timestamp:
        yield parse_time(node.metadata.creation_timestamp)
    for condition in node.status.conditions:
        if condition.type == "Ready" and condition.last_transition_time:
            yield parse_time(condition.last_transition_time)


def assumption(names: Sequence[str]) -> str:
    took = "took no pods yet: it holds none of that time and was changed later"
    if len(names) > 1:
        took = "took no pods yet: they hold none of that time and were changed later"
    return f"{', '.join(names)} {took}" if names else ""


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
