"""How many cycles the searches of a replay may spend."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass
class CycleBudget:
    """`left`: how many cycles all searches of a run may still spend, beyond one for each pod. `spare`: with so many
    cycles less, every search so far would have found the same."""

    left: int
    spent: int = 0
    spare: int = sys.maxsize

    def allows(self, cycles: int) -> bool:
        """Whether so many cycles are left."""
        if self.left < cycles:
            return False
        self._needs(cycles)
        return True

    def limit(self, most: int) -> int:
        """The cycles of a search that may spend this many at most."""
        return min(self.left, most)

    def spend(self, cycles: int) -> None:
        self.left -= cycles
        self.spent += cycles

    def spend_on_search(self, cycles: int, most: int) -> None:
        """The cycles that a search within `limit` has spent. One that has reached its limit would find something else
        within another."""
        self._needs(cycles + 1 if cycles < self.limit(most) else most)
        self.spend(cycles)

    def _needs(self, cycles: int) -> None:
        self.spare = min(self.spare, max(self.left - cycles, 0))
