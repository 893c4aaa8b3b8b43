"""Which kinds are read, from which API groups and versions."""

from __future__ import annotations

from msgspec import Struct

from ksched_cli.api import core, dynamic_resources, policy, storage, workloads

# Versions whose fields differ from these in what scheduling reads are not listed, and so are named in `coverage`.
_KINDS_OF: dict[tuple[str, ...], tuple[type[Struct], ...]] = {
    ("v1",): (
        core.Pod,
        core.Node,
        core.Namespace,
        core.Service,
        workloads.PodTemplate,
        workloads.ReplicationController,
        storage.PersistentVolume,
        storage.PersistentVolumeClaim,
        policy.LimitRange,
        policy.ResourceQuota,
    ),
    ("apps/v1",): (workloads.ReplicaSet, workloads.StatefulSet, workloads.Deployment, workloads.DaemonSet),
    ("batch/v1",): (workloads.Job, workloads.CronJob),
    ("policy/v1", "policy/v1beta1"): (policy.PodDisruptionBudget,),
    ("scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1"): (policy.PriorityClass,),
    ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2"): (
        policy.PodGroup,
        policy.Workload,
    ),
    ("node.k8s.io/v1", "node.k8s.io/v1beta1"): (policy.RuntimeClass,),
    ("storage.k8s.io/v1", "storage.k8s.io/v1beta1"): (
        storage.StorageClass,
        storage.CSINode,
        storage.CSIDriver,
        storage.CSIStorageCapacity,
        storage.VolumeAttachment,
    ),
    ("resource.k8s.io/v1", "resource.k8s.io/v1beta2"): (
        dynamic_resources.ResourceClaim,
        dynamic_resources.ResourceClaimTemplate,
        dynamic_resources.DeviceClass,
        dynamic_resources.ResourceSlice,
    ),
    ("resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3"): (dynamic_resources.DeviceTaintRule,),
}

KINDS: dict[tuple[str, str], type[Struct]] = {
    (version, kind.__name__): kind for versions, kinds in _KINDS_OF.items() for version in versions for kind in kinds
}

CLUSTER_SCOPED = frozenset(
    {
        core.Node,
        core.Namespace,
        storage.PersistentVolume,
        policy.PriorityClass,
        policy.RuntimeClass,
        storage.StorageClass,
        storage.CSINode,
        storage.CSIDriver,
        storage.VolumeAttachment,
        dynamic_resources.DeviceClass,
        dynamic_resources.DeviceTaintRule,
        dynamic_resources.ResourceSlice,
    }
)


def versions_of(kind: type[Struct]) -> tuple[str, ...]:
    """The versions under which a kind is read, the newest first."""
    return tuple(version for (version, _), each in KINDS.items() if each is kind)
