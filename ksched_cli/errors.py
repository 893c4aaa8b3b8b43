"""Everything that can go wrong for a person, and the exit code each class of trouble ends in.

A pod that does not fit is a result, not an error. These are for input that cannot be used, clusters that cannot
be read and expectations that failed. A message has the mistake, its place, and what to do about it:
the last functions write lists of names, and the name that may have been meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Problem:
    """One mistake in an input: what, and as far as known in which source, at which line, at which path. `code` is its
    reason code, if it has one; only an error makes the input unusable."""

    message: str
    source: str = ""
    line: int | None = None
    path: str = ""
    hint: str = ""
    code: str = ""
    level: Level = "error"

    def __str__(self) -> str:
        where = self.source
        if self.line is not None:
            where = f"{where}:{self.line}" if where else f"line {self.line}"
        parts = [part for part in (where, self.path) if part]
        text = f"{': '.join(parts)}: {self.message}" if parts else self.message
        return f"{text} ({self.hint})" if self.hint else text


class KschedError(Exception):
    """The root: the command prints it and leaves with the class's exit code."""

    exit_code = 2

    def __init__(self, problems: str | Problem | Iterable[Problem]) -> None:
        if isinstance(problems, str):
            problems = [Problem(problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(KschedError):
    """The command line contradicts itself or names something that is not there."""


class InputError(KschedError):
    """A file, a document or an object in it cannot be used. Carries every problem of the input at once."""


class ConfigError(InputError):
    """A KubeSchedulerConfiguration that kube-scheduler would refuse."""


class ClusterUnreadable(KschedError):
    """The live cluster did not answer, or refused to."""

    exit_code = 3


class ExpectationFailed(KschedError):
    """An assertion of a scenario or a flag such as --expect-no-change did not hold."""

    exit_code = 4


class Terminated(SystemExit):
    """This process received SIGTERM, and the processes that it had started are stopped. A shell reports 143 then."""

    def __init__(self) -> None:
        super().__init__(143)


_NAMED = 3


def joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def named(names: Sequence[str], most: int = _NAMED) -> str:
    """`a, b, c and 4 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_SINGULAR = {
    "lack": "lacks",
    "are": "is",
    "have": "has",
    "do": "does",
    "hold": "holds",
    "exceed": "exceeds",
    "match": "matches",
    "reach": "reaches",
}


def predicate(problem: str, nodes: int) -> str:
    """The problem as the predicate for so many nodes: `lack cpu`, `lacks cpu`."""
    verb, space, rest = problem.partition(" ")
    return f"{_SINGULAR.get(verb, verb)}{space}{rest}" if nodes == 1 else problem


def aggregated(texts: Iterable[str]) -> str:
    """utilerrors.NewAggregate as text: several errors become a list without duplicates."""
    distinct = list(dict.fromkeys(texts))
    return f"[{', '.join(distinct)}]" if len(distinct) > 1 else "".join(distinct)


def counted(number: int, noun: str) -> str:
    """`1 node`, `12 nodes`."""
    return f"{number:,} {plural(number, noun)}"


def capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def plural(number: int, noun: str) -> str:
    """`pod` for 1, `pods` for other numbers."""
    return noun if number == 1 else f"{noun}s"


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", cutoff: float = 0.6) -> str:
    """The hint for an unknown name: the nearest known name, or `otherwise` if no known name is near."""
    # Imported here: only mistakes need it.
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 1, cutoff)
    return f"did you mean {close[0]}?" if close else otherwise
