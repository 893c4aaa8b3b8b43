"""Inter-pod affinity terms as the scheduler holds them (fwk.AffinityTerm and the four lists of framework.PodInfo).

`matchLabelKeys` and `mismatchLabelKeys` are not looked at: the API server has merged them into the label selector
by the time that the scheduler sees a pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from ksched_cli.api.core import (
    Affinity,
    Namespace,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    WeightedPodAffinityTerm,
)
from ksched_cli.api.selectors import Selector, SelectorError, compile_selector
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.errors import aggregated

Labels = Mapping[str, str]

_NO_LABELS: Labels = {}


class PodMatcher(Struct, frozen=True):
    """Which pods a term is about: those of some namespaces, or of every one, that the selector matches."""

    namespaces: frozenset[str]
    everywhere: bool
    selector: Selector

    def matches(self, namespace: str, labels: Labels) -> bool:
        return (self.everywhere or namespace in self.namespaces) and self.selector.matches(labels)


class AffinityTerm(Struct, frozen=True):
    """fwk.AffinityTerm."""

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector

    def matches(self, pod: Pod, namespace_labels: Labels = _NO_LABELS) -> bool:
        """AffinityTerm.Matches, for a term of an existing pod and a pod whose namespace has these labels. A queueing
        hint goes by the pod alone."""
        near = pod.metadata.namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return near and self.selector.matches(pod.metadata.labels)

    def matcher(self, catalog: Catalog) -> PodMatcher:
        """mergeAffinityTermNamespacesIfNotEmpty, for a term of the pod that is being scheduled.

        Go gets the term by value there, so that only the names are merged and the selector stays. The term is then
        matched without namespace labels: a selector that holds for no labels at all (`team notin (a)`) takes in
        every namespace.
        """
        selector = self.namespace_selector
        names = self.namespaces
        if not selector.everything:
            names = names.union(
                each.metadata.name for each in catalog.all(Namespace) if selector.matches(each.metadata.labels)
            )
        return PodMatcher(names, selector.matches(_NO_LABELS), self.selector)


class WeightedAffinityTerm(Struct, frozen=True):
    """fwk.WeightedAffinityTerm."""

    term: AffinityTerm
    weight: int


class PodTerms(Struct, frozen=True, eq=False):
    """All terms of a pod. A list that does not compile is empty and has an error (PodInfo.Update)."""

    required_affinity: tuple[AffinityTerm, ...] = ()
    required_anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred_affinity: tuple[WeightedAffinityTerm, ...] = ()
    preferred_anti_affinity: tuple[WeightedAffinityTerm, ...] = ()
    error: str = ""

    @property
    def preferred(self) -> tuple[WeightedAffinityTerm, ...]:
        """Both kinds, with negative weights for what the pod would rather avoid."""
        avoided = (WeightedAffinityTerm(each.term, -each.weight) for each in self.preferred_anti_affinity)
        return (*self.preferred_affinity, *avoided)


NO_TERMS = PodTerms()


class TermParser:
    """Parses each distinct affinity once: pods of one template get one and the same PodTerms."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], PodTerms] = {}
        self._by_uid: dict[str, tuple[Affinity, PodTerms]] = {}

    def of(self, info: PodInfo) -> PodTerms:
        affinity = info.pod.spec.affinity
        if affinity is None:
            return NO_TERMS
        known = self._by_uid.get(info.uid)
        if known is None or known[0] is not affinity:
            if not affinity.is_about_pods:
                return NO_TERMS
            known = self._by_uid[info.uid] = affinity, self.parse(info.namespace, affinity)
        return known[1]

    def parse(self, namespace: str, affinity: Affinity) -> PodTerms:
        between_pods = (affinity.pod_affinity, affinity.pod_anti_affinity)
        key = namespace, msgspec.json.encode(between_pods)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = parse_terms(namespace, affinity)
        return known


T = TypeVar("T")
S = TypeVar("S")


def parse_terms(namespace: str, affinity: Affinity) -> PodTerms:
    """PodInfo.Update: the lists stand and fall one by one, their errors are joined (utilerrors.NewAggregate)."""
    near, far = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAntiAffinity()
    errors: list[str] = []

    def compiled(name: str, compile_one: Callable[[S], T], terms: Iterable[S]) -> tuple[T, ...]:
        try:
            return tuple(compile_one(each) for each in terms)
        except SelectorError as problem:
            errors.append(f"{name}: {problem}")
            return ()

    def plain(term: PodAffinityTerm) -> AffinityTerm:
        return make_term(namespace, term)

    def weighted(term: WeightedPodAffinityTerm) -> WeightedAffinityTerm:
        return WeightedAffinityTerm(make_term(namespace, term.pod_affinity_term), term.weight)

    lists = (
        compiled("requiredAffinityTerms", plain, near.required_during_scheduling_ignored_during_execution),
        compiled("requiredAntiAffinityTerms", plain, far.required_during_scheduling_ignored_during_execution),
        compiled("preferredAffinityTerms", weighted, near.preferred_during_scheduling_ignored_during_execution),
        compiled("preferredAntiAffinityTerms", weighted, far.preferred_during_scheduling_ignored_during_execution),
    )
    return PodTerms(*lists, error=aggregated(errors))


def make_term(namespace: str, term: PodAffinityTerm) -> AffinityTerm:
    """newAffinityTerm: without namespaces and namespace selector a term is about the pod's own namespace."""
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        term.topology_key,
        compile_selector(term.label_selector),
        frozenset((namespace,) if own else term.namespaces),
        compile_selector(term.namespace_selector),
    )
