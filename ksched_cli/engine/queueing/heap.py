"""A heap that pods can be taken out of by their row (backend/heap)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator
from operator import itemgetter
from typing import Any

from ksched_cli.cluster.undo import LoggedDict, UndoLog
from ksched_cli.engine.queueing.queued_pod import QueuedPod

Order = Callable[[QueuedPod], tuple[Any, ...]]
# Of an entry of `_pods`.
_POD: Callable[[tuple[int, QueuedPod]], QueuedPod] = itemgetter(1)


class PodHeap:
    """Lowest key first. What was taken out or replaced stays in the heap until it comes up, and is passed over."""

    def __init__(self, order: Order, undo: UndoLog | None = None) -> None:
        self._order = order
        self._undo = undo or UndoLog()
        self._pods: dict[int, tuple[int, QueuedPod]] = LoggedDict(self._undo)
        self._heap: list[tuple[tuple[Any, ...], int, int]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, row: int) -> bool:
        return row in self._pods

    def __iter__(self) -> Iterator[QueuedPod]:
        return map(_POD, self._pods.values())

    def turns_of(self, rows: Collection[int | None]) -> int:
        """How many pods come up until all of these have."""
        last = max((self._order(pod) for pod in self if pod.row in rows), default=None)
        return 0 if last is None else sum(self._order(pod) <= last for pod in self)

    def put(self, pod: QueuedPod) -> None:
        """Add the pod, or put it where it belongs by now."""
        self._count += 1
        self._undo.keep(self._heap)
        self._pods[pod.row] = self._count, pod
        heapq.heappush(self._heap, (self._order(pod), self._count, pod.row))

    def get(self, row: int) -> QueuedPod | None:
        found = self._pods.get(row)
        return found[1] if found else None

    def remove(self, row: int) -> QueuedPod | None:
        found = self._pods.pop(row, None)
        return found[1] if found else None

    def peek(self) -> QueuedPod | None:
        while self._heap:
            _, count, row = self._heap[0]
            current = self._pods.get(row)
            if current is not None and current[0] == count:
                return current[1]
            self._undo.keep(self._heap)
            heapq.heappop(self._heap)
        return None

    def pop(self) -> QueuedPod | None:
        self._undo.keep(self._heap)
        while self._heap:
            _, count, row = heapq.heappop(self._heap)
            current = self._pods.get(row)
            if current is not None and current[0] == count:
                del self._pods[row]
                return current[1]
        return None
