"""The CSI volumes that a pod brings to a node, by the names under which they are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ksched_cli.api.core import Pod
from ksched_cli.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.plugins.lib.volumes.claims import class_of_claim, limited_claims
from ksched_cli.plugins.lib.volumes.migration import CSI_DRIVER, counts_as_csi, in_tree_plugin, volume_handle, zones_of
from ksched_cli.plugins.node_volume_limits.rules import NodeVolumeLimitsRules
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release

Attached = dict[str, str]
"""Driver by unique volume name."""

Migrated = Callable[[str], bool]
"""Whether the volumes of an in-tree plugin count as its driver's."""

# kube-scheduler draws a random prefix; all that matters is that no driver gives out such handles.
_UNBOUND = "unbound claim "


def unique_name(driver: str, handle: str) -> str:
    return f"{driver}/{handle}"


def attachable_volumes(
    pod: Pod, catalog: Catalog, csi_node: CSINode | None, gates: FeatureGates, release: Release, *, required: bool
) -> Attached:
    """The pod's volumes that a driver has to attach; MissingClaim if a claim that is `required` does not exist."""
    migrated = partial(counts_as_csi, csi_node=csi_node, gates=gates, release=release)
    inline = NodeVolumeLimitsRules.of(release).counts_disks_of_the_pod
    found: Attached = dict(_inline_volumes(pod, migrated)) if inline else {}
    for claim in limited_claims(pod, catalog, release, required=required):
        driver, handle = _volume_of(claim, catalog, migrated, release)
        if driver and handle:
            found[unique_name(driver, handle)] = driver
    return found


def attached_by_controller(node: str, catalog: Catalog) -> Attached:
    """The volumes that VolumeAttachments list for the node."""
    found: Attached = {}
    for attachment in catalog.all(VolumeAttachment):
        spec = attachment.spec
        if spec.node_name != node or not spec.attacher or spec.source.persistent_volume_name is None:
            continue
        volume = catalog.get(PersistentVolume, spec.source.persistent_volume_name)
        if volume is not None and volume.spec.csi is not None:
            found[unique_name(spec.attacher, volume.spec.csi.volume_handle)] = spec.attacher
    return found


def _inline_volumes(pod: Pod, migrated: Migrated) -> Iterator[tuple[str, str]]:
    for volume in pod.spec.volumes:
        plugin = in_tree_plugin(volume)
        if plugin is not None and migrated(plugin):
            driver = CSI_DRIVER[plugin]
            yield unique_name(driver, volume_handle(volume)), driver


def _volume_of(claim: PersistentVolumeClaim, catalog: Catalog, migrated: Migrated, release: Release) -> tuple[str, str]:
    """Driver and handle of the claim's volume, empty where it does not count."""
    name = claim.spec.volume_name
    volume = catalog.get(PersistentVolume, name) if name else None
    if volume is None:
        return _future_volume(claim, catalog, migrated)
    if volume.spec.csi is not None:
        return volume.spec.csi.driver, volume.spec.csi.volume_handle
    plugin = in_tree_plugin(volume.spec)
    if plugin is None or not migrated(plugin):
        return "", ""
    return CSI_DRIVER[plugin], volume_handle(volume.spec, zones_of(volume, release))


def _future_volume(claim: PersistentVolumeClaim, catalog: Catalog, migrated: Migrated) -> tuple[str, str]:
    """Driver and handle for a claim without a volume, which the driver of its class will make."""
    found = catalog.get(StorageClass, class_of_claim(claim))
    if found is None:
        return "", ""
    handle = f"{_UNBOUND}{claim.metadata.namespace}/{claim.metadata.name}"
    if found.provisioner not in CSI_DRIVER:
        return found.provisioner, handle
    return (CSI_DRIVER[found.provisioner], handle) if migrated(found.provisioner) else ("", "")
