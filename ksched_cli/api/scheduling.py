"""Groups of pods that are scheduled together (scheduling.k8s.io/v1alpha2). kube-scheduler does not read Workloads."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.api.meta import KubernetesObject


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


class PodGroupSpec(Struct, rename="camel", gc=False):
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    disruption_mode: str = ""
    priority_class_name: str = ""
    priority: int | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()


class PodGroupStatus(Struct, rename="camel", frozen=True, gc=False):
    resource_claim_statuses: tuple[PodGroupResourceClaimStatus, ...] = ()


class PodGroup(KubernetesObject):
    spec: PodGroupSpec = field(default_factory=PodGroupSpec)
    status: PodGroupStatus = PodGroupStatus()


class Workload(KubernetesObject):
    pass
