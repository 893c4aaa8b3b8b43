"""Volumes of a pod, as far as a volume plugin looks at them."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.api.meta import KubernetesObject, LabelSelector


class PersistentVolumeClaimVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    claim_name: str = ""
    read_only: bool = False


class VolumeResourceRequirements(Struct, rename="camel", frozen=True, gc=False):
    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}


class TypedLocalObjectReference(Struct, rename="camel", frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    api_group: str | None = None


class PersistentVolumeClaimSpec(Struct, rename="camel", gc=False):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    data_source: TypedLocalObjectReference | None = None


class PersistentVolumeClaimTemplate(KubernetesObject):
    spec: PersistentVolumeClaimSpec = field(default_factory=PersistentVolumeClaimSpec)


class EphemeralVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class GCEPersistentDiskVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    pd_name: str = ""
    read_only: bool = False
    fs_type: str = ""
    partition: int = 0


class AWSElasticBlockStoreVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False
    fs_type: str = ""
    partition: int = 0


class RBDVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class ISCSIVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    iqn: str = ""
    target_portal: str = ""
    lun: int = 0
    read_only: bool = False


class AzureDiskVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    disk_name: str = ""
    disk_uri: str = field(default="", name="diskURI")
    read_only: bool | None = None
    fs_type: str | None = None
    caching_mode: str | None = None
    kind: str | None = None


class AzureFileVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    secret_name: str = ""
    share_name: str = ""
    secret_namespace: str | None = None
    read_only: bool = False


class CinderVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False
    fs_type: str = ""


class VsphereVirtualDiskVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""


class PortworxVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_id: str = field(default="", name="volumeID")
    fs_type: str = ""
    read_only: bool = False


class CSIVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    driver: str = ""
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: dict[str, str] = {}


class CSIPersistentVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: dict[str, str] = {}


class HostPathVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    path: str = ""


class EmptyDirVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    medium: str = ""


class LocalVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    path: str = ""


class ImageVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    reference: str = ""


class Volume(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    image: ImageVolumeSource | None = None
