"""Pods by what they take from a node: most pods of a cluster are copies of a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ksched_cli.cluster.columns import IdColumn, Int64Column, RowColumn, Vocabulary, grown
from ksched_cli.cluster.pod_info import PodInfo, PodSums

Shape = tuple[tuple[tuple[int, int], ...], int, int]


def _shape(sums: PodSums) -> Shape:
    cpu, memory = sums.nonzero
    return sums.requests, cpu, memory


class ShapeAmounts:
    """The shape of each of some pods, with the amounts of every shape as columns."""

    __slots__ = ("ids", "nonzero", "requests")

    def __init__(self, ids: IdColumn, requests: dict[int, Int64Column], nonzero: Int64Column) -> None:
        self.ids = ids
        self.requests = requests
        self.nonzero = nonzero


class PodShapes:
    """`requests[resource][shape]` for the resources that any pod requests, `nonzero[0 or 1, shape]`."""

    def __init__(self) -> None:
        self._shapes: Vocabulary[Shape] = Vocabulary()
        self._ids: IdColumn = np.empty(0, dtype=np.int32)
        self._requests: dict[int, Int64Column] = {}
        self._nonzero: Int64Column = np.empty((2, 0), dtype=np.int64)

    def begin_with(self, sums: Sequence[PodSums], of_pods: RowColumn) -> None:
        """The shapes of the first pods: `of_pods` has for each of them the place of its sums."""
        shapes = np.array([self._shapes.id(_shape(each)) for each in sums], dtype=np.int32)
        self._ids = shapes[of_pods]

    def note(self, pod_row: int, info: PodInfo) -> None:
        if pod_row >= len(self._ids):
            self._ids = cast(IdColumn, grown(self._ids, pod_row + 1))
        self._ids[pod_row] = self._shapes.id(_shape(info.parts.sums))

    def of(self, pod_rows: RowColumn) -> ShapeAmounts:
        if self._nonzero.shape[1] != len(self._shapes):
            self._tabulate()
        return ShapeAmounts(self._ids[pod_rows], self._requests, self._nonzero)

    def _tabulate(self) -> None:
        size = len(self._shapes)
        self._requests = {}
        self._nonzero = np.empty((2, size), dtype=np.int64)
        for shape, (requests, cpu, memory) in enumerate(self._shapes.values):
            self._nonzero[:, shape] = cpu, memory
            for resource, amount in requests:
                self._requests.setdefault(resource, np.zeros(size, dtype=np.int64))[shape] += amount
