"""Labels that a pod requires, that no node has, and that look like a typing error of a label that some node has.

A word is a typing error of another one if few letters differ: a wrong, missing, doubled or swapped letter, or another
case. Words that count are none: `zone-a` and `zone-b`, `pool-1` and `pool-2`, `gpu-pool` and `gpu-pool-a` name
different things, and so do `amd64` and `arm64`. A pool that has no node at present is therefore not taken for a typing
error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import Operation, add, drop
from ksched_cli.plugins.node_affinity import REQUIRED

_WORDS = re.compile(r"[^\W_]+")
# Values that nodes may have though no node of the cluster has them now.
_KNOWN_VALUES = {
    "kubernetes.io/arch": {"amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64"},
    "kubernetes.io/os": {"linux", "windows"},
    "karpenter.sh/capacity-type": {"spot", "on-demand", "reserved"},
}


class Typo(Struct, frozen=True):
    """`key` should be `nearest` if `of_key`, else the value `word` of the key should be. `operations` correct it."""

    key: str
    word: str
    nearest: str
    of_key: bool
    operations: tuple[Operation, ...]

    def __str__(self) -> str:
        if self.of_key:
            return f"no node has the label {self.key}: did you mean {self.nearest}?"
        return f"no node has {self.key}={self.word}: did you mean {self.key}={self.nearest}?"

    @property
    def correction(self) -> str:
        """`set gke-nodepool to default-pool`, in the words of a person."""
        if self.of_key:
            return f"select by label {self.nearest} and not {self.key}"
        return f"set {self.key} to {self.nearest}"


def selector_typos(pod: Pod, labels: Iterable[Mapping[str, str]]) -> list[Typo]:
    """One for each key, or value of a known key, that is near to one of a node."""
    values: dict[str, set[str]] = {}
    for each in labels:
        for key, value in each.items():
            values.setdefault(key, set()).add(value)
    found = {str(typo): typo for typo in (*_of_selector(pod, values), *_of_terms(pod, values))}
    return list(found.values())


def _of_selector(pod: Pod, values: Mapping[str, set[str]]) -> Iterator[Typo]:
    for key, value in pod.spec.node_selector.items():
        if key not in values:
            if near := nearest(key, values):
                moved = (drop("spec", "nodeSelector", key), add(value, "spec", "nodeSelector", near))
                yield Typo(key, key, near, True, moved)
        elif near := _nearest_value(key, (value,), values[key]):
            yield Typo(key, value, near, False, (_set(near, "spec", "nodeSelector", key),))


def _of_terms(pod: Pod, values: Mapping[str, set[str]]) -> Iterator[Typo]:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for number, term in enumerate(required.node_selector_terms if required is not None else ()):
        for place, each in enumerate(term.match_expressions):
            here = (*REQUIRED, "nodeSelectorTerms", number, "matchExpressions", place)
            if each.operator != "In":
                continue
            if each.key not in values:
                if near := nearest(each.key, values):
                    yield Typo(each.key, each.key, near, True, (_set(near, *here, "key"),))
                continue
            for index, value in enumerate(each.values):
                near = _nearest_value(each.key, each.values, values[each.key], value)
                if near:
                    yield Typo(each.key, value, near, False, (_set(near, *here, "values", index),))
                    break


def _set(value: str, *steps: str | int) -> Operation:
    return {**add(value, *steps), "op": "replace"}


def _nearest_value(key: str, wanted: tuple[str, ...], known: set[str], word: str = "") -> str:
    """Empty if a node has one of the wanted values, or no known value is near."""
    if any(value in known for value in wanted):
        return ""
    word = word or wanted[0]
    sure = next((values for name, values in _KNOWN_VALUES.items() if key.endswith(name)), set())
    return "" if word in sure else nearest(word, known | sure)


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
    elif len(min(own, others, key=len)) and _is_beginning(own, others):
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
