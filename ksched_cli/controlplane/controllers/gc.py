"""The garbage collector (pkg/controller/garbagecollector): what a deleted owner leaves behind goes too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import OwnerReference
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller, WorkQueue


class GarbageCollector(Controller):
    """Keys are identities of dependents. Only owners that the run has deleted count as absent: an input may hold pods
    without their owners."""

    pod_changes = frozenset(("created", "deleted"))

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        # The uids of deleted owners. Owners of cluster scope have no namespace.
        self._deleted: dict[Identity, str] = LoggedDict(api.undo)

    def concerned(self, old: Any, new: Any) -> Iterable[Identity]:
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

    def concerned_by_copies(self, pods: Sequence[Pod]) -> Iterable[Any]:
        return [key for pod in pods for key in self.concerned(None, pod)] if self._deleted else ()

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
