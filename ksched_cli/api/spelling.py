"""Whether a word is a typing error of another one: few letters are wrong, missing, too many or swapped.

Words that count are none: `zone-a` and `zone-b`, `pool-1` and `pool-2`, `gpu-pool` and `gpu-pool-a` name different
things."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = re.compile(r"[^\W_]+")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that `word` is a typing error of; empty if none is near."""
    found = [(_distance(word.lower(), each.lower()), each[:1] != word[:1], each) for each in known]
    near = [each for each in sorted(found) if each[2] != word and each[0] <= _tolerated(word, each[2])]
    return near[0][2] if near else ""


def _tolerated(word: str, other: str) -> int:
    """How many letters may differ; -1 for words that count or that differ by a whole part."""
    own, others = _WORDS.findall(word.lower()), _WORDS.findall(other.lower())
    if "".join(own) == "".join(others):
        # The separators differ.
        return max(len(word), len(other))
    if len(own) == len(others):
        differing = [(a, b) for a, b in zip(own, others, strict=True) if a != b]
        if any(_count(a) and _count(b) for a, b in differing):
            return -1
    elif _is_beginning(own, others):
        return -1
    shortest = min(len(word), len(other))
    return 0 if shortest < 3 else 1 if shortest < 6 else 2 if shortest < 14 else 3


def _count(word: str) -> bool:
    """Whether the word is a place in a row or a short code: a number, one or two letters, or both, such as `2a`,
    `eu`."""
    return len(word) <= 2 or any(each.isdigit() for each in word)


def _is_beginning(own: list[str], others: list[str]) -> bool:
    shorter, longer = sorted((own, others), key=len)
    return longer[: len(shorter)] == shorter or longer[-len(shorter) :] == shorter


def _distance(one: str, other: str) -> int:
    """How many letters are wrong, missing, too many or swapped (optimal string alignment)."""
    if abs(len(one) - len(other)) > 3:
        return 99
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
