"""Counts of the pods that inter-pod affinity matches, by topology key and value (topologyToMatchedTermCount):
columns by label value id, kept up to date from the cluster's journal. Selectors meet label sets both ways round,
without trying every one with every other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import Struct

from ksched_cli.api.core import Namespace
from ksched_cli.api.selectors import Selector
from ksched_cli.cluster.affinity_terms import NO_TERMS, AffinityTerm, Labels, PodMatcher, PodTerms, TermParser
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, IdColumn, RowColumn
from ksched_cli.cluster.nodes import ABSENT, LabelColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.pods import PodTable
from ksched_cli.framework.rows import NodeRows


class TopologyCounts:
    """Counts by value of a topology key. Nodes without the key do not count. `turns` lists the values whose count has
    become positive or zero, in order."""

    __slots__ = ("counts", "ids", "key", "total", "turns")

    def __init__(self, key: str, column: LabelColumn) -> None:
        self.key = key
        self.ids = column.ids
        self.counts: IdColumn = np.zeros(len(column.values), dtype=np.int32)
        self.total = 0
        self.turns: list[int] = []

    def add(self, node_row: int, amount: int) -> None:
        value = self.ids.item(node_row)
        if value != ABSENT:
            before = self.counts.item(value)
            self.counts[value] = before + amount
            self.total += amount
            if (before > 0) != (before + amount > 0):
                self.turns.append(value)

    def add_rows(self, node_rows: RowColumn) -> None:
        self.counts += np.bincount(self.ids[node_rows], minlength=len(self.counts)).astype(np.int32)
        self.counts[ABSENT] = 0
        self.total = int(self.counts.sum())


class TrialCounts(Struct, eq=False):
    """Counts of several topology keys, for one cycle to change. `by_key` has for each key the label value ids of the
    nodes, and the counts by id."""

    by_key: dict[str, tuple[IdColumn, IdColumn]]

    @classmethod
    def sum_of(cls, tallies: Sequence[TopologyCounts]) -> TrialCounts:
        by_key: dict[str, tuple[IdColumn, IdColumn]] = {}
        for tally in tallies:
            known = by_key.get(tally.key)
            by_key[tally.key] = tally.ids, tally.counts.copy() if known is None else known[1] + tally.counts
        return cls(by_key)

    def update(self, column: LabelColumn, key: str, row: int, amount: int) -> None:
        """Counts a pod that came to the node or left it."""
        value = column.ids[row]
        if value != ABSENT:
            _, counts = self.by_key.setdefault(key, (column.ids, np.zeros(len(column.values), dtype=np.int32)))
            counts[value] += amount

    def of(self, key: str, column: LabelColumn) -> IdColumn:
        known = self.by_key.get(key)
        return np.zeros(len(column.values), dtype=np.int32) if known is None else known[1]

    @property
    def empty(self) -> bool:
        return not any(np.count_nonzero(counts) for _, counts in self.by_key.values())

    def copy(self) -> TrialCounts:
        return TrialCounts({key: (ids, counts.copy()) for key, (ids, counts) in self.by_key.items()})

    def crowded(self, nodes: NodeRows) -> BoolColumn:
        """Nodes with a counted pod in one of their topologies."""
        crowded: BoolColumn | None = None
        for ids, counts in self.by_key.values():
            here = counts.take(nodes.take(ids)) > 0
            crowded = here if crowded is None else crowded | here
        return np.zeros(len(nodes), dtype=np.bool_) if crowded is None else crowded


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
        self._matching: dict[tuple[str, tuple[Label, ...]], list[T]] = {}

    def add(self, selector: Selector, item: T) -> None:
        self._matching.clear()
        if selector.nothing:
            return
        handles = handles_of(selector)
        if handles is None:
            self._without.append(item)
            return
        for handle in dict.fromkeys(handles):
            self._by_handle.setdefault(handle, []).append(item)

    def matching(self, info: PodInfo, matches: Callable[[T], bool]) -> list[T]:
        """Items that match the pod, kept for all pods of its namespace with the same labels in this order."""
        key = info.namespace, tuple(info.labels.items())
        found = self._matching.get(key)
        if found is None:
            found = self._matching[key] = [each for each in self._candidates(key[1]) if matches(each)]
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


Carries = Callable[[PodTerms], Iterable[tuple[AffinityTerm, int]]]


class CarriedTerm(Struct, eq=False):
    """A distinct term of placed pods, what it weighs, and where the pods are that carry it."""

    term: AffinityTerm
    weight: int
    counts: TopologyCounts


class CarriedTerms:
    """The terms of placed pods, found by the pod that they may be about."""

    def __init__(self, cluster: Cluster, carries: Carries) -> None:
        self._cluster = cluster
        self._carries = carries
        self._terms: dict[tuple[AffinityTerm, int], CarriedTerm] = {}
        self._by_selector: BySelector[CarriedTerm] = BySelector()

    def of(self, terms: PodTerms) -> list[CarriedTerm]:
        """Those of a pod with these terms."""
        return [self._carried(term, weight) for term, weight in self._carries(terms)]

    def _carried(self, term: AffinityTerm, weight: int) -> CarriedTerm:
        found = self._terms.get((term, weight))
        if found is None:
            key = term.topology_key
            found = CarriedTerm(term, weight, TopologyCounts(key, self._cluster.nodes.labels.column(key)))
            self._terms[term, weight] = found
            self._by_selector.add(term.selector, found)
        return found

    def matching(self, info: PodInfo, namespace_labels: Labels) -> list[CarriedTerm]:
        """Terms that match the pod and that some pod at some topology value carries."""
        if not self._terms:
            return []
        matching = self._by_selector.matching(info, lambda each: each.term.matches(info.pod, namespace_labels))
        return [each for each in matching if each.counts.total]

    def forget_matches(self) -> None:
        """Called when labels of namespaces change."""
        self._by_selector.forget_matches()


class Tallies:
    """Placed pods that match all of some matchers, by topology value."""

    def __init__(self, cluster: Cluster, matching: PodMatching) -> None:
        self._cluster = cluster
        self._pods = matching
        self._tallies: dict[tuple[tuple[PodMatcher, ...], str], TopologyCounts] = {}
        self._by_selector: BySelector[tuple[tuple[PodMatcher, ...], TopologyCounts]] = BySelector()

    def of(self, matchers: tuple[PodMatcher, ...], key: str) -> TopologyCounts:
        found = self._tallies.get((matchers, key))
        if found is None:
            found = self._tallies[matchers, key] = self._counted(matchers, key)
            narrow = next((each.selector for each in matchers if handles_of(each.selector)), matchers[0].selector)
            self._by_selector.add(narrow, (matchers, found))
        return found

    def _counted(self, matchers: tuple[PodMatcher, ...], key: str) -> TopologyCounts:
        pods = self._cluster.pods
        counts = TopologyCounts(key, self._cluster.nodes.labels.column(key))
        wanted = pods.node_row >= 0
        for matcher in matchers:
            wanted &= self._pods.mask(matcher)
        counts.add_rows(pods.node_row[wanted])
        return counts

    def counting(self, info: PodInfo) -> Sequence[tuple[tuple[PodMatcher, ...], TopologyCounts]]:
        """The tallies that count the pod, each with its matchers."""
        if not self._tallies:
            return ()
        return self._by_selector.matching(
            info, lambda tally: all(each.matches(info.namespace, info.labels) for each in tally[0])
        )


class AffinityIndex:
    """The counts of one structure of the cluster, kept between cycles. `version` is another number when any count has
    changed. `namespaces` are the labels of those that exist, by name, and `resolved` is what the plugin keeps until
    these change (GetNamespaceLabelsSnapshot)."""

    def __init__(
        self, cluster: Cluster, parser: TermParser, matching: PodMatching, versions: Iterator[int], hard_weight: int
    ) -> None:
        self._cluster = cluster
        self._parser = parser
        self._hard_weight = hard_weight
        self._versions = versions
        self.namespaces: Mapping[str, Labels] = {}
        self.resolved: dict[PodTerms, Any] = {}
        self._carried: dict[PodTerms, tuple[CarriedTerm, ...]] = {}
        self._catalog_version = -1
        self._position = len(cluster.moves)
        self.version = next(versions)
        self.anti_affinity = CarriedTerms(cluster, _required_anti_affinity)
        self.preferences = CarriedTerms(cluster, self._preferences)
        self.tallies = Tallies(cluster, matching)
        pods = cluster.pods
        for pod_row in np.nonzero(pods.has_affinity & (pods.node_row >= 0))[0].tolist():
            for each in self._carried_by(parser.of(pods.infos[pod_row])):
                each.counts.add(int(pods.node_row[pod_row]), 1)

    def _preferences(self, terms: PodTerms) -> Iterator[tuple[AffinityTerm, int]]:
        """processExistingPod: the terms of an existing pod that score other pods."""
        if self._hard_weight > 0:
            yield from ((term, self._hard_weight) for term in terms.required_affinity)
        yield from ((each.term, each.weight) for each in terms.preferred)

    def sync(self) -> AffinityIndex:
        """This index, up to date with the cluster."""
        if self._catalog_version != self._cluster.catalog.version:
            self._sync_namespaces()
        moves = self._cluster.moves
        if self._position == len(moves):
            return self
        for info, node_row, amount in moves[self._position :]:
            terms, counting = self._parser.of(info), self.tallies.counting(info)
            carried = self._carried_by(terms) if terms is not NO_TERMS else ()
            for each in carried:
                each.counts.add(node_row, amount)
            for _, counts in counting:
                counts.add(node_row, amount)
            if carried or counting:
                self.version = next(self._versions)
        self._position = len(moves)
        return self

    def _carried_by(self, terms: PodTerms) -> tuple[CarriedTerm, ...]:
        """The terms by which a placed pod keeps other pods away, and those by which it scores them."""
        found = self._carried.get(terms)
        if found is None:
            found = self._carried[terms] = (*self.anti_affinity.of(terms), *self.preferences.of(terms))
        return found

    def _sync_namespaces(self) -> None:
        catalog = self._cluster.catalog
        self._catalog_version = catalog.version
        namespaces = {each.metadata.name: each.metadata.labels for each in catalog.all(Namespace)}
        if namespaces != self.namespaces:
            self.namespaces = namespaces
            self.resolved.clear()
            self.version = next(self._versions)
            self.anti_affinity.forget_matches()
            self.preferences.forget_matches()


def _required_anti_affinity(terms: PodTerms) -> Iterator[tuple[AffinityTerm, int]]:
    return ((term, 1) for term in terms.required_anti_affinity)
