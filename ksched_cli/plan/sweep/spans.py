"""The variants that are still to be run, handed out in spans of neighbours."""

from __future__ import annotations

from collections import deque

# A span is to take about so many seconds: long against the cost of sending it, short against the whole.
SPAN_SECONDS = 2.0
_FIRST, _MOST = 1, 100_000
# How much the newest measurement counts.
_NEWEST = 0.5


class Spans:
    """`done` are numbers of variants that need no run. Spans grow and shrink with the measured time of a variant."""

    def __init__(self, total: int, done: bytearray | None = None, seconds: float = SPAN_SECONDS) -> None:
        self._total, self._done, self._seconds = total, done, seconds
        self._next = 0
        self._returned: deque[range] = deque()
        self._per_variant = 0.0
        self._measured = False

    def take(self) -> range | None:
        """The next span; None when all variants are handed out."""
        if self._returned:
            return self._returned.popleft()
        while self._next < self._total and self._is_done(self._next):
            self._next += 1
        if self._next >= self._total:
            return None
        start, stop = self._next, min(self._next + self._size(), self._total)
        end = next((number for number in range(start, stop) if self._is_done(number)), stop)
        self._next = end
        return range(start, end)

    def give_back(self, span: range) -> None:
        """The span was not run: its worker is gone."""
        self._returned.append(span)

    def split(self, span: range) -> None:
        """The same, variant by variant: one of them may be what its worker dies of."""
        self._returned.extend(range(number, number + 1) for number in span)

    def measured(self, span: range, seconds: float) -> None:
        """The span took so long."""
        latest = seconds / len(span)
        self._per_variant = (1 - _NEWEST) * self._per_variant + _NEWEST * latest if self._measured else latest
        self._measured = True

    def _size(self) -> int:
        if not self._measured:
            return _FIRST
        return min(max(int(self._seconds / max(self._per_variant, 1e-6)), 1), _MOST)

    def _is_done(self, number: int) -> bool:
        return self._done is not None and bool(self._done[number])
