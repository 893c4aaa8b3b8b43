"""What a scheduler has decided, carried out by a control plane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.dynamic_resources import ResourceClaim
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.results import PodOutcome
from ksched_cli.sources.loaded import Loaded

# What a binding changes besides the pod.
_BOUND_WITH_PODS: tuple[type[Any], ...] = (PersistentVolume, PersistentVolumeClaim, ResourceClaim)


def carried_out(loaded: Loaded, scheduler: Scheduler, outcomes: Iterable[PodOutcome]) -> Loaded:
    """The cluster once placed pods run with their volumes and devices, victims have left and their controllers have
    made others. What was loaded stays as it is."""
    bound = loaded.copied()
    for kind in _BOUND_WITH_PODS:
        bound.set_all(kind, scheduler.cluster.catalog.all(kind))
    plane = ControlPlane(Store(bound))
    for outcome in outcomes:
        _carry_out(plane, outcome)
    plane.run()
    return plane.store.as_loaded()


def _carry_out(plane: ControlPlane, outcome: PodOutcome) -> None:
    pod = _stored(plane, outcome.pod)
    if pod is not None and outcome.node:
        plane.api.update(replace(pod, spec=replace(pod.spec, node_name=outcome.node)))
    elif pod is not None and outcome.nominated_node:
        plane.api.update(replace(pod, status=replace(pod.status, nominated_node_name=outcome.nominated_node)))
    for name in outcome.preemption.victims if outcome.preemption else ():
        victim = _stored(plane, name)
        if victim is not None:
            plane.api.delete(victim, why=f"preempted by {outcome.pod}")


def _stored(plane: ControlPlane, key: str) -> Pod | None:
    namespace, _, name = key.partition("/")
    return plane.store.get(Pod, name, namespace)
