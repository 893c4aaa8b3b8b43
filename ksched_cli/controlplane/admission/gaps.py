"""What of admission is not modelled, where a cluster makes use of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ksched_cli.api.policy import LimitRange, ResourceQuota
from ksched_cli.sources.loaded import Loaded

_POD_QUOTAS = ("pods", "count/pods", "cpu", "memory", "ephemeral-storage")
_POD_PREFIXES = ("requests.", "limits.", "hugepages-")
_DECIDING = ("LimitRange", "ResourceQuota", "PriorityClass", "RuntimeClass", "StorageClass")
_CLAIM_STORAGE = "requests.storage"


def admission_gaps(cluster: Loaded, namespaces: Collection[str]) -> Iterator[str]:
    """Quotas of other objects than pods and bounds for claims, in the namespaces of new pods; and kinds for admission
    that a live cluster did not list."""
    for kind in _DECIDING:
        if kind in cluster.missing:
            yield f"{kind}: {cluster.missing[kind]}"
    for quota in cluster.of(ResourceQuota):
        left_out = sorted(name for name in quota.spec.hard if not _counts_pods(name))
        if left_out and quota.metadata.namespace in namespaces:
            yield f"ResourceQuota {quota.metadata.namespace}/{quota.metadata.name}: {', '.join(left_out)}"
    for limits in cluster.of(LimitRange):
        left_out = sorted({item.type for item in limits.spec.limits} - {"Container", "Pod"})
        if left_out and limits.metadata.namespace in namespaces:
            yield f"LimitRange {limits.metadata.namespace}/{limits.metadata.name}: {', '.join(left_out)}"


def _counts_pods(name: str) -> bool:
    return name in _POD_QUOTAS or (name.startswith(_POD_PREFIXES) and name != _CLAIM_STORAGE)
