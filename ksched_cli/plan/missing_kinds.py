"""The kinds that could not be read from a live cluster, and the pods whose results they could change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ksched_cli.api.core import Pod
from ksched_cli.engine.decision import Decision

Concern = Callable[[Pod], bool]


def _has_claims(pod: Pod) -> bool:
    return any(volume.persistent_volume_claim or volume.ephemeral for volume in pod.spec.volumes)


def _has_volumes(pod: Pod) -> bool:
    """Whether the pod has volumes. Disks that the pod itself names are attached through a driver, too."""
    return bool(pod.spec.volumes)


def _has_devices(pod: Pod) -> bool:
    """Whether claims need the kind, or extended resources that a device class may provide."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    extended = any("/" in name for each in containers for name in (*each.resources.requests, *each.resources.limits))
    return bool(pod.spec.resource_claims) or extended


def _spreads_by_default(pod: Pod) -> bool:
    """Whether the default constraints apply. Their selector comes from services and owners."""
    return not pod.spec.topology_spread_constraints and bool(pod.metadata.labels)


def _owned_by(kind: str) -> Concern:
    return lambda pod: (
        _spreads_by_default(pod)
        and any(owner.controller and owner.kind == kind for owner in pod.metadata.owner_references)
    )


def _has_terms(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and bool(affinity.pod_affinity or affinity.pod_anti_affinity)


_CLAIMED = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSIDriver", "CSIStorageCapacity")
_DEVICES = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "DeviceTaintRule")
_CONCERNS: Mapping[str, Concern] = {
    **dict.fromkeys(_CLAIMED, _has_claims),
    **dict.fromkeys(("CSINode", "VolumeAttachment"), _has_volumes),
    **dict.fromkeys(_DEVICES, _has_devices),
    **{kind: _owned_by(kind) for kind in ("ReplicationController", "ReplicaSet", "StatefulSet")},
    "Service": _spreads_by_default,
    "PriorityClass": lambda pod: bool(pod.spec.priority_class_name) and pod.spec.priority is None,
    "RuntimeClass": lambda pod: bool(pod.spec.runtime_class_name) and not pod.spec.overhead,
    "PodGroup": lambda pod: pod.spec.scheduling_group is not None,
}


class MissingKinds:
    """The kinds that were not read, by the pods whose results they could change."""

    def __init__(self, missing: Collection[str], pods: Collection[Pod]) -> None:
        self._missing = sorted(missing)
        # Terms of pods that run already keep others away, too.
        self._terms = "Namespace" in missing and any(_has_terms(pod) for pod in pods)

    def about(self, decision: Decision) -> tuple[str, ...]:
        return self.about_pod(decision.pod.pod, preempts=decision.preemption is not None)

    def about_pod(self, pod: Pod, *, preempts: bool = False) -> tuple[str, ...]:
        """The kinds of `about` for a pod that may have had no cycle."""
        others = {"Namespace": self._terms, "PodDisruptionBudget": preempts}
        return tuple(kind for kind in self._missing if others.get(kind) or (kind in _CONCERNS and _CONCERNS[kind](pod)))
