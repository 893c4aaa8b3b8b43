"""When inter-pod affinity may let a pod through that it kept out (InterPodAffinity's queueing hints)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ksched_cli.api.core import Node, Pod
from ksched_cli.cluster.affinity_terms import AffinityTerm, PodTerms, TermParser


def affinity_pod_may_help(
    terms: PodTerms, pod: Pod, old: Pod | None, new: Pod | None, parser: TermParser, *, any_term: bool = False
) -> bool:
    """A pod came that the pod has affinity to, or a pod left that anti-affinity is about; a change can be either. With
    `any_term` (since 1.37) one term of anti-affinity is enough."""
    parts = _match_any if any_term else _match_all
    near, far = terms.required_affinity, terms.required_anti_affinity
    if old is None:
        return new is not None and _match_all(near, new)
    if new is not None:
        comes = not _match_all(near, old) and _match_all(near, new)
        return comes or (parts(far, old) and not parts(far, new))
    if parts(far, old):
        return True
    if old.spec.affinity is None:
        return False
    theirs = parser.parse(old.metadata.namespace, old.spec.affinity)
    return bool(theirs.error) or parts(theirs.required_anti_affinity, pod)


def _match_all(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    """podMatchesAllAffinityTerms: no terms match nothing."""
    return bool(terms) and all(term.may_match(pod) for term in terms)


def _match_any(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    """podMatchesAnyAffinityTerms."""
    return any(term.may_match(pod) for term in terms)


def affinity_node_may_help(terms: PodTerms, old: Node | None, new: Node) -> bool:
    """A node got a topology value that affinity needs, or lost one that anti-affinity is about."""
    if old is None:
        near = any(term.topology_key in new.metadata.labels for term in terms.required_affinity)
        return near or bool(terms.required_anti_affinity)
    return any(
        key in new.metadata.labels and old.metadata.labels.get(key) != new.metadata.labels[key]
        for key in _keys(terms.required_affinity)
    ) or any(
        key in old.metadata.labels and old.metadata.labels[key] != new.metadata.labels.get(key)
        for key in _keys(terms.required_anti_affinity)
    )


def _keys(terms: Iterable[AffinityTerm]) -> Iterable[str]:
    return (term.topology_key for term in terms)
