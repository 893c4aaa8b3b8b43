"""`--mix A=3,B=1`: how many of which shape make up a set."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.api.listing import did_you_mean
from ksched_cli.errors import Problem, UsageError
from ksched_cli.whatif.replicas import Shape

_FORM = "--mix is written NAME=COUNT,NAME=COUNT"


def read_mix(text: str, shapes: Sequence[Shape]) -> list[tuple[Shape, int]]:
    """Every mistake at once."""
    found: list[tuple[Shape, int]] = []
    problems: list[Problem] = []
    for part in text.split(","):
        name, _, amount = (piece.strip() for piece in part.partition("="))
        matching = [each for each in shapes if name in each.names]
        if not name or not amount.isdecimal() or int(amount) == 0:
            problems.append(Problem(f'--mix: "{part.strip()}" does not say how many of which manifest', hint=_FORM))
        elif not matching:
            problems.append(Problem(f'--mix: no manifest of -f is named "{name}"', hint=_nearest(name, shapes)))
        elif len(matching) > 1:
            problems.append(Problem(f'--mix: "{name}" may be {" or ".join(each.name for each in matching)}'))
        elif any(known is matching[0] for known, _ in found):
            problems.append(Problem(f'--mix: "{name}" is given twice'))
        else:
            found.append((matching[0], int(amount)))
    if problems:
        raise UsageError(problems)
    return found


def _nearest(name: str, shapes: Sequence[Shape]) -> str:
    names = [shape.name for shape in shapes]
    return did_you_mean(name, names, f"there are {', '.join(names)}")
