"""Labels that a pod requires, that no node has, and that look like a typing error of a label that some node has.

`api/spelling.py` has what a typing error is. A pool without nodes is none: `gpu-pool-a` is not `gpu-pool`. Values that
every cluster may have, such as `arm64`, are none either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import Operation, add, drop
from ksched_cli.api.spelling import nearest
from ksched_cli.errors import capitalised
from ksched_cli.plugins.node_affinity import REQUIRED

# Values that nodes may have though no node of the cluster has them now.
_KNOWN_VALUES = {
    "kubernetes.io/arch": {"amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64"},
    "kubernetes.io/os": {"linux", "windows"},
    "karpenter.sh/capacity-type": {"spot", "on-demand", "reserved"},
}


def as_sentence(text: str) -> str:
    return f"{capitalised(text)}{'' if text.endswith(('.', '?')) else '.'}"


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
