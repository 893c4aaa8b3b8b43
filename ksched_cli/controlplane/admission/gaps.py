"""What of admission is not modelled, where a cluster makes use of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ksched_cli.api.policy import LimitRange, ResourceQuota
from ksched_cli.controlplane.admission.chain import COUNTED_KINDS
from ksched_cli.controlplane.admission.resource_quota import resource_of
from ksched_cli.sources.loaded import Loaded

_POD_QUOTAS = ("pods", "count/pods", "cpu", "memory", "ephemeral-storage")
_POD_PREFIXES = ("requests.", "limits.", "hugepages-")
_DECIDING = ("LimitRange", "ResourceQuota", "PriorityClass", "RuntimeClass", "StorageClass")
_CLAIM_STORAGE = "requests.storage"
# Quotas of other objects that are counted, beside those of the form count/.
_OBJECTS = ("persistentvolumeclaims", "services", "replicationcontrollers", _CLAIM_STORAGE)
_OF_CLASS = (".storageclass.storage.k8s.io/", ".deviceclass.resource.k8s.io/", "deviceclass.resource.kubernetes.io/")


def admission_gaps(cluster: Loaded, namespaces: Collection[str], *, pods_only: bool = False) -> Iterator[str]:
    """Quotas of objects that are not read, and kinds for admission that a live cluster did not list; with `pods_only`,
    where no other objects are admitted, quotas and bounds of anything but pods. In the namespaces of new objects."""
    for kind in _DECIDING:
        if kind in cluster.missing:
            yield f"{kind}: {cluster.missing[kind]}"
    for quota in cluster.of(ResourceQuota):
        left_out = sorted(name for name in quota.spec.hard if not _is_counted(name, pods_only=pods_only))
        if left_out and quota.metadata.namespace in namespaces:
            yield f"ResourceQuota {quota.metadata.namespace}/{quota.metadata.name}: {', '.join(left_out)}"
    known = {"Container", "Pod"} if pods_only else {"Container", "Pod", "PersistentVolumeClaim"}
    for limits in cluster.of(LimitRange):
        unknown = sorted({item.type for item in limits.spec.limits} - known)
        if unknown and limits.metadata.namespace in namespaces:
            yield f"LimitRange {limits.metadata.namespace}/{limits.metadata.name}: {', '.join(unknown)}"


def _is_counted(name: str, *, pods_only: bool) -> bool:
    if name in _POD_QUOTAS or (name.startswith(_POD_PREFIXES) and name != _CLAIM_STORAGE):
        return True
    if pods_only:
        return False
    kinds = {f"count/{plural}{group}" for plural, group in (resource_of(kind) for kind in COUNTED_KINDS)}  # type: ignore[arg-type]
    return name in kinds or name.startswith(("services.", *_OBJECTS)) or any(each in name for each in _OF_CLASS)
