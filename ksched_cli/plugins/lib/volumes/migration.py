"""In-tree volumes that a CSI driver has taken over (csi-translation-lib): how they count, and where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.affinity import NodeSelectorRequirement, NodeSelectorTerm
from ksched_cli.api.storage import CSINode, PersistentVolume, PersistentVolumeSpec
from ksched_cli.api.volumes import Volume
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
        Rule("1.24", before=frozenset[str](), now=_IN_1_24, about="filter", sentence=f"Cinder {_EVERYWHERE}")
        .then("1.27", now=_IN_1_27, about="filter", sentence=f"AWS EBS and Azure {_EVERYWHERE}")
        .then("1.28", now=_IN_1_28, about="filter", sentence=f"GCE PD {_EVERYWHERE}")
        .then("1.36", now=_IN_1_36, about="filter", sentence=f"Portworx {_EVERYWHERE}")
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


def zones_of(volume: PersistentVolume, release: Release) -> str:
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
