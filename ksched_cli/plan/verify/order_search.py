"""The order in which pods were bound in one second, as far as their placements show it.

Times are cut to the second, and a scheduler binds hundreds of pods in one. The search tries pods in their likely order
and takes the first that would go to its node. Where none would, it takes back the last one and tries another. It never
tries a state twice, and to it pods of one template on one node are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.volumes import Volume
from ksched_cli.plan.verify.cycle_budget import CycleBudget
from ksched_cli.plan.verify.history import Placed
from ksched_cli.plan.verify.past_cluster import PastCluster, ReplayAnswer
from ksched_cli.plan.verify.results import Agreement

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
    spec = replace(pod.spec, node_name="", volumes=volumes)
    labels = frozenset(pod.metadata.labels.items())
    statuses = (pod.status.container_statuses, pod.status.resources, pod.status.allocated_resources)
    amounts = msgspec.json.encode([(each.name, each.allocated_resources, each.resources) for each in statuses[0]])
    rest = msgspec.json.encode([pod.metadata.owner_references, spec, *statuses[1:]])
    return pod.metadata.namespace, labels, name, placed.nominated, amounts, rest
