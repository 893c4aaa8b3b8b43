"""What every text field of the objects is: a name of some sort, something that tells nobody anything, or neither.

A field that is listed nowhere is emptied; a test sees to it that none is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Role(StrEnum):
    """What a text names. Within a role the same text has the same pseudonym, and pseudonyms sort as the names did:
    nodes of equal worth, and pods of equal priority, are taken by their names."""

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


# By the field's name wherever it occurs.
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
    "image": Role.IMAGE,
    "reference": Role.IMAGE,
    "names": Role.IMAGE,
    "container_name": Role.CONTAINER,
    "pool": Role.POOL,
    "pd_name": Role.HANDLE,
    "volume_id": Role.HANDLE,
    "volume_handle": Role.HANDLE,
    "volume_path": Role.HANDLE,
    "disk_name": Role.HANDLE,
    "disk_uri": Role.HANDLE,
    "share_name": Role.HANDLE,
    "iqn": Role.HANDLE,
    "target_portal": Role.HANDLE,
    "monitors": Role.HANDLE,
    "disrupted_pods": Role.POD,
}

# Where the field's name alone does not say it.
NAMES_OF: Mapping[tuple[str, str], Role] = {
    ("Container", "name"): Role.CONTAINER,
    ("ContainerStatus", "name"): Role.CONTAINER,
    ("Volume", "name"): Role.LOCAL,
    ("ContainerResourceClaim", "name"): Role.LOCAL,
    ("PodResourceClaim", "name"): Role.LOCAL,
    ("PodResourceClaimStatus", "name"): Role.LOCAL,
    ("ResourcePool", "name"): Role.POOL,
    ("TypedLocalObjectReference", "name"): Role.OBJECT,
    ("ObjectReference", "name"): Role.CLAIM,
    ("ResourceClaimConsumerReference", "name"): Role.POD,
    ("RBDVolumeSource", "image"): Role.HANDLE,
    ("RBDVolumeSource", "pool"): Role.HANDLE,
}

# Vocabulary of Kubernetes, numbers, times, and what hardware and drivers are called: selectors of devices go by these.
PLAIN = frozenset(
    {
        "kind",
        "api_version",
        "api_group",
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
        "resize",
        "access_modes",
        "volume_mode",
        "fs_type",
        "caching_mode",
        "persistent_volume_reclaim_policy",
        "reclaim_policy",
        "volume_binding_mode",
        "scopes",
        "scope_name",
        "completion_mode",
        "completed_indexes",
        "schedule",
        "min_available",
        "max_unavailable",
        "max_surge",
        "pod_management_policy",
        "unhealthy_pod_eviction_policy",
        "declared_features",
        "driver",
        "attacher",
        "provisioner",
        "allocation_mode",
        "scheduler_name",
        "topology_keys",
        "match_attribute",
        "distinct_attribute",
        "resource",
        "device",
        "share_id",
        "binding_conditions",
        "binding_failure_conditions",
        "extended_resource_name",
        "attributes",
        "string",
        "version",
        "strings",
        "versions",
        "request_policy",
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
        "resource_name",
        "request",
        "request_name",
        "medium",
        "expression",
    }
)
PLAIN_OF = frozenset(
    {
        ("PodOS", "name"),
        ("PodSchedulingGate", "name"),
        ("CSINodeDriver", "name"),
        ("DeviceRequest", "name"),
        ("ExactDeviceRequest", "device_class_name"),
        ("DeviceSubRequest", "name"),
        ("DeviceSubRequest", "device_class_name"),
        ("Device", "name"),
        ("CounterSet", "name"),
        ("DeviceCapacity", "value"),
        ("Counter", "value"),
    }
)
# Fields that say things of people and machines which no plugin reads.
EMPTIED = frozenset(
    {
        "generate_name",
        "reason",
        "message",
        "provider_id",
        "path",
        "hostname",
        "subdomain",
        "host_ip",
        "node_id",
        "parameters",
        "volume_attributes",
        "handler",
        "storage_policy_name",
        "secret_name",
        "secret_namespace",
        "volumes_in_use",
    }
)
EMPTIED_OF = frozenset({("ContainerPort", "name")})

# Fields that are read together with others of their object.
TOGETHER = frozenset(
    {
        ("ObjectMeta", "name"),
        ("ObjectMeta", "labels"),
        ("ObjectMeta", "annotations"),
        ("OwnerReference", "name"),
        ("PodSpec", "node_selector"),
        ("RuntimeClassScheduling", "node_selector"),
        ("LabelSelector", "match_labels"),
        ("ServiceSpec", "selector"),
        ("ReplicationControllerSpec", "selector"),
        ("LabelSelectorRequirement", "values"),
        ("NodeSelectorRequirement", "values"),
        ("TopologySelectorLabelRequirement", "values"),
        ("ScopedResourceSelectorRequirement", "values"),
        ("Toleration", "value"),
        ("Taint", "value"),
        ("DeviceToleration", "value"),
        ("DeviceTaint", "value"),
        ("ResourceQuotaSpec", "hard"),
        ("ResourceQuotaStatus", "hard"),
        ("ResourceQuotaStatus", "used"),
    }
)

# Kinds by what their name is; all others are objects, and what names a driver or sort of device is left alone.
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
    "CSIDriver": None,
}

# Labels whose value is a name of something else, and those whose value is vocabulary.
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

# The annotations that scheduling reads; all others are dropped.
ANNOTATION_ROLES: Mapping[str, Role | None] = {
    "storage.alpha.kubernetes.io/migrated-plugins": None,
    "pv.kubernetes.io/bind-completed": None,
    "volume.kubernetes.io/selected-node": Role.NODE,
    "volume.beta.kubernetes.io/storage-class": Role.CLASS,
    "storageclass.kubernetes.io/is-default-class": None,
    "storageclass.beta.kubernetes.io/is-default-class": None,
    "resource.kubernetes.io/extended-resource-claim": None,
    "resource.kubernetes.io/pod-claim-name": Role.LOCAL,
    "batch.kubernetes.io/job-completion-index": None,
    "controller.kubernetes.io/pod-deletion-cost": None,
    "deployment.kubernetes.io/desired-replicas": None,
    "deployment.kubernetes.io/max-replicas": None,
    "kubernetes.io/config.mirror": Role.UID,
}
NODE_SELECTOR_ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
