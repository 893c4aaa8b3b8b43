"""Labels that a pod requires, that no node has, and that look like a typing error of a label that some node has.

`api/spelling.py` has what a typing error is. A pool without nodes is none: `gpu-pool-a` is not `gpu-pool`. Values that
every cluster may have, such as `arm64`, are none either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.json_patch import Operation, add, drop, put
from ksched_cli.api.selectors import RequiredNodeAffinity
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
    """A label, or a value of it, that is near to `nearest`. `operations` make the `correction`."""

    key: str
    nearest: str
    correction: str
    operations: tuple[Operation, ...]
    text: str = ""

    def __str__(self) -> str:
        return self.text


def _of_key(key: str, near: str, *operations: Operation) -> Typo:
    text = f"no node has the label {key}: did you mean {near}?"
    return Typo(key, near, f"select by label {near} and not {key}", operations, text)


def _of_value(key: str, word: str, near: str, *steps: str | int) -> Typo:
    text = f"no node has {key}={word}: did you mean {key}={near}?"
    return Typo(key, near, f"set {key} to {near}", (put(near, *steps),), text)


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
                yield _of_key(key, near, drop("spec", "nodeSelector", key), add(value, "spec", "nodeSelector", near))
        elif near := _nearest_value(key, (value,), values[key]):
            yield _of_value(key, value, near, "spec", "nodeSelector", key)


def _of_terms(pod: Pod, values: Mapping[str, set[str]]) -> Iterator[Typo]:
    for number, term in enumerate(RequiredNodeAffinity.of(pod.spec).terms or ()):
        for place, each in enumerate(term.match_expressions):
            here = (*REQUIRED, "nodeSelectorTerms", number, "matchExpressions", place)
            if each.operator != "In":
                continue
            if each.key not in values:
                if near := nearest(each.key, values):
                    yield _of_key(each.key, near, put(near, *here, "key"))
                continue
            for index, value in enumerate(each.values):
                near = _nearest_value(each.key, each.values, values[each.key], value)
                if near:
                    yield _of_value(each.key, value, near, *here, "values", index)
                    break


def _nearest_value(key: str, wanted: tuple[str, ...], known: set[str], word: str = "") -> str:
    """Empty if a node has one of the wanted values, or no known value is near."""
    if any(value in known for value in wanted):
        return ""
    word = word or wanted[0]
    sure = next((values for name, values in _KNOWN_VALUES.items() if key.endswith(name)), set())
    return "" if word in sure else nearest(word, known | sure)
