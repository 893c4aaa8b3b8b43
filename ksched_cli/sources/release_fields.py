"""Fields of pods that came with some minor or hang on a gate: where the minor does not know one, or has its gate off,
the pod is as if it did not have it. That is how an API server of that minor stores it, and its scheduler reads it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ksched_cli.api.core import Pod, PodSpec, PodStatus
from ksched_cli.config.releases import FeatureGates, Release


def as_stored(pods: Iterable[Pod], release: Release, gates: FeatureGates) -> list[Pod]:
    """The pods with the fields that are left; a pod that loses none is the same object."""
    return [_as_stored(pod, release, gates) for pod in pods]


def _as_stored(pod: Pod, release: Release, gates: FeatureGates) -> Pod:
    spec, status = _spec(pod.spec, release, gates), _status(pod.status, gates)
    return pod if spec is pod.spec and status is pod.status else replace(pod, spec=spec, status=status)


def _spec(spec: PodSpec, release: Release, gates: FeatureGates) -> PodSpec:
    if spec.resources is not None and not gates.enabled("PodLevelResources"):
        spec = replace(spec, resources=None)
    return spec


def _status(status: PodStatus, gates: FeatureGates) -> PodStatus:
    # What containers hold while they are resized in place.
    if not gates.enabled("InPlacePodVerticalScaling") and (status.container_statuses or status.init_container_statuses):
        status = replace(status, container_statuses=(), init_container_statuses=())
    return status
