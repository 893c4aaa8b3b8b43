"""The ReplicaSet and ReplicationController controllers (pkg/controller/replicaset), and which pods they give up first
(controller.ActivePodsWithRanks). Watches are never late, so that there are no expectations to wait for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cmp_to_key
from typing import Any, TypeAlias

from msgspec import Struct

from ksched_cli.api.core import Pod, controller_of
from ksched_cli.api.object_facts import is_active, is_available, parse_time
from ksched_cli.api.selectors import Selector, selector_from_map, selector_of_controller
from ksched_cli.api.workloads import ReplicaSet, ReplicationController, wanted_replicas
from ksched_cli.controlplane.draws import Draws
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.controlplane.work import Controller
from ksched_cli.progress import steps
from ksched_cli.sources.templates import owner_reference, stamp

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANO = 10**9
_IS_READY = ("Ready", "True")


def pods_to_delete(
    pods: Sequence[Pod], related: Iterable[Pod], count: int, now: float, draws: Draws, owner: Identity
) -> list[Pod]:
    """getPodsToDelete: `related` are the active pods of all replica sets of the same deployment. Pods that no rule
    leaves equal come in an order that Go leaves open: among them `draws` decides, the lowest uid first."""
    if count >= len(pods):
        return list(pods)
    on_node = Counter(pod.spec.node_name for pod in related)

    def compare(one: Pod, other: Pod) -> int:
        return _compare(one, other, on_node, now, draws.invented_uids)

    ordered = sorted(pods, key=cmp_to_key(compare))
    last, following = ordered[count - 1], ordered[count]
    if compare(last, following):
        return ordered[:count]
    equal = [pod for pod in ordered if compare(pod, last) == 0]
    certain = [pod for pod in ordered[:count] if compare(pod, last)]
    options = [(pod.metadata.name, pod) for pod in sorted(equal, key=lambda pod: pod.metadata.uid)]
    return [*certain, *draws.take("deletion order", "/".join(owner), options, count - len(certain))]


def _compare(one: Pod, other: Pod, on_node: Counter[str], now: float, invented_uids: Set[str]) -> int:
    """ActivePodsWithRanks.Less: below zero when the first goes first, zero when no rule decides."""
    mine, others = ((*_progress(pod), _cost(pod), -on_node[pod.spec.node_name]) for pod in (one, other))
    if mine != others:
        return _direction(mine < others)
    found = _by_age(one, other, _ready_since(one), _ready_since(other), now, invented_uids)
    if found:
        return found
    if _restarts(one) != _restarts(other):
        return _direction(_restarts(one) > _restarts(other))
    return _by_age(one, other, _created(one), _created(other), now, invented_uids)


def order_of_deletion(pod: Pod) -> tuple[float, ...]:
    """ActivePods.Less, as a key. Of times, the newer first; one that is missing comes before all."""
    ready, created = _ready_since(pod), _created(pod)
    return (
        *_progress(pod),
        -math.inf if ready is None else -ready,
        *(-count for count in _restarts(pod)),
        -math.inf if created is None else -created,
    )


def _progress(pod: Pod) -> tuple[bool, int, bool]:
    """How far the pod has come: on a node, running, ready."""
    return bool(pod.spec.node_name), _PHASES.get(pod.status.phase, 0), _ready(pod)


def _by_age(one: Pod, other: Pod, mine: float | None, others: float | None, now: float, invented_uids: Set[str]) -> int:
    """The younger first, ages compared by powers of two only; uids decide among the others. No input has the uid of a
    pod that is created in the run: then nothing decides."""
    if mine == others:
        return 0
    difference = _magnitude(mine, now) - _magnitude(others, now)
    if difference or {one.metadata.uid, other.metadata.uid} & invented_uids:
        return difference
    return _direction(one.metadata.uid < other.metadata.uid)


def _magnitude(since: float | None, now: float) -> int:
    """The power of two of the age. A time that is missing is younger than all."""
    if since is None:
        return -2
    return int(math.log2((now - since) * _NANO)) if now > since else -1


def _direction(is_first: bool) -> int:
    """What a comparison returns for two pods of which the first goes first, or the second."""
    return -1 if is_first else 1


def _ready(pod: Pod) -> bool:
    return any((each.type, each.status) == _IS_READY for each in pod.status.conditions)


def _ready_since(pod: Pod) -> float | None:
    stamps = (each.last_transition_time for each in pod.status.conditions if (each.type, each.status) == _IS_READY)
    return _time(next(stamps, None))


def _created(pod: Pod) -> float | None:
    return _time(pod.metadata.creation_timestamp)


def _time(stamp: str | None) -> float | None:
    try:
        return parse_time(stamp) if stamp else None
    except ValueError:
        return None


def _cost(pod: Pod) -> int:
    """GetDeletionCostFromPodAnnotations: what is not a number counts as none."""
    text = pod.metadata.annotations.get(_DELETION_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _restarts(pod: Pod) -> tuple[int, int]:
    """maxContainerRestarts: of its containers, and of its sidecars."""
    regular = max((each.restart_count for each in pod.status.container_statuses), default=0)
    sidecars = {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}
    beside = (each.restart_count for each in pod.status.init_container_statuses if each.name in sidecars)
    return regular, max(beside, default=0)


Replicated: TypeAlias = ReplicaSet | ReplicationController
_KINDS: dict[str, type[Replicated]] = {"ReplicaSet": ReplicaSet, "ReplicationController": ReplicationController}
# BurstReplicas: no more pods are created or deleted in one reconcile.
_BURST = 500


class ReplicaStatus(Struct, frozen=True):
    """ReplicaSetStatus, as far as other controllers read it."""

    replicas: int
    ready: int
    available: int


def selector_of(item: Replicated) -> Selector:
    if isinstance(item, ReplicaSet):
        return selector_of_controller(item.spec.selector)
    template = item.spec.template
    return selector_from_map(item.spec.selector or (template.metadata.labels if template else {}))


class ReplicaSetController(Controller):
    """Creates and deletes pods until a ReplicaSet or ReplicationController has its replicas. Keys are (kind, namespace,
    name): both kinds work alike."""

    informers = (ReplicaSet, ReplicationController, Pod)
    serves = (ReplicaSet, ReplicationController)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        item = old if new is None else new
        return self._owners(item) if isinstance(item, Pod) else (identity_of(item),)

    def keys_of_copies(self, pods: Sequence[Pod]) -> Iterable[Identity]:
        return self._owners(pods[0])

    def _owners(self, pod: Pod) -> Iterator[Identity]:
        """The set that controls the pod; for a pod without a controller, the sets that would adopt it."""
        owner = owner_identity(pod)
        if owner is not None:
            if owner[0] in _KINDS:
                yield owner
            return
        for kind in _KINDS.values():
            for item in self.store.of(kind):
                if item.metadata.namespace == pod.metadata.namespace and selector_of(item).matches(pod.metadata.labels):
                    yield identity_of(item)

    def reconcile(self, key: Identity) -> None:
        """syncReplicaSet."""
        item = self.store.get(_KINDS[key[0]], key[2], key[1])
        if item is None or item.metadata.deletion_timestamp is not None or item.spec.template is None:
            return
        try:
            self._manage_replicas(item)
        finally:
            self.check_availability_later(item, self._active)
            self.api.statuses.set(item, self._count(item))

    def claimed(self, item: Replicated) -> list[Pod]:
        """PodControllerRefManager.ClaimPods: the set's own pods, and those without a controller that it adopts."""
        selector = selector_of(item)
        own = [pod for pod in self.store.pods_of(item) if selector.matches(pod.metadata.labels)]
        return [*own, *self.store.active_orphans(item.metadata.namespace, selector)]

    def _manage_replicas(self, item: Replicated) -> None:
        """Create or delete pods."""
        selector = selector_of(item)
        surplus = self.store.count_active(item, selector)[0] - wanted_replicas(item)
        if surplus > 0:
            active = self._active(item)
            related = [pod for pod in self._related(item) if is_active(pod)]
            count = min(surplus, _BURST)
            for pod in pods_to_delete(active, related, count, self.api.now(), self.api.draws, identity_of(item)):
                self.api.delete(pod, why=f"surplus of {type(item).__name__} {item.metadata.name}")
            return
        assert item.spec.template is not None
        if not selector.matches(item.spec.template.metadata.labels):
            # The API server accepts no such set. It would create pods without end, for it would find none of them.
            return
        # Where no scheduler runs in between, the pods come in the same order without bursts.
        missing: Iterable[int] = range(min(-surplus, _BURST))
        if self.api.places_everything:
            missing = steps(range(-surplus), "pods were created", -surplus)
        base, namespace, owner = f"{item.metadata.name}-", item.metadata.namespace, identity_of(item)
        names = (self.api.successors.new_name(base, namespace, owner, number) for number in missing)
        self.api.create_copies(item, names, lambda name: _new_pod(item, name))

    def _related(self, item: Replicated) -> list[Pod]:
        """getIndirectlyRelatedPods: the pods of all sets with the same controller."""
        owner = controller_of(item.metadata)
        if owner is None:
            return self.claimed(item)
        others = self.store.owned_by_identity((owner.kind, item.metadata.namespace, owner.name), type(item))
        return [pod for each in others for pod in self.claimed(each)]

    # Status

    def status(self, item: Replicated) -> ReplicaStatus:
        """The status that this controller has written last; for a set that it has not seen yet, what it would write."""
        known = self.api.statuses.get(item)
        if isinstance(known, ReplicaStatus):
            return known
        return self._count(item)

    def _count(self, item: Replicated) -> ReplicaStatus:
        """Without minReadySeconds every ready pod is available."""
        active, ready = self.store.count_active(item, selector_of(item))
        least, now = item.spec.min_ready_seconds, self.api.now()
        if not least:
            return ReplicaStatus(active, ready, ready)
        return ReplicaStatus(active, ready, sum(is_available(pod, least, now) for pod in self._active(item)))

    def _active(self, item: Replicated) -> list[Pod]:
        return [pod for pod in self.claimed(item) if is_active(pod)]


def _new_pod(item: Replicated, name: str) -> Pod:
    kind, template = type(item).__name__, item.spec.template
    assert template is not None
    owner = owner_reference(kind, "apps/v1" if kind == "ReplicaSet" else "v1", item.metadata)
    return stamp(template, item.metadata.namespace, name, owner)
