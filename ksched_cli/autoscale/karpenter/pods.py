"""The pods to place, as classes of equal pods, and the stages of their relaxation.

Mirrors PodData and updateCachedPodData of scheduler.go. Pods of one workload are equal in all that provisioning reads,
so what is computed of a pod is computed once for its class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from ksched_cli.api.core import Affinity, Pod, PodAffinity, PodAffinityTerm, PodAntiAffinity, Taint
from ksched_cli.autoscale.karpenter.host_ports import HeldPort, PodKey, held_ports_of
from ksched_cli.autoscale.karpenter.instance_types import Mask
from ksched_cli.autoscale.karpenter.preferences import Wishes
from ksched_cli.autoscale.karpenter.requirements import HOSTNAME, LabelRequirement, States
from ksched_cli.autoscale.karpenter.resources import Amounts, Columns, Vector, requests_for_pods
from ksched_cli.autoscale.karpenter.taints import Taints, untolerated
from ksched_cli.autoscale.karpenter.volumes import PodVolumes

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.topology_group import TopologyGroup


class Stage:
    """A pod after some relaxation: what it requires then. `strict` leaves out preferences. Requirements on the hostname
    are apart, since every node has its own."""

    def __init__(self, wishes: Wishes, states: States, *, ignore_preferences: bool) -> None:
        self.wishes = wishes
        strict = wishes.strict_requirements()
        full = strict if ignore_preferences else wishes.requirements()
        self.requirements = states.numbered(full.without(HOSTNAME))
        self.strict = strict
        self.hostname: LabelRequirement | None = full.get(HOSTNAME)
        self.hostname_strict: LabelRequirement | None = strict.get(HOSTNAME)
        # Set by TopologyRules.update and TopologyRules.matching.
        self.groups: tuple[TopologyGroup, ...] | None = None
        self.matching: list[tuple[TopologyGroup, bool]] | None = None
        self.matching_of = -1
        self._states = states
        # For each number of a state whether it is compatible: 1, 0, or -1 if not known. By `strict`.
        self._compatible: dict[bool, NDArray[np.int8]] = {}
        self._untolerated: dict[Taints, list[Taint]] = {}

    def compatible_with(self, numbers: NDArray[np.int64], *, strict: bool) -> Mask:
        """For states, by number, whether the requirements are compatible with them."""
        known = self._compatible.get(strict)
        if known is None or len(known) < len(self._states):
            grown = np.full(2 * len(self._states), -1, np.int8)
            if known is not None:
                grown[: len(known)] = known
            known = self._compatible[strict] = grown
        found = known[numbers]
        if (found < 0).any():
            for number in set(numbers[found < 0].tolist()):
                added = self._states.added(self._states[number], self.requirements, strict=strict)
                known[number] = added is not None
            found = known[numbers]
        fits: Mask = found == 1
        return fits

    def untolerated(self, taints: Taints) -> list[Taint]:
        """The taints that the pod does not tolerate."""
        if not taints:
            return []
        found = self._untolerated.get(taints)
        if found is None:
            found = self._untolerated[taints] = untolerated(taints, self.wishes.tolerations)
        return found


class PendingClass:
    """Pods that are equal in all that decides where they can be."""

    def __init__(self, pod: Pod, labels_number: int, volumes: PodVolumes, classes: PendingClasses) -> None:
        spec = pod.spec
        self.namespace, self.labels = pod.metadata.namespace, pod.metadata.labels
        self.labels_number = labels_number
        self.amounts: Amounts = requests_for_pods([pod])
        self.requests: Vector = classes.columns.vector(self.amounts)
        self.ports: tuple[HeldPort, ...] = held_ports_of(pod)
        self.volumes = volumes
        self.has_claims = any(each.resources.claims for each in (*spec.containers, *spec.init_containers))
        self.required_affinity, self.required_anti_affinity = required_affinity(pod)
        self.inverse: tuple[TopologyGroup, ...] | None = None
        self._classes = classes
        self._stages = [classes.stage(Wishes.of(spec))]

    def stage(self, number: int) -> Stage | None:
        """The pod after so many relaxations, None if there is nothing left to give up."""
        while number >= len(self._stages):
            wishes = self._stages[-1].wishes.relaxed(tolerate_preferences=self._classes.tolerate_preferences)
            if wishes is None:
                return None
            self._stages.append(self._classes.stage(wishes))
        return self._stages[number]


class PendingPod:
    """One pod to place."""

    __slots__ = ("key", "name", "of", "pod", "sort_key")

    def __init__(self, pod: Pod, of: PendingClass) -> None:
        meta = pod.metadata
        self.pod, self.of = pod, of
        self.key: PodKey = (meta.namespace, meta.name)
        self.name = f"{meta.namespace}/{meta.name}"
        cpu, memory = (of.amounts[name].milli if name in of.amounts else 0 for name in ("cpu", "memory"))
        self.sort_key = (-cpu, -memory, meta.creation_timestamp or "", meta.uid)


class PendingClasses:
    """The classes of pods of one run, and how all NodePools treat preferences. `tolerate_preferences`: one has a
    PreferNoSchedule taint."""

    def __init__(
        self, columns: Columns, states: States, *, ignore_preferences: bool, tolerate_preferences: bool
    ) -> None:
        self.columns, self._states = columns, states
        self._ignore_preferences, self.tolerate_preferences = ignore_preferences, tolerate_preferences
        self._classes: dict[bytes, PendingClass] = {}
        self._labels: dict[tuple[str, frozenset[tuple[str, str]]], int] = {}

    def stage(self, wishes: Wishes) -> Stage:
        return Stage(wishes, self._states, ignore_preferences=self._ignore_preferences)

    def pending(self, pod: Pod, volumes: PodVolumes) -> PendingPod:
        """The pod with its class. A pod with volumes has a class of its own."""
        key = _identity(pod)
        found = self._classes.get(key) if not volumes else None
        if found is None:
            meta = pod.metadata
            labels = self._labels.setdefault((meta.namespace, frozenset(meta.labels.items())), len(self._labels))
            found = PendingClass(pod, labels, volumes, self)
            if not volumes:
                self._classes[key] = found
        return PendingPod(pod, found)


def _identity(pod: Pod) -> bytes:
    """All parts of the pod that are read, as one text."""
    spec = pod.spec
    containers = [
        (each.resources, each.ports, each.restart_policy) for each in (*spec.containers, *spec.init_containers)
    ]
    own = (spec.node_selector, spec.affinity, spec.tolerations, spec.topology_spread_constraints, spec.overhead)
    parts = (pod.metadata.namespace, pod.metadata.labels, len(spec.containers), containers, spec.resources, own)
    return _ENCODER.encode(parts)


_ENCODER = msgspec.msgpack.Encoder()


def required_affinity(pod: Pod) -> tuple[tuple[PodAffinityTerm, ...], tuple[PodAffinityTerm, ...]]:
    """The required terms of affinity and of anti-affinity to other pods."""
    affinity = pod.spec.affinity or Affinity()
    together, apart = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAntiAffinity()
    return (
        together.required_during_scheduling_ignored_during_execution,
        apart.required_during_scheduling_ignored_during_execution,
    )
