"""Time that passes only when somebody says so."""

from __future__ import annotations


class VirtualClock:
    """Seconds since the start of the run."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def advance_to(self, moment: float) -> None:
        """Forwards only."""
        self.now = max(self.now, moment)
