"""The control plane of one cluster: API server, kubelets and controllers on one work queue and one virtual clock, and
the client side of a drain, which calls the eviction API until each pod is evicted (kubectl/pkg/drain).

It also computes whether `kubectl rollout status` would call a workload complete (polymorphichelpers/rollout_status.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_ready, pod_key, uid_of_pod
from ksched_cli.api.workloads import DaemonSet, Deployment, PodDisruptionBudget, StatefulSet, wanted_replicas
from ksched_cli.cluster.undo import LoggedDict, LoggedList
from ksched_cli.controlplane.api_server import ApiServer, Watch
from ksched_cli.controlplane.budgets import needs_no_budget
from ksched_cli.controlplane.controllers.registry import Controllers
from ksched_cli.controlplane.controllers.statefulset import ON_DELETE, partition, strategy_of
from ksched_cli.controlplane.draws import Draws
from ksched_cli.controlplane.kubelet import Kubelets
from ksched_cli.controlplane.store import Identity, Store, identity_of
from ksched_cli.controlplane.work import Timer, Worker, WorkQueue
from ksched_cli.engine.hints import VirtualClock
from ksched_cli.sources.loaded import resource_of

# What chance decides.
_DRAW = "evictions granted"
# evictPods waits so long after a refusal.
_RETRY_SECONDS = 5.0


class Drainer(Worker):
    """`refused` has the pods that a budget holds, with the last answer of the eviction API; `granted` has the moments
    at which evictions were granted, by uid."""

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        self._api, self._queue = api, queue
        self._deletes, self._grace = False, cast("float | None", None)
        self._uids: dict[Identity, str] = LoggedDict(api.undo)
        self._retries: dict[Identity, Timer] = LoggedDict(api.undo)
        self.refused: dict[Identity, str] = LoggedDict(api.undo)
        self.granted: dict[str, float] = LoggedDict(api.undo)

    def evict(self, pods: Iterable[Pod], *, deletes: bool = False, grace: float | None = None) -> None:
        """Request the eviction of all of these pods at once, of each until it is granted. `deletes`: delete the pods,
        which no budget can refuse. `grace` takes the place of the pods' own grace periods."""
        self._deletes, self._grace = deletes, grace
        ordered = sorted(pods, key=self._turn)
        needing = next((at for at, pod in enumerate(ordered) if self._turn(pod)[0] and not deletes), len(ordered))
        in_turn = [*self._api.deletion_order(ordered[:needing]), *self._api.deletion_order(ordered[needing:])]
        for pod in in_turn if deletes else self._drawn(in_turn):
            identity = identity_of(pod)
            self._uids[identity] = uid_of_pod(pod)
            self._queue.add(self, identity)

    def _turn(self, pod: Pod) -> tuple[bool, bool, str]:
        """The API server updates a budget before it deletes the pod: such an eviction comes after those that need no
        budget. Unready pods may need none."""
        needs_budget = not needs_no_budget(pod) and bool(self._api.budgets.covering(pod))
        return needs_budget, is_ready(pod), pod_key(pod)

    def _drawn(self, pods: Sequence[Pod]) -> list[Pod]:
        """The pods in the order of this run: kubectl requests all evictions side by side, and chance decides which of
        them a budget grants that does not allow all."""
        places: dict[Identity, list[int]] = {}
        for at, pod in enumerate(pods):
            covering = self._api.budgets.covering(pod)
            if len(covering) == 1 and not needs_no_budget(pod):
                places.setdefault(identity_of(covering[0]), []).append(at)
        ordered = list(pods)
        for identity, own in places.items():
            budget = self._api.store.get(PodDisruptionBudget, identity[2], identity[1])
            allowed = budget.status.disruptions_allowed if budget is not None else 0
            if 0 < allowed < len(own):
                subject, options = "/".join(identity), [pods[at] for at in own]
                drawn = self._api.draws.in_order(_DRAW, subject, options)
                self._api.draws.note(_DRAW, subject, list(map(pod_key, options)), list(map(pod_key, drawn[:allowed])))
                for at, pod in zip(own, drawn, strict=True):
                    ordered[at] = pod
        return ordered

    def give_up(self) -> None:
        """Request no more evictions."""
        for retry in self._retries.values():
            self._queue.cancel(retry)
        for kept in (self._uids, self._retries, self.refused):
            kept.clear()

    def _request(self, pod: Pod) -> str:
        """Why the pod stays, or an empty string once it goes."""
        if not self._deletes:
            return self._api.evict(pod, grace=self._grace)
        self._api.delete_pod(pod, grace=self._grace, why="evicted")
        return ""

    def reconcile(self, key: Identity) -> None:
        uid = self._uids.get(key)
        pod = self._api.store.pod(key)
        self.refused.pop(key, None)
        self._retries.pop(key, None)
        if pod is None or uid_of_pod(pod) != uid:
            return
        is_ending = pod.metadata.deletion_timestamp is not None
        # A pod that terminates already needs no request, unless it is to go at once.
        refusal = "" if is_ending and self._grace != 0 else self._request(pod)
        if refusal:
            self.refused[key] = refusal
            moment = self._queue.clock.now + _RETRY_SECONDS
            self._retries[key] = self._queue.at(moment, lambda: self._queue.add(self, key), self._api.version)
        else:
            self.granted[uid] = self._queue.clock.now


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
    if strategy_of(item) == ON_DELETE:
        return None
    status = controllers.stateful_sets.status(item)
    wanted = wanted_replicas(item)
    if status.ready < wanted:
        return False
    if partition(item):
        return status.updated_replicas >= wanted - partition(item)
    return status.update_revision == status.current_revision


def _daemon_set(controllers: Controllers, item: DaemonSet) -> bool | None:
    if strategy_of(item) == ON_DELETE:
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
