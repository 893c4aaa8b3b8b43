"""A workload of the manifests as a world has it: how many pods it wants, which it has, and which of them are old."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from ksched_cli.controlplane.controllers.daemonset import surge_and_unavailable
from ksched_cli.controlplane.controllers.deployment import RECREATE, is_recreate, max_surge, max_unavailable
from ksched_cli.controlplane.controllers.job import completions_of, parallelism
from ksched_cli.controlplane.controllers.replicaset import wanted_replicas
from ksched_cli.controlplane.controllers.revisions import revision_of
from ksched_cli.controlplane.controllers.statefulset import PARALLEL, first_ordinal, ordinal_of, partition
from ksched_cli.controlplane.plane import ON_DELETE, ControlPlane
from ksched_cli.controlplane.pods import is_active
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.framework.reasons import FieldPath
from ksched_cli.sources.loaded import workload_label
from ksched_cli.whatif.manifests import cron_job_run


class WorkloadState(Struct, frozen=True):
    """`pods` are active; `old` are those of them that have yet to be replaced or removed. `succeeded` pods of a Job
    have done their work. `owners` controls the pods; a pod without a controller is its own owner."""

    wanted: int
    pods: tuple[Pod, ...] = ()
    old: tuple[Pod, ...] = ()
    succeeded: int = 0
    owners: frozenset[Identity] = frozenset()

    @property
    def new(self) -> tuple[Pod, ...]:
        old = {identity_of(pod) for pod in self.old}
        return tuple(pod for pod in self.pods if identity_of(pod) not in old)

    @property
    def running(self) -> int:
        """Pods of the wanted template that have a node, or have done their work."""
        return self.succeeded + sum(bool(pod.spec.node_name) for pod in self.new)

    @property
    def missing(self) -> int:
        """Pods that are wanted and have not been created."""
        return max(self.wanted - self.succeeded - len(self.pods), 0)

    @property
    def satisfied(self) -> bool:
        """Nothing is left to create, to place or to replace."""
        return not self.old and not self.missing and all(pod.spec.node_name for pod in self.pods)


def state_of(plane: ControlPlane, item: Any) -> WorkloadState:
    """The state of an object of the manifests now."""
    live = plane.store.current(item)
    if isinstance(item, PodTemplate):
        return _bare(plane, plane.pods_of_templates.get(identity_of(item)))
    if isinstance(item, Pod):
        return _bare(plane, identity_of(item))
    if isinstance(item, CronJob):
        live = plane.store.get(Job, cron_job_run(item), item.metadata.namespace)
    return _STATES[type(live)](plane, live) if live is not None else WorkloadState(0)


def jobs_of(plane: ControlPlane, items: Iterable[Any]) -> list[Job]:
    """The Jobs among the items, those of their CronJobs included."""
    found = []
    for item in items:
        if isinstance(item, Job | CronJob):
            name = item.metadata.name if isinstance(item, Job) else cron_job_run(item)
            job = plane.store.get(Job, name, item.metadata.namespace)
            found += [job] if job is not None else []
    return found


def _bare(plane: ControlPlane, identity: Identity | None) -> WorkloadState:
    if identity is None:
        return WorkloadState(0)
    pod = plane.store.get(Pod, identity[2], identity[1])
    pods = (pod,) if pod is not None and is_active(pod) else ()
    return WorkloadState(1, pods, owners=frozenset((identity,)))


def _deployment(plane: ControlPlane, item: Deployment) -> WorkloadState:
    deployments, wanted = plane.controllers.deployments, wanted_replicas(item)
    sets = deployments.replica_sets(item)
    new = deployments.new_replica_set(item, sets)
    by_set = {each.metadata.name: _active(plane.controllers.replica_sets.claimed(each)) for each in sets}
    pods = tuple(pod for found in by_set.values() for pod in found)
    old = tuple(pod for name, found in by_set.items() for pod in found if new is None or name != new.metadata.name)
    return WorkloadState(wanted, pods, pods[wanted:] if item.spec.paused else old, owners=_identities(sets))


def _replica_set(plane: ControlPlane, item: ReplicaSet | ReplicationController) -> WorkloadState:
    pods, wanted = _active(plane.controllers.replica_sets.claimed(item)), wanted_replicas(item)
    return WorkloadState(wanted, pods, pods[wanted:], owners=_identities((item,)))


def _stateful_set(plane: ControlPlane, item: StatefulSet) -> WorkloadState:
    """Pods below the partition, and all of a set with the strategy OnDelete, are as good as new ones."""
    sets = plane.controllers.stateful_sets
    update, start, wanted = sets.history.update_revision(item).name, first_ordinal(item), wanted_replicas(item)
    first = start + wanted if _on_delete(item) else start + partition(item)
    pods = _active(sets.claimed(item))
    old = []
    for pod in pods:
        ordinal = ordinal_of(pod.metadata.name)[1]
        replaced = first <= ordinal and revision_of(pod) != update
        if replaced or not start <= ordinal < start + wanted:
            old.append(pod)
    return WorkloadState(wanted, pods, tuple(old), owners=_identities((item,)))


def _daemon_set(plane: ControlPlane, item: DaemonSet) -> WorkloadState:
    sets = plane.controllers.daemon_sets
    update = sets.history.update_revision(item).name
    pods = _active(sets.claimed(item))
    old = () if _on_delete(item) else tuple(pod for pod in pods if revision_of(pod) != update)
    return WorkloadState(sets.status(item).desired, pods, old, owners=_identities((item,)))


def _job(plane: ControlPlane, item: Job) -> WorkloadState:
    """As many as parallelism allows, and those that have succeeded."""
    state, pods = plane.controllers.jobs.state(item), _active(plane.store.pods_of(item))
    owners = _identities((item,))
    if item.spec.suspend or state.finished:
        return WorkloadState(state.succeeded, pods, succeeded=state.succeeded, owners=owners)
    completions = completions_of(item)
    if completions is None:
        left = len(pods) if state.succeeded else parallelism(item)
    else:
        left = max(min(completions - state.succeeded, parallelism(item)), 0)
    return WorkloadState(state.succeeded + left, pods, succeeded=state.succeeded, owners=owners)


def _active(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    return tuple(pod for pod in pods if is_active(pod))


def _identities(items: Iterable[Any]) -> frozenset[Identity]:
    return frozenset(identity_of(item) for item in items)


def _on_delete(item: StatefulSet | DaemonSet) -> bool:
    return item.spec.update_strategy is not None and item.spec.update_strategy.type == ON_DELETE


_STATES: Mapping[type[Struct], Callable[[ControlPlane, Any], WorkloadState]] = {
    Deployment: _deployment,
    ReplicaSet: _replica_set,
    ReplicationController: _replica_set,
    StatefulSet: _stateful_set,
    DaemonSet: _daemon_set,
    Job: _job,
}


# How pods are replaced


def manner_of(plane: ControlPlane, item: Any) -> str:
    """How pods are replaced, with shares in numbers: `maxSurge 1, maxUnavailable 0`."""
    live = plane.store.current(item)
    if isinstance(live, Deployment):
        surge, unavailable = max_surge(live), max_unavailable(live)
        return RECREATE if is_recreate(live) else f"maxSurge {surge}, maxUnavailable {unavailable}"
    if isinstance(live, StatefulSet):
        return live.spec.pod_management_policy if live.spec.pod_management_policy == PARALLEL else "OrderedReady"
    if isinstance(live, DaemonSet):
        surge, unavailable = surge_and_unavailable(live, plane.controllers.daemon_sets.status(live).desired)
        return ON_DELETE if _on_delete(live) else f"maxSurge {surge}, maxUnavailable {unavailable}"
    return ""


def strategy_path(plane: ControlPlane, item: Any) -> FieldPath:
    """The field that decides how pods are replaced."""
    live = plane.store.current(item)
    if isinstance(live, Deployment):
        return ("spec", "strategy", "type") if is_recreate(live) else ("spec", "strategy", "rollingUpdate")
    return ("spec", "updateStrategy") if isinstance(live, StatefulSet | DaemonSet) else ("spec",)


def is_held_back(plane: ControlPlane, item: Any) -> bool:
    """Whether the controller leaves the pods of the workload as they are."""
    live = plane.store.current(item)
    paused = isinstance(live, Deployment) and live.spec.paused
    return bool(paused or (isinstance(live, Job | CronJob) and live.spec.suspend))


def _waits_for_resume(plane: ControlPlane, item: Deployment) -> bool:
    """Whether the Deployment is paused before its new template has any pods."""
    return bool(item.spec.paused) and plane.controllers.deployments.new_replica_set(item) is None


def rollout_notes(plane: ControlPlane, item: Any, before: WorkloadState) -> list[str]:
    """Why a change of the manifests is not rolled out."""
    live, label = plane.store.current(item), workload_label(item)
    if isinstance(item, Pod):
        nodes = [pod.spec.node_name for pod in before.pods if pod.spec.node_name]
        return [f"{label} is on node {node} already: it stays there" for node in nodes]
    if isinstance(live, Job | CronJob) and live.spec.suspend:
        return [f"{label} is suspended: it makes no pods"]
    if isinstance(live, Deployment) and _waits_for_resume(plane, live):
        what = "its new template is not rolled out" if before.pods else "it makes no pods"
        return [f"{label} is paused: {what}"]
    return _revision_notes(plane, live) if isinstance(live, StatefulSet | DaemonSet) else []


def _revision_notes(plane: ControlPlane, live: StatefulSet | DaemonSet) -> list[str]:
    controllers, notes = plane.controllers, []
    if isinstance(live, StatefulSet):
        update, pods = controllers.stateful_sets.history.update_revision(live), controllers.stateful_sets.claimed(live)
        rolling = live.spec.update_strategy.rolling_update if live.spec.update_strategy else None
        if rolling is not None and rolling.max_unavailable is not None:
            text = "maxUnavailable is not in force unless MaxUnavailableStatefulSet is switched on"
            notes.append(f"{workload_label(live)}: {text}")
    else:
        update, pods = controllers.daemon_sets.history.update_revision(live), controllers.daemon_sets.claimed(live)
    if _on_delete(live) and any(revision_of(pod) != update.name for pod in pods):
        notes.append(f"{workload_label(live)} replaces a pod only when it is deleted (OnDelete)")
    return notes


def pod_problems(plane: ControlPlane, item: Any) -> list[str]:
    """Why the workload cannot make pods, although nothing refuses them."""
    live = plane.store.current(item)
    if isinstance(live, DaemonSet):
        state = state_of(plane, item)
        if not state.wanted and not state.pods:
            return [f"{workload_label(item)} runs on none of the nodes: it makes no pods"]
    taken = sorted(taken_names(plane, live)) if isinstance(live, StatefulSet) else []
    return [f"{workload_label(item)} cannot make {', '.join(taken)}: other pods are called so"] if taken else []


def taken_names(plane: ControlPlane, item: StatefulSet) -> set[str]:
    """Names of the set's pods that pods of others have."""
    start = first_ordinal(item)
    names = {f"{item.metadata.name}-{ordinal}" for ordinal in range(start, start + wanted_replicas(item))}
    own = {pod.metadata.name for pod in plane.controllers.stateful_sets.claimed(item)}
    return {name for name in names - own if plane.store.get(Pod, name, item.metadata.namespace) is not None}
