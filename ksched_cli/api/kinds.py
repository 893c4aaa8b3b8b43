"""Which kinds are read, from which API groups and versions."""

from __future__ import annotations

from msgspec import Struct

from ksched_cli.api.core import Namespace, Node, Pod, Service
from ksched_cli.api.dynamic_resources import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from ksched_cli.api.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota, RuntimeClass
from ksched_cli.api.scheduling import PodGroup, Workload
from ksched_cli.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from ksched_cli.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

# Versions whose fields differ from these in what scheduling reads are not listed, and so are named in `coverage`.
_KINDS_OF: dict[tuple[str, ...], tuple[type[Struct], ...]] = {
    ("v1",): (
        Pod,
        Node,
        Namespace,
        Service,
        PodTemplate,
        ReplicationController,
        PersistentVolume,
        PersistentVolumeClaim,
        LimitRange,
        ResourceQuota,
    ),
    ("apps/v1",): (ReplicaSet, StatefulSet, Deployment, DaemonSet),
    ("batch/v1",): (Job, CronJob),
    ("policy/v1", "policy/v1beta1"): (PodDisruptionBudget,),
    ("scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1"): (PriorityClass,),
    ("scheduling.k8s.io/v1alpha2",): (PodGroup, Workload),
    ("node.k8s.io/v1", "node.k8s.io/v1beta1"): (RuntimeClass,),
    ("storage.k8s.io/v1", "storage.k8s.io/v1beta1"): (
        StorageClass,
        CSINode,
        CSIDriver,
        CSIStorageCapacity,
        VolumeAttachment,
    ),
    ("resource.k8s.io/v1", "resource.k8s.io/v1beta2"): (
        ResourceClaim,
        ResourceClaimTemplate,
        DeviceClass,
        ResourceSlice,
    ),
    ("resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3"): (DeviceTaintRule,),
}

KINDS: dict[tuple[str, str], type[Struct]] = {
    (version, kind.__name__): kind for versions, kinds in _KINDS_OF.items() for version in versions for kind in kinds
}

CLUSTER_SCOPED = frozenset(
    {
        Node,
        Namespace,
        PersistentVolume,
        PriorityClass,
        RuntimeClass,
        StorageClass,
        CSINode,
        CSIDriver,
        VolumeAttachment,
        DeviceClass,
        DeviceTaintRule,
        ResourceSlice,
    }
)


def versions_of(kind: type[Struct]) -> tuple[str, ...]:
    """The versions under which a kind is read, the newest first."""
    return tuple(version for (version, _), each in KINDS.items() if each is kind)
