"""What Karpenter gives up, one thing after the other, for a pod that finds no place.

Mirrors pkg/controllers/provisioning/scheduling/preferences.go. Preferences count as requirements until they are given
up. Go changes a copy of the pod; here `Wishes` are the parts of the pod that change, and `relaxed` returns others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import (
    Affinity,
    NodeAffinityTerms,
    NodeSelectorTerm,
    PodAffinity,
    PodAntiAffinity,
    PodSpec,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from ksched_cli.autoscale.karpenter.requirements import LabelRequirement, LabelRequirements
from ksched_cli.autoscale.karpenter.taints import Tolerations, with_preferences_tolerated

W = TypeVar("W", PreferredSchedulingTerm, WeightedPodAffinityTerm)


class Wishes(Struct, frozen=True, eq=False):
    """The terms of a pod that relaxation removes. `required`: None without required node affinity."""

    node_selector: dict[str, str] = {}
    required: tuple[NodeSelectorTerm, ...] | None = None
    preferred: tuple[PreferredSchedulingTerm, ...] = ()
    affinity: tuple[WeightedPodAffinityTerm, ...] = ()
    anti_affinity: tuple[WeightedPodAffinityTerm, ...] = ()
    spread: tuple[TopologySpreadConstraint, ...] = ()
    tolerations: Tolerations = ()

    @classmethod
    def of(cls, spec: PodSpec) -> Wishes:
        affinity = spec.affinity or Affinity()
        node = affinity.node_affinity or NodeAffinityTerms()
        pods, anti = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAntiAffinity()
        required = node.required_during_scheduling_ignored_during_execution
        return cls(
            spec.node_selector,
            None if required is None else required.node_selector_terms,
            _heaviest_first(node.preferred_during_scheduling_ignored_during_execution),
            _heaviest_first(pods.preferred_during_scheduling_ignored_during_execution),
            _heaviest_first(anti.preferred_during_scheduling_ignored_during_execution),
            spec.topology_spread_constraints,
            spec.tolerations,
        )

    def strict_requirements(self) -> LabelRequirements:
        """NewStrictPodRequirements: the node selector and the first required term."""
        return LabelRequirements(self._parts(preferred=False))

    def requirements(self) -> LabelRequirements:
        """NewPodRequirements: the same and the heaviest preferred term."""
        return LabelRequirements(self._parts(preferred=True))

    def _parts(self, *, preferred: bool) -> Iterable[LabelRequirement]:
        yield from LabelRequirements.of_labels(self.node_selector).values()
        if preferred and self.preferred:
            yield from LabelRequirements.of_selectors(self.preferred[0].preference.match_expressions).values()
        if self.required:
            yield from LabelRequirements.of_selectors(self.required[0].match_expressions).values()

    def relaxed(self, *, tolerate_preferences: bool) -> Wishes | None:
        """Preferences.Relax: the wishes without the next thing to give up, None if nothing is left.
        `tolerate_preferences`: some NodePool has a PreferNoSchedule taint, so that tolerating those can help."""
        if self.required is not None and len(self.required) > 1:
            return replace(self, required=self.required[1:])
        if self.affinity:
            return replace(self, affinity=self.affinity[1:])
        if self.anti_affinity:
            return replace(self, anti_affinity=self.anti_affinity[1:])
        if self.preferred:
            return replace(self, preferred=self.preferred[1:])
        for index, constraint in enumerate(self.spread):
            if constraint.when_unsatisfiable == "ScheduleAnyway":
                # The last constraint takes the place of the one that is given up.
                return replace(self, spread=(*self.spread[:index], self.spread[-1], *self.spread[index + 1 :])[:-1])
        if tolerate_preferences:
            tolerations = with_preferences_tolerated(self.tolerations)
            return None if tolerations is None else replace(self, tolerations=tolerations)
        return None


def _heaviest_first(terms: Sequence[W]) -> tuple[W, ...]:
    """Terms of equal weight keep the order of the manifest."""
    return tuple(sorted(terms, key=lambda each: -each.weight))
