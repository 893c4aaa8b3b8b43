"""The persistent volume controller and a provisioner: claims that are created in the run get a volume.

A claim that the input has stays as it is: if it waits for a volume there, its provisioner has not made one. The volume
of a StorageClass that binds at once can be used from every node, or from those of the class's allowedTopologies. A real
provisioner may choose one zone of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ksched_cli.api.core import Node, Pod
from ksched_cli.api.meta import ObjectMeta, ObjectReference
from ksched_cli.api.quantity import format_bytes, value
from ksched_cli.api.selectors import SelectorError, compile_selector
from ksched_cli.api.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from ksched_cli.api.volumes import CSIPersistentVolumeSource
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller
from ksched_cli.plugins.lib.volumes.claims import (
    BIND_COMPLETED,
    SELECTED_NODE,
    class_of_claim,
    is_fully_bound,
    requested_storage,
    waits_for_consumer,
)
from ksched_cli.plugins.volume_binding.capacity import largest_volume
from ksched_cli.plugins.volume_binding.matching import candidates_for
from ksched_cli.plugins.volume_binding.placement import NO_PROVISIONER
from ksched_cli.sources.controllers.naming import uid_of

_IN_TREE = "kubernetes.io/"


class VolumeController(Controller):
    """Keys are identities of new claims, and of pods that got a node."""

    informers = (PersistentVolumeClaim, Pod)

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
            text = _remark(claim, volume, self.store.catalog)
            self.api.warnings += [text] if text and text not in self.api.warnings else []
            self.api.update(volume)
            self.api.update(bound_claim(claim, volume))

    def _provision_selected(self, pod: Pod) -> None:
        """The volumes of claims that wait for a node come from the storage pool of that node, which shrinks."""
        node = self.store.get(Node, pod.spec.node_name)
        if node is None:
            return
        names = [each.persistent_volume_claim.claim_name for each in pod.spec.volumes if each.persistent_volume_claim]
        names += [f"{pod.metadata.name}-{each.name}" for each in pod.spec.volumes if each.ephemeral]
        for name in names:
            claim = self.store.get(PersistentVolumeClaim, name, pod.metadata.namespace)
            if claim is None or is_fully_bound(claim) or SELECTED_NODE not in claim.metadata.annotations:
                continue
            pool = _pool_of(claim, node, self.store.catalog)
            if pool is not None:
                self._bind(claim, _new_volume(claim, _from_pool(pool), self.store.catalog))
                self.api.update(_shrunk(pool, claim))


def volume_at_once(claim: PersistentVolumeClaim, catalog: Catalog) -> PersistentVolume | None:
    """The volume that a claim gets before any pod uses it: one that exists (syncUnboundClaim), else a new one if its
    StorageClass has a provisioner. None if the claim waits for a consumer, or nothing provides a volume."""
    if waits_for_consumer(claim, catalog):
        return None
    prebound, free = candidates_for(claim, catalog, by_attributes=False)
    for volume in (*prebound, *free):
        return _taken(volume, claim)
    found = catalog.get(StorageClass, class_of_claim(claim))
    if found is None or found.provisioner in ("", NO_PROVISIONER):
        return None
    return _new_volume(claim, _allowed(found.allowed_topologies), catalog)


def bound_claim(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    annotations = {**claim.metadata.annotations, BIND_COMPLETED: "yes"}
    return replace(
        claim,
        metadata=replace(claim.metadata, annotations=annotations),
        spec=replace(claim.spec, volume_name=volume.metadata.name),
        status=replace(claim.status, phase="Bound", capacity=volume.spec.capacity),
    )


def _taken(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    meta = claim.metadata
    reference = ObjectReference("PersistentVolumeClaim", meta.namespace, meta.name, meta.uid, "v1")
    return replace(volume, spec=replace(volume.spec, claim_ref=reference), status=PersistentVolumeStatus("Bound"))


def _new_volume(claim: PersistentVolumeClaim, affinity: NodeSelector | None, catalog: Catalog) -> PersistentVolume:
    meta = claim.metadata
    name = f"pvc-{meta.uid or uid_of('PersistentVolumeClaim', meta.namespace, meta.name)}"
    found = catalog.get(StorageClass, class_of_claim(claim))
    driver = found.provisioner if found is not None else ""
    spec = PersistentVolumeSpec(
        capacity=dict(claim.spec.resources.requests),
        access_modes=claim.spec.access_modes,
        persistent_volume_reclaim_policy=(found.reclaim_policy if found is not None else None) or "Delete",
        storage_class_name=class_of_claim(claim),
        volume_mode=claim.spec.volume_mode,
        node_affinity=VolumeNodeAffinity(affinity) if affinity is not None else None,
        csi=None if driver.startswith(_IN_TREE) else CSIPersistentVolumeSource(driver, name),
    )
    return _taken(PersistentVolume(ObjectMeta(name=name), spec), claim)


def _allowed(terms: Iterable[TopologySelectorTerm]) -> NodeSelector | None:
    """The nodes that the class's topologies allow; None for all."""
    found = tuple(
        NodeSelectorTerm(tuple(NodeSelectorRequirement(each.key, "In", each.values) for each in expressions))
        for term in terms
        if (expressions := term.match_label_expressions)
    )
    return NodeSelector(found) if found else None


def _pool_of(claim: PersistentVolumeClaim, node: Node, catalog: Catalog) -> CSIStorageCapacity | None:
    """The first pool by name that the node reaches and that holds the claim, if its driver publishes capacity."""
    found = catalog.get(StorageClass, class_of_claim(claim))
    driver = catalog.get(CSIDriver, found.provisioner) if found is not None else None
    if found is None or driver is None or not driver.spec.storage_capacity:
        return None
    for pool in catalog.all(CSIStorageCapacity):
        if pool.storage_class_name != found.metadata.name or largest_volume(pool) < (requested_storage(claim) or 0):
            continue
        try:
            if compile_selector(pool.node_topology).matches(node.metadata.labels):
                return pool
        except SelectorError:
            continue
    return None


def _from_pool(pool: CSIStorageCapacity) -> NodeSelector | None:
    labels = pool.node_topology.match_labels if pool.node_topology is not None else {}
    found = tuple(NodeSelectorRequirement(key, "In", (text,)) for key, text in sorted(labels.items()))
    return NodeSelector((NodeSelectorTerm(found),)) if found else None


def _shrunk(pool: CSIStorageCapacity, claim: PersistentVolumeClaim) -> CSIStorageCapacity:
    left = value(pool.capacity or 0) - int(requested_storage(claim) or 0)
    largest = pool.maximum_volume_size
    limit = None if largest is None else format_bytes(min(value(largest), max(left, 0)))
    return replace(pool, capacity=format_bytes(max(left, 0)), maximum_volume_size=limit)


def _remark(claim: PersistentVolumeClaim, volume: PersistentVolume, catalog: Catalog) -> str:
    """What ksched assumes about the volumes of the class; nothing for a volume that the input has."""
    name = class_of_claim(claim)
    if catalog.get(PersistentVolume, volume.metadata.name) is not None:
        return ""
    if waits_for_consumer(claim, catalog):
        return f"volumes of StorageClass {name} are provisioned from the driver's CSIStorageCapacity, which shrinks"
    where = "the nodes of the class's allowedTopologies reach" if volume.spec.node_affinity else "every node reaches"
    return f"claims of StorageClass {name} are provisioned at once: each gets a volume that {where}"
