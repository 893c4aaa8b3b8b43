"""Counts of the pods that inter-pod affinity matches, by topology value, kept up to date from the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from msgspec import Struct

from ksched_cli.api.core import Namespace
from ksched_cli.cluster.affinity_terms import NO_TERMS, AffinityTerm, Labels, PodMatcher, PodTerms, TermParser
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.plugins.inter_pod_affinity.pod_matching import BySelector, PodMatching, handles_of
from ksched_cli.plugins.inter_pod_affinity.topology_counts import TopologyCounts

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
        self._of_template: dict[PodTerms, tuple[CarriedTerm, ...]] = {}
        self._by_selector: BySelector[CarriedTerm] = BySelector()

    def place(self, terms: PodTerms, node_row: int, amount: int) -> bool:
        """Counts the terms of a pod that came to the node or left it; returns whether it has any."""
        carried = self._of_template.get(terms)
        if carried is None:
            carried = tuple(self._carried(term, weight) for term, weight in self._carries(terms))
            self._of_template[terms] = carried
        for each in carried:
            each.counts.add(node_row, amount)
        return bool(carried)

    def _carried(self, term: AffinityTerm, weight: int) -> CarriedTerm:
        found = self._terms.get((term, weight))
        if found is None:
            key = term.topology_key
            found = CarriedTerm(term, weight, TopologyCounts(key, self._cluster.nodes.labels.column(key)))
            self._terms[term, weight] = found
            self._by_selector.add(term.selector, found)
        return found

    def matching(self, pod: PodInfo, namespace_labels: Labels) -> list[CarriedTerm]:
        """Terms that match the pod and that some pod at some topology value carries."""
        if not self._terms:
            return []
        matching = self._by_selector.matching(pod, lambda each: each.term.matches(pod, namespace_labels))
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

    def place(self, pod: PodInfo, node_row: int, amount: int) -> bool:
        """Counts a pod that came to the node or left it; returns whether a tally counts it."""
        if not self._tallies:
            return False
        concerned = self._by_selector.matching(
            pod, lambda tally: all(each.matches(pod.namespace, pod.labels) for each in tally[0])
        )
        for _, counts in concerned:
            counts.add(node_row, amount)
        return bool(concerned)


class AffinityIndex:
    """The counts of one structure of the cluster, kept between cycles. `generation` goes up when what was handed out no
    longer holds, and `version` is another number when any count has changed."""

    def __init__(
        self, cluster: Cluster, parser: TermParser, matching: PodMatching, versions: Iterator[int], hard_weight: int
    ) -> None:
        self._cluster = cluster
        self._parser = parser
        self._hard_weight = hard_weight
        self._versions = versions
        self._namespaces: list[Namespace] = []
        self._catalog_version = -1
        self._position = len(cluster.moves)
        self.generation = 0
        self.version = next(versions)
        self.anti_affinity = CarriedTerms(cluster, _required_anti_affinity)
        self.preferences = CarriedTerms(cluster, self._preferences)
        self.tallies = Tallies(cluster, matching)
        pods = cluster.pods
        for pod_row in np.nonzero(pods.has_affinity & (pods.node_row >= 0))[0].tolist():
            self._place_terms(pods.infos[pod_row], int(pods.node_row[pod_row]), 1)

    def _preferences(self, terms: PodTerms) -> Iterator[tuple[AffinityTerm, int]]:
        """processExistingPod: the terms of an existing pod that score other pods."""
        if self._hard_weight > 0:
            yield from ((term, self._hard_weight) for term in terms.required_affinity)
        yield from ((each.term, each.weight) for each in terms.preferred)

    def sync(self) -> None:
        """Bring everything up to date with the cluster."""
        self._sync_namespaces()
        moves = self._cluster.moves
        if self._position == len(moves):
            return
        for pod, node_row, amount in moves[self._position :]:
            carries = self._place_terms(pod, node_row, amount)
            if self.tallies.place(pod, node_row, amount) or carries:
                self.version = next(self._versions)
        self._position = len(moves)

    def _place_terms(self, pod: PodInfo, node_row: int, amount: int) -> bool:
        terms = self._parser.of(pod)
        if terms is NO_TERMS:
            return False
        avoids = self.anti_affinity.place(terms, node_row, amount)
        return self.preferences.place(terms, node_row, amount) or avoids

    def _sync_namespaces(self) -> None:
        catalog = self._cluster.catalog
        if self._catalog_version == catalog.version:
            return
        self._catalog_version = catalog.version
        namespaces = list(catalog.all(Namespace))
        if namespaces != self._namespaces:
            self._namespaces = namespaces
            self.generation += 1
            self.version = next(self._versions)
            self.anti_affinity.forget_matches()
            self.preferences.forget_matches()


def _required_anti_affinity(terms: PodTerms) -> Iterator[tuple[AffinityTerm, int]]:
    return ((term, 1) for term in terms.required_anti_affinity)
