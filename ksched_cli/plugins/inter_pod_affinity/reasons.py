"""Why InterPodAffinity rejects a pod or a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.framework.reasons import (
    FieldFinder,
    FieldPath,
    Reason,
    ReasonCode,
    ReasonKind,
    ReasonTable,
    fixed_field,
)
from ksched_cli.releases.changes import Rule

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

_AFFINITY = ReasonCode(
    "KS113",
    "pod-affinity",
    "the pods that it wants to be near to are not there",
    "A required podAffinity term needs a pod that matches its selector, in the same domain of topologyKey.",
    ("correct the selector, namespaces or topologyKey", "deploy the other workload first", "make it preferred"),
)
_ANTI_AFFINITY = ReasonCode(
    "KS114",
    "pod-anti-affinity",
    "pods that it must not be near to are everywhere",
    "A required podAntiAffinity term allows no domain of topologyKey that has a pod which matches. Replicas that keep "
    "away from each other need as many domains as replicas, and one more for a surge.",
    ("make it preferred", "fewer replicas, or more nodes", "maxSurge: 0 with maxUnavailable: 1"),
)
_EXISTING = ReasonCode(
    "KS115",
    "existing-anti-affinity",
    "pods that run already do not want it near to them",
    "The required podAntiAffinity of pods that run matches the labels of this one.",
    ("change the labels of the pod", "change the anti-affinity of the others"),
)
_EITHER = ReasonCode(
    "KS161",
    "pod-affinity-rules",
    "rules about other pods keep it away",
    "A required podAffinity or podAntiAffinity term of the pod, or of pods that run, is not met. Older schedulers say "
    "no more than that.",
    ("correct the selector, namespaces or topologyKey", "make the term preferred"),
)
_INVALID = ReasonCode(
    "KS117",
    "invalid-affinity",
    "a term of the pod's affinity cannot be read",
    "A selector has an operator, key or value that selectors cannot have.",
    ("correct the selector",),
)


def _term_field(affinity: str) -> FieldFinder:
    def find(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
        """The first required term that is broken on the node."""
        own = getattr(pod.spec.affinity, "pod_affinity" if affinity == "podAffinity" else "pod_anti_affinity", None)
        terms = own.required_during_scheduling_ignored_during_execution if own else ()
        broken = {each["topologyKey"] for each in detail.get(affinity, ())}
        index = next((at for at, term in enumerate(terms) if term.topology_key in broken or not broken), None)
        path: FieldPath = ("spec", "affinity", affinity, REQUIRED)
        return path if index is None else (*path, index, "topologyKey")

    return find


class InterPodAffinityReasons(ReasonTable, plugins="InterPodAffinity"):
    no_pod_to_be_with = ReasonKind(
        "node(s) didn't match pod affinity rules", _AFFINITY, field=_term_field("podAffinity")
    )
    pods_to_keep_away_from = ReasonKind(
        "node(s) didn't match pod anti-affinity rules", _ANTI_AFFINITY, field=_term_field("podAntiAffinity")
    )
    kept_away_by_others = ReasonKind(
        "node(s) didn't satisfy existing pods anti-affinity rules", _EXISTING, field=fixed_field("metadata", "labels")
    )
    # For a while every rejection came with this reason, too.
    any_rule = ReasonKind(
        Rule(
            "1.21",
            before="node(s) didn't match pod affinity/anti-affinity",
            now="node(s) didn't match pod affinity/anti-affinity rules",
            described_by="InterPodAffinity",
        ),
        _EITHER,
    )
    unreadable = ReasonKind("parsing pod: {problem}", _INVALID, field=fixed_field("spec", "affinity"))
