"""A plugin that breaks spoils one pod's cycle, not the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import NoReturn, TypeAlias

import numpy as np

from ksched_cli.errors import KschedError
from ksched_cli.framework.status import Code, Status
from ksched_cli.framework.verdict import Verdict


class CycleError(KschedError):
    """The cycle ended in an error; its text is the pod's message. Outside of any cycle it is the end of the run."""


class ExtenderError(CycleError):
    """The extender could not be called, or its answer cannot be used; the text is kube-scheduler's where it has one."""


class PluginFault(CycleError):
    """A plugin raised, or answered in a shape that cannot be used."""

    def __init__(self, plugin: str, point: str, what: str) -> None:
        super().__init__(f'plugin "{plugin}" failed at {point}: {what}')
        self.plugin = plugin


def error_text(problem: BaseException) -> str:
    """An exception in a line, with what was noted on its way, such as the node that was looked at."""
    text = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
    notes = getattr(problem, "__notes__", ())
    return f"{text} ({', '.join(notes)})" if notes else text


def errors_in(verdict: Verdict) -> list[str]:
    """One text for each row that a filter failed on."""
    failed = np.nonzero(verdict.codes == int(Code.ERROR))[0]
    return [verdict.status(int(index)).message for index in failed]


def aggregate(errors: Counter[str]) -> str:
    """CreateAggregateFromMessageCountMap. Go lists them in any order, and here it is that of their texts."""
    texts = [f"{text} (repeated {count} times)" if count > 1 else text for text, count in sorted(errors.items())]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def blame(problem: Exception, plugin: str, point: str) -> NoReturn:
    """Raise whatever went wrong in a call of a plugin as the plugin's fault, by name."""
    if isinstance(problem, KschedError):
        raise problem
    raise PluginFault(plugin, point, error_text(problem)) from problem


class blamed:  # noqa: N801  # used as a function: with blamed(...)
    """`blame` for whatever goes wrong inside. Where calls are many, `blame` costs two calls less."""

    __slots__ = ("plugin", "point")

    def __init__(self, plugin: str, point: str) -> None:
        self.plugin = plugin
        self.point = point

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, KschedError):
            blame(problem, self.plugin, self.point)


# Takes the plugin and the extension point.
Calling: TypeAlias = "Callable[[str, str], blamed]"


def check_status(status: Status, plugin: str, point: str) -> None:
    """Statuses that the point does not allow end the cycle."""
    if not (status.ok or status.rejected or status.skipped):
        raise CycleError(f'running {point} plugin "{plugin}": {status.message}')
