"""Stand-ins for controllers that the input names but does not hold: a pod that goes is made again, as it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod, PodStatus
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.workloads import DaemonSet, Job, ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.cluster.undo import LoggedDict, LoggedSet
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.controllers.daemon_pods import node_of
from ksched_cli.controlplane.pods import is_active
from ksched_cli.controlplane.store import Identity, owner_identity
from ksched_cli.controlplane.work import Controller, WorkQueue
from ksched_cli.sources.controllers.naming import uid_of
from ksched_cli.sources.controllers.templates import copied

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (DaemonSet, Job, ReplicaSet, ReplicationController, StatefulSet)
}
# These count a terminating pod as gone already.
_AT_ONCE = ("ReplicaSet", "ReplicationController", "Job")
_KEEPS_THE_NAME = "StatefulSet"
# Mirror pods are the kubelet's.
_MIRROR_OWNER = "Node"


class StandIn(Controller):
    """Keys are uids of pods that are to be replaced."""

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

    def concerned(self, old: Any, new: Any) -> Iterable[str]:
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
        if owner[0] == "DaemonSet" and self.store.get(Node, node_of(pod)) is None:
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
