"""The objects of the API server, with the indexes that the controllers' informers have, counts of pods by owner, and
which workload a pod belongs to.

A store holds every object that was loaded, and what the run made of them; it has no rules. Objects are
replaced, never changed. Names identify objects, not uids: a dump that was cut by hand may have none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from ksched_cli.api.core import Node, ObjectMeta, Pod, controller_of
from ksched_cli.api.decode import KINDS
from ksched_cli.api.object_facts import is_active, is_ready
from ksched_cli.api.selectors import Selector
from ksched_cli.api.workloads import PODS_AND_WORKLOADS, ReplicaSet, ReplicationController
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.undo import Logged, LoggedDict, LoggedIndex, LoggedList, LoggedTable, UndoLog
from ksched_cli.controlplane.merge import overlaid, written
from ksched_cli.sources.loaded import Autoscaler, Loaded, WrittenObject

# Kind, namespace and name of an owner; with an empty kind and name, the pods of a namespace without a controller.
Owner = tuple[str, str, str]
# Kinds of owners of which tallies are kept.
TALLIED_KINDS = frozenset({"ReplicaSet", "ReplicationController", ""})
_LabelSet = frozenset[tuple[str, str]]


def _counts(pod: Pod | None) -> tuple[int, int]:
    """How many active pods and active ready pods this is: none or one."""
    if pod is None or not is_active(pod):
        return 0, 0
    return 1, int(is_ready(pod))


class PodTally(Struct, frozen=True):
    """Active pods with these labels, and how many of them are ready."""

    labels: Mapping[str, str]
    active: int = 0
    ready: int = 0


class PodTallies:
    """The pods of an owner are counted when its tally is needed first, or before its first pod changes. So a first
    count is that of the loaded pods, and stays valid after each roll back. While `are_needed` is false no change of a
    pod counts an owner: a later first count is that of the pods then, and a roll back drops it."""

    def __init__(
        self, undo: UndoLog, pods_of: Callable[[Owner], Iterable[Pod]], are_needed: Callable[[], bool]
    ) -> None:
        self._undo, self._pods_of, self._are_needed = undo, pods_of, are_needed
        self._tallies: dict[Owner, dict[_LabelSet, PodTally]] = {}
        # Owners of which a pod has changed before the first count.
        self._changed: set[Owner] = set()

    def count(self, owner: Owner, selector: Selector) -> tuple[int, int]:
        """How many pods of the owner that the selector matches are active, and how many of these are ready."""
        matching = [each for each in self._of(owner).values() if each.active and selector.matches(each.labels)]
        return sum(each.active for each in matching), sum(each.ready for each in matching)

    def replace(self, owner: Owner, old: Pod | None, new: Pod | None) -> None:
        """Called before the store replaces a pod of the owner; None for absent."""
        if owner[0] not in TALLIED_KINDS:
            return
        if owner not in self._tallies and (owner in self._changed or not self._are_needed()):
            self._changed.add(owner)
            return
        (active, ready), (active_before, ready_before) = _counts(new), _counts(old)
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            self._add(owner, new, active - active_before, ready - ready_before)
            return
        if old is not None:
            self._add(owner, old, -active_before, -ready_before)
        if new is not None:
            self._add(owner, new, active, ready)

    def add_copies(self, owner: Owner, pod: Pod, count: int) -> None:
        """Count so many copies of a pod of the owner, which is counted already."""
        if owner in self._tallies:
            active, ready = _counts(pod)
            self._add(owner, pod, count * active, count * ready)

    def _add(self, owner: Owner, pod: Pod, active: int, ready: int) -> None:
        """Count so many more pods with the labels of this pod."""
        if not active and not ready:
            return
        tallies, labels = self._of(owner), pod.metadata.labels
        key = frozenset(labels.items())
        before = tallies.get(key) or PodTally(labels)
        self._undo.note(tallies.__setitem__, key, before)
        tallies[key] = PodTally(before.labels, before.active + active, before.ready + ready)

    def _of(self, owner: Owner) -> dict[_LabelSet, PodTally]:
        found = self._tallies.get(owner)
        if found is None:
            if owner in self._changed:
                self._undo.note(self._tallies.pop, owner, None)
            found = self._tallies[owner] = _first_count(self._pods_of(owner))
        return found


def _first_count(pods: Iterable[Pod]) -> dict[_LabelSet, PodTally]:
    """The tallies of these pods. Most pods have their labels in the order of another pod."""
    counts: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for pod in pods:
        if is_active(pod):
            count = counts.setdefault(tuple(pod.metadata.labels.items()), [0, 0])
            count[0] += 1
            count[1] += is_ready(pod)
    found: dict[_LabelSet, PodTally] = {}
    for labels, (active, ready) in counts.items():
        before = found.get(frozenset(labels)) or PodTally(dict(labels))
        found[frozenset(labels)] = PodTally(before.labels, before.active + active, before.ready + ready)
    return found


K = TypeVar("K")
# Kind, namespace and name. Owners are found by name: a dump that was cut by hand may have no uids.
Identity = tuple[str, str, str]
_WORKLOADS = {kind.__name__: kind for kind in PODS_AND_WORKLOADS - {Pod}}


def identity_of(item: Any) -> Identity:
    return type(item).__name__, item.metadata.namespace, item.metadata.name


def owner_identity(item: Any) -> Identity | None:
    """The identity of the item's controller."""
    owner = controller_of(item.metadata) if item.metadata.owner_references else None
    return (owner.kind, item.metadata.namespace, owner.name) if owner is not None else None


def _index_key(pod: Pod) -> Identity:
    return owner_identity(pod) or _orphans_of(pod.metadata.namespace)


def _orphans_of(namespace: str) -> Identity:
    """Pods without a controller are kept by namespace."""
    return "", namespace, ""


class NamedObjects(ABC):
    """Objects that are found by their names: pods and nodes in tables of their own."""

    _pods: Mapping[Identity, Pod]
    _nodes: Mapping[Identity, Node]

    def get(self, kind: type[K], name: str, namespace: str = "") -> K | None:
        found: Any
        if kind is Pod:
            found = self._pods.get(("Pod", namespace, name))
        elif kind is Node:
            found = self._nodes.get(("Node", "", name))
        else:
            found = self._other(kind, name, namespace)
        return found  # type: ignore[no-any-return]

    @abstractmethod
    def _other(self, kind: type[Any], name: str, namespace: str) -> Any:
        """`get` of an object that is neither a pod nor a node."""


class KeptObjects(NamedObjects):
    """The objects of a store as they were at some time."""

    def __init__(
        self,
        pods: Mapping[Identity, Pod],
        nodes: Mapping[Identity, Node],
        others: Mapping[type[Any], Mapping[tuple[str, str], Any]],
    ) -> None:
        self._pods, self._nodes, self._others = pods, nodes, others

    @property
    def pods(self) -> Mapping[Identity, Pod]:
        return self._pods

    def _other(self, kind: type[Any], name: str, namespace: str) -> Any:
        return self._others.get(kind, {}).get((namespace, name))

    def owners(self) -> dict[Identity, Identity]:
        """The controller of each object that has one, pods and nodes excepted."""
        items = (item for items in self._others.values() for item in items.values())
        return {identity_of(item): owner for item in items if (owner := owner_identity(item)) is not None}


class Store(Logged, NamedObjects):
    """Pods and nodes in tables of their own, everything else in `catalog`, which a scheduler's cache may share.

    Finished pods are here too: the Job and StatefulSet controllers count them. Objects are replaced, never changed.
    `undo` is the log of the whole world.
    """

    def __init__(self, loaded: Loaded, catalog: Catalog | None = None) -> None:
        self._loaded = loaded
        self.catalog = catalog if catalog is not None else Catalog(loaded.others())
        self.undo = self.catalog.undo
        self.accounts: dict[tuple[str, str], Mapping[str, Any]] = LoggedDict(self.undo, loaded.accounts)
        self.account_namespaces = loaded.account_namespaces
        self.service_ranges, self.api_server_flags = loaded.service_ranges, loaded.api_server_flags
        pods = {identity_of(pod): pod for pod in loaded.of(Pod)}
        self._pods: dict[Identity, Pod] = LoggedTable(self.undo, pods)
        self._nodes: dict[Identity, Node] = LoggedTable(
            self.undo, ((identity_of(node), node) for node in loaded.of(Node))
        )
        # The identities of what an owner controls, in the order of creation: a dict is an ordered set.
        self._pods_of: LoggedIndex[Identity, Identity, None] = LoggedIndex(self.undo)
        self._pods_on: LoggedIndex[str, Identity, None] = LoggedIndex(self.undo)
        self._owned: LoggedIndex[Identity, Identity, Any] | None = None
        self._referring: LoggedIndex[tuple[str, str], Identity, Any] | None = None
        # The documents of objects that `kubectl apply` may change, each with the typed object that it belongs to.
        self._documents: dict[Identity, WrittenObject] = LoggedDict(self.undo, loaded.documents)
        # By the object that they scale.
        self.autoscalers: dict[Identity, Autoscaler] = LoggedDict(self.undo)
        self.add_autoscalers(loaded.autoscalers)
        # What is not known of how manifests were applied.
        self.apply_gaps: list[str] = LoggedList(self.undo, loaded.apply_gaps)
        self._index_pods(pods)
        self._tallies = PodTallies(
            self.undo,
            self.pods_of_identity,
            lambda: self.catalog.has(ReplicaSet) or self.catalog.has(ReplicationController),
        )

    # Reading

    def catalog_item(self, identity: Identity) -> Any:
        """The workload of this identity, None if there is none."""
        kind = _WORKLOADS.get(identity[0])
        return self.catalog.get(kind, identity[2], identity[1]) if kind is not None else None

    def _other(self, kind: type[Any], name: str, namespace: str) -> Any:
        return self.catalog.get(kind, name, namespace)

    def pod(self, identity: Identity) -> Pod | None:
        """The stored version of the pod of this identity."""
        return self._pods.get(identity)

    def kept(self) -> KeptObjects:
        """The objects as they are now, whatever happens later."""
        return KeptObjects(dict.copy(self._pods), dict.copy(self._nodes), self.catalog.kept())

    def current(self, item: K) -> K | None:
        """The stored version of an object of this kind and name."""
        if isinstance(item, Pod):
            found: Any = self._pods.get(identity_of(item))
            return found  # type: ignore[no-any-return]
        metadata: ObjectMeta = item.metadata  # type: ignore[attr-defined]
        return self.get(type(item), metadata.name, metadata.namespace)

    def same_pod(self, pod: Pod) -> Pod | None:
        """The stored version of this very pod, not of a later one with its name."""
        current = self.current(pod)
        return current if current is not None and current.metadata.uid == pod.metadata.uid else None

    def document(self, item: Any) -> dict[str, Any]:
        """The stored version of an object as a document. Fields that no typed object has are as they were read."""
        known = self._documents.get(identity_of(item))
        if known is None:
            return written(item)  # type: ignore[no-any-return]
        document = known.document
        if known.item is item:
            return document if item.metadata.resource_version else _completed(document, written(item))
        return overlaid(document, written(known.item), written(item))  # type: ignore[no-any-return]

    def is_whole(self, item: Any) -> bool:
        """Whether `document` has all fields of the object, also those that no typed object has."""
        return identity_of(item) in self._documents

    def keep_document(self, item: Any, document: dict[str, Any]) -> None:
        """The document that belongs to this version of an object."""
        self._documents[identity_of(item)] = WrittenObject(item, document)

    def of(self, kind: type[K]) -> list[K]:
        found: Any
        if kind is Pod:
            found = self._pods.values()
        elif kind is Node:
            found = self._nodes.values()
        else:
            found = self.catalog.all(kind)
        return list(found)

    def kinds(self) -> list[type[Any]]:
        """All kinds of which there are objects."""
        return [Node, Pod, *self.catalog.kinds()]

    def pods_of(self, owner: Any) -> list[Pod]:
        """The pods that this object controls, finished and terminating ones included, in the order of creation."""
        return self.pods_of_identity(identity_of(owner))

    def pods_of_identity(self, owner: Identity) -> list[Pod]:
        return [self._pods[each] for each in self._pods_of.get(owner, ())]

    def first_of(self, owner: Identity) -> Pod | None:
        """The first of `pods_of`."""
        return next((self._pods[each] for each in self._pods_of.get(owner, ())), None)

    def count_of(self, owner: Identity) -> int:
        """How many pods `pods_of` returns."""
        return len(self._pods_of.get(owner, ()))

    def has_owner(self, kind: str, namespace: str, prefix: str) -> bool:
        """Whether pods of this namespace have, or have had, a controller of this kind whose name begins so."""
        return any(each[:2] == (kind, namespace) and each[2].startswith(prefix) for each in self._pods_of)

    def orphans(self, namespace: str) -> list[Pod]:
        """Pods without a controller."""
        return self.pods_of_identity(_orphans_of(namespace))

    def active_orphans(self, namespace: str, selector: Selector) -> list[Pod]:
        """Active pods without a controller that the selector matches. Most selectors match none of them."""
        if not self._tallies.count(_orphans_of(namespace), selector)[0]:
            return []
        found = self.orphans(namespace)
        return [pod for pod in found if is_active(pod) and selector.matches(pod.metadata.labels)]

    def count_active(self, owner: Any, selector: Selector) -> tuple[int, int]:
        """How many pods the owner controls or would adopt that are active and that the selector matches, and how many
        of these are ready."""
        own = self._tallies.count(identity_of(owner), selector)
        orphans = self._tallies.count(_orphans_of(owner.metadata.namespace), selector)
        return own[0] + orphans[0], own[1] + orphans[1]

    def pods_on(self, node: str) -> list[Pod]:
        return [self._pods[each] for each in self._pods_on.get(node, ())]

    def owned(self, owner: Any, kind: type[K]) -> list[K]:
        """Objects of a kind other than pods that this object controls, by name."""
        return self.owned_by_identity(identity_of(owner), kind)

    def owned_by_identity(self, owner: Identity, kind: type[K]) -> list[K]:
        found = [item for item in self._owned_index().get(owner, {}).values() if isinstance(item, kind)]
        return sorted(found, key=lambda item: item.metadata.name)  # type: ignore[attr-defined]

    def find(self, identity: Identity) -> Any | None:
        """The object of this identity, whatever its kind is."""
        kind = next((each for each in self.kinds() if each.__name__ == identity[0]), None)
        return self.get(kind, identity[2], identity[1]) if kind is not None else None

    def in_namespace(self, namespace: str) -> list[Any]:
        """Every object of the namespace, pods last."""
        others = [item for kind in self.catalog.kinds() for item in self.catalog.in_namespace(kind, namespace)]
        return [*others, *(pod for pod in self._pods.values() if pod.metadata.namespace == namespace)]

    def dependents(self, owner: Any) -> list[Any]:
        """Everything whose ownerReferences name this object, pods last."""
        kind, namespace, name = identity_of(owner)
        found = self._referring_index().get((kind, name), {}).values()
        return [item for item in found if not namespace or item.metadata.namespace == namespace]

    def _referring_index(self) -> LoggedIndex[tuple[str, str], Identity, Any]:
        """Built when it is needed first. Owners are found by kind and name: a reference does not show whether the owner
        has a namespace."""
        if self._referring is None:
            self._referring = LoggedIndex(self.undo)
            for kind in self.catalog.kinds():
                for item in self.catalog.all(kind):
                    self._refer(item)
            for pod in self._pods.values():
                if pod.metadata.owner_references:
                    self._refer(pod)
        return self._referring

    def _refer(self, item: Any) -> None:
        if self._referring is not None:
            for owner in item.metadata.owner_references:
                self._referring.put((owner.kind, owner.name), identity_of(item), item)

    def _forget_references(self, item: Any) -> None:
        if self._referring is not None:
            for owner in item.metadata.owner_references:
                self._referring.drop((owner.kind, owner.name), identity_of(item))

    def _owned_index(self) -> LoggedIndex[Identity, Identity, Any]:
        if self._owned is None:
            self._owned = LoggedIndex(self.undo)
            for kind in self.catalog.kinds():
                for item in self.catalog.all(kind):
                    self._index(item)
        return self._owned

    def _index(self, item: Any) -> None:
        owner = owner_identity(item)
        if owner is not None and self._owned is not None:
            self._owned.put(owner, identity_of(item), item)

    def build_indexes(self) -> None:
        """Build the indexes of owners, which otherwise are built when they are needed first."""
        self._referring_index()
        self._owned_index()

    def add_autoscalers(self, items: Iterable[Autoscaler]) -> None:
        for each in items:
            self.autoscalers[each.target_kind, each.namespace, each.target_name] = each

    # Writing: the API server only

    def put(self, item: Any) -> None:
        self.replace(self.current(item), item)

    def replace(self, before: Any | None, item: Any) -> None:
        """`put`, where `before` is the stored version."""
        if self._referring is not None:
            if before is not None:
                self._forget_references(before)
            self._refer(item)
        if isinstance(item, Pod):
            self._put_pod(before, item)
        elif isinstance(item, Node):
            self._nodes[identity_of(item)] = item
        else:
            self.catalog.put(item)
            self._index(item)

    def adder_of_copies(self, first: Pod) -> Callable[[Pod], None]:
        """Returns `put` for new copies of a pod that has no node. Their owner has them counted with `count_copies`."""
        pods, own = self._pods, self._pods_of.entries_of(_index_key(first))
        assert own is not None

        def add(pod: Pod) -> None:
            identity = "Pod", pod.metadata.namespace, pod.metadata.name
            pods[identity] = pod
            own[identity] = None
            self._refer(pod)

        return add

    def count_copies(self, first: Pod, count: int) -> None:
        """So many copies of this pod have been added."""
        self._tallies.add_copies(_index_key(first), first, count)

    def remove(self, item: Any) -> None:
        self._forget_references(item)
        if isinstance(item, Pod):
            self._drop_pod(item)
        elif isinstance(item, Node):
            self._nodes.pop(identity_of(item), None)
        else:
            self.catalog.remove(item)
            owner = owner_identity(item)
            if owner is not None and self._owned is not None:
                self._owned.drop(owner, identity_of(item))

    def _put_pod(self, old: Pod | None, pod: Pod) -> None:
        key, identity = _index_key(pod), identity_of(pod)
        keeps_owner = old is None or old.metadata.owner_references is pod.metadata.owner_references
        if old is not None and not keeps_owner and _index_key(old) != key:
            self._drop_pod(old)
            old = None
        self._tallies.replace(key, old, pod)
        self._pods[identity] = pod
        if old is None:
            self._pods_of.put(key, identity, None)
        before, node = old.spec.node_name if old is not None else "", pod.spec.node_name
        if before == node:
            return
        if before:
            self._pods_on.drop(before, identity)
        if node:
            self._pods_on.put(node, identity, None)

    def _index_pods(self, pods: Mapping[Identity, Pod]) -> None:
        """What `_put_pod` does for each pod, where none is indexed yet."""
        of: defaultdict[Identity, dict[Identity, None]] = defaultdict(dict)
        on: defaultdict[str, dict[Identity, None]] = defaultdict(dict)
        for identity, pod in pods.items():
            of[_index_key(pod)][identity] = None
            if pod.spec.node_name:
                on[pod.spec.node_name][identity] = None
        self._pods_of.fill(of)
        self._pods_on.fill(on)

    def _drop_pod(self, pod: Pod) -> None:
        identity = identity_of(pod)
        old = self._pods.get(identity)
        if old is not None:
            key = _index_key(old)
            self._tallies.replace(key, old, None)
            self._pods.pop(identity)
            self._pods_of.drop(key, identity)
            self._pods_on.drop(old.spec.node_name, identity)

    def close(self) -> None:
        """Let go of all pods."""
        self._pods, self._pods_of, self._pods_on = (
            LoggedTable(self.undo),
            LoggedIndex(self.undo),
            LoggedIndex(self.undo),
        )
        self._referring = None

    # Going back to what was loaded

    def as_loaded(self) -> Loaded:
        """The objects as an input of their own; what was loaded stays as it was."""
        now = self.others_as_loaded()
        now.set_all(Node, _in_input_order(self._loaded.of(Node), dict(self._nodes.items())))
        now.set_all(Pod, _in_input_order(self._loaded.of(Pod), dict(self._pods.items())))
        return now

    def others_as_loaded(self) -> Loaded:
        """The same with the pods and nodes that were loaded."""
        now = self._loaded.copied()
        now.autoscalers = list(self.autoscalers.values())
        now.documents, now.apply_gaps = dict(self._documents), list(self.apply_gaps)
        now.accounts = dict(self.accounts)
        for kind in {*now.objects, *self.catalog.kinds()} - {Node, Pod}:
            items = {identity_of(item): item for item in self.catalog.all(kind)}
            now.set_all(kind, _in_input_order(self._loaded.of(kind), items))
        return now


def _completed(document: Any, typed: Any) -> Any:
    """The document of a live object that was cut by hand, with the defaults that its typed object has."""
    if isinstance(document, dict) and isinstance(typed, dict):
        return {
            **{key: _completed(value, typed.get(key)) for key, value in document.items()},
            **{key: value for key, value in typed.items() if key not in document},
        }
    if isinstance(document, list) and isinstance(typed, list) and len(document) == len(typed):
        return [_completed(*each) for each in zip(document, typed, strict=True)]
    return document


def _in_input_order(before: Iterable[Any], left: dict[Identity, Any]) -> Iterator[Any]:
    """Objects that were in the input first and in its order, then the others as they were created. `left` is used
    up."""
    for item in before:
        found = left.pop(identity_of(item), None)
        if found is not None:
            yield found
    yield from left.values()


HASH_LABEL = "pod-template-hash"
_KIND_OF = {kind.__name__: kind for kind in KINDS.values()}


def top_owner(store: NamedObjects | Loaded, pod: Pod) -> Identity:
    """The identity of the uppermost controller; a pod without one is by itself. A ReplicaSet that is not in the input
    still has its Deployment in its name."""
    owner = [identity_of(pod), *owners(store, pod)][-1]
    kind, namespace, name = owner
    digest = pod.metadata.labels.get(HASH_LABEL)
    if kind == "ReplicaSet" and digest and name.endswith(f"-{digest}"):
        return "Deployment", namespace, name.removesuffix(f"-{digest}")
    return owner


def owners(store: NamedObjects | Loaded, pod: Pod) -> list[Identity]:
    """The controller of the pod, the controller of that controller, and so on."""
    found: list[Identity] = []
    owner = owner_identity(pod)
    while owner is not None and owner not in found:
        found.append(owner)
        owner = _owner_of(store, owner)
    return found


def _owner_of(store: NamedObjects | Loaded, owner: Identity) -> Identity | None:
    kind = _KIND_OF.get(owner[0])
    item = store.get(kind, owner[2], owner[1]) if kind is not None else None
    return owner_identity(item) if item is not None else None


def workload_name(store: NamedObjects, pod: Pod) -> str:
    """`Deployment/shop/web`."""
    return "/".join(top_owner(store, pod))


class WorkloadNames:
    """`workload_name` of many pods of a store that does not change. The owners of each controller are found once."""

    def __init__(self, store: NamedObjects) -> None:
        self._store = store
        self._names: dict[tuple[Identity, str | None], str] = {}

    def __call__(self, pod: Pod) -> str:
        owner = owner_identity(pod)
        if owner is None:
            return "/".join(identity_of(pod))
        key = owner, pod.metadata.labels.get(HASH_LABEL)
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = workload_name(self._store, pod)
        return found
