"""The resource claim and ephemeral volume controllers: claims of one pod, and reservations of shared claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.dynamic_resources import (
    ResourceClaim,
    ResourceClaimTemplate,
    deallocated,
    is_controlled_by,
    is_reserved_for,
    unreserved,
)
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller, WorkQueue
from ksched_cli.sources.controllers.claims import ephemeral_claims, templated_claims


class ResourceClaimController(Controller):
    """Keys are identities of new pods, and uids of pods that are over."""

    informers = (Pod,)
    pod_changes = frozenset(("created", "other", "deleted"))

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        self._over: dict[str, Pod] = LoggedDict(api.undo)

    def concerned(self, old: Any, new: Any) -> Iterable[Identity | str]:
        pod = old if new is None else new
        if not isinstance(pod, Pod):
            return ()
        if old is None:
            makes_claims = pod.spec.resource_claims or any(volume.ephemeral for volume in pod.spec.volumes)
            return (identity_of(pod),) if makes_claims else ()
        if not is_terminal(old) and (new is None or is_terminal(new)) and any(_claim_names(old)):
            self._over[old.metadata.uid] = old
            return (old.metadata.uid,)
        return ()

    def reconcile(self, key: Identity | str) -> None:
        if isinstance(key, str):
            self._release(self._over.pop(key))
        else:
            self._make_claims(key)

    def _make_claims(self, key: Identity) -> None:
        """handleClaim and handleVolume."""
        pod = self.store.get(Pod, key[2], key[1])
        if pod is None or pod.metadata.deletion_timestamp is not None or is_terminal(pod):
            return
        for volume_claim in ephemeral_claims(pod):
            if self.store.current(volume_claim) is None:
                self.api.create(volume_claim)
        wanted = {each.resource_claim_template_name for each in pod.spec.resource_claims}
        namespace = pod.metadata.namespace
        found = (self.store.get(ResourceClaimTemplate, name, namespace) for name in wanted if name)
        templates = {(namespace, each.metadata.name): each for each in found if each is not None}
        updated = replace(pod, status=replace(pod.status))
        for claim in templated_claims(updated, templates):
            if self.store.current(claim) is None:
                self.api.create(claim)
        self.api.update(updated)

    def _release(self, pod: Pod) -> None:
        """syncClaim, of a pod that is over: its own claims go, and claims that no pod uses give back their devices."""
        for name in _claim_names(pod):
            claim = self.store.get(ResourceClaim, name, pod.metadata.namespace)
            if claim is None:
                continue
            if is_controlled_by(claim, pod):
                self.api.delete(claim)
            elif is_reserved_for(claim, pod):
                left = unreserved(claim, pod.metadata.uid)
                self.api.update(left if left.status.reserved_for else deallocated(left))


def _claim_names(pod: Pod) -> Iterator[str]:
    for reference in pod.spec.resource_claims:
        if reference.resource_claim_name:
            yield reference.resource_claim_name
    for status in pod.status.resource_claim_statuses:
        if status.resource_claim_name:
            yield status.resource_claim_name
    extended = pod.status.extended_resource_claim_status
    if extended is not None:
        yield extended.resource_claim_name
