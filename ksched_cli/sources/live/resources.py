"""The resources that are read of a live cluster, and their paths."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from ksched_cli.api.core import Namespace, Node, Pod, Service
from ksched_cli.api.dynamic_resources import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from ksched_cli.api.kinds import CLUSTER_SCOPED, versions_of
from ksched_cli.api.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota, RuntimeClass
from ksched_cli.api.scheduling import PodGroup
from ksched_cli.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from ksched_cli.api.workloads import DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet

# The largest lists come first: the others are read while these arrive.
READ: tuple[type[Struct], ...] = (
    Pod,
    Node,
    ReplicaSet,
    PersistentVolumeClaim,
    PersistentVolume,
    ResourceSlice,
    ResourceClaim,
    Namespace,
    Service,
    ReplicationController,
    StatefulSet,
    Deployment,
    DaemonSet,
    Job,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    PodDisruptionBudget,
    PriorityClass,
    LimitRange,
    ResourceQuota,
    RuntimeClass,
    ResourceClaimTemplate,
    DeviceClass,
    DeviceTaintRule,
    PodGroup,
)
# Without these kinds no question can be answered.
NEEDED = frozenset({Pod, Node})


@dataclass(frozen=True)
class Resource:
    """A kind under one version of its group."""

    kind: type[Struct]
    version: str

    @property
    def plural(self) -> str:
        name = self.kind.__name__.lower()
        if name.endswith("s"):
            return f"{name}es"
        return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"

    def path(self, namespace: str = "") -> str:
        root = f"/api/{self.version}" if "/" not in self.version else f"/apis/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"

    @property
    def namespaced(self) -> bool:
        return self.kind not in CLUSTER_SCOPED


def resources_of(kind: type[Struct]) -> tuple[Resource, ...]:
    """The kind under every version that ksched reads, the newest first."""
    return tuple(Resource(kind, version) for version in versions_of(kind))
