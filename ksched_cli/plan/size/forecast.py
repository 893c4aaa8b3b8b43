"""A quick forecast of where the scheduler would put the pods, to choose which sets of nodes are worth a trial.

It computes the two default scores of resources (least allocated and balanced) as the scheduler does, and the classes
decide what fits where. Other scores are left out: the forecast orders trials, the scheduler decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from ksched_cli.plan.size.problem import ForecastNodes, Matrix, PackingProblem
from ksched_cli.plan.size.shapes import names_of_new_nodes

_BEST, _HALF = 100, 50
# Scores of nodes are kept up to so many bytes.
_KEPT = 30_000_000


class Forecast:
    """A forecast of one problem, for any number of nodes of each choice."""

    def __init__(self, problem: PackingProblem) -> None:
        self._problem = problem
        self._turns = problem.turns
        # Only nodes with room for some pod count. An empty node of each choice follows them.
        self._old = problem.nodes.take(np.nonzero(problem.nodes.most.any(axis=1))[0])
        self._taken = frozenset(problem.nodes.names)
        self._scores = _NodeScores(problem, self._old.with_more(problem.empty))

    def left_over(self, counts: Mapping[int, int]) -> int:
        """How many pods would have no node with so many nodes of each choice."""
        return int(self.left_by_class(counts).sum())

    def holds_all(self, counts: Mapping[int, int]) -> bool:
        """Whether every pod would have a node."""
        return not self.left_by_class(counts, until_failure=True).any()

    def left_by_class(self, counts: Mapping[int, int], *, until_failure: bool = False) -> Matrix:
        """Of each class how many pods would have no node."""
        kinds = self._kinds(counts)
        on: list[list[int]] = [[] for _ in kinds]
        # What the pods of a node come to: a sum of one large number for each class.
        sums = [0] * len(kinds)
        recall, marks = self._scores.recall, self._scores.marks
        left = np.zeros(len(self._problem.classes), dtype=np.int64)
        scores = np.array([recall(kind, 0, ()) for kind in kinds], dtype=np.int64).reshape(len(kinds), len(left))
        for each in self._turns:
            column = scores[:, each]
            row = int(column.argmax()) if kinds else -1
            if row < 0 or column[row] < 0:
                left[each] += 1
                if until_failure:
                    break
                continue
            on[row].append(each)
            sums[row] += marks[each]
            scores[row] = recall(kinds[row], sums[row], on[row])
        return left

    def _kinds(self, counts: Mapping[int, int]) -> list[int]:
        """The nodes in the order of their names: the first of those with the best score gets the pod."""
        found = list(zip(self._old.names, range(len(self._old.names)), strict=True))
        for choice, count in counts.items():
            kind = len(self._old.names) + choice
            for shape, number in self._problem.choices[choice].spread(count).items():
                found += [(name, kind) for name in names_of_new_nodes(shape, number, self._taken)]
        return [kind for _, kind in sorted(found)]


class _NodeScores:
    """What each class scores on a node, by the kind of the node and the pods that were placed on it. It is kept, for
    nodes of one shape fill alike."""

    def __init__(self, problem: PackingProblem, kinds: ForecastNodes) -> None:
        self._problem, self._nodes = problem, kinds
        draw = Random(0)
        self.marks = [draw.getrandbits(62) for _ in problem.classes]
        pods = [(*each.used, *each.nonzero) for each in problem.classes]
        self._pods = np.array(pods, dtype=np.int64).reshape(len(pods), 4)
        self._with_requests = (self._pods[:, :2].sum(axis=1) > 0).astype(np.int64)
        self._known: dict[tuple[int, int], Matrix] = {}
        self._most_kept = _KEPT // (8 * max(len(pods), 1) + 200)

    def recall(self, kind: int, marked: int, pods: Sequence[int]) -> Matrix:
        """-1 for classes that do not fit. `marked`: the sum of the marks of the pods, which are numbers of classes."""
        found = self._known.get((kind, marked))
        if found is None:
            found = self._score(kind, np.bincount(pods, minlength=len(self.marks)) if len(pods) else None)
            if len(self._known) < self._most_kept:
                self._known[kind, marked] = found
        return found

    def _score(self, kind: int, on: Matrix | None) -> Matrix:
        problem, nodes = self._problem, self._nodes
        free, most = nodes.free[kind], nodes.most[kind]
        used, nonzero = nodes.used[kind], nodes.nonzero[kind]
        if on is not None:
            free, most = free - on @ problem.requests, most - on
            taken = on @ self._pods
            used, nonzero = used + taken[:2], nonzero + taken[2:]
            for each in np.nonzero(on)[0].tolist() if problem.rivals else ():
                most[problem.rivals_of[each]] = 0
        fits = (problem.requests <= free).all(axis=1) & (most > 0)
        total = np.maximum(nodes.total[kind], 1)
        spare = np.maximum(nodes.total[kind] - nonzero - self._pods[:, 2:], 0)
        least = (spare * _BEST // total).sum(axis=1) // 2
        balance = _evenness((used + self._pods[:, :2]) / total)
        if problem.scores_the_difference:
            change = _HALF + balance - _evenness((used / total)[None, :])
            balance = _HALF + ((change + (change < 0)) >> 1)
        result: Matrix = np.where(fits, least + balance * self._with_requests, -1)
        return result


def _evenness(shares: NDArray[np.float64]) -> Matrix:
    """balancedResourceScore of cpu and memory."""
    within = np.minimum(shares, 1.0)
    return ((1.0 - np.abs((within[:, 0] - within[:, 1]) / 2)) * float(_BEST)).astype(np.int64)
