"""Objects that admission, preemption and drains go by, and groups of pods that are scheduled together
(scheduling.k8s.io). kube-scheduler does not read Workloads."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.api.affinity import Toleration
from ksched_cli.api.core import Quantities
from ksched_cli.api.meta import KubernetesObject, LabelSelector


class PodDisruptionBudgetSpec(Struct, rename="camel", gc=False):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, rename="camel", gc=False):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0


class PodDisruptionBudget(KubernetesObject):
    spec: PodDisruptionBudgetSpec = field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = field(default_factory=PodDisruptionBudgetStatus)


class PriorityClass(KubernetesObject):
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class LimitRangeItem(Struct, rename="camel", gc=False):
    type: str = ""
    max: Quantities = {}
    min: Quantities = {}
    default: Quantities = {}
    default_request: Quantities = {}
    max_limit_request_ratio: Quantities = {}


class LimitRangeSpec(Struct, rename="camel", gc=False):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(KubernetesObject):
    spec: LimitRangeSpec = field(default_factory=LimitRangeSpec)


class ScopedResourceSelectorRequirement(Struct, rename="camel", frozen=True, gc=False):
    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(Struct, rename="camel", frozen=True, gc=False):
    match_expressions: tuple[ScopedResourceSelectorRequirement, ...] = ()


class ResourceQuotaSpec(Struct, rename="camel", gc=False):
    hard: Quantities = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Struct, rename="camel", gc=False):
    hard: Quantities = {}
    used: Quantities = {}


class ResourceQuota(KubernetesObject):
    spec: ResourceQuotaSpec = field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = field(default_factory=ResourceQuotaStatus)


class Overhead(Struct, rename="camel", gc=False):
    pod_fixed: Quantities = {}


class RuntimeClassScheduling(Struct, rename="camel", gc=False):
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(KubernetesObject):
    handler: str = ""
    overhead: Overhead | None = None
    scheduling: RuntimeClassScheduling | None = None


class GangSchedulingPolicy(Struct, rename="camel", frozen=True, gc=False):
    min_count: int = 0


class BasicSchedulingPolicy(Struct, frozen=True, gc=False):
    pass


class PodGroupSchedulingPolicy(Struct, rename="camel", frozen=True, gc=False):
    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(Struct, frozen=True, gc=False):
    key: str = ""


class PodGroupSchedulingConstraints(Struct, frozen=True, gc=False):
    topology: tuple[TopologyConstraint, ...] = ()


class PodGroupResourceClaim(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupResourceClaimStatus(Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    resource_claim_name: str | None = None


class DisruptionMode(Struct, frozen=True, gc=False):
    """As v1alpha3 and v1beta1 have it; v1alpha2 has one of the texts Pod and PodGroup."""

    single: BasicSchedulingPolicy | None = None
    all: BasicSchedulingPolicy | None = None


class PodGroupSpec(Struct, rename="camel", gc=False):
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    disruption_mode: str | DisruptionMode = ""
    priority_class_name: str = ""
    priority: int | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()

    @property
    def is_disrupted_as_a_whole(self) -> bool:
        """Whether the group is one victim of preemption."""
        mode = self.disruption_mode
        return mode == "PodGroup" if isinstance(mode, str) else mode.all is not None


class PodGroupStatus(Struct, rename="camel", frozen=True, gc=False):
    resource_claim_statuses: tuple[PodGroupResourceClaimStatus, ...] = ()


class PodGroup(KubernetesObject):
    spec: PodGroupSpec = field(default_factory=PodGroupSpec)
    status: PodGroupStatus = PodGroupStatus()


class Workload(KubernetesObject):
    pass
