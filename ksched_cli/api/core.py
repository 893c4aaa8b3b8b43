"""core/v1: pods, nodes, namespaces, services."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.api.affinity import (
    Affinity,
    Toleration,
    TopologySpreadConstraint,
)
from ksched_cli.api.meta import KubernetesObject
from ksched_cli.api.volumes import Volume

Quantities = dict[str, str | int | float]


class ContainerPort(Struct, rename="camel", frozen=True, gc=False):
    container_port: int = 0
    host_port: int = 0
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
    priority: int | None = None
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
    termination_grace_period_seconds: int | None = None
    os: PodOS | None = None
    hostname: str = ""
    subdomain: str = ""
    active_deadline_seconds: int | None = None


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
    restart_count: int = 0
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
    size_bytes: int = 0


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
    node_port: int = 0


class ServiceSpec(Struct, rename="camel", gc=False):
    selector: dict[str, str] = {}
    type: str = ""
    ports: tuple[ServicePort, ...] = ()
    allocate_load_balancer_node_ports: bool | None = None


class Service(KubernetesObject):
    spec: ServiceSpec = field(default_factory=ServiceSpec)
