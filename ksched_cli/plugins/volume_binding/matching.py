"""Existing volumes that could serve a claim, whatever the node (volume.FindMatchingVolume without its node part)."""

from __future__ import annotations

from ksched_cli.api.selectors import EVERYTHING, Selector, compile_selector
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.plugins.lib.volumes.claims import (
    class_of_claim,
    class_of_volume,
    is_bound_to,
    requested_storage,
    storage_of,
)

_AVAILABLE = "Available"
_FILESYSTEM = "Filesystem"


def candidates_for(
    claim: PersistentVolumeClaim, catalog: Catalog, *, by_attributes: bool
) -> tuple[list[PersistentVolume], list[PersistentVolume]]:
    """Volumes that were made for the claim, and free ones with the smallest first; `by_attributes`: of its
    VolumeAttributesClass only."""
    name = class_of_claim(claim)
    usable = [
        volume
        for volume in catalog.all(PersistentVolume)
        if class_of_volume(volume) == name
        and is_enough(volume, claim)
        and (not by_attributes or _attributes_of(volume) == _attributes_of(claim))
    ]
    usable.sort(key=lambda volume: volume.metadata.name)
    prebound = [volume for volume in usable if is_bound_to(volume, claim)]
    selector = compile_selector(claim.spec.selector) if claim.spec.selector is not None else EVERYTHING
    free = [volume for volume in usable if volume.spec.claim_ref is None and _is_free(volume, claim, selector)]
    return prebound, sorted(free, key=storage_of)


def is_enough(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is large enough, of the same mode and not being deleted."""
    wanted, offered = claim.spec, volume.spec
    return (
        storage_of(volume) >= (requested_storage(claim) or 0)
        and (wanted.volume_mode or _FILESYSTEM) == (offered.volume_mode or _FILESYSTEM)
        and volume.metadata.deletion_timestamp is None
    )


def _attributes_of(item: PersistentVolume | PersistentVolumeClaim) -> str:
    return item.spec.volume_attributes_class_name or ""


def _is_free(volume: PersistentVolume, claim: PersistentVolumeClaim, selector: Selector) -> bool:
    return (
        volume.status.phase == _AVAILABLE
        and selector.matches(volume.metadata.labels)
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )
