"""Pods that have to wait a while before they are tried again (backend/queue.backoffQueue)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

from ksched_cli.engine.queueing.clock import VirtualClock
from ksched_cli.engine.queueing.heap import Order, PodHeap
from ksched_cli.engine.queueing.queued_pod import QueuedPod

# Within a second pods are in the order of the active queue, and each second is flushed as a whole.
ORDERING_WINDOW = 1.0

NEVER_TRIED = -math.inf


class BackoffQueue:
    """Pods that plugins rejected, and, apart, pods that met an error: those are never taken early."""

    def __init__(
        self, clock: VirtualClock, order: Order, *, initial: float, most: float, pop_early: bool = True
    ) -> None:
        self._clock = clock
        self._initial, self._most = initial, most
        self._aligned = pop_early

        def by_window(pod: QueuedPod) -> tuple[object, ...]:
            return (self.expiration(pod), *order(pod)) if pop_early else (self.expiration(pod),)

        self._rejected = PodHeap(by_window, clock.undo)
        self._failed = PodHeap(lambda pod: (self.expiration(pod),), clock.undo)

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def __contains__(self, row: int) -> bool:
        return row in self._rejected or row in self._failed

    def __iter__(self) -> Iterator[QueuedPod]:
        return chain(self._rejected, self._failed)

    def _window(self, moment: float) -> float:
        return math.floor(moment / ORDERING_WINDOW) * ORDERING_WINDOW if self._aligned else moment

    def expiration(self, pod: QueuedPod) -> float:
        """getBackoffTime: worked out once and kept until the next attempt is over."""
        if not self._most or not pod.backoff_count:
            return NEVER_TRIED
        if pod.backoff_expiration is None:
            pod.backoff_expiration = self._window(pod.timestamp + self.duration(pod.backoff_count))
        return pod.backoff_expiration

    def duration(self, count: int) -> float:
        """calculateBackoffDuration: doubled with every attempt, up to the maximum."""
        if not count:
            return 0.0
        # Beyond any sensible maximum; 2.0**1024 is not a number any more.
        doubled = self._initial * 2.0 ** min(count - 1, 512)
        return min(doubled, self._most)

    def waits(self, pod: QueuedPod) -> bool:
        """isPodBackingoff: also for as long as the second in which its time is up has not passed."""
        return self.expiration(pod) >= self._window(self._clock.now)

    def due(self, pod: QueuedPod) -> float:
        """The first flush that takes the pod."""
        expiration = self.expiration(pod)
        if expiration == NEVER_TRIED:
            return math.floor(self._clock.now) + ORDERING_WINDOW
        return (math.floor(expiration / ORDERING_WINDOW) + 1) * ORDERING_WINDOW

    def put(self, pod: QueuedPod) -> None:
        (self._rejected if pod.rejectors else self._failed).put(pod)

    def update(self, pod: QueuedPod) -> None:
        """The pod's object has changed."""
        (self._rejected if pod.row in self._rejected else self._failed).put(pod)

    def get(self, row: int) -> QueuedPod | None:
        return self._rejected.get(row) or self._failed.get(row)

    def remove(self, row: int) -> QueuedPod | None:
        return self._rejected.remove(row) or self._failed.remove(row)

    def early(self) -> Iterator[QueuedPod]:
        """The pods that may be taken before their time."""
        return iter(self._rejected if self._aligned else ())

    def pop_early(self) -> QueuedPod | None:
        """popBackoff: before its time, because there is nothing else to do."""
        return self._rejected.pop() if self._aligned else None

    def pop_completed(self) -> list[QueuedPod]:
        """popAllBackoffCompleted."""
        done: list[QueuedPod] = []
        for heap in (self._rejected, self._failed):
            while (first := heap.peek()) is not None and not self.waits(first):
                heap.remove(first.row)
                done.append(first)
        return done
