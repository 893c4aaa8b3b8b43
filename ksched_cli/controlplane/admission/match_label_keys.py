"""matchLabelKeys: the pod's values of these labels are added to its selectors when the API server stores it
(podStrategy.PrepareForCreate). kube-scheduler relies on it for affinity terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from ksched_cli.api.affinity import PodAffinityTerm, TopologySpreadConstraint, with_pod_terms
from ksched_cli.api.core import Pod
from ksched_cli.api.meta import LabelSelector, LabelSelectorRequirement


def merge_label_keys(pod: Pod) -> None:
    labels = pod.metadata.labels
    if pod.spec.affinity is not None:
        pod.spec.affinity = with_pod_terms(pod.spec.affinity, partial(_term, labels))
    pod.spec.topology_spread_constraints = tuple(
        _constraint(each, labels) for each in pod.spec.topology_spread_constraints
    )


def _term(labels: Mapping[str, str], term: PodAffinityTerm) -> PodAffinityTerm:
    """The term with the keys in its selector. A term without a selector matches no pod and is not changed."""
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
    """applyLabelKeysToLabelSelector. Keys without a label of the pod are skipped, and so are requirements that the
    selector of a pod from a cluster has already."""
    known = selector.match_expressions
    added = tuple(LabelSelectorRequirement(key, operator, (labels[key],)) for key in keys if key in labels)
    return replace(selector, match_expressions=known + tuple(each for each in added if each not in known))
