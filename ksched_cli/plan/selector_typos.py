"""Labels that a pod asks its node for and that no node has, with the nearest that some node has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

from ksched_cli.api.core import Pod

# A shorter word is near to too many others.
_CUTOFF = 0.75


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
        near = difflib.get_close_matches(key, values, 1, _CUTOFF)
        return f"no node has the label {key}: did you mean {near[0]}?" if near else ""
    if any(value in values[key] for value in wanted):
        return ""
    for value in wanted:
        near = difflib.get_close_matches(value, values[key], 1, _CUTOFF)
        if near:
            return f"no node has {key}={value}: did you mean {key}={near[0]}?"
    return ""
