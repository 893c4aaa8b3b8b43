"""Where the time of a run goes: every call of every plugin, by extension point."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType

from msgspec import Struct

from ksched_cli.engine.faults import blamed


class Spent(Struct):
    calls: int = 0
    seconds: float = 0.0


class Timings:
    """Filters that a dry run of preemption runs count for themselves, and once more within postFilter."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, str], Spent] = {}

    def calling(self, plugin: str, point: str) -> timed:
        """Measure a call of a plugin. It takes the place of `blamed`, whose work it includes."""
        spent = self._spent.get((point, plugin))
        if spent is None:
            spent = self._spent[point, plugin] = Spent()
        return timed(plugin, point, spent)

    def __iter__(self) -> Iterator[tuple[str, str, Spent]]:
        """(extension point, plugin, what it took), points and plugins in the order of their first call."""
        points = dict.fromkeys(point for point, _ in self._spent)
        for wanted in points:
            for (point, plugin), spent in self._spent.items():
                if point == wanted:
                    yield point, plugin, spent


class timed(blamed):  # noqa: N801  # as blamed
    """`blamed` with a clock."""

    __slots__ = ("_spent", "_started")

    def __init__(self, plugin: str, point: str, spent: Spent) -> None:
        super().__init__(plugin, point)
        self._spent = spent

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spent.seconds += time.perf_counter() - self._started
        self._spent.calls += 1
        super().__exit__(kind, problem, trace)
