"""The types of core/v1: metadata, selectors, affinity, volumes, pods, nodes, namespaces and services.

They have the fields that scheduling and the control plane read. `api/workloads.py` has the kinds that make or limit
pods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec import Meta, Struct, field
from msgspec.structs import replace

# Go's integers: decoding refuses a number that does not fit, which no cache could encode.
Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class OwnerReference(Struct, rename="camel", frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    api_version: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    generate_name: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    resource_version: str = ""


class KubernetesObject(Struct, rename="camel", gc=False):
    """The part that all kinds of objects have, and their templates (metav1.Object)."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """metav1.GetControllerOf."""
    for owner in metadata.owner_references:
        if owner.controller:
            return owner
    return None


def metadata_of(item: Any) -> ObjectMeta:
    """Every kind that is read has metadata."""
    metadata: ObjectMeta = item.metadata
    return metadata


class LabelSelectorRequirement(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Struct, rename="camel", frozen=True, gc=False):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class ObjectReference(Struct, rename="camel", frozen=True, gc=False):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""


class NodeSelectorRequirement(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct, rename="camel", frozen=True, gc=False):
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Struct, rename="camel", frozen=True, gc=False):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Struct, rename="camel", frozen=True, gc=False):
    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinityTerms(Struct, rename="camel", frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Struct, rename="camel", frozen=True, gc=False):
    label_selector: LabelSelector | None = None
    topology_key: str = ""
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Struct, rename="camel", frozen=True, gc=False):
    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Struct, rename="camel", frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class PodAntiAffinity(Struct, rename="camel", frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


R = TypeVar("R", PodAffinity, PodAntiAffinity)


class Affinity(Struct, rename="camel", frozen=True, gc=False):
    node_affinity: NodeAffinityTerms | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None

    @property
    def is_about_pods(self) -> bool:
        return self.pod_affinity is not None or self.pod_anti_affinity is not None


def with_pod_terms(affinity: Affinity, changed: Callable[[PodAffinityTerm], PodAffinityTerm]) -> Affinity:
    """The affinity with each of its terms about pods replaced by the changed one."""

    def of(rules: R | None) -> R | None:
        if rules is None:
            return None
        return replace(
            rules,
            required_during_scheduling_ignored_during_execution=tuple(
                map(changed, rules.required_during_scheduling_ignored_during_execution)
            ),
            preferred_during_scheduling_ignored_during_execution=tuple(
                replace(each, pod_affinity_term=changed(each.pod_affinity_term))
                for each in rules.preferred_during_scheduling_ignored_during_execution
            ),
        )

    return replace(affinity, pod_affinity=of(affinity.pod_affinity), pod_anti_affinity=of(affinity.pod_anti_affinity))


class Toleration(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


WHEN_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")


class TopologySpreadConstraint(Struct, rename="camel", frozen=True, gc=False):
    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PersistentVolumeClaimVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    claim_name: str = ""
    read_only: bool = False


class VolumeResourceRequirements(Struct, rename="camel", frozen=True, gc=False):
    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}


class TypedLocalObjectReference(Struct, rename="camel", frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    api_group: str | None = None


class PersistentVolumeClaimSpec(Struct, rename="camel", gc=False):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    data_source: TypedLocalObjectReference | None = None


class PersistentVolumeClaimTemplate(KubernetesObject):
    spec: PersistentVolumeClaimSpec = field(default_factory=PersistentVolumeClaimSpec)


class EphemeralVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class GCEPersistentDiskVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    pd_name: str = ""
    read_only: bool = False
    fs_type: str = ""
    partition: Int32 = 0


class AWSElasticBlockStoreVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False
    fs_type: str = ""
    partition: Int32 = 0


class RBDVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class ISCSIVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    iqn: str = ""
    target_portal: str = ""
    lun: Int32 = 0
    read_only: bool = False


class AzureDiskVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    disk_name: str = ""
    disk_uri: str = field(default="", name="diskURI")
    read_only: bool | None = None
    fs_type: str | None = None
    caching_mode: str | None = None
    kind: str | None = None


class AzureFileVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    secret_name: str = ""
    share_name: str = ""
    secret_namespace: str | None = None
    read_only: bool = False


class CinderVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False
    fs_type: str = ""


class VsphereVirtualDiskVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""


class PortworxVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    volume_id: str = field(default="", name="volumeID")
    fs_type: str = ""
    read_only: bool = False


class CSIVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    driver: str = ""
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: dict[str, str] = {}


class CSIPersistentVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: dict[str, str] = {}


class HostPathVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    path: str = ""


class EmptyDirVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    medium: str = ""


class LocalVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    path: str = ""


class ImageVolumeSource(Struct, rename="camel", frozen=True, gc=False):
    reference: str = ""


class Volume(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    image: ImageVolumeSource | None = None


Quantities = dict[str, str | int | float]


class ContainerPort(Struct, rename="camel", frozen=True, gc=False):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = ""
    name: str = ""


class ContainerResourceClaim(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    request: str = ""


class ResourceRequirements(Struct, rename="camel", gc=False):
    requests: Quantities = {}
    limits: Quantities = {}
    claims: tuple[ContainerResourceClaim, ...] = ()


class ContainerRestartRule(Struct, rename="camel", frozen=True, gc=False):
    action: str = ""


class Container(Struct, rename="camel", gc=False):
    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = field(default_factory=ResourceRequirements)
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class PodSchedulingGate(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""


class PodResourceClaim(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Struct, rename="camel", frozen=True, gc=False):
    pod_group_name: str | None = None


class PodOS(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""


class PodSpec(Struct, rename="camel", gc=False):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    overhead: Quantities = {}
    resources: ResourceRequirements | None = None
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    host_network: bool = False
    host_users: bool | None = None
    runtime_class_name: str | None = None
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None
    os: PodOS | None = None
    hostname: str = ""
    subdomain: str = ""
    active_deadline_seconds: Int64 | None = None


class PodCondition(Struct, rename="camel", frozen=True, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class ContainerStateWaiting(Struct, rename="camel", frozen=True, gc=False):
    reason: str = ""


class ContainerState(Struct, rename="camel", frozen=True, gc=False):
    waiting: ContainerStateWaiting | None = None


class ContainerStatus(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    allocated_resources: Quantities = {}
    resources: ResourceRequirements | None = None
    restart_count: Int32 = 0
    state: ContainerState | None = None


class PodResourceClaimStatus(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Struct, rename="camel", frozen=True, gc=False):
    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Struct, rename="camel", frozen=True, gc=False):
    resource_claim_name: str = ""
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


class NodeAllocatableResourceClaimStatus(Struct, rename="camel", frozen=True, gc=False):
    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: Quantities = {}


class PodStatus(Struct, rename="camel", gc=False):
    phase: str = ""
    start_time: str | None = None
    nominated_node_name: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities = {}
    resize: str = ""


class Pod(KubernetesObject):
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Taint(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        """As kubectl writes it."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class NodeSpec(Struct, rename="camel", gc=False):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = field(default="", name="providerID")


class NodeCondition(Struct, rename="camel", frozen=True, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    last_transition_time: str | None = None


class ContainerImage(Struct, rename="camel", frozen=True, gc=False):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeSystemInfo(Struct, rename="camel", frozen=True, gc=False):
    kubelet_version: str = ""


class NodeStatus(Struct, rename="camel", gc=False):
    capacity: Quantities = {}
    allocatable: Quantities = {}
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    node_info: NodeSystemInfo | None = None


class Node(KubernetesObject):
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


class Namespace(KubernetesObject):
    pass


class ServicePort(Struct, rename="camel", frozen=True, gc=False):
    node_port: Int32 = 0


class ServiceSpec(Struct, rename="camel", gc=False):
    selector: dict[str, str] = {}
    type: str = ""
    ports: tuple[ServicePort, ...] = ()
    allocate_load_balancer_node_ports: bool | None = None


class Service(KubernetesObject):
    spec: ServiceSpec = field(default_factory=ServiceSpec)
