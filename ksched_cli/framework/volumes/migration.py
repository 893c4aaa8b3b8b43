"""In-tree volumes that a CSI driver has taken over (csi-translation-lib), as far as counting them goes."""

from __future__ import annotations

from ksched_cli.api.storage import CSINode, PersistentVolumeSpec
from ksched_cli.api.volumes import Volume

_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"

CSI_DRIVER = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
# Those whose migration the scheduler counts with (nodevolumelimits.isCSIMigrationOn).
_COUNTED = frozenset(CSI_DRIVER) - {"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"}


def is_migrated(plugin: str, csi_node: CSINode | None) -> bool:
    """Whether the node says that the driver handles the plugin's volumes."""
    listed = migrated_plugins(csi_node) if csi_node is not None else ""
    return plugin in _COUNTED and plugin in listed.split(",")


def migrated_plugins(csi_node: CSINode) -> str:
    """As the node lists them."""
    return csi_node.metadata.annotations.get(_MIGRATED, "")


def in_tree_plugin(source: Volume | PersistentVolumeSpec) -> str | None:
    """The plugin of a volume that could be migrated."""
    found = {
        "kubernetes.io/aws-ebs": source.aws_elastic_block_store,
        "kubernetes.io/gce-pd": source.gce_persistent_disk,
        "kubernetes.io/azure-disk": source.azure_disk,
        "kubernetes.io/azure-file": source.azure_file,
        "kubernetes.io/cinder": source.cinder,
        "kubernetes.io/vsphere-volume": source.vsphere_volume,
        "kubernetes.io/portworx-volume": source.portworx_volume,
    }
    return next((plugin for plugin, disk in found.items() if disk is not None), None)


def volume_handle(source: Volume | PersistentVolumeSpec) -> str:
    """What the driver calls the disk."""
    if source.aws_elastic_block_store is not None:
        # The id may come as aws://zone/vol-1: the driver knows the last part only.
        return source.aws_elastic_block_store.volume_id.rpartition("/")[2]
    if source.gce_persistent_disk is not None:
        return f"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{source.gce_persistent_disk.pd_name}"
    if source.azure_disk is not None:
        return source.azure_disk.disk_uri
    if source.cinder is not None:
        return source.cinder.volume_id
    return source.portworx_volume.volume_id if source.portworx_volume is not None else ""
