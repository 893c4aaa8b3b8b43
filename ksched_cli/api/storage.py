"""Persistent volumes, claims, classes, and the CSI objects about nodes (core/v1 and storage.k8s.io/v1), with the fields
that scheduling and the volume controllers read."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.api import core as volumes
from ksched_cli.api.core import KubernetesObject, LabelSelector, NodeSelector, ObjectReference, Quantities


class VolumeNodeAffinity(Struct, rename="camel", frozen=True, gc=False):
    required: NodeSelector | None = None


class PersistentVolumeSpec(Struct, rename="camel", gc=False):
    capacity: Quantities = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: volumes.CSIPersistentVolumeSource | None = None
    gce_persistent_disk: volumes.GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: volumes.AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: volumes.AzureDiskVolumeSource | None = None
    azure_file: volumes.AzureFileVolumeSource | None = None
    cinder: volumes.CinderVolumeSource | None = None
    vsphere_volume: volumes.VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: volumes.PortworxVolumeSource | None = None
    host_path: volumes.HostPathVolumeSource | None = None
    local: volumes.LocalVolumeSource | None = None


class PersistentVolumeStatus(Struct, rename="camel", frozen=True, gc=False):
    phase: str = ""


class PersistentVolume(KubernetesObject):
    spec: PersistentVolumeSpec = field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(Struct, rename="camel", gc=False):
    phase: str = ""
    capacity: Quantities = {}
    current_volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(KubernetesObject):
    spec: volumes.PersistentVolumeClaimSpec = field(default_factory=volumes.PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = field(default_factory=PersistentVolumeClaimStatus)


class TopologySelectorLabelRequirement(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Struct, rename="camel", frozen=True, gc=False):
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


# It was the field storageClassName before 1.6.
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class StorageClass(KubernetesObject):
    provisioner: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Struct, rename="camel", frozen=True, gc=False):
    count: int | None = None


class CSINodeDriver(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Struct, rename="camel", gc=False):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubernetesObject):
    spec: CSINodeSpec = field(default_factory=CSINodeSpec)


class CSIDriverSpec(Struct, rename="camel", gc=False):
    attach_required: bool | None = None
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(KubernetesObject):
    spec: CSIDriverSpec = field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(KubernetesObject):
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


class VolumeAttachmentSource(Struct, rename="camel", gc=False):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct, rename="camel", gc=False):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = field(default_factory=VolumeAttachmentSource)


class VolumeAttachment(KubernetesObject):
    spec: VolumeAttachmentSpec = field(default_factory=VolumeAttachmentSpec)
