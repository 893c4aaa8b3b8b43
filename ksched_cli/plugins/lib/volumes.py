"""Volumes, as several plugins need them: the reasons that they share, facts about claims, and in-tree volumes that a
CSI driver has taken over (csi-translation-lib: how they count, and where they are).

`AttachedVolumes` is what the limits of disks note for the score of balanced resources while the gate
BalanceAttachedNodeVolumes is on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec.structs import replace

from ksched_cli.api.core import NodeSelectorRequirement, NodeSelectorTerm, Pod, Volume
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, StorageClass
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog, claim_names, find_claim, is_foreign
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.framework.reasons import FieldPath, Reason, ReasonCode, ReasonKind, ReasonTable
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.lib.spec import ReasonError
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import (
    AZURE_DISK_LIMITS,
    CINDER_LIMITS,
    EBS_LIMITS,
    GCEPD_LIMITS,
    NODE_VOLUME_LIMITS,
    VOLUME_BINDING,
)

CLAIM_NOT_FOUND = ReasonCode(
    "KS121",
    "claim-not-found",
    "a volume claim does not exist",
    "The pod mounts a PersistentVolumeClaim that is neither in the cluster nor in the manifests, or one that has no "
    "name.",
    ("add the claim to the manifests", "correct claimName"),
)
CLAIM_UNBOUND = ReasonCode(
    "KS122",
    "claim-unbound",
    "a volume claim is not bound yet",
    "Its StorageClass binds at once, so that a volume has to be there before the scheduler looks at the pod.",
    ("volumeBindingMode: WaitForFirstConsumer in the StorageClass", "see why nothing provisions the claim"),
)
CLAIM_UNUSABLE = ReasonCode(
    "KS123",
    "claim-unusable",
    "a volume claim cannot be used",
    "It is being deleted, has lost its volume, or belongs to another pod.",
    ("make the claim anew", "give the ephemeral volume another name"),
)
VOLUME_NOT_FOUND = ReasonCode(
    "KS127",
    "volume-not-found",
    "a bound volume does not exist",
    "The claim is bound to a PersistentVolume that is not in the input.",
    ("add persistentvolumes to the dump", "restore the volume"),
)
_TOO_MANY_VOLUMES = ReasonCode(
    "KS129",
    "too-many-volumes",
    "the nodes have as many volumes attached as they may",
    "The CSI driver's CSINode has the number of volumes that a node can take.",
    ("add nodes", "use fewer volumes"),
)


def claim_field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The volume whose claim the reason names, else the first that has one."""
    named = {reason.param("claim") for reason in reasons}
    by_claim = {
        volume.persistent_volume_claim.claim_name
        if volume.persistent_volume_claim
        else f"{pod.metadata.name}-{volume.name}": volume.name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim or volume.ephemeral
    }
    chosen = next((volume for claim, volume in by_claim.items() if claim in named), next(iter(by_claim.values()), None))
    return ("spec", "volumes") if chosen is None else ("spec", "volumes", chosen)


class ClaimReasons(ReasonTable):
    field = claim_field
    not_found = ReasonKind('persistentvolumeclaim "{claim}" not found', CLAIM_NOT_FOUND)
    not_found_for = ReasonKind(
        'looking up PVC {namespace}/{claim}: persistentvolumeclaim "{claim}" not found', CLAIM_NOT_FOUND
    )
    without_name = ReasonKind("PersistentVolumeClaim had no name", CLAIM_NOT_FOUND)
    of_other_pod = ReasonKind(
        "PVC {namespace}/{claim} was not created for pod {pod} (pod is not owner)", CLAIM_UNUSABLE
    )
    volume_not_found = ReasonKind('persistentvolume "{volume}" not found', VOLUME_NOT_FOUND)


class LimitReasons(ReasonTable):
    field = claim_field
    too_many_volumes = ReasonKind("node(s) exceed max volume count", _TOO_MANY_VOLUMES)


class MissingClaim(ReasonError):
    """A claim that the pod cannot run without."""


class UnusableClaim(ReasonError):
    """A claim without a name, or the claim of an ephemeral volume that was made for another pod."""


def foreign_claim(pod: Pod, claim: PersistentVolumeClaim) -> Reason | None:
    """Why the claim of an ephemeral volume is not the pod's, or None (ephemeral.VolumeIsForPod)."""
    if not is_foreign(pod, claim):
        return None
    whose = f"{pod.metadata.namespace}/{pod.metadata.name}"
    return ClaimReasons.of_other_pod(namespace=claim.metadata.namespace, claim=claim.metadata.name, pod=whose)


class StoragePlugin(Plugin):
    """A plugin that looks at claims and disks of the pod, and at those of the pods on each node."""

    def depends(self, info: PodInfo) -> Depends:
        return Depends("pods on the node") if info.parts.uses_storage else NOTHING


class AttachedVolumes:
    """nodeTransientInfo of all nodes: what the last limit noted that a pod has passed on the node. It stays for later
    pods until the node changes (UpdateNodeInfoSnapshot), and the dry run of preemption notes it too."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        # How many disks more the node takes, and how many of these the pod needs.
        self._noted: Int64Column = np.zeros((2, len(cluster.nodes)), dtype=np.int64)
        self._position = len(cluster.journal)

    @classmethod
    def of(cls, cluster: Cluster) -> AttachedVolumes:
        """Those of the cluster as it is now."""
        found = cluster.derived(cls, lambda: cls(cluster))
        found._follow()
        return found

    def note(self, row: int, free: int, needed: int) -> None:
        if self._cluster.undo.recording:
            self._cluster.undo.note(self._restore, self._noted.copy(), self._position)
        self._noted[:, row] = free, needed

    def at(self, nodes: NodeRows) -> Int64Column:
        """`[0]` has how many disks the nodes can still take, `[1]` how many of these the pod needs."""
        return np.stack([nodes.take(self._noted[0]), nodes.take(self._noted[1])])

    def _follow(self) -> None:
        journal = self._cluster.journal
        if self._position == len(journal):
            return
        self._noted[:, journal[self._position :]] = 0
        self._position = len(journal)

    def _restore(self, noted: Int64Column, position: int) -> None:
        self._noted, self._position = noted, position


BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_STORAGE = "storage"


class LimitRules(
    ReleaseRules, plugins=f"{NODE_VOLUME_LIMITS} {EBS_LIMITS} {GCEPD_LIMITS} {AZURE_DISK_LIMITS} {CINDER_LIMITS}"
):
    follows_all_claims = Rule(
        "1.23",
        "filter",
        "Claims of ephemeral volumes count, and a claim that does not exist rejects the pod; before, both were passed "
        "over.",
    )


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    beta = claim.metadata.annotations.get(_BETA_CLASS)
    return beta if beta is not None else claim.spec.storage_class_name or ""


def class_of_volume(volume: PersistentVolume) -> str:
    beta = volume.metadata.annotations.get(_BETA_CLASS)
    return beta if beta is not None else volume.spec.storage_class_name


def requested_storage(claim: PersistentVolumeClaim) -> Fraction | None:
    amount = claim.spec.resources.requests.get(_STORAGE)
    return None if amount is None else parse_quantity(amount)


def storage_of(volume: PersistentVolume) -> Fraction:
    return parse_quantity(volume.spec.capacity.get(_STORAGE, 0))


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def waits_for_consumer(claim: PersistentVolumeClaim, catalog: Catalog) -> bool:
    """Whether the scheduler binds the claim; without a class that delays binding the volume controller does."""
    found = catalog.get(StorageClass, class_of_claim(claim))
    return found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume's claimRef names the claim, and has its uid if it has one."""
    ref = volume.spec.claim_ref
    if ref is None or (ref.namespace, ref.name) != (claim.metadata.namespace, claim.metadata.name):
        return False
    return not ref.uid or ref.uid == claim.metadata.uid


def limited_claims(pod: Pod, catalog: Catalog, release: Release, *, required: bool) -> Iterator[PersistentVolumeClaim]:
    """The pod's claims whose volumes count towards a limit. UnusableClaim for one that cannot be followed, MissingClaim
    for a `required` one that does not exist. Up to 1.22 none is required, and ephemeral volumes do not count."""
    followed = LimitRules.of(release).follows_all_claims
    for name, ephemeral in claim_names(pod):
        if ephemeral and not followed:
            continue
        if not name:
            raise UnusableClaim(ClaimReasons.without_name())
        claim = find_claim(catalog, pod, name)
        if claim is None and required and followed:
            raise MissingClaim(ClaimReasons.not_found_for(namespace=pod.metadata.namespace, claim=name))
        if claim is None:
            continue
        if ephemeral and (problem := foreign_claim(pod, claim)):
            raise UnusableClaim(problem)
        yield claim


_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"

# In-tree plugins: the driver that takes over, and the field of a volume.
_IN_TREE = {
    "kubernetes.io/aws-ebs": ("ebs.csi.aws.com", "aws_elastic_block_store"),
    "kubernetes.io/gce-pd": ("pd.csi.storage.gke.io", "gce_persistent_disk"),
    "kubernetes.io/azure-disk": ("disk.csi.azure.com", "azure_disk"),
    "kubernetes.io/azure-file": ("file.csi.azure.com", "azure_file"),
    "kubernetes.io/cinder": ("cinder.csi.openstack.org", "cinder"),
    "kubernetes.io/vsphere-volume": ("csi.vsphere.vmware.com", "vsphere_volume"),
    "kubernetes.io/portworx-volume": ("pxd.portworx.com", "portworx_volume"),
}
CSI_DRIVER = {plugin: driver for plugin, (driver, _) in _IN_TREE.items()}
# Plugins whose migration the scheduler counts with: their disks, the gate, and the plugin that limits the disks.
_COUNTED = {
    "kubernetes.io/aws-ebs": ("AWS EBS disks", "CSIMigrationAWS", EBS_LIMITS),
    "kubernetes.io/gce-pd": ("GCE PD disks", "CSIMigrationGCE", GCEPD_LIMITS),
    "kubernetes.io/azure-disk": ("Azure disks", "CSIMigrationAzureDisk", AZURE_DISK_LIMITS),
    "kubernetes.io/cinder": ("Cinder disks", "CSIMigrationOpenStack", CINDER_LIMITS),
    "kubernetes.io/portworx-volume": ("Portworx disks", "CSIMigrationPortworx", ""),
}
_EVERY_GATE = ("In-tree disks", "CSIMigration", f"{EBS_LIMITS} {GCEPD_LIMITS} {AZURE_DISK_LIMITS} {CINDER_LIMITS}")

# The label that a driver puts on its nodes for the zone. Azure's and Portworx's volumes keep their labels.
_ZONE_OF_DRIVER = {
    "kubernetes.io/aws-ebs": "topology.ebs.csi.aws.com/zone",
    "kubernetes.io/gce-pd": "topology.gke.io/zone",
    "kubernetes.io/cinder": "topology.cinder.csi.openstack.org/zone",
}


# Plugins that count for their driver on every node with a CSINode, by the minor that added the last of them.
_IN_1_24 = frozenset({"kubernetes.io/cinder"})
_IN_1_27 = _IN_1_24 | {"kubernetes.io/aws-ebs", "kubernetes.io/azure-disk"}
_IN_1_28 = _IN_1_27 | {"kubernetes.io/gce-pd"}
_IN_1_36 = _IN_1_28 | {"kubernetes.io/portworx-volume"}
_EVERYWHERE = "disks count for their CSI driver on every node that has a CSINode; before, on those that say so."


class MigrationRules(ReleaseRules, plugins=NODE_VOLUME_LIMITS):
    counted_everywhere = (
        Rule("1.24", "filter", f"Cinder {_EVERYWHERE}", before=frozenset[str](), now=_IN_1_24)
        .then("1.27", "filter", f"AWS EBS and Azure {_EVERYWHERE}", now=_IN_1_27)
        .then("1.28", "filter", f"GCE PD {_EVERYWHERE}", now=_IN_1_28)
        .then("1.36", "filter", f"Portworx {_EVERYWHERE}", now=_IN_1_36)
    )
    reads_zones_without_beta = Rule(
        "1.21",
        "filter",
        "Disks that a driver took over are where their labels without beta say, too, and drivers may give the largest "
        "volume that a pool makes; before, beta labels alone counted, and all of a pool could be one volume.",
        plugins=f"{VOLUME_BINDING} {NODE_VOLUME_LIMITS}",
    )
    notes = tuple(
        Rule(
            gate,
            "filter",
            f"{disks} are those of their CSI driver on nodes that say so, with its limit and its labels; without the "
            "gate, they stay in-tree.",
            plugins=f"{limits} {NODE_VOLUME_LIMITS} {VOLUME_BINDING}",
        )
        for disks, gate, limits in (*_COUNTED.values(), _EVERY_GATE)
    )


_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_ZONE_SEPARATOR = "__"


def is_migrated(plugin: str, csi_node: CSINode | None, gates: FeatureGates) -> bool:
    """tryTranslatePVToCSI: whether the CSINode lists the plugin as migrated, and its gates are on."""
    listed = migrated_plugins(csi_node) if csi_node is not None else ""
    return plugin in listed.split(",") and _is_allowed(plugin, gates)


def counts_as_csi(plugin: str, csi_node: CSINode | None, gates: FeatureGates, release: Release) -> bool:
    """nodevolumelimits.isCSIMigrationOn: whether the plugin's volumes count as those of its driver on the node."""
    if plugin in MigrationRules.of(release).counted_everywhere:
        return csi_node is not None and _is_allowed(plugin, gates)
    return is_migrated(plugin, csi_node, gates)


def _is_allowed(plugin: str, gates: FeatureGates) -> bool:
    return plugin in _COUNTED and gates.enabled("CSIMigration") and gates.enabled(_COUNTED[plugin][1])


def migrated_plugins(csi_node: CSINode) -> str:
    """The value of the annotation that lists migrated plugins."""
    return csi_node.metadata.annotations.get(_MIGRATED, "")


def in_tree_plugin(source: Volume | PersistentVolumeSpec) -> str | None:
    """The plugin of a volume that could be migrated."""
    return next((plugin for plugin, (_, field) in _IN_TREE.items() if getattr(source, field) is not None), None)


def disk_of(source: Volume | PersistentVolumeSpec, plugin: str) -> Any:
    """The disk of a volume of this in-tree plugin; None for a volume of another one."""
    return getattr(source, _IN_TREE[plugin][1])


def volume_handle(source: Volume | PersistentVolumeSpec, zones: str = "") -> str:
    """The driver's name of the disk. `zones` is the zone label of a PersistentVolume."""
    if source.aws_elastic_block_store is not None:
        # The id may come as aws://zone/vol-1: the driver uses the last part only.
        return source.aws_elastic_block_store.volume_id.rpartition("/")[2]
    if source.gce_persistent_disk is not None:
        return f"projects/UNSPECIFIED/{_gce_location(zones)}/disks/{source.gce_persistent_disk.pd_name}"
    if source.azure_disk is not None:
        return source.azure_disk.disk_uri
    if source.cinder is not None:
        return source.cinder.volume_id
    return source.portworx_volume.volume_id if source.portworx_volume is not None else ""


def _gce_location(zones: str) -> str:
    names = zones.split(_ZONE_SEPARATOR)
    if len(names) > 1:
        return f"regions/{names[0].rpartition('-')[0]}"
    return f"zones/{names[0] or 'UNSPECIFIED'}"


def zones_by_label(volume: PersistentVolume, release: Release) -> str:
    """The zones by either label, or, as drivers of older minors expect, by the beta label alone."""
    labels = volume.metadata.labels
    ga_zone = labels.get(_ZONE, "") if MigrationRules.of(release).reads_zones_without_beta else ""
    return labels.get(_BETA_ZONE) or ga_zone


def translated_terms(volume: PersistentVolume, release: Release) -> tuple[NodeSelectorTerm, ...] | None:
    """translateTopologyFromInTreeToCSI: the volume's node affinity in the labels of its driver, for nodes that it has
    been migrated on. None where that is the volume's own."""
    new_zone = _ZONE_OF_DRIVER.get(in_tree_plugin(volume.spec) or "")
    if new_zone is None:
        return None
    affinity = volume.spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else ()
    if not MigrationRules.of(release).reads_zones_without_beta:
        return _by_beta_zone(volume, terms, new_zone)
    zone = _zone_label(volume, terms)
    renamed = {zone: new_zone} if _values(terms, zone) else {}
    if zone == _BETA_ZONE and _values(terms, _BETA_REGION):
        renamed[_BETA_REGION] = _REGION
    added = [] if zone in renamed else _zone_by_label(volume, zone, new_zone)
    if not terms and added:
        return (NodeSelectorTerm(tuple(added)),)
    return _with_names(terms, renamed, added)


def _by_beta_zone(
    volume: PersistentVolume, terms: tuple[NodeSelectorTerm, ...], new_zone: str
) -> tuple[NodeSelectorTerm, ...] | None:
    """translateTopology of up to 1.20: None where a term has the driver's key; else a label replaces the affinity."""
    if _values(terms, new_zone):
        return None
    if _values(terms, _BETA_ZONE):
        return _with_names(terms, {_BETA_ZONE: new_zone}, ())
    by_label = _zone_by_label(volume, _BETA_ZONE, new_zone)
    return (NodeSelectorTerm(tuple(by_label)),) if by_label else None


def _zone_label(volume: PersistentVolume, terms: Iterable[NodeSelectorTerm]) -> str:
    """getTopologyLabel: GA before beta, node affinity before the volume's labels."""
    keys = {each.key for term in terms for each in term.match_expressions}
    return next(
        (zone for known in (keys, volume.metadata.labels) for zone in (_ZONE, _BETA_ZONE) if zone in known), _ZONE
    )


def _values(terms: Iterable[NodeSelectorTerm], key: str) -> list[str]:
    return [value for term in terms for each in term.match_expressions if each.key == key for value in each.values]


def _with_names(
    terms: Iterable[NodeSelectorTerm], names: Mapping[str, str], added: Iterable[NodeSelectorRequirement]
) -> tuple[NodeSelectorTerm, ...]:
    """The terms with other names of keys, and with more requirements."""
    return tuple(
        replace(
            term,
            match_expressions=(
                *(replace(each, key=names.get(each.key, each.key)) for each in term.match_expressions),
                *added,
            ),
        )
        for term in terms
    )


def _zone_by_label(volume: PersistentVolume, label: str, key: str) -> list[NodeSelectorRequirement]:
    zones = {zone.strip() for zone in volume.metadata.labels.get(label, "").split(_ZONE_SEPARATOR)} - {""}
    return [NodeSelectorRequirement(key, "In", tuple(sorted(zones)))] if zones else []
