"""The variants that are still to be run, handed out in spans of neighbours."""

from __future__ import annotations

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
        self._per_variant = 0.0
        self._measured = False

    def hand_out(self) -> range | None:
        """The next span; None when all variants are handed out."""
        while self._next < self._total and self._is_done(self._next):
            self._next += 1
        if self._next >= self._total:
            return None
        start, stop = self._next, min(self._next + self._size(), self._total)
        end = next((number for number in range(start, stop) if self._is_done(number)), stop)
        self._next = end
        return range(start, end)

    def measured(self, span: range, seconds: float) -> None:
        """The span took so long."""
        latest = seconds / len(span)
        self._per_variant = (1 - _NEWEST) * self._per_variant + _NEWEST * latest if self._measured else latest
        self._measured = True

    def seconds_left(self) -> float:
        """How long the spans that are not handed out yet take one worker; 0 before the first measurement."""
        return (self._total - self._next) * self._per_variant

    def _size(self) -> int:
        if not self._measured:
            return _FIRST
        return min(max(int(self._seconds / max(self._per_variant, 1e-6)), 1), _MOST)

    def _is_done(self, number: int) -> bool:
        return self._done is not None and bool(self._done[number])
