"""The persistent volume controller and a provisioner: claims get a volume, as `provisioning.py` makes it.

A claim that the input has stays as it is: if it waits for a volume there, its provisioner has not made one. A claim
that waits for its first pod gets its volume when the pod has a node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.controlplane.controllers.provisioning import bound_claim, provisioned_on, remark, volume_at_once
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller


class VolumeController(Controller):
    """Keys are identities of new claims, and of pods that got a node."""

    informers = (PersistentVolumeClaim, Pod)
    pod_changes = frozenset(("created", "spec", "other"))

    def concerned(self, old: Any, new: Any) -> Iterable[Identity]:
        if isinstance(new, PersistentVolumeClaim) and old is None:
            return (identity_of(new),)
        got_node = isinstance(new, Pod) and new.spec.node_name and (old is None or not old.spec.node_name)
        has_claims = got_node and any(volume.persistent_volume_claim or volume.ephemeral for volume in new.spec.volumes)
        return (identity_of(new),) if has_claims else ()

    def reconcile(self, key: Identity) -> None:
        kind, namespace, name = key
        if kind == "Pod":
            pod = self.store.get(Pod, name, namespace)
            if pod is not None and pod.spec.node_name:
                self._provision_selected(pod)
            return
        claim = self.store.get(PersistentVolumeClaim, name, namespace)
        if claim is not None and not claim.spec.volume_name:
            self._bind(claim, volume_at_once(claim, self.store.catalog))

    def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume | None) -> None:
        if volume is not None:
            text = remark(claim, volume, self.store.catalog)
            self.api.warnings += [text] if text and text not in self.api.warnings else []
            self.api.update(volume)
            self.api.update(bound_claim(claim, volume))

    def _provision_selected(self, pod: Pod) -> None:
        """The claims that waited for the pod get their volumes, and the storage pools of the node shrink."""
        node = self.store.get(Node, pod.spec.node_name)
        for made in provisioned_on(pod, node, self.store.catalog) if node is not None else ():
            self._bind(made.claim, made.volume)
            if made.pool is not None:
                self.api.update(made.pool)
