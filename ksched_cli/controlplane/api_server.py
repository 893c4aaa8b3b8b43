"""The API server: admission, graceful deletion, the eviction subresource, watches, and statuses, which are not stored
(pkg/registry/core/pod and its storage). Requests come one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import date
from functools import cache, lru_cache
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.api.defaults import default_claim
from ksched_cli.api.object_facts import is_terminal, latest_time, uid_of_pod
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.api.validation.fields import object_at
from ksched_cli.cluster.undo import Logged, LoggedDict, LoggedIndex, LoggedList, LoggedSet, UndoLog
from ksched_cli.controlplane.admission.chain import ADMISSION_KINDS, Chain
from ksched_cli.controlplane.admission.pods import admit_storage_class
from ksched_cli.controlplane.admission.quantities import ADMITTED, Denial
from ksched_cli.controlplane.budgets import Budgets
from ksched_cli.controlplane.draws import FIRST_CONTROLLER, Draws
from ksched_cli.controlplane.store import Identity, Store, identity_of, owner_identity, top_owner
from ksched_cli.controlplane.successors import Successors
from ksched_cli.engine.hints import VirtualClock
from ksched_cli.releases.minors import DEFAULT
from ksched_cli.sources.templates import uid_of


class Statuses:
    """Kept beside the objects: the status of an input may be missing or stale, and results need none."""

    def __init__(self, notify: Callable[[Any, Any], None], undo: UndoLog) -> None:
        self._notify = notify
        self._statuses: dict[Identity, object] = LoggedDict(undo)

    def get(self, item: Any) -> object | None:
        return self._statuses.get(identity_of(item))

    def forget(self, item: Any) -> None:
        """The object is gone. One of its name that comes later has a status of its own."""
        if self._statuses:
            self._statuses.pop(identity_of(item), None)

    def set(self, item: Any, status: object) -> None:
        """Watches see an update of the object if its status has changed."""
        identity = identity_of(item)
        if self._statuses.get(identity) != status:
            self._statuses[identity] = status
            self._notify(item, item)


T = TypeVar("T")
Watch = Callable[[Any, Any], None]
WatchOfCopies = Callable[[Sequence[Pod]], None]

# terminationGracePeriodSeconds of a pod without the field.
DEFAULT_GRACE_SECONDS = 30.0
# A pod, its ReplicaSet and its Deployment.
_MOST_OWNERS = 3
# Seconds.
_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()


class Refusal(Exception):
    """The API server refuses a request."""

    def __init__(self, plugin: str, message: str, resource: str = "") -> None:
        super().__init__(message)
        self.plugin, self.message, self.resource = plugin, message, resource


def _refuse(denial: Denial) -> None:
    """Raise Refusal if admission denies the request."""
    if denial.message:
        raise Refusal(denial.plugin, denial.message, denial.resource)


class PodRefusal(Struct, frozen=True):
    """A pod that admission has refused. `resource`: the one that is out of bounds, if one is."""

    pod: Pod
    plugin: str
    message: str
    resource: str = ""


def grace_seconds(pod: Pod) -> float:
    seconds = pod.spec.termination_grace_period_seconds
    return DEFAULT_GRACE_SECONDS if seconds is None else float(seconds)


class ApiServer(Logged):
    """Every change of an object goes through here. Watches get the old and the new version, None for absent.

    `version` counts the changes. With `places_everything` no scheduler runs beside it: each new pod is a second
    younger than the one before it, so that the order of creation stands in the timestamps.
    """

    def __init__(
        self, store: Store, clock: VirtualClock, draws: Draws | None = None, *, places_everything: bool = False
    ) -> None:
        self.undo = store.undo
        self.store = store
        self.clock = clock
        self.version = 0
        self.statuses = Statuses(self._notify, self.undo)
        self.successors = Successors(store)
        self.draws = draws or Draws()
        self.draws.follow(self.undo)
        self.warnings: list[str] = LoggedList(self.undo)
        # Why pods were deleted, by uid.
        self.reasons: dict[str, str] = LoggedDict(self.undo)
        # Pods that were deleted for a reason for which the control plane gives them the condition DisruptionTarget.
        self.disrupted: set[str] = LoggedSet(self.undo)
        # By uid the grace period of pods that were deleted with one of their own.
        self.graces: dict[str, float] = LoggedDict(self.undo)
        # Pods that controllers could not create at their last try, by owner and by name.
        self.refusals: LoggedIndex[Identity, str, PodRefusal] = LoggedIndex(self.undo)
        self.budgets = Budgets(store, self.update)
        self.places_everything = places_everything
        self.minor = DEFAULT.minor
        # An API server of an older minor drops the fields of pods that its minor lacks.
        self.stored_form: Callable[[Any], Any] = lambda pod: pod
        self._watches: list[Watch] = LoggedList(self.undo)
        # Of the watches that take new copies of a pod together.
        self._watches_of_copies: dict[Watch, WatchOfCopies] = LoggedDict(self.undo)
        self._chain: Chain | None = None
        # Namespaces that are being deleted: nothing is created in them.
        ending = (each.metadata for each in store.of(Namespace) if each.metadata.deletion_timestamp is not None)
        self._ending_namespaces: set[str] = LoggedSet(self.undo, (metadata.name for metadata in ending))
        stamps = (pod.metadata.creation_timestamp for pod in store.of(Pod))
        self._newest = latest_time(filter(None, stamps))
        self._start = self._newest
        # Of all pods that are or were there: a pod that takes the name of an earlier one is another pod.
        self._uids = LoggedSet(self.undo, (pod.metadata.uid for pod in store.of(Pod)))

    def watch(self, watch: Watch, copies: WatchOfCopies | None = None) -> None:
        """`copies` is called in place of `watch` with new pods that differ in their names, uids and times only."""
        self._watches.append(watch)
        if copies is not None:
            self._watches_of_copies[watch] = copies

    def now(self) -> float:
        """Seconds since the epoch. Virtual time begins with the creation of the youngest pod."""
        return self._start + self.clock.now

    def timestamp(self) -> str:
        """Now, as objects have it."""
        return _stamp(int(self.now()))

    def deletion_order(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """Pods that are deleted at one moment, in the order of this run: chance decides whose controller is the first
        to make pods in their place. A DaemonSet competes with no other workload for its nodes."""
        owners = ["" if self._has_own_nodes(pod) else "/".join(top_owner(self.store, pod)) for pod in pods]
        names = list(dict.fromkeys(filter(None, owners)))
        if len(names) < 2:
            return pods
        first = self.draws.at_once(FIRST_CONTROLLER, names)[0]
        if first == names[0]:
            return pods
        numbers = sorted(range(len(pods)), key=lambda number: owners[number] != first)
        return [pods[number] for number in numbers]

    @staticmethod
    def _has_own_nodes(pod: Pod) -> bool:
        """Whether no controller makes another pod that other workloads' pods compete with."""
        owner = owner_identity(pod)
        return owner is None or owner[0] == "DaemonSet"

    # Requests

    def create(self, item: T, *, admit: bool = True) -> T:
        """The object as stored. Raises Refusal if admission refuses it. `admit=False` is for a pod that went through
        admission before: only quotas count it."""
        _refuse(self._admit_namespace(item))
        if isinstance(item, Pod):
            if admit:
                _refuse(self._admission().first_refusal(item, self._written(item)))
            else:
                self._admission().quotas.count(item)
            if not item.status.phase:
                # PrepareForCreate
                item.status = replace(item.status, phase="Pending")
            self._date_pod(item)
            item = self.stored_form(item)
        else:
            if isinstance(item, Namespace):
                self._ending_namespaces.discard(item.metadata.name)
            elif isinstance(item, PersistentVolumeClaim):
                admit_storage_class(item, self.store.of(StorageClass))
                default_claim(item)
            self._admit_object(item)
        self._write(None, item)
        return item

    def _admit_namespace(self, item: Any) -> Denial:
        """The plugin NamespaceLifecycle."""
        namespace = item.metadata.namespace
        if namespace not in self._ending_namespaces:
            return ADMITTED
        text = f"unable to create new content in namespace {namespace} because it is being terminated"
        return Denial("NamespaceLifecycle", text)

    def object_refusal(self, item: Any) -> Denial:
        """Which plugin refuses to create an object that is no pod, and why."""
        if (denial := self._admit_namespace(item)).message:
            return denial
        if isinstance(item, PersistentVolumeClaim):
            item = deepcopy(item)
            admit_storage_class(item, self.store.of(StorageClass))
        return self._admission().object_refusal(item)

    def _admit_object(self, item: Any) -> None:
        """Raise Refusal if admission refuses an object that is no pod. What a controller cannot create is a refusal of
        its owner, with a pod that the object would have made."""
        denial = self._admission().object_refusal(item)
        if not denial.message:
            return
        owner, spec = owner_identity(item), getattr(item, "spec", None)
        template = getattr(spec, "template", None)
        if owner is not None and template is not None:
            pod = Pod(replace(item.metadata, owner_references=()), template.spec)
            self.refusals.put(owner, item.metadata.name, PodRefusal(pod, denial.plugin, denial.message))
        _refuse(denial)

    def _written(self, pod: Pod) -> Mapping[str, Any] | None:
        """The pod as it is written in a manifest, or the template of the manifest that it is made of."""
        if not self._admission().reads_documents:
            return None
        item: Any = pod
        for _ in range(_MOST_OWNERS):
            if self.store.is_whole(item):
                return pod_of(self.store.document(item))
            owner = owner_identity(item)
            item = self.store.catalog_item(owner) if owner is not None else None
            if item is None:
                return None
        return None

    def update(self, item: T) -> T:
        """Replace the object of this kind and name, or create it."""
        old = self.store.current(item)
        if old is None:
            return self.create(item)
        self.replace(old, item)
        return item

    def replace(self, old: T, new: T) -> None:
        """Replace `old`, the stored version of an object, by another version."""
        if old != new:
            self._write(old, new)

    def restore(self, item: Any) -> None:
        """Replace the object by an earlier version of it, as no client could."""
        self._write(self.store.current(item), item)

    def touch(self, item: Any) -> None:
        """Let the controllers look at the object again, though it has not changed."""
        self._notify(item, item)

    def delete(self, item: Any, *, grace: float | None = None, why: str = "", disrupts: bool = False) -> None:
        """Pods go gracefully: the kubelet removes them. A pod without a node or without a grace period goes at once
        (podStrategy.CheckGracefulDelete)."""
        current = self.store.current(item)
        if isinstance(current, Pod):
            self.delete_pod(current, grace=grace, why=why, disrupts=disrupts)
            return
        if isinstance(current, Namespace):
            self._ending_namespaces.add(current.metadata.name)
        if current is not None:
            self._remove(current)

    def delete_pod(self, pod: Pod, *, grace: float | None = None, why: str = "", disrupts: bool = False) -> None:
        """`delete` of the stored version of a pod."""
        uid = uid_of_pod(pod)
        if disrupts:
            self.disrupted.add(uid)
        if why:
            self.reasons.setdefault(uid, why)
        if pod.metadata.deletion_timestamp is not None and grace != 0:
            return
        seconds = grace_seconds(pod) if grace is None else grace
        if seconds <= 0 or not pod.spec.node_name or is_terminal(pod):
            self._remove(pod)
            return
        if grace is not None:
            self.graces[uid] = grace
        metadata = replace(pod.metadata, deletion_timestamp=_stamp(int(self.now() + seconds)))
        self._write(pod, replace(pod, metadata=metadata))

    def evict(self, pod: Pod, *, grace: float | None = None) -> str:
        """The eviction subresource (EvictionREST.Create) for the stored version of a pod: why it refuses, or an empty
        string once the pod goes. `grace` takes the place of the pod's own grace period."""
        refusal = self.budgets.take(pod)
        if not refusal:
            self.delete_pod(pod, grace=grace, why="evicted", disrupts=True)
        return refusal

    def refused(self, owner: Any, pod: Pod, refusal: Refusal) -> None:
        """Remember for the results that a controller could not create this pod."""
        self.refusals.put(
            identity_of(owner), pod.metadata.name, PodRefusal(pod, refusal.plugin, str(refusal), refusal.resource)
        )

    def create_for(self, owner: Any, pod: Pod) -> None:
        """Create a pod for a controller. A refusal is remembered."""
        try:
            self.create(pod)
        except Refusal as refusal:
            self.refused(owner, pod, refusal)
            raise

    def create_copies(self, owner: Any, names: Iterable[str], make: Callable[[str], Pod]) -> None:
        """Create the pods of these names, which `make` makes of one template, for a controller, in batches of 1, 2, 4
        and so on, until one fails (slowStartBatch). Without a scheduler beside it every pod is tried, so that each
        refusal is known."""
        self.refusals.pop(identity_of(owner), None)
        refusal: Refusal | None = None
        first: Pod | None = None
        ends = 1
        left = iter(names)
        for number, name in enumerate(left):
            if number == ends:
                if refusal is not None and not self.places_everything:
                    break
                ends = 2 * ends + 1
            pod = make(name) if first is None else _copy_of(first, name)
            try:
                if first is None:
                    first = self.create(pod)
                else:
                    self._create_copy(pod)
            except Refusal as found:
                self.refused(owner, pod, found)
                refusal = refusal or found
            if first is not None and self.places_everything and not first.spec.node_name:
                refusal = refusal or self._create_together(owner, first, left)
        if refusal is not None:
            raise refusal

    def _create_copy(self, pod: Pod) -> None:
        """Create a copy of a pod that has just been created: of all admissions only quotas distinguish the two."""
        _refuse(self._admission().quotas.admit(pod))
        self._date_pod(pod)
        self._write(None, pod)

    def _create_together(self, owner: Any, first: Pod, names: Iterator[str]) -> Refusal | None:
        """Create the other copies of a pod that has no node, as long as no lost pod is to be paired with them. Watches
        get them all at the end."""
        if self.successors.has_lost(first):
            return None
        refusal: Refusal | None = None
        created: list[Pod] = []
        add = self.store.adder_of_copies(first)
        for name in names:
            pod = _copy_of(first, name)
            try:
                _refuse(self._admission().quotas.admit(pod))
            except Refusal as found:
                self.refused(owner, pod, found)
                refusal = refusal or found
                continue
            self._date_pod(pod)
            add(pod)
            created.append(pod)
        if created:
            self.store.count_copies(first, len(created))
            self._notify_of_copies(created)
        return refusal

    def _notify_of_copies(self, pods: Sequence[Pod]) -> None:
        self.version += len(pods)
        for watch in self._watches:
            of_copies = self._watches_of_copies.get(watch)
            if of_copies is not None:
                of_copies(pods)
                continue
            for pod in pods:
                watch(None, pod)

    # Admission

    def prepare(self) -> None:
        """Build what is otherwise built when it is needed first: before a mark, so that each trial finds it."""
        self.store.build_indexes()
        self._admission()

    def _admission(self) -> Chain:
        if self._chain is None:
            self._chain = Chain(self.store, undo=self.undo, minor=self.minor)
        return self._chain

    def _date_pod(self, pod: Pod) -> None:
        """A creation timestamp, the phase Pending, and a uid of its own for a pod that takes the name of an earlier."""
        metadata = pod.metadata
        pod.status.phase = pod.status.phase or "Pending"
        if self.places_everything:
            self._newest += 1
            metadata.creation_timestamp = _stamp(int(self._newest))
        else:
            metadata.creation_timestamp = self.timestamp()
        metadata.uid = metadata.uid or uid_of("Pod", metadata.namespace, metadata.name)
        again = 0
        while metadata.uid in self._uids:
            again += 1
            metadata.uid = uid_of("Pod", metadata.namespace, f"{metadata.name}#{again}")
        self._uids.add(metadata.uid)
        self.draws.invented_uids.add(metadata.uid)

    def close(self) -> None:
        """Let go of the uids of all pods."""
        self._uids, self.draws.invented_uids = LoggedSet(self.undo), LoggedSet(self.undo)

    # Storage and watches

    def _remove(self, item: Any) -> None:
        self.store.remove(item)
        self.statuses.forget(item)
        if self._chain is not None:
            self._account(self._chain, item, None)
        self._notify(item, None)

    def _write(self, old: Any, new: Any) -> None:
        self.store.replace(old, new)
        if self._chain is not None:
            self._account(self._chain, old, new)
        self._notify(old, new)

    def _account(self, chain: Chain, old: Any, new: Any) -> None:
        """What quotas count, and the objects that admission reads."""
        if isinstance(old, Pod):
            if new is not None and is_terminal(new) == is_terminal(old):
                return
            chain.quotas.release(old)
            if new is not None:
                chain.quotas.count(new)
        elif isinstance(new if new is not None else old, ADMISSION_KINDS):
            chain.reload(self.store)

    def _notify(self, old: Any, new: Any) -> None:
        self.version += 1
        self.successors.observe(old, new)
        for watch in self._watches:
            watch(old, new)


def pod_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document of a pod, or the pod template in that of a workload."""
    for steps in (("spec", "jobTemplate", "spec", "template"), ("spec", "template"), ("template",)):
        found = object_at(document, *steps)
        if found:
            return found
    return document


def _copy_of(pod: Pod, name: str) -> Pod:
    """A pod of this name that shares everything else: copies of one template take little memory."""
    metadata = replace(pod.metadata, name=name, uid=uid_of("Pod", pod.metadata.namespace, name))
    return Pod(metadata, pod.spec, pod.status)


@lru_cache(maxsize=16)
def _stamp(seconds: int) -> str:
    day, second = divmod(seconds, _DAY)
    hour, second = divmod(second, 3600)
    return f"{_date(day)}T{hour:02}:{second // 60:02}:{second % 60:02}Z"


@cache
def _date(day: int) -> str:
    """The date so many days after the epoch."""
    # The years of a Python date. A clock that has run out of them stands still in what objects have.
    return f"{date.fromordinal(min(max(day + _EPOCH, 1), date.max.toordinal()))}"
