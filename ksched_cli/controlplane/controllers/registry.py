"""All controllers of kube-controller-manager that are modelled, with the two smallest: the HorizontalPodAutoscaler
controller and the disruption controller (pkg/controller/podautoscaler, pkg/controller/disruption).

The bounds of a HorizontalPodAutoscaler or a KEDA ScaledObject hold at once. A target of use needs metrics, which no
input has, so that replicas between the bounds stay. The disruption controller keeps the status of PodDisruptionBudgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import is_terminal
from ksched_cli.api.workloads import (
    Deployment,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    wanted_replicas,
)
from ksched_cli.cluster.undo import LoggedDict, LoggedIndex
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.budgets import computed_status
from ksched_cli.controlplane.controllers.claims import ResourceClaimController, VolumeController
from ksched_cli.controlplane.controllers.daemonset import DaemonSetController
from ksched_cli.controlplane.controllers.deployment import DeploymentController
from ksched_cli.controlplane.controllers.gc import GarbageCollector, NamespaceController, PodGarbageCollector, StandIn
from ksched_cli.controlplane.controllers.job import CronJobController, JobController
from ksched_cli.controlplane.controllers.nodelifecycle import (
    NodeLifecycleController,
    TaintEvictionController,
    no_execute,
)
from ksched_cli.controlplane.controllers.replicaset import ReplicaSetController
from ksched_cli.controlplane.controllers.statefulset import StatefulSetController
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller, PodChangeKind, WorkQueue, pod_change
from ksched_cli.sources.loaded import resource_of

SCALED = (Deployment, ReplicaSet, ReplicationController, StatefulSet)


class AutoscalerBounds(Controller):
    """Keeps the replicas of a workload within the bounds of its autoscaler. Keys are identities of the objects that
    autoscalers scale."""

    informers: ClassVar[tuple[type[Any], ...]] = SCALED

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        if not self.store.autoscalers or new is None:
            return ()
        names = dict.fromkeys((identity_of(new), resource_of(new) or identity_of(new)))
        return [name for name in names if name in self.store.autoscalers]

    def reconcile(self, key: Identity) -> None:
        autoscaler, item = self.store.autoscalers.get(key), self.target(key)
        if autoscaler is None or item is None or item.spec.template is None:
            return
        replicas = wanted_replicas(item)
        within = autoscaler.within(replicas)
        if within != replicas:
            self.api.update(replace(item, spec=replace(item.spec, replicas=within)))

    def target(self, key: Identity) -> Any | None:
        """The object that is scaled; of a custom resource the workload that stands for it."""
        kind, namespace, name = key
        for each in SCALED:
            found = self.store.get(each, name, namespace) if each.__name__ == kind else None
            if found is not None:
                return found
        candidates = (item for each in SCALED for item in self.store.of(each))
        return next((item for item in candidates if resource_of(item) == key), None)


class DisruptionController(Controller):
    """Computes the status of PodDisruptionBudgets. Keys are their identities."""

    informers = (PodDisruptionBudget, Pod)
    serves = (PodDisruptionBudget,)

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        # The pods that a budget covers, of those budgets that were reconciled: a dict is an ordered set.
        self._covered: dict[Identity, dict[Identity, None]] = LoggedDict(api.undo)
        self._budgets: LoggedIndex[str, Identity, None] = LoggedIndex(api.undo)
        for item in self.store.of(PodDisruptionBudget):
            self._budgets.put(item.metadata.namespace, identity_of(item), None)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        item = old if new is None else new
        return self._covering(old, new) if isinstance(item, Pod) else self._changed(old, new)

    def _changed(self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None) -> Iterable[Identity]:
        """A status that this controller or the eviction API has written needs no second look."""
        if old is not None and new is not None and old.spec is new.spec:
            return ()
        item = new or old
        assert item is not None
        identity = identity_of(item)
        self._covered.pop(identity, None)
        if new is None:
            self._budgets.drop(item.metadata.namespace, identity)
            return ()
        self._budgets.put(item.metadata.namespace, identity, None)
        return (identity,)

    def _covering(self, old: Pod | None, new: Pod | None) -> Iterator[Identity]:
        """addPod, updatePod and deletePod: the budgets of the pod's old and new labels."""
        pod = new or old
        assert pod is not None
        for identity in self._budgets.get(pod.metadata.namespace, ()):
            item: Any = self.store.get(PodDisruptionBudget, identity[2], identity[1])
            was, is_now = (each is not None and self.api.budgets.covers(item, each) for each in (old, new))
            if was or is_now:
                covered = self._covered.get(identity)
                if covered is not None and is_now:
                    covered[identity_of(pod)] = None
                elif covered is not None:
                    covered.pop(identity_of(pod), None)
                yield identity

    def reconcile(self, key: Identity) -> None:
        """trySync."""
        item = self.store.get(PodDisruptionBudget, key[2], key[1])
        if item is None:
            return
        if key not in self._covered:
            found = dict.fromkeys(map(identity_of, self.api.budgets.covered(item)))
            self._covered[key] = LoggedDict(self.api.undo, found)
        there = (self.store.get(Pod, each[2], each[1]) for each in self._covered[key])
        pods = [pod for pod in there if pod is not None and not is_terminal(pod)]
        self.api.update(replace(item, status=computed_status(self.store, item, pods)))


class Controllers:
    """All controllers of a control plane. Each change of an object enqueues the keys that it concerns; `wake` enqueues
    what controllers reconcile at their start. Without either, controllers do nothing."""

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        self._store, self._queue, self._places_everything = api.store, queue, api.places_everything
        self.replica_sets = ReplicaSetController(api, queue)
        self.deployments = DeploymentController(api, queue, self.replica_sets)
        self.stateful_sets = StatefulSetController(api, queue)
        self.daemon_sets = DaemonSetController(api, queue)
        self.jobs = JobController(api, queue)
        self.autoscalers = AutoscalerBounds(api, queue)
        self.taint_evictions = TaintEvictionController(api, queue)
        self._pod_collector = PodGarbageCollector(api, queue)
        self.all: tuple[Controller, ...] = (
            NamespaceController(api, queue),
            GarbageCollector(api, queue),
            NodeLifecycleController(api, queue),
            self.taint_evictions,
            self._pod_collector,
            CronJobController(api, queue),
            self.replica_sets,
            self.deployments,
            self.stateful_sets,
            self.daemon_sets,
            self.jobs,
            self.autoscalers,
            StandIn(api, queue),
            ResourceClaimController(api, queue),
            VolumeController(api, queue),
            DisruptionController(api, queue),
        )
        # Of the version of the catalog that stands beside it.
        self._by_change: dict[type[Any] | PodChangeKind, tuple[Controller, ...]] = {}
        self._version = -1
        api.watch(self._changed, self._created)

    def _watching(self, change: type[Any] | PodChangeKind) -> tuple[Controller, ...]:
        """The controllers that such a change of a pod, or a change of an object of another kind, may concern, as the
        objects are now."""
        version = self._store.catalog.version
        if version != self._version:
            self._by_change, self._version = {}, version
        found = self._by_change.get(change)
        if found is None:
            found = tuple(each for each in self.all if self._may_concern(each, change))
            self._by_change[change] = found
        return found

    def _may_concern(self, controller: Controller, change: type[Any] | PodChangeKind) -> bool:
        kind = Pod if isinstance(change, str) else change
        if controller.informers and kind not in controller.informers:
            return False
        if isinstance(change, str) and change not in controller.pod_changes:
            return False
        serves = controller.serves
        return not serves or kind in serves or any(self._store.catalog.has(each) for each in serves)

    def _changed(self, old: Any, new: Any) -> None:
        kind = type(old if new is None else new)
        for controller in self._watching(pod_change(old, new) if kind is Pod else kind):
            for key in controller.keys_to_reconcile(old, new):
                self._queue.add(controller, key)

    def _created(self, copies: Sequence[Pod]) -> None:
        for controller in self._watching("created"):
            for key in controller.keys_of_copies(copies):
                self._queue.add(controller, key)

    def wake(self) -> None:
        """What each controller does when it starts, for objects that are not as they should be: a ReplicaSet that a
        quota keeps short of pods, a rollout that is under way, a workload outside the bounds of its autoscaler, the
        pods of a node with NoExecute taints (without a scheduler no time passes for the pods of the input). Where the
        status of an object differs from the pods of the input, the input was cut: the object is left alone."""
        store = self._store
        for key in store.autoscalers:
            self._queue.add(self.autoscalers, key)
        for node in store.of(Node) if not self._places_everything else ():
            if node.spec.taints:
                if no_execute(node):
                    self._queue.add(self.taint_evictions, identity_of(node))
                for name in self._pod_collector.keys_to_reconcile(node, node):
                    self._queue.add(self._pod_collector, name)
        for deployment in store.of(Deployment):
            sets = store.owned(deployment, ReplicaSet)
            if sets and sum(map(wanted_replicas, sets)) != wanted_replicas(deployment):
                self._queue.add(self.deployments, identity_of(deployment))
        kinds: Sequence[tuple[type[Any], Controller]] = (
            (ReplicaSet, self.replica_sets),
            (ReplicationController, self.replica_sets),
            (StatefulSet, self.stateful_sets),
        )
        for kind, controller in kinds:
            for item in store.of(kind):
                if store.count_of(identity_of(item)) == item.status.replicas != wanted_replicas(item):
                    self._queue.add(controller, identity_of(item))

    def sync_workload(self, item: Any) -> None:
        """Reconcile the workload and what it owns, although nothing has changed: a resync."""
        current = self._store.current(item)
        if current is not None:
            for each in (current, *self._store.owned(current, ReplicaSet)):
                self._changed(each, each)
