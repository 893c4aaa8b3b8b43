"""A virtual clock. Time passes when `advance_to` is called."""

from __future__ import annotations

from ksched_cli.cluster.undo import Logged, UndoLog


class VirtualClock(Logged):
    """Seconds since the start of the run."""

    def __init__(self, now: float = 0.0, undo: UndoLog | None = None) -> None:
        self.undo = undo or UndoLog()
        self.now = now

    def advance_to(self, moment: float) -> None:
        """Forwards only."""
        self.now = max(self.now, moment)
