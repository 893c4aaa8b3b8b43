"""The control plane of one cluster: API server, kubelets and controllers on one work queue and one virtual clock.

It also computes whether `kubectl rollout status` would call a workload complete (polymorphichelpers/rollout_status.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.api.workloads import DaemonSet, Deployment, StatefulSet
from ksched_cli.cluster.undo import LoggedDict, LoggedList
from ksched_cli.controlplane.api_server import ApiServer, Watch
from ksched_cli.controlplane.controllers.registry import Controllers
from ksched_cli.controlplane.controllers.replicaset import wanted_replicas
from ksched_cli.controlplane.drainer import Drainer
from ksched_cli.controlplane.draws import Draws
from ksched_cli.controlplane.kubelet import Kubelets
from ksched_cli.controlplane.store import Identity, Store, identity_of
from ksched_cli.controlplane.work import WorkQueue
from ksched_cli.engine.queueing.clock import VirtualClock
from ksched_cli.sources.custom.labels import resource_of

ON_DELETE = "OnDelete"


def is_complete(controllers: Controllers, item: Any) -> bool | None:
    """None for kinds and strategies without a rollout status in kubectl."""
    if isinstance(item, Deployment):
        return _deployment(controllers, item)
    if isinstance(item, StatefulSet):
        return _stateful_set(controllers, item)
    if isinstance(item, DaemonSet):
        return _daemon_set(controllers, item)
    return None


def _deployment(controllers: Controllers, item: Deployment) -> bool:
    sets = controllers.deployments.replica_sets(item)
    new = controllers.deployments.new_replica_set(item, sets)
    statuses = {each.metadata.name: controllers.replica_sets.status(each) for each in sets}
    updated = statuses[new.metadata.name].replicas if new is not None else 0
    total = sum(each.replicas for each in statuses.values())
    available = sum(each.available for each in statuses.values())
    return wanted_replicas(item) <= updated and total <= updated <= available


def _stateful_set(controllers: Controllers, item: StatefulSet) -> bool | None:
    update = item.spec.update_strategy
    if update is not None and update.type == ON_DELETE:
        return None
    status = controllers.stateful_sets.status(item)
    wanted = wanted_replicas(item)
    if status.ready < wanted:
        return False
    partition = (update.rolling_update.partition if update and update.rolling_update else None) or 0
    if partition:
        return status.updated_replicas >= wanted - partition
    return status.update_revision == status.current_revision


def _daemon_set(controllers: Controllers, item: DaemonSet) -> bool | None:
    if item.spec.update_strategy is not None and item.spec.update_strategy.type == ON_DELETE:
        return None
    status = controllers.daemon_sets.status(item)
    return status.updated >= status.desired and status.available >= status.desired


# Virtual seconds after which a control plane without a scheduler is left as it is.
_LONGEST_RUN = 3600.0


class ControlPlane:
    """`watches` see each change before the kubelets and the controllers do.

    With `places_everything` no scheduler runs beside it: the controllers create every pod that is to be placed, whether
    those before it are ready or not, and pods keep their order of creation in their timestamps.
    """

    def __init__(
        self,
        store: Store,
        clock: VirtualClock | None = None,
        draws: Draws | None = None,
        *,
        watches: Sequence[Watch] = (),
        places_everything: bool = False,
    ) -> None:
        self.store = store
        self.clock = clock or VirtualClock(undo=store.undo)
        self.api = ApiServer(store, self.clock, draws, places_everything=places_everything)
        self.queue = WorkQueue(self.clock, lambda: self.api.version, store.undo)
        for watch in watches:
            self.api.watch(watch)
        self.kubelets = Kubelets(self.api, self.queue)
        self.controllers = Controllers(self.api, self.queue)
        self.drainer = Drainer(self.api, self.queue)
        self.warnings = self.api.warnings
        # The pod that was made of each PodTemplate.
        self.pods_of_templates: dict[Identity, Identity] = LoggedDict(store.undo)
        # Workloads whose template or scale a change has set.
        self.set_by_change: dict[tuple[type[Any], str, str], None] = LoggedDict(store.undo)
        # Objects of manifests whose controllers replace running pods by pods of another template.
        self.rolled_out: list[Any] = LoggedList(store.undo)

    def prepare(self) -> None:
        """Build all indexes before a mark, so that no trial builds them again."""
        self.api.prepare()
        self.controllers.daemon_sets.prepare()

    def run(self) -> None:
        """Go on until no controller has anything to do."""
        while True:
            if self.queue.work():
                continue
            moment = self.queue.next_moment()
            if moment is None or moment > _LONGEST_RUN:
                return
            self.clock.advance_to(moment)
            self.queue.run_due()

    def close(self) -> None:
        """Let go of the pods of a control plane that is over: while the garbage collector is off, nothing else does."""
        self.store.close()
        self.api.close()

    def blocked_evictions(self) -> list[str]:
        """A sentence for each pod that the eviction API still refuses to evict."""
        return [
            f"{namespace}/{name} is not evicted: {refusal}"
            for (_, namespace, name), refusal in self.drainer.refused.items()
        ]

    def mark_as_set(self, item: Any) -> None:
        """The change sets the template or the scale of this workload."""
        self.set_by_change[type(item), item.metadata.namespace, item.metadata.name] = None

    def finished(self) -> dict[str, bool]:
        """Workload to whether `kubectl rollout status` would call it complete, for those that a change has set."""
        found: dict[str, bool] = {}
        for kind, namespace, name in self.set_by_change:
            item = self.store.get(kind, name, namespace)
            complete = is_complete(self.controllers, item) if item is not None else None
            if item is not None and complete is not None:
                name = "/".join(resource_of(item) or identity_of(item))
                found[name] = found.get(name, True) and complete
        return found
