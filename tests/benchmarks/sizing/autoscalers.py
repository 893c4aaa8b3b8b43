"""What two autoscalers would buy, re-implemented from their published rules.

`cluster_autoscaler`: the binpacking estimator with the expanders least-waste and price. Pods are sorted by the sum of the
shares of cpu and memory that they request of the template node, the largest first; each goes on the first new node that
takes it, and a node is added if none does. Of one group of nodes at a time: the expander chooses the group, and the loop goes
on with the pods that are left.

`karpenter`: first fit decreasing. Pods are sorted by cpu and then memory, the largest first; each goes on the first new node
that takes it, those with the fewest pods first, or on one more node. A node stays open to every instance type that holds its
pods, and becomes the cheapest of them in the end.

Both simulate filters, not scores: after a purchase the scheduler places the pods, and what stays pending is bought for again.
That is how both work in a cluster. Only rules about new nodes are here; disruption budgets of NodePools, ratio limits and
batching windows are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import numpy as np

from ksched_cli.plan.run.run import Run
from ksched_cli.plan.size.catalog import NodeShape, catalog_of
from ksched_cli.plan.size.classes import Surveyor
from ksched_cli.plan.size.problem import Matrix, PackingProblem
from ksched_cli.plan.size.trials import SizingTrials
from tests.benchmarks.sizing.instances import Instance

Purchase = Callable[[PackingProblem, Matrix], Counter[int]]
# Rounds in which pods that stay pending are bought for.
_ROUNDS = 30


def cost_of(instance: Instance, buy: Purchase) -> Decimal:
    """What the autoscaler pays until the scheduler leaves nothing pending that it could help."""
    source = instance.simulator()._current()
    trials = SizingTrials(source, Run(source).scheduler)
    survey = Surveyor(trials, catalog_of(dict(instance.catalog))).survey()
    trials.excused.update(survey.misfits)
    problem = survey.problem
    class_of = {row: at for at, each in enumerate(problem.classes) for row in each.pods}
    bought: Counter[int] = Counter()
    for _ in range(_ROUNDS):
        attempt = trials.run(_nodes(problem, bought))
        left = np.zeros(len(problem.classes), dtype=np.int64)
        for each in attempt.unplaced:
            if each.row in class_of:
                left[class_of[each.row]] += 1
        if not left.any():
            break
        more = buy(problem, left)
        if not more:
            break
        bought.update(more)
    return problem.money(sum(problem.choices[choice].price * count for choice, count in bought.items()))


def _nodes(problem: PackingProblem, counts: Mapping[int, int]) -> dict[NodeShape, int]:
    found: Counter[NodeShape] = Counter()
    for choice, count in counts.items():
        found.update(problem.choices[choice].spread(count))
    return dict(found)


class _Node:
    """A new node of one choice, as the binpacking estimator fills it."""

    def __init__(self, problem: PackingProblem, choice: int) -> None:
        self.free = problem.free[choice].copy()
        self.pods: Counter[int] = Counter()
        self._problem, self._choice = problem, choice

    def take(self, each: int) -> bool:
        wanted = self._problem.requests[each]
        if self.pods[each] >= self._problem.most[self._choice, each] or (self.free < wanted)[wanted > 0].any():
            return False
        if any(self.pods[b if a == each else a] for a, b in self._problem.rivals if each in (a, b)):
            return False
        self.free -= wanted
        self.pods[each] += 1
        return True


def _estimate(problem: PackingProblem, choice: int, left: Matrix) -> list[_Node]:
    """BinpackingNodeEstimator: the nodes of this group, and the pods on them."""
    score = (problem.requests[:, :2] / _size(problem, choice)).sum(axis=1)
    nodes: list[_Node] = []
    for each in sorted(range(len(left)), key=lambda at: -float(score[at])):
        for _ in range(int(left[each])):
            if any(node.take(each) for node in nodes):
                continue
            if nodes and not nodes[-1].pods:
                break
            node = _Node(problem, choice)
            if not node.take(each):
                break
            nodes.append(node)
    return nodes


def _waste(problem: PackingProblem, choice: int, nodes: Sequence[_Node]) -> float:
    """Expander least-waste: the shares of cpu and memory that stay unused."""
    free = sum(node.free[:2] for node in nodes)
    return float((free / (len(nodes) * _size(problem, choice))).sum())


def _size(problem: PackingProblem, choice: int) -> Matrix:
    """The cpu and memory that a node can allocate, in the units of the requests."""
    used = np.array([each.used for each in problem.classes], dtype=np.int64)
    units = used.max(axis=0) // np.maximum(problem.requests[:, :2].max(axis=0), 1)
    size: Matrix = np.maximum(problem.empty.total[choice] // np.maximum(units, 1), 1)
    return size


def _price_rate(problem: PackingProblem, choice: int, nodes: Sequence[_Node]) -> float:
    """Expander price: what the nodes cost for what the pods are worth at the prices of the catalog."""
    rate = float((problem.prices / np.maximum(problem.free[:, 0], 1)).min())
    used = sum(int((problem.requests[at, 0] + 1) * count) for node in nodes for at, count in node.pods.items())
    return float(problem.prices[choice]) * len(nodes) / max(rate * used, 1e-9)


def _group_by_group(
    problem: PackingProblem, left: Matrix, rank: Callable[[PackingProblem, int, Sequence[_Node]], float]
) -> Counter[int]:
    left, bought = left.copy(), Counter[int]()
    while left.any():
        options = [
            (choice, nodes) for choice in range(len(problem.choices)) if (nodes := _estimate(problem, choice, left))
        ]
        if not options:
            break
        choice, nodes = min(options, key=lambda option: rank(problem, *option))
        bought[choice] += len(nodes)
        for node in nodes:
            for at, count in node.pods.items():
                left[at] -= count
    return bought


def cluster_autoscaler_least_waste(problem: PackingProblem, left: Matrix) -> Counter[int]:
    return _group_by_group(problem, left, _waste)


def cluster_autoscaler_price(problem: PackingProblem, left: Matrix) -> Counter[int]:
    return _group_by_group(problem, left, _price_rate)


def karpenter(problem: PackingProblem, left: Matrix) -> Counter[int]:
    order = sorted(range(len(left)), key=lambda at: tuple(-problem.requests[at, :2]))
    nodes: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
    for each in order:
        for _ in range(int(left[each])):
            for node in sorted(nodes, key=lambda own: int(own.sum())):
                node[each] += 1
                if _holders(problem, node):
                    break
                node[each] -= 1
            else:
                fresh = np.zeros(len(left), dtype=np.int64)
                fresh[each] = 1
                if _holders(problem, fresh):
                    nodes.append(fresh)
    return Counter(min(_holders(problem, node), key=lambda choice: problem.prices[choice]) for node in nodes)


def _holders(problem: PackingProblem, pods: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
    """The choices that hold the pods together."""
    if any(pods[a] and pods[b] for a, b in problem.rivals):
        return []
    holds = (pods @ problem.requests <= problem.free).all(axis=1) & (pods <= problem.most).all(axis=1)
    return [int(at) for at in np.nonzero(holds)[0]]


AUTOSCALERS: Mapping[str, Purchase] = {
    "cluster-autoscaler least-waste": cluster_autoscaler_least_waste,
    "cluster-autoscaler price": cluster_autoscaler_price,
    "Karpenter": karpenter,
}
