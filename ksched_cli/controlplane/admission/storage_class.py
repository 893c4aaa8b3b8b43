"""DefaultStorageClass: a claim that names no class gets the cluster's default."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass

_IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def admit_storage_class(claim: PersistentVolumeClaim, classes: Iterable[StorageClass]) -> None:
    """GetDefaultClass: among several defaults the youngest, and of those of one age the first by name."""
    if claim.spec.storage_class_name is not None or _CLASS_ANNOTATION in claim.metadata.annotations:
        return
    defaults = [each for each in classes if any(each.metadata.annotations.get(key) == "true" for key in _IS_DEFAULT)]
    if defaults:
        youngest = max(each.metadata.creation_timestamp or "" for each in defaults)
        claim.spec.storage_class_name = min(
            each.metadata.name for each in defaults if (each.metadata.creation_timestamp or "") == youngest
        )
