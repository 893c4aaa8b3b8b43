"""The result of a Filter plugin for many nodes at once: a code and reasons for each row, as columns. It stands for the
one fwk.Status a node that Filter of kube-scheduler returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.columns import BoolColumn, CodeColumn, IdColumn
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.status import SUCCESS, Code, Status

ReasonTuple = tuple[Reason, ...]

# As a plain number: numpy takes its time with members of an enum.
_SUCCESS = int(Code.SUCCESS)
_GRAVITY = (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.ERROR)


def _merged(statuses: Sequence[Status]) -> Status:
    """The gravest code with the reasons of all; of errors the first."""
    rejected = [status for status in statuses if not status.ok]
    if not rejected:
        return SUCCESS
    gravest = max(rejected, key=lambda status: _GRAVITY.index(status.code))
    if gravest.code is Code.ERROR:
        return gravest
    return Status(gravest.code, tuple(reason for status in rejected for reason in status.reasons))


@lru_cache(maxsize=64)
def _by_status(statuses: tuple[Status, ...]) -> Verdict:
    """One row for each status: plugins have few lists of statuses."""
    return Verdict.from_statuses(statuses)


class Verdict(Struct, eq=False):
    """One code and one reason tuple per filtered row.

    `reason_ids[i]` indexes `reasons`, whose entry 0 is the empty tuple of a row that passed. Code and reason are
    separate facts: "Insufficient cpu" may or may not be resolvable by preemption.
    """

    codes: CodeColumn
    reason_ids: IdColumn
    reasons: Sequence[ReasonTuple]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def passed(self) -> BoolColumn:
        passed: BoolColumn = self.codes == _SUCCESS
        return passed

    def status(self, index: int) -> Status:
        code = Code(int(self.codes[index]))
        return SUCCESS if code is Code.SUCCESS else Status(code, self.reasons[self.reason_ids[index]])

    @staticmethod
    @lru_cache(maxsize=64)
    def passing(size: int) -> Verdict:
        made = Verdict(np.zeros(size, dtype=np.int8), np.zeros(size, dtype=np.int32), ((),))
        made.codes.flags.writeable = made.reason_ids.flags.writeable = False
        return made

    @classmethod
    def of_all(cls, size: int, status: Status) -> Verdict:
        return cls.rejecting(np.ones(size, dtype=np.bool_), status)

    @classmethod
    def rejecting(cls, rejected: BoolColumn, status: Status) -> Verdict:
        """The same status for every rejected row."""
        return cls(rejected * np.int8(status.code), rejected.astype(np.int32), ((), status.reasons))

    @classmethod
    def by_group(cls, group: IdColumn, statuses: Iterable[Status]) -> Verdict:
        """Rows fall into groups (label values, taint sets, ...) and each group has one status."""
        each = _by_status(tuple(statuses))
        return cls(each.codes[group], each.reason_ids[group], each.reasons) if len(each) else cls.passing(len(group))

    @classmethod
    def together(cls, verdicts: Sequence[Verdict]) -> Verdict:
        """The results of several filters for the same rows, all reasons of a row in their order. An error hides the
        rest, and one filter that no preemption can satisfy is enough."""
        failing = [each for each in verdicts if each.codes.any()]
        if len(failing) < 2:
            return failing[0] if failing else verdicts[0]
        columns = np.stack([column for each in failing for column in (each.codes, each.reason_ids)])
        _, first, group = np.unique(columns, axis=1, return_index=True, return_inverse=True)
        statuses = [_merged([each.status(row) for each in failing]) for row in first.tolist()]
        return cls.by_group(group.ravel().astype(np.int32), statuses)

    @classmethod
    def from_statuses(cls, statuses: Sequence[Status]) -> Verdict:
        """One status per row, for plugins that look at nodes one at a time."""
        table: dict[ReasonTuple, int] = {(): 0}
        ids = [0 if status.ok else table.setdefault(status.reasons, len(table)) for status in statuses]
        codes = np.array([status.code for status in statuses], dtype=np.int8)
        return cls(codes, np.array(ids, dtype=np.int32), list(table))
