"""matchLabelKeys: the pod's own values of these labels become part of its selectors when it is stored (podStrategy's
PrepareForCreate). kube-scheduler relies on it for affinity terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ksched_cli.api.affinity import (
    PodAffinityTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from ksched_cli.api.core import Pod
from ksched_cli.api.meta import LabelSelector, LabelSelectorRequirement


def merge_label_keys(pod: Pod) -> None:
    labels, affinity = pod.metadata.labels, pod.spec.affinity
    if affinity is not None and affinity.pod_affinity is not None:
        own = affinity.pod_affinity
        affinity = replace(
            affinity,
            pod_affinity=replace(
                own,
                required_during_scheduling_ignored_during_execution=_terms(
                    own.required_during_scheduling_ignored_during_execution, labels
                ),
                preferred_during_scheduling_ignored_during_execution=_weighted(
                    own.preferred_during_scheduling_ignored_during_execution, labels
                ),
            ),
        )
    if affinity is not None and affinity.pod_anti_affinity is not None:
        anti = affinity.pod_anti_affinity
        affinity = replace(
            affinity,
            pod_anti_affinity=replace(
                anti,
                required_during_scheduling_ignored_during_execution=_terms(
                    anti.required_during_scheduling_ignored_during_execution, labels
                ),
                preferred_during_scheduling_ignored_during_execution=_weighted(
                    anti.preferred_during_scheduling_ignored_during_execution, labels
                ),
            ),
        )
    pod.spec.affinity = affinity
    pod.spec.topology_spread_constraints = tuple(
        _constraint(each, labels) for each in pod.spec.topology_spread_constraints
    )


def _terms(terms: Sequence[PodAffinityTerm], labels: Mapping[str, str]) -> tuple[PodAffinityTerm, ...]:
    return tuple(_term(each, labels) for each in terms)


def _weighted(
    terms: Sequence[WeightedPodAffinityTerm], labels: Mapping[str, str]
) -> tuple[WeightedPodAffinityTerm, ...]:
    return tuple(replace(each, pod_affinity_term=_term(each.pod_affinity_term, labels)) for each in terms)


def _term(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    """A term without a selector matches nothing, and goes on doing so."""
    if term.label_selector is None or not (term.match_label_keys or term.mismatch_label_keys):
        return term
    selector = _with(term.label_selector, term.match_label_keys, "In", labels)
    selector = _with(selector, term.mismatch_label_keys, "NotIn", labels)
    return replace(term, label_selector=selector)


def _constraint(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> TopologySpreadConstraint:
    """Gate MatchLabelKeysInPodTopologySpreadSelectorMerge, on by default."""
    if constraint.label_selector is None or not constraint.match_label_keys:
        return constraint
    selector = _with(constraint.label_selector, constraint.match_label_keys, "In", labels)
    return replace(constraint, label_selector=selector)


def _with(selector: LabelSelector, keys: Sequence[str], operator: str, labels: Mapping[str, str]) -> LabelSelector:
    """applyLabelKeysToLabelSelector: keys that the pod has no label for are passed over. What is in the selector
    already, because the manifest was read from a cluster, is not added again."""
    known = selector.match_expressions
    added = tuple(LabelSelectorRequirement(key, operator, (labels[key],)) for key in keys if key in labels)
    return replace(selector, match_expressions=known + tuple(each for each in added if each not in known))
