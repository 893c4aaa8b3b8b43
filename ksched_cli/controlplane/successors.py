"""Which pod takes the place of which: a controller that loses a pod creates another one. Kubernetes has no such record.
Results need it to name one pod before and after; no decision reads it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_terminal, pod_key, uid_of_pod
from ksched_cli.api.workloads import JOB_INDEX
from ksched_cli.cluster.undo import LoggedDict, LoggedIndex
from ksched_cli.controlplane.controllers.daemon_pods import daemon_node_of
from ksched_cli.controlplane.store import Identity, Store, owner_identity
from ksched_cli.sources.templates import generated


class Successors:
    """`replaced` has, by uid of a new pod, the pod whose place it takes. Results are paired by it; no decision is."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # The pods that an owner has lost, the first one first: by name, or by uid for the second of a name.
        self._lost: LoggedIndex[Identity, str, Pod] = LoggedIndex(store.undo)
        self.replaced: dict[str, Pod] = LoggedDict(store.undo)
        self._next: dict[str, Pod] = LoggedDict(store.undo)
        # By what a name is generated from: the attempt that found a free name last. Earlier ones are taken until a pod
        # is deleted.
        self._attempts: dict[tuple[object, ...], int] = LoggedDict(store.undo)

    def observe(self, old: Any, new: Any) -> None:
        """A watch: remember the pods that a controller has lost, and pair the pods that it makes with them. A Job makes
        no pod in the place of one that has finished."""
        pod = old if new is None else new
        if not isinstance(pod, Pod) or (old is not None and new is not None and old.metadata is new.metadata):
            return
        if new is None and self._attempts:
            self._attempts.clear()
        owner = owner_identity(pod)
        if owner is None:
            return
        if old is None:
            self._pair(owner, pod)
        elif _is_terminating(new) and not _is_terminating(old) and not (owner[0] == "Job" and is_terminal(old)):
            name = old.metadata.name
            self._lost.put(owner, name if name not in self._lost.get(owner, ()) else uid_of_pod(old), old)

    def _pair(self, owner: Identity, pod: Pod) -> None:
        lost = self._lost.get(owner)
        if not lost:
            return
        key = _place_of(owner, pod, lost)
        if key is None:
            return
        same = lost.pop(key)
        self.replaced[pod.metadata.uid] = same
        self._next[uid_of_pod(same)] = pod

    def has_lost(self, pod: Pod) -> bool:
        """Whether a new pod of this pod's controller takes the place of a pod that the controller has lost."""
        owner = owner_identity(pod)
        return owner is not None and bool(self._lost.get(owner))

    def last_of(self, pod: Pod) -> Pod | None:
        """The pod that has its place in the end: its successor, or the successor of that. As it was created."""
        found = self._next.get(uid_of_pod(pod))
        while found is not None and (after := self._next.get(uid_of_pod(found))) is not None:
            found = after
        return found

    def seed(self, owner: Identity) -> tuple[object, ...]:
        """What the name of the next pod is generated from: the pod it takes the place of, if there is one."""
        lost = self._lost.get(owner)
        return (next(iter(lost.values())).metadata.name,) if lost else ()

    def new_name(self, base: str, namespace: str, owner: Identity, *seed: object) -> str:
        """A generated name that no pod has. The API server would let the controller try again."""
        seed = self.seed(owner) or seed
        key = (base, namespace, *seed)
        for attempt in count(self._attempts.get(key, 0) if self._attempts else 0):
            name = generated(base, namespace, *seed, attempt)
            if self._store.get(Pod, name, namespace) is None:
                if attempt:
                    self._attempts[key] = attempt
                return name
        raise AssertionError("count() never ends")


def _is_terminating(pod: Pod | None) -> bool:
    """Whether the pod has been deleted, gracefully or at once."""
    return pod is None or pod.metadata.deletion_timestamp is not None


def _place_of(owner: Identity, new: Pod, lost: Mapping[str, Pod]) -> str | None:
    """The lost pod whose place the new pod takes: that of its name, a DaemonSet's of the same node (None if there is
    none), a Job's of the same index, or the first."""
    if new.metadata.name in lost:
        return new.metadata.name
    if owner[0] == "Job":
        index = new.metadata.annotations.get(JOB_INDEX)
        same = (key for key, pod in lost.items() if pod.metadata.annotations.get(JOB_INDEX) == index)
        return next(same, next(iter(lost)))
    # The pod of a DaemonSet that the input lacks is for no node.
    node = daemon_node_of(new) if owner[0] == "DaemonSet" else ""
    if not node:
        return next(iter(lost))
    return next((key for key, pod in lost.items() if daemon_node_of(pod) == node), None)


def replaced_key(successors: Successors, pod: Pod) -> str:
    """`namespace/name` of the pod whose place this pod takes, or an empty string."""
    before = successors.replaced.get(pod.metadata.uid)
    return pod_key(before) if before is not None else ""
