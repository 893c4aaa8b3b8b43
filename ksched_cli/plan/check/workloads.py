"""A workload of a check, and the run of the manifests of `check` in a world.

`WorkloadState` has how many pods a workload wants, which it has, and which of them are old. `CheckRun` runs the world
until nothing moves, then in waves while Jobs finish their pods. Two more runs find whether a rollout would finish
without its old pods, and which evictions happen without the manifests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod, controller_of
from ksched_cli.api.object_facts import is_active
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    ResourceQuota,
    StatefulSet,
    UpdateStrategy,
    wanted_replicas,
)
from ksched_cli.cluster.pod_groups import group_preemptor
from ksched_cli.controlplane.controllers.daemonset import surge_and_unavailable
from ksched_cli.controlplane.controllers.deployment import RECREATE, is_recreate, max_surge, max_unavailable
from ksched_cli.controlplane.controllers.job import completions_of, parallelism
from ksched_cli.controlplane.controllers.revisions import RevisionHistory, revision_of
from ksched_cli.controlplane.controllers.statefulset import (
    ON_DELETE,
    first_ordinal,
    ordinal_of,
    partition,
    strategy_of,
)
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Identity, identity_of, top_owner
from ksched_cli.engine.decision import Decision
from ksched_cli.errors import named
from ksched_cli.framework.reasons import FieldPath
from ksched_cli.plan.check.results import MOST_NAMED, Losses, is_of
from ksched_cli.plan.results.nodes import NodeColumns
from ksched_cli.sources.loaded import Autoscaler, Loaded, Origin, resource_of, workload_label
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.manifests import WORKLOADS, cron_job_run
from ksched_cli.whatif.order import in_order
from ksched_cli.world.recorder import PreemptedPod
from ksched_cli.world.results import Ending, Limits, WorldResult
from ksched_cli.world.world import World


class WorkloadState(Struct, frozen=True):
    """`pods` are active; `old` are those of them that have yet to be replaced or removed. `succeeded` pods of a Job, or
    without a controller, have done their work. `owners` controls the pods; a pod without one is its own owner."""

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
    done = pod is not None and pod.status.phase == "Succeeded"
    return WorkloadState(1, pods, succeeded=int(done), owners=frozenset((identity,)))


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
    update, start, wanted = _newest(sets.history, item), first_ordinal(item), wanted_replicas(item)
    first = start + wanted if strategy_of(item) == ON_DELETE else start + partition(item)
    pods = _active(sets.claimed(item))
    old = []
    for pod in pods:
        ordinal = ordinal_of(pod.metadata.name)[1]
        replaced = first <= ordinal and update not in ("", revision_of(pod))
        if replaced or not start <= ordinal < start + wanted:
            old.append(pod)
    return WorkloadState(wanted, pods, tuple(old), owners=_identities((item,)))


def _newest(history: RevisionHistory, item: StatefulSet | DaemonSet) -> str:
    """The newest revision; empty for an object of a dump that has no template: its pods are as good as new ones."""
    return history.update_revision(item).name if item.spec.template is not None else ""


def _daemon_set(plane: ControlPlane, item: DaemonSet) -> WorkloadState:
    sets = plane.controllers.daemon_sets
    update, pods = _newest(sets.history, item), _active(sets.claimed(item))
    old = () if strategy_of(item) == ON_DELETE else tuple(pod for pod in pods if update not in ("", revision_of(pod)))
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


_STATES: Mapping[type[Struct], Callable[[ControlPlane, Any], WorkloadState]] = {
    Deployment: _deployment,
    ReplicaSet: _replica_set,
    ReplicationController: _replica_set,
    StatefulSet: _stateful_set,
    DaemonSet: _daemon_set,
    Job: _job,
}


_SCALED = (Deployment, ReplicaSet, ReplicationController, StatefulSet)


def autoscaled(manifests: Loaded, get: Callable[[type[Any], str, str], Any]) -> Iterator[tuple[Any, Autoscaler]]:
    """The workloads that autoscalers of the manifests scale, with these. `get` finds an object by kind, name and
    namespace."""
    kinds = {kind.__name__: kind for kind in _SCALED}
    for each in manifests.autoscalers:
        kind = kinds.get(each.target_kind)
        item = get(kind, each.target_name, each.namespace) if kind is not None else None
        if item is not None:
            yield item, each


def workloads_of_policy(plane: ControlPlane, manifests: Loaded, written: Set[Identity]) -> list[Any]:
    """The workloads of the cluster that an autoscaler of the manifests scales, or that lack pods in the namespace of a
    quota of the manifests; not those that are `written` in the manifests. Their place is that of the autoscaler or the
    quota."""
    found: dict[Identity, tuple[Any, Any]] = {}
    for item, autoscaler in autoscaled(manifests, plane.store.get):
        found[identity_of(item)] = item, autoscaler
    quotas = {each.metadata.namespace: each for each in manifests.of(ResourceQuota)}
    for kind in _SCALED if quotas else ():
        for item in plane.store.of(kind):
            quota = quotas.get(item.metadata.namespace)
            if quota is not None and controller_of(item.metadata) is None and state_of(plane, item).missing:
                found.setdefault(identity_of(item), (item, quota))
    for item, policy in (each for identity, each in found.items() if identity not in written):
        manifests.origins[id(item)] = manifests.origins.get(id(policy), Origin(""))
        manifests.paths_in_resources[id(item)] = lambda path: path[:1]
    return [item for identity, (item, _) in found.items() if identity not in written]


# How pods are replaced


def manner_of(plane: ControlPlane, item: Any) -> str:
    """How pods are replaced, with shares in numbers: `maxSurge 1, maxUnavailable 0`."""
    live = plane.store.current(item)
    if isinstance(live, Deployment):
        surge, unavailable = max_surge(live), max_unavailable(live)
        return RECREATE if is_recreate(live) else f"maxSurge {surge}, maxUnavailable {unavailable}"
    if isinstance(live, StatefulSet):
        return live.spec.pod_management_policy or "OrderedReady"
    if isinstance(live, DaemonSet):
        surge, unavailable = surge_and_unavailable(live, plane.controllers.daemon_sets.status(live).desired)
        return f"maxSurge {surge}, maxUnavailable {unavailable}"
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
        is_dropped = not controllers.stateful_sets.counts_unavailable
        if rolling is not None and rolling.max_unavailable is not None and is_dropped:
            text = "maxUnavailable is not in force unless MaxUnavailableStatefulSet is switched on"
            notes.append(f"{workload_label(live)}: {text}")
    else:
        update, pods = controllers.daemon_sets.history.update_revision(live), controllers.daemon_sets.claimed(live)
    if strategy_of(live) == ON_DELETE and any(revision_of(pod) != update.name for pod in pods):
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


def finishes_without_old(run: CheckRun, item: Any) -> bool:
    """Whether the rollout comes to its end once the old pods are gone, whatever its strategy is. The world is where the
    run has left it before and after."""
    with run.world.trial():
        api, live = run.plane.api, run.plane.store.current(item)
        if isinstance(live, Deployment):
            api.update(replace(live, spec=replace(live.spec, strategy=UpdateStrategy(RECREATE))))
        else:
            for pod in run.state(item).old:
                api.delete(pod, grace=0)
        run.world.run(LIMITS)
        return run.satisfied(item)


def evicted_anyway(begun: Callable[[], World], losses: Losses, own: set[str]) -> list[PreemptedPod]:
    """The evictions that happen without the manifests, whose pods are the preemptors `own`. `begun` returns the world
    as it is without the manifests."""
    if all(each.by in own for each in losses.evictions):
        return []
    world = begun()
    with world.trial():
        world.plane.api.draws.choices = {}
        world.run(LIMITS)
        return losses.same_elsewhere(Losses(world), own)


# A StatefulSet of a thousand pods, one grace period after the other, takes nine hours.
LIMITS = Limits(max_time=7 * 24 * 3600.0, max_cycles=1_000_000)
MOST_WAVES = 1000


class CheckRun:
    """`result` is the world and `nodes` are the nodes at its first rest, before any Job pod has finished. `waves` are
    the moments at which pods of Jobs finished. The run takes place in a trial of the world."""

    def __init__(self, world: World, changes: Changes) -> None:
        self.world, self.plane, self._changes = world, world.plane, changes
        self.items = [item for item in in_order(changes.manifests) if isinstance(item, (Pod, *WORKLOADS))]
        written = {*map(identity_of, self.items), *filter(None, map(resource_of, self.items))}
        of_policy = workloads_of_policy(self.plane, changes.manifests, written)
        self.items += of_policy
        self._own = {*written, *map(identity_of, of_policy)}
        # By id, the workloads of the cluster that the manifests may only give other pods, as they were.
        self._as_before = {id(item): self.state(item) for item in of_policy}
        # The last cycle of each pod of the manifests that has no node, by uid, and preemptors with their decisions.
        self.decisions: dict[str, Decision] = {}
        self.preempting: dict[str, Decision] = {}
        self.waves: list[float] = []

    def begin(self) -> None:
        """Apply the manifests and run to the end."""
        self.world.apply(self._changes)
        self._own.update(self.plane.pods_of_templates.values())
        self.before: dict[int, WorkloadState] = {id(item): state_of(self.plane, item) for item in self.items}
        self.ending: Ending = self.world.run(LIMITS)
        self.result: WorldResult = self.world.result(self.ending)
        self.nodes = NodeColumns.of(self.world.cluster)
        # Items that were not satisfied then.
        self.short = {id(item) for item in self.items if not self.satisfied(item)}
        self._finish_jobs()

    def is_own(self, pod: Pod) -> bool:
        """Whether the manifests bring the pod or its workload."""
        return identity_of(pod) in self._own or top_owner(self.plane.store, pod) in self._own

    def decided(self, decision: Decision) -> None:
        """Keep the decision about a pod of the manifests."""
        info = decision.pod
        if decision.result == "scheduled":
            self.decisions.pop(info.uid, None)
        else:
            self.decisions[info.uid] = decision
        if decision.group_victims or (decision.preemption and decision.preemption.victims):
            self.preempting[info.uid] = decision

    def preemptors(self, owners: Set[Identity] | None = None) -> set[str]:
        """The pods and pod groups of the manifests that preempt, of these owners or of all."""
        found = (each for each in self.preempting.values() if owners is None or is_of(each.pod.pod, owners))
        return {group_preemptor(each.pod) if each.group_victims else each.pod.key for each in found}

    def state(self, item: Any) -> WorkloadState:
        return state_of(self.plane, item)

    def satisfied(self, item: Any) -> bool:
        return self.state(item).satisfied

    def is_as_before(self, item: Any) -> bool:
        """Whether this is a workload of the cluster whose pods stay as they are."""
        before, now = self._as_before.get(id(item)), self.state(item)
        return before is not None and (before.wanted, before.running) == (now.wanted, now.running)

    def gaps(self) -> list[str]:
        return self._changes.gaps(self.plane.store.others_as_loaded())

    def warnings(self) -> list[str]:
        why = self.endless_text if self.result.oscillating else self.ending
        unsettled = [f"the cluster does not come to rest: {why}"] if self.ending != "settled" else []
        return [*self.plane.warnings, *unsettled]

    @property
    def endless_text(self) -> str:
        """That pods lose their nodes and come back for ever, with the seconds after which it all begins again."""
        pods = self.result.oscillating
        return f"the same happens to {named(pods, MOST_NAMED)} again every {self.result.period:g} s, without an end"

    def _finish_jobs(self) -> None:
        """Pods of Jobs that the manifests bring finish, as long as something waits for room."""
        waits = bool(self.short)
        for _ in range(MOST_WAVES):
            if self.ending != "settled" or not waits:
                return
            moment = self.world.clock.now
            if not self.plane.kubelets.finish_jobs(jobs_of(self.plane, self.items)):
                return
            self.waves.append(moment)
            self.ending = self.world.run(LIMITS)
            waits = not all(map(self.satisfied, self.items))
