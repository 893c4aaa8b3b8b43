"""Labels that a pod requires of its node and that no node has, with the nearest label of some node."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

from ksched_cli.api.core import Pod

# A smaller ratio matches too many other words.
_CUTOFF = 0.75
# In words of this length one wrong letter is a typo, though the ratio is small.
_SHORT = 3


def selector_typos(pod: Pod, labels: Iterable[Mapping[str, str]]) -> list[str]:
    """`no node has the label disktype: did you mean disk-type?` for each key, or value of a known key, that is near to
    one of a node."""
    values: dict[str, set[str]] = {}
    for each in labels:
        for key, value in each.items():
            values.setdefault(key, set()).add(value)
    found = [_typo(key, wanted, values) for key, wanted in _wanted(pod)]
    return list(dict.fromkeys(filter(None, found)))


def _wanted(pod: Pod) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Keys of nodeSelector and of required terms, with the values one of which the node must have."""
    for key, value in pod.spec.node_selector.items():
        yield key, (value,)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for each in term.match_expressions:
            if each.operator == "In":
                yield each.key, each.values


def _typo(key: str, wanted: tuple[str, ...], values: Mapping[str, set[str]]) -> str:
    if key not in values:
        near = _nearest(key, values)
        return f"no node has the label {key}: did you mean {near}?" if near else ""
    if any(value in values[key] for value in wanted):
        return ""
    for value in wanted:
        near = _nearest(value, values[key])
        if near:
            return f"no node has {key}={value}: did you mean {key}={near}?"
    return ""


def _nearest(word: str, known: Iterable[str]) -> str:
    """Empty if no known word is near."""
    words = sorted(known, key=lambda each: (each[:1] != word[:1], each))
    near = difflib.get_close_matches(word, words, 1, _CUTOFF)
    return near[0] if near else next((each for each in words if _is_one_letter_off(word, each)), "")


def _is_one_letter_off(one: str, other: str) -> bool:
    differing = sum(a != b for a, b in zip(one, other, strict=False))
    return len(one) == len(other) >= _SHORT and differing == 1 and one.isalpha() and other.isalpha()
