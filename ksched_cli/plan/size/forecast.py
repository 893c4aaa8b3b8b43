"""A quick forecast of where the scheduler would put the pods, to choose which sets of nodes are worth a trial.

It models resources, what fits where, and the two scores that decide most placements: least allocated and balanced. Its
only use is the order of trials: the scheduler decides.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ksched_cli.plan.size.problem import Matrix, PackingProblem

# Rows of resources that scores look at.
_SCORED = (0, 1)


class Forecast:
    def __init__(self, problem: PackingProblem) -> None:
        self._problem = problem
        rooms = problem.rooms
        self._repeats = np.array([room.count for room in rooms], dtype=np.int64)
        width = problem.requests.shape[1]
        self._room_free = _stacked([room.free for room in rooms], width)
        self._room_total = _stacked([room.total for room in rooms], width)
        self._room_most = _stacked([room.most for room in rooms], len(problem.classes))
        self._total = _stacked([choice.total for choice in problem.choices], width)
        self._runs = _runs(problem.turns)

    def left_over(self, counts: Mapping[int, int]) -> int:
        """How many pods would have no node with so many nodes of each choice."""
        chosen = np.array(list(counts), dtype=np.int64)
        times = np.array(list(counts.values()), dtype=np.int64)
        new = np.repeat(chosen, times)
        free = np.concatenate([np.repeat(self._room_free, self._repeats, axis=0), self._problem.free[new]])
        total = np.concatenate([np.repeat(self._room_total, self._repeats, axis=0), self._total[new]])
        most = np.concatenate([np.repeat(self._room_most, self._repeats, axis=0), self._problem.most[new]])
        share = 1.0 / np.maximum(total[:, _SCORED], 1)
        left = 0
        for each, count in self._runs:
            left += self._place(each, count, free, most, share)
        return left

    def _place(self, each: int, count: int, free: Matrix, most: Matrix, share: Matrix) -> int:
        """Place so many pods of the class one after the other. Returns how many find no node."""
        wanted = self._problem.requests[each]
        asked = np.nonzero(wanted)[0]
        fits = (free[:, asked] >= wanted[asked]).all(axis=1) & (most[:, each] > 0)
        after = (free[:, _SCORED] - wanted[list(_SCORED)]) * share
        scores = after.sum(axis=1) * 50 - np.abs(after[:, 0] - after[:, 1]) * 50
        scores[~fits] = -np.inf
        step = wanted[list(_SCORED)]
        for number in range(count):
            row = int(scores.argmax()) if len(scores) else -1
            if row < 0 or scores[row] == -np.inf:
                return count - number
            free[row] -= wanted
            most[row, each] -= 1
            if most[row, each] <= 0 or (free[row, asked] < wanted[asked]).any():
                scores[row] = -np.inf
            else:
                cpu, memory = (free[row, _SCORED] - step) * share[row]
                scores[row] = (cpu + memory) * 50 - abs(cpu - memory) * 50
        return 0


def _stacked(rows: list[tuple[int, ...]], width: int) -> Matrix:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _runs(turns: tuple[int, ...]) -> list[tuple[int, int]]:
    """Pods of one class that follow each other, with their number."""
    found: list[tuple[int, int]] = []
    for each in turns:
        if found and found[-1][0] == each:
            found[-1] = each, found[-1][1] + 1
        else:
            found.append((each, 1))
    return found
