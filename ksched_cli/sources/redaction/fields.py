"""The text fields that snapshots keep: names with their roles, and plain vocabulary.

These tables and `SPECIAL` of `walk` are the allow-list. Both kinds of snapshots leave all other text fields out.
A test lists for every text field of every kind whether it is in a plain and in a redacted snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from ksched_cli.api.avoided_pods import AVOID_PODS_ANNOTATION


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


# Fields that hold names, by role, in every type.
_NAMES_BY_ROLE: Mapping[Role, tuple[str, ...]] = {
    Role.NAMESPACE: ("namespace", "namespaces"),
    Role.UID: ("uid",),
    Role.NODE: ("node_name", "nominated_node_name"),
    Role.POD: ("disrupted_pods",),
    Role.CLASS: (
        *("priority_class_name", "runtime_class_name", "storage_class_name"),
        *("volume_attributes_class_name", "current_volume_attributes_class_name"),
    ),
    Role.CLAIM: ("claim_name",),
    Role.VOLUME: ("volume_name", "persistent_volume_name"),
    Role.OBJECT: ("resource_claim_name", "resource_claim_template_name", "pod_group_name", "service_name"),
    # Revisions are label values of pods.
    Role.VALUE: ("update_revision", "current_revision"),
    Role.IMAGE: ("image", "reference", "names"),
    Role.POOL: ("pool",),
    Role.HANDLE: ("pd_name", "volume_id", "volume_handle", "disk_name", "disk_uri", "iqn", "monitors"),
    # Two ports conflict if their addresses are equal.
    Role.ADDRESS: ("host_ip",),
}
NAMES: Mapping[str, Role] = {field: role for role, fields in _NAMES_BY_ROLE.items() for field in fields}

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
        # All objects, and references to them.
        *("creation_timestamp", "deletion_timestamp", "resource_version", "api_group", "resource"),
        *("phase", "type", "status", "last_transition_time"),
        # Selectors, tolerations and spread constraints.
        *("operator", "effect", "key", "topology_key", "match_label_keys", "mismatch_label_keys"),
        *("when_unsatisfiable", "node_affinity_policy", "node_taints_policy"),
        # Pods and nodes.
        *("scheduler_name", "preemption_policy", "restart_policy", "action", "protocol", "start_time"),
        *("kubelet_version", "declared_features"),
        # Workloads, pod groups and budgets.
        *("completion_mode", "completed_indexes", "failed_indexes", "succeeded_indexes", "pod_management_policy"),
        *("pod_replacement_policy", "min_available", "max_unavailable", "max_surge", "when_deleted", "when_scaled"),
        *("unhealthy_pod_eviction_policy", "disruption_mode"),
        # Volumes.
        *("access_modes", "volume_mode", "persistent_volume_reclaim_policy", "reclaim_policy", "volume_binding_mode"),
        *("attacher", "provisioner"),
        # Devices.
        *("driver", "allocation_mode", "match_attribute", "distinct_attribute", "device", "share_id", "attributes"),
        *("binding_conditions", "binding_failure_conditions", "extended_resource_name", "version", "versions"),
        # Quotas, limits and amounts.
        *("scopes", "scope_name", "min", "max", "default", "default_request", "max_limit_request_ratio", "used"),
        *("capacity", "allocatable", "requests", "limits", "overhead", "pod_fixed", "allocated_resources"),
        *("consumed_capacity", "counter_set", "counters", "maximum_volume_size"),
    }
)
PLAIN_OF = frozenset(
    {
        ("ObjectReference", "kind"),
        ("ObjectReference", "api_version"),
        ("PodOS", "name"),
        ("ContainerStateWaiting", "reason"),
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
