"""What is deleted because something else is: dependents of owners, pods of lost nodes and finished pods, objects of
namespaces (garbagecollector.go, gc_controller.go, namespaced_resources_deleter.go). And the stand-in for a controller
that the input names but does not hold: a pod that goes is made again, as it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Node, ObjectMeta, OwnerReference, Pod, PodStatus
from ksched_cli.api.object_facts import is_active, is_terminal, uid_of_pod
from ksched_cli.api.workloads import DaemonSet, Job, ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.cluster.undo import LoggedDict, LoggedSet
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.controllers.daemon_pods import daemon_node_of
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.controlplane.work import Controller, WorkQueue
from ksched_cli.sources.templates import copied, uid_of


class GarbageCollector(Controller):
    """Deletes the dependents of deleted owners. Keys are identities of dependents. Only owners that the run has deleted
    count as absent: an input may hold pods without their owners."""

    pod_changes = frozenset(("created", "deleted"))

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        # The uids of deleted owners. Owners of cluster scope have no namespace.
        self._deleted: dict[Identity, str] = LoggedDict(api.undo)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        if new is not None:
            if old is None:
                self._deleted.pop(identity_of(new), None)
                if any(self._is_absent(owner, new.metadata.namespace) for owner in new.metadata.owner_references):
                    yield identity_of(new)
            return
        dependents = self.store.dependents(old)
        if dependents or not isinstance(old, Pod):
            self._deleted[identity_of(old)] = old.metadata.uid
        for item in dependents:
            yield identity_of(item)

    def keys_of_copies(self, pods: Sequence[Pod]) -> Iterable[Any]:
        return [key for pod in pods for key in self.keys_to_reconcile(None, pod)] if self._deleted else ()

    def reconcile(self, key: Identity) -> None:
        """attemptToDeleteItem: an owner that remains keeps the dependent."""
        item = self.store.find(key)
        if item is None or item.metadata.deletion_timestamp is not None:
            return
        owners = item.metadata.owner_references
        remaining = tuple(owner for owner in owners if not self._is_absent(owner, item.metadata.namespace))
        if len(remaining) == len(owners):
            return
        if remaining:
            self.api.update(replace(item, metadata=replace(item.metadata, owner_references=remaining)))
        else:
            self.api.delete(item, why=f"deleted with {owners[0].kind} {owners[0].name}")

    def _is_absent(self, owner: OwnerReference, namespace: str) -> bool:
        for where in (namespace, ""):
            uid = self._deleted.get((owner.kind, where, owner.name))
            if uid is not None and (not uid or not owner.uid or uid == owner.uid):
                return True
        return False


# quarantineTime: how long a node has to be gone. The loop runs every 20 s, from a moment that no input contains.
QUARANTINE_SECONDS = 40.0
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class PodGarbageCollector(Controller):
    """Deletes the pods of deleted nodes, and terminating pods of nodes that are out of service. Keys are names of
    nodes. Pods of nodes that were absent from the input stay: the input may hold pods only."""

    informers = (Node, Pod)
    pod_changes = frozenset(("created", "metadata", "other"))

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[str]:
        if isinstance(old, Node) and new is None:
            self.queue.add_after(self, old.metadata.name, QUARANTINE_SECONDS)
        if isinstance(new, Node) and _is_out_of_service(new):
            return (new.metadata.name,)
        if isinstance(new, Pod) and new.metadata.deletion_timestamp is not None and new.spec.node_name:
            node = self.store.get(Node, new.spec.node_name)
            if node is not None and _is_out_of_service(node):
                return (node.metadata.name,)
        return ()

    def reconcile(self, key: str) -> None:
        node = self.store.get(Node, key)
        if node is None:
            self._force_delete(self.store.pods_on(key), f"node {key} no longer exists")
        elif _is_out_of_service(node):
            terminating = [pod for pod in self.store.pods_on(key) if pod.metadata.deletion_timestamp is not None]
            self._force_delete(terminating, f"node {key} is out of service")

    def _force_delete(self, pods: Iterable[Pod], why: str) -> None:
        """markFailedAndDeletePod."""
        for pod in self.api.deletion_order(list(pods)):
            self.api.disrupted.add(uid_of_pod(pod))
            if not is_terminal(pod):
                pod = self.api.update(replace(pod, status=replace(pod.status, phase="Failed")))
            self.api.delete(pod, grace=0, why=why)


def _is_out_of_service(node: Node) -> bool:
    """gcTerminating: a node that is not ready and has the out-of-service taint."""
    if _OUT_OF_SERVICE not in [taint.key for taint in node.spec.taints]:
        return False
    return not any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)


class NamespaceController(Controller):
    """Deletes the objects of deleted namespaces. Keys are names of these namespaces."""

    informers = (Namespace,)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[str]:
        return (old.metadata.name,) if new is None else ()

    def reconcile(self, key: str) -> None:
        if self.store.get(Namespace, key) is None:
            for item in self.store.in_namespace(key):
                self.api.delete(item, why=f"deleted with Namespace {key}")


_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (DaemonSet, Job, ReplicaSet, ReplicationController, StatefulSet)
}
# These count a terminating pod as gone already.
_AT_ONCE = ("ReplicaSet", "ReplicationController", "Job")
_KEEPS_THE_NAME = "StatefulSet"
# Mirror pods are the kubelet's.
_MIRROR_OWNER = "Node"


class StandIn(Controller):
    """Recreates a pod whose controller the pod names and the input does not have, as that controller would. Keys are
    uids of pods that are to be replaced."""

    informers = (Pod, *_KINDS.values())
    pod_changes = frozenset(("metadata", "other", "deleted"))

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        self._waiting: dict[str, Pod] = LoggedDict(api.undo)
        # An input without any DaemonSets may have left them out; one with some has them all, as `drain` takes it.
        self._has_daemon_sets = bool(self.store.of(DaemonSet))
        # Owners that the run has deleted: they are absent and have no stand-in.
        self._deleted: set[Identity] = LoggedSet(api.undo)
        # Pods that were made to fail because their node is gone.
        self._failed: set[str] = LoggedSet(api.undo)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[str]:
        item = old if new is None else new
        if not isinstance(item, Pod):
            self._note_owner(item, new)
            return ()
        if old is None:
            return ()
        owner = owner_identity(item)
        if owner is None or owner[0] == _MIRROR_OWNER or not self._is_absent(owner):
            return ()
        if new is not None and is_terminal(new) and not is_terminal(old) and new.status.phase == "Failed":
            self._failed.add(new.metadata.uid)
        if not self._is_due(owner[0], old, new):
            return ()
        key = old.metadata.uid or f"{old.metadata.namespace}/{old.metadata.name}"
        self._waiting[key] = old
        return (key,)

    def _note_owner(self, item: Any, new: Any) -> None:
        kind = type(item).__name__
        if kind in _KINDS:
            identity = (kind, item.metadata.namespace, item.metadata.name)
            if new is None:
                self._deleted.add(identity)
            else:
                self._deleted.discard(identity)

    def _is_absent(self, owner: Identity) -> bool:
        if owner[0] == "DaemonSet" and self._has_daemon_sets:
            return False
        kind = _KINDS.get(owner[0])
        known = kind is not None and self.store.get(kind, owner[2], owner[1]) is not None
        return not known and owner not in self._deleted

    def _is_due(self, kind: str, old: Pod, new: Pod | None) -> bool:
        """Whether the owner would make another pod after this change."""
        if kind in _AT_ONCE:
            over = new is None or not is_active(new)
            return is_active(old) and over and not (new is not None and new.status.phase == "Succeeded")
        if new is not None:
            return False
        return kind == _KEEPS_THE_NAME or not is_terminal(old) or old.metadata.uid in self._failed

    def reconcile(self, key: str) -> None:
        pod = self._waiting.pop(key, None)
        owner = owner_identity(pod) if pod is not None else None
        if pod is None or owner is None or not self._is_absent(owner):
            return
        namespace, name = pod.metadata.namespace, pod.metadata.name
        if owner[0] == "DaemonSet" and self.store.get(Node, daemon_node_of(pod)) is None:
            return
        if owner[0] == _KEEPS_THE_NAME:
            if self.store.get(Pod, name, namespace) is not None:
                return
        else:
            base = pod.metadata.generate_name or f"{owner[2]}-"
            name = self.api.successors.new_name(base, namespace, owner)
        self.api.create(blank_copy(pod, name), admit=False)


def blank_copy(pod: Pod, name: str) -> Pod:
    """The pod as it was before anything happened to it."""
    new = copied(pod)
    metadata = ObjectMeta(
        name=name,
        namespace=pod.metadata.namespace,
        generate_name=pod.metadata.generate_name,
        uid=uid_of("Pod", pod.metadata.namespace, name),
        labels=new.metadata.labels,
        annotations=new.metadata.annotations,
        owner_references=new.metadata.owner_references,
    )
    return replace(new, metadata=metadata, spec=replace(new.spec, node_name=""), status=PodStatus(phase="Pending"))
