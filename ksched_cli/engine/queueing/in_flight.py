"""Pods whose cycle is under way, and what happens meanwhile (activeQueue.inFlightPods, inFlightEvents)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ksched_cli.cluster.undo import Logged, LoggedDict, LoggedList, UndoLog
from ksched_cli.framework.events import ClusterEvent


class Happening(NamedTuple):
    """An event with the objects that it is about: None for `old` where something was added, for `new` where it went."""

    event: ClusterEvent
    old: Any
    new: Any


class InFlight(Logged):
    """Events are kept for as long as a pod is in flight that was there when they happened."""

    def __init__(self, undo: UndoLog | None = None) -> None:
        self.undo = undo or UndoLog()
        self._since: dict[int, int] = LoggedDict(self.undo)
        self._events: list[tuple[int, Happening]] = LoggedList(self.undo)
        self._count = 0

    def __len__(self) -> int:
        return len(self._since)

    def __contains__(self, row: int) -> bool:
        return row in self._since

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    @property
    def events(self) -> list[Happening]:
        return [happening for _, happening in self._events]

    def start(self, row: int) -> None:
        self._count += 1
        self._since[row] = self._count

    def note(self, *happenings: Happening) -> bool:
        """Remember these if any pod is in flight."""
        if not self._since:
            return False
        for happening in happenings:
            self._count += 1
            self._events.append((self._count, happening))
        return True

    def note_for(self, row: int, happenings: Iterable[Happening]) -> bool:
        """addEventsIfPodInFlight: remember these if this pod is."""
        return row in self._since and self.note(*happenings)

    def meanwhile(self, row: int) -> list[Happening]:
        """clusterEventsForPod."""
        since = self._since[row]
        return [happening for count, happening in self._events if count > since]

    def done(self, row: int) -> None:
        if self._since.pop(row, None) is None or not self._events:
            return
        oldest = min(self._since.values(), default=None)
        left = () if oldest is None else (each for each in self._events if each[0] > oldest)
        self._events = LoggedList(self.undo, left)
