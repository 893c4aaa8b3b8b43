"""How far the modelled scheduler agrees with the one that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Agreement(StrEnum):
    """How the answer compares with what happened."""

    SAME = "same"
    OTHER_NODE = "other node"
    REJECTED = "rejected"
    SAME_REASONS = "same reasons"
    OTHER_REASONS = "other reasons"
    FITS = "fits"
    ERROR = "error"

    @property
    def agrees(self) -> bool:
        return self is Agreement.SAME


@dataclass(frozen=True, slots=True)
class Checked:
    """One pod: where it is or what was written down (`actual`), the answer, and what the difference may come from. What
    was written down was `said_in` the pod's condition, an event or both, `said_at` that time."""

    pod: str
    agreement: Agreement
    actual: str
    answer: str = ""
    cause: str = ""
    said_in: str = ""
    said_at: str = ""


@dataclass(frozen=True)
class Verification:
    """`placements` in the order in which the pods were scheduled; `pending` those with a verdict of the scheduler on
    them; `left_out` pods that were not compared, counted by why."""

    placements: tuple[Checked, ...]
    pending: tuple[Checked, ...]
    left_out: Mapping[str, int]

    @property
    def agreeing(self) -> int:
        return sum(each.agreement.agrees for each in (*self.placements, *self.pending))

    @property
    def compared(self) -> int:
        return len(self.placements) + len(self.pending)
