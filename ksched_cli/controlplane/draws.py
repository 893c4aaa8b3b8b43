"""Decisions that Kubernetes leaves to chance or to the order of a map in Go, and how to try the other outcomes. By
default a run takes the first option and notes the draw; further runs take others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from msgspec import Struct

from ksched_cli.cluster.undo import LoggedDict, LoggedList, LoggedSet, UndoLog
from ksched_cli.errors import named

T = TypeVar("T")

# What is decided, for whom, and how many times it was decided before.
DrawKey = tuple[str, str, int]
# Draws of what happens at one moment. There are many, so that only those are reported of which another outcome ends
# otherwise: which controller begins, and which workload has the first Ready pod.
FIRST_CONTROLLER, FIRST_READY = "first controller", "first Ready pod"
OF_ONE_MOMENT = frozenset((FIRST_CONTROLLER, FIRST_READY))
# By how many places the options of a draw are rotated.
Choices = Mapping[DrawKey, int]


class Draw(Struct, frozen=True):
    """One decision among equals: `taken` of `options`, by name. `what` names the rule that leaves it open; `number`
    draws of the same rule and subject came before."""

    what: str
    subject: str
    options: tuple[str, ...]
    taken: tuple[str, ...]
    number: int = 0

    @property
    def key(self) -> DrawKey:
        return self.what, self.subject, self.number


class Draws:
    """The draws of one run. `choices` are for draws that are not to take their first option.

    `made` are reported as they are, `of_one_moment` only if they matter. `invented_uids` are those of pods that the run
    has created: no rule may compare them.
    """

    def __init__(self, choices: Choices | None = None) -> None:
        self.choices = choices or {}
        self.made: list[Draw] = []
        self.of_one_moment: list[Draw] = []
        self.invented_uids: set[str] = set()
        self._numbers: dict[tuple[str, str], int] = {}

    def follow(self, undo: UndoLog) -> None:
        """Be rolled back with everything else that is in this log."""
        self.made, self.of_one_moment = LoggedList(undo, self.made), LoggedList(undo, self.of_one_moment)
        self.invented_uids = LoggedSet(undo, self.invented_uids)
        self._numbers = LoggedDict(undo, self._numbers)

    def take(self, what: str, subject: str, options: Sequence[tuple[str, T]], count: int) -> list[T]:
        """Take `count` of the options, which are names with values, in the order in which they are given."""
        taken = self.in_order(what, subject, options)[:count]
        self.note(what, subject, [name for name, _ in options], [name for name, _ in taken])
        return [value for _, value in taken]

    def in_order(self, what: str, subject: str, options: Sequence[T]) -> list[T]:
        """The options in the order of this run. It is no draw until it is noted as one."""
        number = self._numbers.get((what, subject), 0)
        turn = self.choices.get((what, subject, number), 0) % max(len(options), 1)
        return [*options[turn:], *options[:turn]]

    def at_once(self, what: str, names: Sequence[str]) -> list[str]:
        """The order in which these workloads have their turn at one moment."""
        ordered = self.in_order(what, named(names, 2), names)
        self.note(what, named(names, 2), names, ordered[:1])
        return ordered

    def note(self, what: str, subject: str, options: Sequence[str], taken: Sequence[str]) -> None:
        number = self._numbers.get((what, subject), 0)
        self._numbers[what, subject] = number + 1
        kept = self.of_one_moment if what in OF_ONE_MOMENT else self.made
        kept.append(Draw(what, subject, tuple(options), tuple(taken), number))


class Alternative(Struct, frozen=True):
    """Another outcome of one draw."""

    draw: Draw
    turn: int

    @property
    def choices(self) -> Choices:
        return {self.draw.key: self.turn}


def alternatives(first: Sequence[Draw], most: int) -> Iterator[Alternative]:
    """Outcomes for further runs, at most so many: each differs from the first run in one draw, the early draws
    first."""
    every = (Alternative(draw, turn) for draw in first for turn in range(1, len(draw.options)))
    return islice(every, max(most, 0))
