"""What a Filter plugin says of many nodes at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, CodeColumn, IdColumn
from ksched_cli.framework.status import SUCCESS, Code, Status

Reasons = tuple[str, ...]


class Verdict:
    """One code and one reason tuple per row asked about.

    `reason_ids[i]` indexes `reasons`, whose entry 0 is the empty tuple of a row that passed. Code and reason are
    separate facts: "Insufficient cpu" may or may not be resolvable by preemption.
    """

    __slots__ = ("codes", "reason_ids", "reasons")

    def __init__(self, codes: CodeColumn, reason_ids: IdColumn, reasons: Sequence[Reasons]) -> None:
        self.codes = codes
        self.reason_ids = reason_ids
        self.reasons = reasons

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def passed(self) -> BoolColumn:
        passed: BoolColumn = self.codes == Code.SUCCESS
        return passed

    def status(self, index: int) -> Status:
        code = Code(int(self.codes[index]))
        return SUCCESS if code is Code.SUCCESS else Status(code, self.reasons[self.reason_ids[index]])

    @classmethod
    def passing(cls, size: int) -> Verdict:
        return cls(np.zeros(size, dtype=np.int8), np.zeros(size, dtype=np.int32), ((),))

    @classmethod
    def rejecting(cls, rejected: BoolColumn, status: Status) -> Verdict:
        """The same status for every rejected row."""
        return cls(rejected * np.int8(status.code), rejected.astype(np.int32), ((), status.reasons))

    @classmethod
    def by_group(cls, group: IdColumn, statuses: Iterable[Status]) -> Verdict:
        """Rows fall into groups (label values, taint sets, ...) and each group has one status."""
        listed = list(statuses)
        codes = np.array([status.code for status in listed], dtype=np.int8)
        table: list[Reasons] = [()]
        ids = np.zeros(len(listed), dtype=np.int32)
        for index, status in enumerate(listed):
            if not status.ok:
                ids[index] = len(table)
                table.append(status.reasons)
        if not listed:
            return cls.passing(len(group))
        return cls(codes[group], ids[group], table)

    @classmethod
    def from_statuses(cls, statuses: Sequence[Status]) -> Verdict:
        """One status per row, for plugins that look at nodes one at a time."""
        table: dict[Reasons, int] = {(): 0}
        ids = [0 if status.ok else table.setdefault(status.reasons, len(table)) for status in statuses]
        codes = np.array([status.code for status in statuses], dtype=np.int8)
        return cls(codes, np.array(ids, dtype=np.int32), list(table))
