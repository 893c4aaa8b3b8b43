"""The resources that are read of a live cluster, and their paths."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

from ksched_cli.api import core, dynamic_resources, policy, scheduling, storage, workloads
from ksched_cli.api.kinds import versions_of

# The largest lists come first: the others are read while these arrive.
READ: tuple[type[Struct], ...] = (
    core.Pod,
    core.Node,
    workloads.ReplicaSet,
    storage.PersistentVolumeClaim,
    storage.PersistentVolume,
    dynamic_resources.ResourceSlice,
    dynamic_resources.ResourceClaim,
    core.Namespace,
    core.Service,
    workloads.ReplicationController,
    workloads.StatefulSet,
    workloads.Deployment,
    workloads.DaemonSet,
    workloads.Job,
    storage.StorageClass,
    storage.CSINode,
    storage.CSIDriver,
    storage.CSIStorageCapacity,
    storage.VolumeAttachment,
    policy.PodDisruptionBudget,
    policy.PriorityClass,
    policy.LimitRange,
    policy.ResourceQuota,
    policy.RuntimeClass,
    dynamic_resources.ResourceClaimTemplate,
    dynamic_resources.DeviceClass,
    dynamic_resources.DeviceTaintRule,
    scheduling.PodGroup,
)
# Without these kinds no question can be answered.
NEEDED = frozenset({core.Pod, core.Node})


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

    @property
    def path(self) -> str:
        return f"/{'apis' if '/' in self.version else 'api'}/{self.version}/{self.plural}"


def resources_of(kind: type[Struct]) -> tuple[Resource, ...]:
    """The kind under every version that ksched reads, the newest first."""
    return tuple(Resource(kind, version) for version in versions_of(kind))
