"""The result of a plugin for a pod (fwk.Status and fwk.Code). Its reasons are values with parameters; the text that
kube-scheduler prints is derived from them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.framework.reasons import Reason, free_text


class Code(IntEnum):
    """fwk.Code, same names."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def go_name(self) -> str:
        """As kube-scheduler prints it."""
        return self.name.title().replace("_", "")


_REJECTED = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


class Status(Struct, frozen=True):
    """A code, its reasons and, once the engine has seen it, the plugin that returned it."""

    code: Code = Code.SUCCESS
    reasons: tuple[Reason, ...] = ()
    plugin: str = ""

    @property
    def ok(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def skipped(self) -> bool:
        return self.code is Code.SKIP

    @property
    def rejected(self) -> bool:
        return self.code in _REJECTED

    @property
    def texts(self) -> tuple[str, ...]:
        """The reasons as kube-scheduler prints them."""
        return tuple([reason.text for reason in self.reasons])

    @property
    def message(self) -> str:
        return ", ".join(reason.text for reason in self.reasons)

    def by(self, plugin: str) -> Status:
        return self if self.plugin else replace(self, plugin=plugin)


SUCCESS = Status()
SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str | Reason) -> Status:
    """Preempting pods might help."""
    return Status(Code.UNSCHEDULABLE, as_reasons(reasons))


def unresolvable(*reasons: str | Reason) -> Status:
    """No preemption can help."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, as_reasons(reasons))


def error(*reasons: str | Reason) -> Status:
    return Status(Code.ERROR, as_reasons(reasons))


def as_reasons(reasons: Iterable[str | Reason]) -> tuple[Reason, ...]:
    """A text that comes without a kind is a reason of its own."""
    return tuple(each if isinstance(each, Reason) else free_text(each) for each in reasons)
