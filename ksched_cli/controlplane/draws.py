"""Decisions that Kubernetes leaves to chance or to map order, and how to try the other outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ksched_cli.cluster.undo import LoggedList, LoggedSet, UndoLog

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Draw:
    """One decision among equals: `taken` of `options`, by name. `what` says which rule left it open."""

    what: str
    subject: str
    options: tuple[str, ...]
    taken: tuple[str, ...]


class Draws:
    """The draws of one run. `choices` has for each draw, in order, by how many places the options are rotated.

    `invented_uids` are those of pods that the run has created: no rule may compare them.
    """

    def __init__(self, choices: Sequence[int] = ()) -> None:
        self._choices = choices
        self.made: list[Draw] = []
        self.invented_uids: set[str] = set()

    def follow(self, undo: UndoLog) -> None:
        """Be rolled back with everything else that is in this log."""
        self.made, self.invented_uids = LoggedList(undo, self.made), LoggedSet(undo, self.invented_uids)

    def take(self, what: str, subject: str, options: Sequence[tuple[str, T]], count: int) -> list[T]:
        """Take `count` of the options, which are names with values, in the order in which they are given."""
        ordered = list(options)
        turn = self._choices[len(self.made)] if len(self.made) < len(self._choices) else 0
        turn %= len(ordered)
        rotated = [*ordered[turn:], *ordered[:turn]]
        taken = rotated[:count]
        names = tuple(name for name, _ in ordered)
        self.made.append(Draw(what, subject, names, tuple(name for name, _ in taken)))
        return [value for _, value in taken]


def alternatives(first: Sequence[Draw], most: int) -> Iterator[tuple[int, ...]]:
    """Choices for further runs, at most so many: each differs from the first run in one draw, the early draws first."""
    found = 0
    for number, draw in enumerate(first):
        for turn in range(1, len(draw.options)):
            if found == most:
                return
            found += 1
            yield (*([0] * number), turn)
