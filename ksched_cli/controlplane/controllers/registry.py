"""All controllers of kube-controller-manager that are modelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.controllers.daemonset import DaemonSetController
from ksched_cli.controlplane.controllers.deployment import DeploymentController
from ksched_cli.controlplane.controllers.disruption import DisruptionController
from ksched_cli.controlplane.controllers.gc import GarbageCollector, NamespaceController, PodGarbageCollector
from ksched_cli.controlplane.controllers.hpa import AutoscalerBounds
from ksched_cli.controlplane.controllers.job import JobController
from ksched_cli.controlplane.controllers.job_pods import CronJobController
from ksched_cli.controlplane.controllers.nodelifecycle import NodeLifecycleController
from ksched_cli.controlplane.controllers.provisioning import VolumeController
from ksched_cli.controlplane.controllers.replicaset import ReplicaSetController, wanted_replicas
from ksched_cli.controlplane.controllers.resourceclaim import ResourceClaimController
from ksched_cli.controlplane.controllers.standin import StandIn
from ksched_cli.controlplane.controllers.statefulset import StatefulSetController
from ksched_cli.controlplane.controllers.tainteviction import TaintEvictionController
from ksched_cli.controlplane.store import identity_of
from ksched_cli.controlplane.work import Controller, PodChange, WorkQueue, pod_change


class Controllers:
    """Each change enqueues the keys that it concerns. Controllers do nothing before something changes."""

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        self._store, self._queue = api.store, queue
        self.replica_sets = ReplicaSetController(api, queue)
        self.deployments = DeploymentController(api, queue, self.replica_sets)
        self.stateful_sets = StatefulSetController(api, queue)
        self.daemon_sets = DaemonSetController(api, queue)
        self.jobs = JobController(api, queue)
        self.autoscalers = AutoscalerBounds(api, queue)
        self.all: tuple[Controller, ...] = (
            NamespaceController(api, queue),
            GarbageCollector(api, queue),
            NodeLifecycleController(api, queue),
            TaintEvictionController(api, queue),
            PodGarbageCollector(api, queue),
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
        self._by_change: dict[type[Any] | PodChange, tuple[Controller, ...]] = {}
        self._version = -1
        api.watch(self._changed, self._created)

    def _watching(self, change: type[Any] | PodChange) -> tuple[Controller, ...]:
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

    def _may_concern(self, controller: Controller, change: type[Any] | PodChange) -> bool:
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
            for key in controller.concerned(old, new):
                self._queue.add(controller, key)

    def _created(self, copies: Sequence[Pod]) -> None:
        for controller in self._watching("created"):
            for key in controller.concerned_by_copies(copies):
                self._queue.add(controller, key)

    def wake(self) -> None:
        """What each controller does when it starts, for objects that are not as they should be: a ReplicaSet that a
        quota keeps short of pods, a rollout that is under way, a workload outside the bounds of its autoscaler. Where
        the status of an object differs from the pods of the input, the input was cut: the object is left alone."""
        store = self._store
        for key in store.autoscalers:
            self._queue.add(self.autoscalers, key)
        for deployment in store.of(Deployment):
            sets = store.owned(deployment, ReplicaSet)
            if sets and sum(each.spec.replicas or 0 for each in sets) != wanted_replicas(deployment):
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
