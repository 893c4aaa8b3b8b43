"""The text fields that snapshots keep: names with their roles, and plain vocabulary.

These tables and `SPECIAL` of `walk` are the allow-list. Both kinds of snapshots leave all other text fields out.
A test lists for every text field of every kind whether it is in a plain and in a redacted snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Role(StrEnum):
    """The role of a name. Within a role a name has one pseudonym, and pseudonyms sort as the names do: names decide
    between nodes of equal score and between pods of equal priority."""

    NODE = "node"
    NAMESPACE = "ns"
    POD = "pod"
    CLAIM = "claim"
    VOLUME = "pv"
    CLASS = "class"
    OBJECT = "object"
    VALUE = "value"
    IMAGE = "image"
    HANDLE = "disk"
    UID = "uid"
    CONTAINER = "container"
    LOCAL = "local"
    POOL = "pool"
    ADDRESS = "ip"
    GATE = "gate"
    REQUEST = "request"
    ATTRIBUTE = "attribute"
    GROUP = "group"
    KIND = "Kind"


# Roles by the name of the field, in every type.
NAMES: Mapping[str, Role] = {
    "namespace": Role.NAMESPACE,
    "namespaces": Role.NAMESPACE,
    "uid": Role.UID,
    "node_name": Role.NODE,
    "nominated_node_name": Role.NODE,
    "priority_class_name": Role.CLASS,
    "runtime_class_name": Role.CLASS,
    "storage_class_name": Role.CLASS,
    "volume_attributes_class_name": Role.CLASS,
    "current_volume_attributes_class_name": Role.CLASS,
    "claim_name": Role.CLAIM,
    "volume_name": Role.VOLUME,
    "persistent_volume_name": Role.VOLUME,
    "resource_claim_name": Role.OBJECT,
    "resource_claim_template_name": Role.OBJECT,
    "pod_group_name": Role.OBJECT,
    "service_name": Role.OBJECT,
    # As the label of the pods that have it.
    "update_revision": Role.VALUE,
    "current_revision": Role.VALUE,
    "image": Role.IMAGE,
    "reference": Role.IMAGE,
    "names": Role.IMAGE,
    "pool": Role.POOL,
    "pd_name": Role.HANDLE,
    "volume_id": Role.HANDLE,
    "volume_handle": Role.HANDLE,
    "disk_name": Role.HANDLE,
    "disk_uri": Role.HANDLE,
    "iqn": Role.HANDLE,
    "monitors": Role.HANDLE,
    "disrupted_pods": Role.POD,
    # Two ports clash if their addresses are equal.
    "host_ip": Role.ADDRESS,
}

# Roles by type and field. They go before those by field alone.
NAMES_OF: Mapping[tuple[str, str], Role] = {
    ("Container", "name"): Role.CONTAINER,
    ("ContainerStatus", "name"): Role.CONTAINER,
    ("NodeAllocatableResourceClaimStatus", "containers"): Role.CONTAINER,
    ("Volume", "name"): Role.LOCAL,
    ("ContainerResourceClaim", "name"): Role.LOCAL,
    ("PodResourceClaim", "name"): Role.LOCAL,
    ("PodResourceClaimStatus", "name"): Role.LOCAL,
    ("PodGroupResourceClaim", "name"): Role.LOCAL,
    ("PodGroupResourceClaimStatus", "name"): Role.LOCAL,
    ("ResourcePool", "name"): Role.POOL,
    ("ObjectReference", "name"): Role.CLAIM,
    ("ResourceClaimConsumerReference", "name"): Role.POD,
    ("RBDVolumeSource", "image"): Role.HANDLE,
    ("RBDVolumeSource", "pool"): Role.HANDLE,
    ("PodSchedulingGate", "name"): Role.GATE,
    ("DeviceRequest", "name"): Role.REQUEST,
    ("DeviceSubRequest", "name"): Role.REQUEST,
}

# Vocabulary of Kubernetes, numbers, times, and names of hardware and drivers, which device selectors contain.
PLAIN = frozenset(
    {
        "kubelet_version",
        "operator",
        "effect",
        "key",
        "topology_key",
        "match_label_keys",
        "mismatch_label_keys",
        "creation_timestamp",
        "deletion_timestamp",
        "resource_version",
        "preemption_policy",
        "restart_policy",
        "action",
        "when_unsatisfiable",
        "node_affinity_policy",
        "node_taints_policy",
        "protocol",
        "phase",
        "type",
        "status",
        "start_time",
        "last_transition_time",
        "access_modes",
        "volume_mode",
        "persistent_volume_reclaim_policy",
        "reclaim_policy",
        "volume_binding_mode",
        "scopes",
        "scope_name",
        "completion_mode",
        "completed_indexes",
        "failed_indexes",
        "succeeded_indexes",
        "min_available",
        "max_unavailable",
        "max_surge",
        "pod_management_policy",
        "pod_replacement_policy",
        "when_deleted",
        "when_scaled",
        "unhealthy_pod_eviction_policy",
        "declared_features",
        "disruption_mode",
        "api_group",
        "driver",
        "attacher",
        "provisioner",
        "allocation_mode",
        "scheduler_name",
        "match_attribute",
        "distinct_attribute",
        "resource",
        "device",
        "share_id",
        "binding_conditions",
        "binding_failure_conditions",
        "extended_resource_name",
        "attributes",
        "version",
        "versions",
        "counter_set",
        "counters",
        "consumed_capacity",
        "capacity",
        "allocatable",
        "requests",
        "limits",
        "overhead",
        "allocated_resources",
        "min",
        "max",
        "default",
        "default_request",
        "max_limit_request_ratio",
        "pod_fixed",
        "used",
        "maximum_volume_size",
    }
)
PLAIN_OF = frozenset(
    {
        ("ObjectReference", "kind"),
        ("ObjectReference", "api_version"),
        ("PodOS", "name"),
        ("CSINodeDriver", "name"),
        ("ExactDeviceRequest", "device_class_name"),
        ("DeviceSubRequest", "device_class_name"),
        ("Device", "name"),
        ("CounterSet", "name"),
        ("DeviceCapacity", "value"),
        ("Counter", "value"),
        ("NodeAllocatableResourceClaimStatus", "resources"),
        ("NodeAllocatableResourceMapping", "capacity_key"),
        ("NodeAllocatableResourceMapping", "allocation_multiplier"),
    }
)
# Text that is read, and that a redacted snapshot leaves out because no pseudonym can stand for it.
HIDDEN = frozenset({"generate_name"})

# The role of the names of a kind; Role.OBJECT for other kinds. None: the names stay, for they name drivers or devices.
KIND_ROLES: Mapping[str, Role | None] = {
    "Node": Role.NODE,
    "CSINode": Role.NODE,
    "Namespace": Role.NAMESPACE,
    "Pod": Role.POD,
    "PersistentVolumeClaim": Role.CLAIM,
    "PersistentVolume": Role.VOLUME,
    "StorageClass": Role.CLASS,
    "PriorityClass": Role.CLASS,
    "RuntimeClass": Role.CLASS,
    "DeviceClass": None,
    "DeviceTaintRule": None,
    "CSIDriver": None,
}

# The role of the values of a label; Role.VALUE for other labels. None: the values stay.
LABEL_ROLES: Mapping[str, Role | None] = {
    "kubernetes.io/hostname": Role.NODE,
    "metadata.name": Role.NODE,
    "kubernetes.io/metadata.name": Role.NAMESPACE,
    "statefulset.kubernetes.io/pod-name": Role.POD,
    "kubernetes.io/os": None,
    "kubernetes.io/arch": None,
    "beta.kubernetes.io/os": None,
    "beta.kubernetes.io/arch": None,
}
PLAIN_VALUES = frozenset({"", "true", "false"})

# The only conditions of a pod whose reason and message are read: kube-scheduler's verdict, and why a pod is evicted.
READ_CONDITIONS = frozenset({"PodScheduled", "DisruptionTarget"})
# Reasons of these conditions that Kubernetes itself writes.
REASONS = frozenset({"Unschedulable", "SchedulingGated", "SchedulerError", "PreemptionByScheduler"})

# The only keys of a capacity's requestPolicy; their values are quantities.
POLICY_KEYS = frozenset({"default", "validValues", "validRange"})

NODE_SELECTOR_ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
AVOID_PODS_ANNOTATION = "scheduler.alpha.kubernetes.io/preferAvoidPods"
# A digest of what was left out of a pod template, so that a rollout still sees that the template has changed.
LEFT_OUT_ANNOTATION = "ksched.dev/left-out"

_DELETION_COST: Mapping[str, Role | None] = {"controller.kubernetes.io/pod-deletion-cost": None}
_BETA_CLASS: Mapping[str, Role | None] = {"volume.beta.kubernetes.io/storage-class": Role.CLASS}

# The annotations that ksched reads, by kind. Snapshots leave all others out.
ANNOTATIONS: Mapping[str, Mapping[str, Role | None]] = {
    "Pod": {
        "kubernetes.io/config.mirror": Role.UID,
        "batch.kubernetes.io/job-completion-index": None,
        "batch.kubernetes.io/job-index-failure-count": None,
        "batch.kubernetes.io/job-index-ignored-failure-count": None,
        **_DELETION_COST,
    },
    "PodTemplateSpec": {LEFT_OUT_ANNOTATION: None, **_DELETION_COST},
    "Node": {AVOID_PODS_ANNOTATION: None},
    "Namespace": {NODE_SELECTOR_ANNOTATION: None},
    "PersistentVolumeClaim": {
        "pv.kubernetes.io/bind-completed": None,
        "volume.kubernetes.io/selected-node": Role.NODE,
        **_BETA_CLASS,
    },
    "PersistentVolumeClaimTemplate": _BETA_CLASS,
    "PersistentVolume": _BETA_CLASS,
    "StorageClass": {
        "storageclass.kubernetes.io/is-default-class": None,
        "storageclass.beta.kubernetes.io/is-default-class": None,
    },
    "CSINode": {"storage.alpha.kubernetes.io/migrated-plugins": None},
    "ResourceClaim": {
        "resource.kubernetes.io/extended-resource-claim": None,
        "resource.kubernetes.io/pod-claim-name": Role.LOCAL,
    },
    "ReplicaSet": {
        "deployment.kubernetes.io/desired-replicas": None,
        "deployment.kubernetes.io/max-replicas": None,
    },
}
