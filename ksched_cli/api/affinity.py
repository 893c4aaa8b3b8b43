"""Affinity, tolerations and spread constraints of a pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.meta import LabelSelector


class NodeSelectorRequirement(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct, rename="camel", frozen=True, gc=False):
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Struct, rename="camel", frozen=True, gc=False):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Struct, rename="camel", frozen=True, gc=False):
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinityTerms(Struct, rename="camel", frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Struct, rename="camel", frozen=True, gc=False):
    label_selector: LabelSelector | None = None
    topology_key: str = ""
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Struct, rename="camel", frozen=True, gc=False):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Struct, rename="camel", frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class PodAntiAffinity(Struct, rename="camel", frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


R = TypeVar("R", PodAffinity, PodAntiAffinity)


class Affinity(Struct, rename="camel", frozen=True, gc=False):
    node_affinity: NodeAffinityTerms | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None

    @property
    def is_about_pods(self) -> bool:
        return self.pod_affinity is not None or self.pod_anti_affinity is not None


def with_pod_terms(affinity: Affinity, changed: Callable[[PodAffinityTerm], PodAffinityTerm]) -> Affinity:
    """The affinity with each of its terms about pods replaced by the changed one."""

    def of(rules: R | None) -> R | None:
        if rules is None:
            return None
        return replace(
            rules,
            required_during_scheduling_ignored_during_execution=tuple(
                map(changed, rules.required_during_scheduling_ignored_during_execution)
            ),
            preferred_during_scheduling_ignored_during_execution=tuple(
                replace(each, pod_affinity_term=changed(each.pod_affinity_term))
                for each in rules.preferred_during_scheduling_ignored_during_execution
            ),
        )

    return replace(affinity, pod_affinity=of(affinity.pod_affinity), pod_anti_affinity=of(affinity.pod_anti_affinity))


class Toleration(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


WHEN_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")


class TopologySpreadConstraint(Struct, rename="camel", frozen=True, gc=False):
    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()
