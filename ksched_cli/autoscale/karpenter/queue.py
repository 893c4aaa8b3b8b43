"""The order in which pods are tried (pkg/controllers/provisioning/scheduling/queue.go)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar


class _Queued(Protocol):
    @property
    def sort_key(self) -> tuple[int, int, str, str]:
        """Less cpu, less memory, creation, UID."""


P = TypeVar("P", bound=_Queued)


class Queue(Generic[P]):
    """Largest pods first. A pod without a place goes to the end; the queue ends when a whole round places none."""

    def __init__(self, pods: Iterable[P]) -> None:
        self._pods = deque(sorted(pods, key=lambda each: each.sort_key))
        self._length_at_push: dict[int, int] = {}

    def pop(self) -> P | None:
        """The next pod; None when no pod is left, or none made progress since this one was pushed."""
        if not self._pods or self._length_at_push.get(id(self._pods[0])) == len(self._pods):
            return None
        return self._pods.popleft()

    def push(self, pod: P) -> None:
        self._pods.append(pod)
        self._length_at_push[id(pod)] = len(self._pods)
