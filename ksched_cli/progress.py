"""How far a command is. Loops that may take long report here, in any layer; the command line listens and shows it.
Without a listener nothing happens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


class ProgressListener(Protocol):
    """Called for each item, so that it must be quick."""

    def begin(self, what: str, total: int | None) -> bool:
        """A loop begins; False where it is part of another loop and need not report."""

    def advance(self) -> None:
        """One more item of the loop is done."""

    def note(self, line: str) -> None:
        """One result of the loop is known."""

    def end(self) -> None: ...

    def count(self, what: str, left: int | None) -> None:
        """One more of something that has no loop of its own, and how many are known to follow."""


class _Listening:
    """The listener of this process, if there is one."""

    listener: ProgressListener | None = None


def listen(listener: ProgressListener | None) -> None:
    """From now on report to this listener."""
    _Listening.listener = listener


def steps(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """The items. The listener learns when each of them is done: `what` completes "3 of 7 ..."."""
    listener = _Listening.listener
    if listener is None or not listener.begin(what, total):
        yield from items
        return
    try:
        for item in items:
            yield item
            listener.advance()
    finally:
        listener.end()


def count(what: str, left: int | None = None) -> None:
    """Report one more of something, where no loop is known that it belongs to. `left`: how many are known to follow."""
    if _Listening.listener is not None:
        _Listening.listener.count(what, left)


def note(line: str) -> None:
    """Show one result of the loop that runs, before all of them are printed."""
    if _Listening.listener is not None:
        _Listening.listener.note(line)
