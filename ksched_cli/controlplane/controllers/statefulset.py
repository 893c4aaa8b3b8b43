"""The StatefulSet controller (pkg/controller/statefulset): ordinals, revisions, claims, partitions and maxUnavailable.
The minor's rules come from `ControllerRules`. A set whose first pods are done is reconciled from its first other pod
on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_available, is_ready, is_terminal
from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.workloads import DaemonSet, StatefulSet, scaled_value, wanted_replicas
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.controlplane.api_server import ApiServer, Refusal
from ksched_cli.controlplane.controllers.revisions import (
    Revision,
    RevisionHistory,
    revision_of,
    stateful_claim,
    stateful_claim_name,
    stateful_pod,
)
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.controlplane.work import Controller, WorkQueue
from ksched_cli.releases.engine_rules import ControllerRules
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.sources.templates import owner_reference

PARALLEL, ON_DELETE, RECREATE = "Parallel", "OnDelete", "Recreate"
_DELETE = "Delete"


class StatefulStatus(Struct, frozen=True):
    """StatefulSetStatus, as far as the controller itself reads it."""

    current_revision: str
    update_revision: str
    current_replicas: int
    updated_replicas: int
    replicas: int
    ready: int
    available: int


def ordinal_of(name: str) -> tuple[str, int]:
    """getParentNameAndOrdinal: -1 if the name ends in no number."""
    parent, dash, number = name.rpartition("-")
    return (parent, int(number)) if dash and number.isascii() and number.isdecimal() else ("", -1)


def stateful_max_unavailable(item: StatefulSet) -> int:
    """getStatefulSetMaxUnavailable: of a percentage at least one."""
    strategy = item.spec.update_strategy
    value = strategy.rolling_update.max_unavailable if strategy and strategy.rolling_update else None
    return max(1, scaled_value(1 if value is None else value, wanted_replicas(item), up=False))


def first_ordinal(item: StatefulSet) -> int:
    return item.spec.ordinals.start if item.spec.ordinals else 0


class _Prefix(Struct, frozen=True):
    """The first pods of a set that creates them in order: each is ready and of the update revision."""

    item: StatefulSet
    update: str
    pods: int


class _Sync(Struct):
    """One reconcile: the pods by place, None where there is none, and those beyond the range, the highest first. The
    first `done` places need no look."""

    item: StatefulSet
    current: Revision
    update: Revision
    replicas: list[Pod | None]
    condemned: list[Pod]
    current_replicas: int
    now: float
    done: int = 0

    def is_unavailable(self, pod: Pod | None) -> bool:
        return pod is None or pod.metadata.deletion_timestamp is not None or not self.is_available(pod)

    def is_available(self, pod: Pod) -> bool:
        return is_available(pod, self.item.spec.min_ready_seconds, self.now)

    def is_done(self, pod: Pod | None) -> bool:
        """Whether the pod is ready, stays, and is of the update revision."""
        return (
            pod is not None
            and not is_terminal(pod)
            and _is_running_and_ready(pod)
            and pod.metadata.deletion_timestamp is None
            and revision_of(pod) == self.update.name
        )

    def lowest_unavailable(self) -> Pod | None:
        """firstUnavailablePod, once all replicas are available."""
        return next((pod for pod in reversed(self.condemned) if self.is_unavailable(pod)), None)


class StatefulSetController(Controller):
    """Creates, replaces and deletes the pods of a StatefulSet: one after the other by their ordinals, unless
    podManagementPolicy is Parallel. Keys are identities of StatefulSets."""

    informers = (StatefulSet, Pod)
    serves = (StatefulSet,)

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        self.history = RevisionHistory(self.store, StatefulSet, lambda item, digest: f"{item.metadata.name}-{digest}")
        self._prefixes: dict[Identity, _Prefix] = LoggedDict(self.store.undo)
        self.rules = ControllerRules.of(DEFAULT)
        # Whether the gate MaxUnavailableStatefulSet is on; while it is off the API server drops maxUnavailable.
        self.counts_unavailable = False
        # Whether the gate StatefulSetRecreateStrategy is on.
        self.recreates = False

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        item = old if new is None else new
        if isinstance(item, StatefulSet):
            if new is None:
                self.history.forget(identity_of(item))
            return (identity_of(item),)
        owners = self._owner(item)
        for owner in owners:
            self._forget_prefix(owner, item)
        return owners

    def _forget_prefix(self, owner: Identity, pod: Pod) -> None:
        """A pod of the set has changed: what is known of the first pods does not hold if it is one of them."""
        prefix = self._prefixes.get(owner)
        if prefix is not None and ordinal_of(pod.metadata.name)[1] < first_ordinal(prefix.item) + prefix.pods:
            del self._prefixes[owner]

    def _owner(self, pod: Pod) -> Iterable[Identity]:
        """The set of the pod; for a pod without a controller, the set that it is named after."""
        owner = owner_identity(pod)
        if owner is None:
            parent = ordinal_of(pod.metadata.name)[0]
            owner = ("StatefulSet", pod.metadata.namespace, parent)
        return (owner,) if owner[0] == "StatefulSet" else ()

    def reconcile(self, key: Identity) -> None:
        """UpdateStatefulSet."""
        item = self.store.get(StatefulSet, key[2], key[1])
        if item is None or item.metadata.deletion_timestamp is not None or item.spec.template is None:
            return
        sync = self._sync_after_prefix(item) or self._sync(item)
        try:
            self._update(sync)
        finally:
            self._write_status(sync)
            self.check_availability_later(item, self.claimed)

    def _sync(self, item: StatefulSet) -> _Sync:
        status = self.status(item)
        update = self.history.update_revision(item)
        current = self.history.named(item, status.current_revision)
        if current is None:
            current = Revision(status.current_revision, update.template)
        start, wanted = first_ordinal(item), wanted_replicas(item)
        replicas: list[Pod | None] = [None] * wanted
        condemned = []
        for pod in self.claimed(item):
            ordinal = ordinal_of(pod.metadata.name)[1]
            if start <= ordinal < start + wanted:
                replicas[ordinal - start] = pod
            else:
                condemned.append(pod)
        condemned.sort(key=lambda pod: -ordinal_of(pod.metadata.name)[1])
        return _Sync(item, current, update, replicas, condemned, status.current_replicas, self.api.now())

    def _sync_after_prefix(self, item: StatefulSet) -> _Sync | None:
        """The reconcile of a set whose first pods are done, while the others are created in order; it looks at those
        alone. None if a look at all pods is necessary."""
        identity, name, namespace = identity_of(item), item.metadata.name, item.metadata.namespace
        prefix, status = self._prefixes.get(identity), self.api.statuses.get(item)
        if prefix is None or prefix.item is not item or not isinstance(status, StatefulStatus):
            return None
        update, wanted = self.history.update_revision(item), wanted_replicas(item)
        if prefix.update != update.name or status.current_revision != update.name or self.store.orphans(namespace):
            return None
        replicas: list[Pod | None] = [None] * wanted
        selector = selector_of_controller(item.spec.selector)
        left = self.store.count_of(identity) - prefix.pods
        for at in range(prefix.pods, wanted):
            if not left:
                break
            pod = self.store.get(Pod, f"{name}-{first_ordinal(item) + at}", namespace)
            if pod is not None and owner_identity(pod) == identity and selector.matches(pod.metadata.labels):
                replicas[at] = pod
                left -= 1
        sync = _Sync(item, update, update, replicas, [], status.current_replicas, self.api.now(), prefix.pods)
        return None if left or all(map(sync.is_done, replicas[sync.done :])) else sync

    def _keep_prefix(self, sync: _Sync) -> None:
        """Remember how many of the first pods are done. Without minReadySeconds that changes with the pods alone."""
        item = sync.item
        if not self._goes_in_order(item) or item.spec.min_ready_seconds or sync.current.name != sync.update.name:
            return
        done = sync.done
        while done < len(sync.replicas) and sync.is_done(sync.replicas[done]):
            done += 1
        known = self._prefixes.get(identity_of(item))
        prefix = _Prefix(item, sync.update.name, done)
        if prefix != known:
            self._prefixes[identity_of(item)] = prefix

    def _goes_in_order(self, item: StatefulSet) -> bool:
        return item.spec.pod_management_policy != PARALLEL and not self.api.places_everything

    def claimed(self, item: StatefulSet) -> list[Pod]:
        """getPodsForStatefulSet: its own pods, and those in its range that have no controller."""
        selector = selector_of_controller(item.spec.selector)
        name, namespace = item.metadata.name, item.metadata.namespace
        pods = list(self.store.pods_of(item))
        own = {pod.metadata.name for pod in pods}
        start = first_ordinal(item)
        names = (f"{name}-{ordinal}" for ordinal in range(start, start + wanted_replicas(item)))
        for each in names:
            pod = self.store.get(Pod, each, namespace) if each not in own else None
            if pod is not None and owner_identity(pod) is None and pod.metadata.deletion_timestamp is None:
                pods.append(pod)
        return [
            pod for pod in pods if ordinal_of(pod.metadata.name)[0] == name and selector.matches(pod.metadata.labels)
        ]

    # updateStatefulSet

    def _update(self, sync: _Sync) -> None:
        """Replicas first, then those beyond the range, then the roll-out. In order, each step waits for the one before
        it; in parallel nothing waits."""
        if self._recreates_now(sync.item) and self._recreate(sync):
            return
        in_order = self._goes_in_order(sync.item)
        self._keep_prefix(sync)
        for at in range(sync.done, len(sync.replicas)):
            if self._process_replica(sync, at, in_order) and in_order:
                return
        unavailable = sync.lowest_unavailable()
        for pod in sync.condemned:
            if self._process_condemned(sync, pod, unavailable, in_order) and in_order:
                return
        if strategy_of(sync.item) == ON_DELETE or self._recreates_now(sync.item):
            return
        if self.counts_unavailable:
            self._roll_several(sync)
        else:
            self._roll(sync)

    def _recreates_now(self, item: StatefulSet) -> bool:
        """Without the gate an object that still has the strategy is rolled."""
        return self.recreates and strategy_of(item) == RECREATE

    def _recreate(self, sync: _Sync) -> bool:
        """Delete all pods of other revisions. Returns whether such pods are still there: the new ones wait for that."""
        pods = (pod for pod in (*sync.replicas, *sync.condemned) if pod is not None)
        old = [pod for pod in pods if self.history.revision_of(pod) != sync.update.name]
        for pod in old:
            if pod.metadata.deletion_timestamp is None:
                self.api.delete(pod, why=f"old revision of StatefulSet {sync.item.metadata.name}")
        return bool(old)

    def _process_replica(self, sync: _Sync, at: int, in_order: bool) -> bool:
        """processReplica. Returns whether the following pods have to wait."""
        pod = sync.replicas[at]
        if pod is not None and is_terminal(pod):
            self.api.delete(pod, why=f"finished, StatefulSet {sync.item.metadata.name} creates it anew")
            return True
        if pod is None:
            sync.replicas[at] = self._create(sync, first_ordinal(sync.item) + at)
            return True
        if pod.status.phase == "Pending":
            self._create_missing_claims(sync.item, first_ordinal(sync.item) + at)
        return in_order and (sync.is_unavailable(pod) or not _is_running_and_ready(pod))

    def _process_condemned(self, sync: _Sync, pod: Pod, unavailable: Pod | None, in_order: bool) -> bool:
        """processCondemned."""
        if pod.metadata.deletion_timestamp is not None:
            return True
        is_fine = _is_running_and_ready(pod) and sync.is_available(pod)
        if in_order and not is_fine and pod is not unavailable:
            return True
        self._hand_claims_to(sync.item, pod)
        self.api.delete(pod, why=f"surplus of StatefulSet {sync.item.metadata.name}")
        return True

    def _roll(self, sync: _Sync) -> None:
        """Delete the highest pod that is not of the update revision, one at a time."""
        for at in range(len(sync.replicas) - 1, partition(sync.item) - 1, -1):
            pod = sync.replicas[at]
            stays = pod is not None and pod.metadata.deletion_timestamp is None
            if pod is not None and stays and self.history.revision_of(pod) != sync.update.name:
                self.api.delete(pod, why=f"old revision of StatefulSet {sync.item.metadata.name}")
                return
            if sync.is_unavailable(pod):
                return

    def _roll_several(self, sync: _Sync) -> None:
        """updateStatefulSetAfterInvariantEstablished: delete old pods from the highest on, up to maxUnavailable. With
        Parallel, newer minors delete old pods that are unavailable whatever the limit is, and before the others."""
        parallel = self.rules.broken_pods_go_first and sync.item.spec.pod_management_policy == PARALLEL
        unavailable = [pod for pod in sync.replicas if sync.is_unavailable(pod)]
        rolled = [pod for pod in reversed(sync.replicas[partition(sync.item) :]) if self._is_old(sync, pod)]
        lost = [pod for pod in rolled if sync.is_unavailable(pod)] if parallel else []
        more = [pod for pod in rolled if not (parallel and sync.is_unavailable(pod))]
        left = max(0, stateful_max_unavailable(sync.item) - len(unavailable))
        for pod in (*lost, *more[:left]):
            self.api.delete(pod, why=f"old revision of StatefulSet {sync.item.metadata.name}")

    def _is_old(self, sync: _Sync, pod: Pod | None) -> TypeGuard[Pod]:
        """Whether the pod stays and is not of the update revision."""
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return False
        return self.history.revision_of(pod) != sync.update.name

    # Pods and their claims

    def _create(self, sync: _Sync, ordinal: int) -> Pod:
        """newVersionedStatefulSetPod and CreateStatefulPod."""
        revision = sync.current if self._is_of_current(sync, ordinal) else sync.update
        item = replace(sync.item, spec=replace(sync.item.spec, template=revision.template))
        pod = stateful_pod(item, ordinal, revision.name)
        try:
            self._create_missing_claims(sync.item, ordinal)
            if self.store.current(pod) is not None:
                raise Refusal("", f'pods "{pod.metadata.name}" already exists')
            return self.api.create(pod)
        except Refusal as refusal:
            self.api.refused(sync.item, pod, refusal)
            raise

    def _is_of_current(self, sync: _Sync, ordinal: int) -> bool:
        """Whether the ordinal is below the partition. Without rollingUpdate, as many pods as there are of the current
        revision come back with it."""
        strategy, start = sync.item.spec.update_strategy, first_ordinal(sync.item)
        if strategy_of(sync.item) == ON_DELETE or self._recreates_now(sync.item):
            return False
        if strategy is not None and strategy.type and strategy.rolling_update is None:
            return ordinal < start + sync.current_replicas
        return ordinal < start + partition(sync.item)

    def _create_missing_claims(self, item: StatefulSet, ordinal: int) -> None:
        """createPersistentVolumeClaims: claims that are there already stay as they are."""
        for template in item.spec.volume_claim_templates:
            claim = stateful_claim(item, template, ordinal)
            if self.store.current(claim) is None:
                if _retention(item)[0] == _DELETE:
                    owner = owner_reference("StatefulSet", "apps/v1", item.metadata)
                    claim.metadata.owner_references = (owner,)
                self.api.create(claim)

    def _hand_claims_to(self, item: StatefulSet, pod: Pod) -> None:
        """UpdatePodClaimForRetentionPolicy: with whenScaled: Delete the claims go with the pod."""
        if _retention(item)[1] != _DELETE:
            return
        for template in item.spec.volume_claim_templates:
            name = stateful_claim_name(item, template, ordinal_of(pod.metadata.name)[1])
            claim = self.store.get(PersistentVolumeClaim, name, item.metadata.namespace)
            if claim is not None:
                of_set = ("StatefulSet", item.metadata.name)
                kept = (each for each in claim.metadata.owner_references if (each.kind, each.name) != of_set)
                owners = (*kept, owner_reference("Pod", "v1", pod.metadata))
                self.api.update(replace(claim, metadata=replace(claim.metadata, owner_references=owners)))

    # Status

    def status(self, item: StatefulSet) -> StatefulStatus:
        """The status that this controller has written last; for a set that it has not seen yet, that of the object."""
        known = self.api.statuses.get(item)
        if isinstance(known, StatefulStatus):
            return known
        first = self.history.first(item)
        assert isinstance(first, StatefulSet)
        update = self.history.update_revision(item).name
        return self._count(item, first.status.current_revision or self._lowest_revision(item) or update, update)

    def _lowest_revision(self, item: StatefulSet) -> str:
        """What the current revision of a set without a status is: a partition keeps the lowest pods on it."""
        pods = [pod for pod in self.store.pods_of(item) if revision_of(pod)]
        return revision_of(min(pods, key=lambda pod: ordinal_of(pod.metadata.name)[1])) if pods else ""

    def _count(self, item: StatefulSet, current: str, update: str, sync: _Sync | None = None) -> StatefulStatus:
        """computeReplicaStatus. After a reconcile that did not look at the first pods, these count without a look."""
        done = sync.done if sync is not None else 0
        pods, now = self._looked_at(sync) if sync is not None and done else self.claimed(item), self.api.now()
        ready = [pod for pod in pods if _is_running_and_ready(pod)]
        staying = [self.history.revision_of(pod) for pod in pods if pod.metadata.deletion_timestamp is None]
        staying_current, staying_updated = staying.count(current), staying.count(update) + done
        available = sum(is_available(pod, item.spec.min_ready_seconds, now) for pod in ready)
        return StatefulStatus(
            current,
            update,
            staying_current + (done if current == update else 0),
            staying_updated,
            len(pods) + done,
            len(ready) + done,
            available + done,
        )

    def _looked_at(self, sync: _Sync) -> list[Pod]:
        """The pods that the reconcile has looked at, as they are now."""
        found = (self.store.current(pod) for pod in sync.replicas[sync.done :] if pod is not None)
        return [pod for pod in found if pod is not None]

    def _write_status(self, sync: _Sync) -> None:
        """updateStatefulSetStatus with completeRollingUpdate."""
        item, wanted = sync.item, wanted_replicas(sync.item)
        status = self._count(item, sync.current.name, sync.update.name, sync)
        completes = strategy_of(item) != ON_DELETE or self.rules.on_delete_completes
        if completes and status.updated_replicas == status.ready == status.replicas == wanted:
            status = self._count(item, sync.update.name, sync.update.name, sync)
        self.api.statuses.set(item, status)


def strategy_of(item: StatefulSet | DaemonSet) -> str:
    """The type of the update strategy; empty for that of the default, RollingUpdate."""
    return item.spec.update_strategy.type if item.spec.update_strategy is not None else ""


def partition(item: StatefulSet) -> int:
    """The place from which on pods are updated. SetDefaults_StatefulSet: zero."""
    strategy = item.spec.update_strategy
    rolling = strategy.rolling_update if strategy is not None else None
    return (rolling.partition or 0) if rolling is not None else 0


def _is_running_and_ready(pod: Pod) -> bool:
    return pod.status.phase in ("Running", "") and is_ready(pod)


def _retention(item: StatefulSet) -> Sequence[str]:
    """whenDeleted and whenScaled."""
    policy = item.spec.persistent_volume_claim_retention_policy
    return (policy.when_deleted, policy.when_scaled) if policy is not None else ("", "")
