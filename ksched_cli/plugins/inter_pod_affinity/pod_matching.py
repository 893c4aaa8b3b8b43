"""Selectors against label sets, both ways round, without trying every one with every other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

import numpy as np

from ksched_cli.api.selectors import Selector
from ksched_cli.cluster.affinity_terms import PodMatcher
from ksched_cli.cluster.columns import BoolColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pods import PodTable

T = TypeVar("T")
Label = tuple[str, str]


def handles_of(selector: Selector) -> tuple[Label, ...] | None:
    """Labels of which a matching set has at least one; None if no requirement implies one."""
    for requirement in selector.requirements:
        if requirement.operator == "In":
            return tuple((requirement.key, value) for value in requirement.values)
    return None


class BySelector(Generic[T]):
    """Items with a selector, found by labels that the selector may match. No item is ever removed."""

    def __init__(self) -> None:
        self._by_handle: dict[Label, list[T]] = {}
        self._without: list[T] = []
        self._version = 0
        self._matching: dict[tuple[str, tuple[Label, ...]], tuple[int, list[T]]] = {}

    def add(self, selector: Selector, item: T) -> None:
        self._version += 1
        if selector.nothing:
            return
        handles = handles_of(selector)
        if handles is None:
            self._without.append(item)
            return
        for handle in dict.fromkeys(handles):
            self._by_handle.setdefault(handle, []).append(item)

    def matching(self, pod: PodInfo, matches: Callable[[T], bool]) -> list[T]:
        """Items that match the pod, kept for all pods of its namespace with the same labels in this order."""
        key = pod.namespace, tuple(pod.labels.items())
        version, found = self._matching.get(key, (-1, []))
        if version != self._version:
            found = [each for each in self._candidates(key[1]) if matches(each)]
            self._matching[key] = self._version, found
        return found

    def forget_matches(self) -> None:
        self._matching.clear()

    def _candidates(self, labels: Iterable[Label]) -> Iterator[T]:
        """Items whose selector may match these labels, each once, since a label has one value."""
        yield from self._without
        for handle in labels:
            yield from self._by_handle.get(handle, ())


class PodMatching:
    """Which pods of the table a matcher is about."""

    def __init__(self, pods: PodTable) -> None:
        self._pods = pods
        self._label_sets: dict[Label, list[int]] = {}
        self._seen = 0

    def mask(self, matcher: PodMatcher) -> BoolColumn:
        """One entry per pod row."""
        pods = self._pods
        by_label_set = np.zeros(len(pods.label_sets), dtype=np.bool_)
        by_label_set[self._matching_label_sets(matcher.selector)] = True
        mask: BoolColumn = by_label_set[pods.label_set]
        if not matcher.everywhere:
            wanted = [name in matcher.namespaces for name in pods.namespaces.values]
            mask &= np.array(wanted, dtype=np.bool_)[pods.namespace]
        return mask

    def _matching_label_sets(self, selector: Selector) -> list[int]:
        self._index_new()
        if selector.nothing:
            return []
        sets = self._pods.label_sets.values
        handles = handles_of(selector)
        if handles is None:
            return [index for index, labels in enumerate(sets) if selector.matches(dict(labels))]
        candidates = (index for handle in dict.fromkeys(handles) for index in self._label_sets.get(handle, ()))
        return [index for index in candidates if selector.matches(dict(sets[index]))]

    def _index_new(self) -> None:
        sets = self._pods.label_sets.values
        for index in range(self._seen, len(sets)):
            for handle in sets[index]:
                self._label_sets.setdefault(handle, []).append(index)
        self._seen = len(sets)
