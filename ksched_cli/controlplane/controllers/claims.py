"""The controllers of claims: ResourceClaims of one pod and reservations of shared ones (pkg/controller/resourceclaim),
volumes that a provisioner makes, and the claims that pods bring with them (pv_controller.go, ephemeral/controller.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import (
    CSIPersistentVolumeSource,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    ObjectReference,
    Pod,
)
from ksched_cli.api.dynamic_resources import (
    ResourceClaim,
    ResourceClaimTemplate,
    deallocated,
    is_controlled_by,
    is_reserved_for,
    unreserved,
)
from ksched_cli.api.object_facts import is_terminal
from ksched_cli.api.quantity import format_bytes, value
from ksched_cli.api.selectors import SelectorError, compile_selector
from ksched_cli.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller, WorkQueue
from ksched_cli.plugins.lib.volumes import (
    BIND_COMPLETED,
    CSI_DRIVER,
    SELECTED_NODE,
    class_of_claim,
    class_of_volume,
    is_bound_to,
    is_fully_bound,
    requested_storage,
    waits_for_consumer,
)
from ksched_cli.plugins.volume_binding.placement import NO_PROVISIONER, candidates_for, is_enough, largest_volume
from ksched_cli.sources.templates import ephemeral_claims, templated_claims, uid_of


class ResourceClaimController(Controller):
    """Creates the claims of a new pod from its templates, deletes them when the pod is over, and ends its reservations
    of shared claims. Keys are identities of new pods, and uids of pods that are over."""

    informers = (Pod,)
    pod_changes = frozenset(("created", "other", "deleted"))

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        self._over: dict[str, Pod] = LoggedDict(api.undo)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity | str]:
        if old is None:
            makes_claims = new.spec.resource_claims or any(volume.ephemeral for volume in new.spec.volumes)
            return (identity_of(new),) if makes_claims else ()
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


_IN_TREE = "kubernetes.io/"
_ZONE = "topology.kubernetes.io/zone"
# Drivers of disks that one zone reaches. Used for nodes of which the input has no CSINode.
_ZONAL = frozenset({"ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com", "cinder.csi.openstack.org"})


class Provisioned(Struct, frozen=True):
    """A claim that got a volume, and the storage pool that has shrunk, if the driver publishes one."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume
    pool: CSIStorageCapacity | None


def volume_at_once(claim: PersistentVolumeClaim, catalog: Catalog) -> PersistentVolume | None:
    """The volume that a claim gets before any pod uses it: the one that it names, or that names it, another one that
    exists (syncUnboundClaim), else a new one if its StorageClass has a provisioner. None if the claim waits for a
    consumer or for the volume that it names, or nothing provides a volume."""
    if claim.spec.volume_name:
        named = catalog.get(PersistentVolume, claim.spec.volume_name)
        return _taken(named, claim) if named is not None and _satisfies(named, claim) else None
    prebound, free = candidates_for(claim, catalog, by_attributes=False)
    waits = waits_for_consumer(claim, catalog)
    for volume in (*prebound, *(() if waits else free)):
        return _taken(volume, claim)
    if waits:
        return None
    found = catalog.get(StorageClass, class_of_claim(claim))
    if found is None or found.provisioner in ("", NO_PROVISIONER):
        return None
    return _new_volume(claim, found, _allowed(found.allowed_topologies))


def _satisfies(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume that a claim names can be its own (checkVolumeSatisfyClaim)."""
    if volume.spec.claim_ref is not None:
        return is_bound_to(volume, claim)
    modes = set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    return modes and class_of_volume(volume) == class_of_claim(claim) and is_enough(volume, claim)


def provisioned_on(pod: Pod, node: Node, catalog: Catalog) -> Iterator[Provisioned]:
    """The volumes of the pod's claims that wait for a node, made where the pod runs."""
    names = [each.persistent_volume_claim.claim_name for each in pod.spec.volumes if each.persistent_volume_claim]
    names += [f"{pod.metadata.name}-{each.name}" for each in pod.spec.volumes if each.ephemeral]
    pools: dict[str, CSIStorageCapacity] = {}
    for name in names:
        claim = catalog.get(PersistentVolumeClaim, name, pod.metadata.namespace)
        if claim is None or is_fully_bound(claim) or SELECTED_NODE not in claim.metadata.annotations:
            continue
        found = catalog.get(StorageClass, class_of_claim(claim))
        if found is None or found.provisioner in ("", NO_PROVISIONER):
            continue
        pool = _pool_of(claim, found, node, catalog, pools)
        if pool is not None:
            pool = pools[pool.metadata.name] = _shrunk(pool, claim)
            affinity = _from_pool(pool)
        else:
            affinity = _topology_of(node, found, catalog)
        yield Provisioned(claim, _new_volume(claim, found, affinity), pool)


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


def _new_volume(claim: PersistentVolumeClaim, found: StorageClass, affinity: NodeSelector | None) -> PersistentVolume:
    meta = claim.metadata
    name = f"pvc-{meta.uid or uid_of('PersistentVolumeClaim', meta.namespace, meta.name)}"
    driver = found.provisioner
    spec = PersistentVolumeSpec(
        capacity=dict(claim.spec.resources.requests),
        access_modes=claim.spec.access_modes,
        persistent_volume_reclaim_policy=found.reclaim_policy or "Delete",
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


def _topology_of(node: Node, found: StorageClass, catalog: Catalog) -> NodeSelector | None:
    """The part of the cluster that reaches a volume which is made for a pod on the node: the values that the node has
    for the driver's topology keys. None if every node reaches it."""
    name = CSI_DRIVER.get(found.provisioner, found.provisioner)
    drivers = catalog.get(CSINode, node.metadata.name)
    keys = [key for each in drivers.spec.drivers if each.name == name for key in each.topology_keys] if drivers else []
    if drivers is None and name in _ZONAL:
        keys = [_ZONE]
    labels = node.metadata.labels
    required = tuple(NodeSelectorRequirement(key, "In", (labels[key],)) for key in sorted(keys) if key in labels)
    return NodeSelector((NodeSelectorTerm(required),)) if required else _allowed(found.allowed_topologies)


def _pool_of(
    claim: PersistentVolumeClaim,
    found: StorageClass,
    node: Node,
    catalog: Catalog,
    shrunk: Mapping[str, CSIStorageCapacity],
) -> CSIStorageCapacity | None:
    """The first pool by name that the node reaches and that holds the claim, if its driver publishes capacity. `shrunk`
    are the pools that claims of the same pod have used."""
    driver = catalog.get(CSIDriver, found.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return None
    for each in catalog.all(CSIStorageCapacity):
        pool = shrunk.get(each.metadata.name, each)
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


def remark(claim: PersistentVolumeClaim, volume: PersistentVolume, catalog: Catalog) -> str:
    """What ksched assumes about the volumes of the class; nothing for a volume that the input has."""
    name = class_of_claim(claim)
    if catalog.get(PersistentVolume, volume.metadata.name) is not None:
        return ""
    terms = volume.spec.node_affinity.required if volume.spec.node_affinity else None
    if waits_for_consumer(claim, catalog):
        return f"volumes of StorageClass {name} are provisioned {_where_consumed(claim, terms, catalog)}"
    where = "the nodes of the class's allowedTopologies reach" if volume.spec.node_affinity else "every node reaches"
    return f"claims of StorageClass {name} are provisioned at once: each gets a volume that {where}"


def _where_consumed(claim: PersistentVolumeClaim, affinity: NodeSelector | None, catalog: Catalog) -> str:
    found = catalog.get(StorageClass, class_of_claim(claim))
    driver = catalog.get(CSIDriver, found.provisioner) if found is not None else None
    if driver is not None and driver.spec.storage_capacity:
        return "from the driver's CSIStorageCapacity, which shrinks"
    terms = affinity.node_selector_terms if affinity is not None else ()
    keys = sorted({each.key for term in terms for each in term.match_expressions})
    if keys:
        return f"for their first pod: each stays in the {' and '.join(keys)} of that pod's node"
    return "for their first pod: every node reaches each of them"


class VolumeController(Controller):
    """Binds claims to volumes: to one that exists, or to one that a provisioner makes at once or for the node of the
    pod. Keys are identities of new claims, and of pods that got a node. A new volume or class concerns every claim that
    has no volume yet."""

    informers = (PersistentVolumeClaim, PersistentVolume, StorageClass, Pod)
    pod_changes = frozenset(("created", "spec", "other"))

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        if isinstance(new, PersistentVolumeClaim) and old is None:
            return (identity_of(new),)
        if isinstance(new, PersistentVolume | StorageClass):
            return [identity_of(each) for each in self.store.of(PersistentVolumeClaim)] if old is None else ()
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
        if claim is not None and not is_fully_bound(claim):
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
