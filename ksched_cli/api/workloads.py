"""Kinds that make pods, such as Deployments and Jobs, and kinds that limit, group or rank pods.

The second half has PodDisruptionBudgets, quotas, PriorityClasses, and the PodGroups and Workloads of scheduling.k8s.io;
kube-scheduler does not read Workloads.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from ksched_cli.api.core import (
    Int32,
    KubernetesObject,
    LabelSelector,
    PersistentVolumeClaimTemplate,
    Pod,
    PodSpec,
    Quantities,
    Toleration,
)

# intstr.IntOrString: a number, or "25%".
IntOrPercent = int | str | None


def scaled_value(value: IntOrPercent, total: int, *, up: bool) -> int:
    """intstr.GetScaledValueFromIntOrPercent; None, and a text that is no percentage, count as 0."""
    if value is None or isinstance(value, int):
        return value or 0
    text = value.removesuffix("%")
    percent = int(text) if text.isdecimal() else 0
    return -(-percent * total // 100) if up else percent * total // 100


def wanted_replicas(item: Any) -> int:
    """spec.replicas of a workload, with the default of its kind."""
    return 1 if item.spec.replicas is None else int(item.spec.replicas)


class PodTemplateSpec(KubernetesObject):
    spec: PodSpec = field(default_factory=PodSpec)


class ReplicationControllerSpec(Struct, rename="camel", gc=False):
    replicas: int | None = None
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None
    min_ready_seconds: int = 0


class ReplicaSetStatus(Struct, rename="camel", frozen=True, gc=False):
    """Of a ReplicaSet and of a ReplicationController."""

    replicas: int | None = None


class ReplicationController(KubernetesObject):
    spec: ReplicationControllerSpec = field(default_factory=ReplicationControllerSpec)
    status: ReplicaSetStatus = ReplicaSetStatus()


class ReplicaSetSpec(Struct, rename="camel", gc=False):
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    min_ready_seconds: int = 0


class ReplicaSet(KubernetesObject):
    spec: ReplicaSetSpec = field(default_factory=ReplicaSetSpec)
    status: ReplicaSetStatus = ReplicaSetStatus()


class StatefulSetOrdinals(Struct, rename="camel", frozen=True, gc=False):
    start: int = 0


class StatefulSetRollingUpdate(Struct, rename="camel", frozen=True, gc=False):
    partition: int | None = None
    max_unavailable: IntOrPercent = None


class StatefulSetUpdateStrategy(Struct, rename="camel", frozen=True, gc=False):
    type: str = ""
    rolling_update: StatefulSetRollingUpdate | None = None


class ClaimRetentionPolicy(Struct, rename="camel", frozen=True, gc=False):
    """StatefulSetPersistentVolumeClaimRetentionPolicy."""

    when_deleted: str = ""
    when_scaled: str = ""


class StatefulSetSpec(ReplicaSetSpec, rename="camel", gc=False):
    service_name: str = ""
    ordinals: StatefulSetOrdinals | None = None
    pod_management_policy: str = ""
    update_strategy: StatefulSetUpdateStrategy | None = None
    volume_claim_templates: tuple[PersistentVolumeClaimTemplate, ...] = ()
    persistent_volume_claim_retention_policy: ClaimRetentionPolicy | None = None


class StatefulSetStatus(Struct, rename="camel", frozen=True, gc=False):
    update_revision: str = ""
    current_revision: str = ""
    replicas: int | None = None


class StatefulSet(KubernetesObject):
    spec: StatefulSetSpec = field(default_factory=StatefulSetSpec)
    status: StatefulSetStatus = field(default_factory=StatefulSetStatus)


class RollingUpdate(Struct, rename="camel", frozen=True, gc=False):
    max_surge: IntOrPercent = None
    max_unavailable: IntOrPercent = None


class UpdateStrategy(Struct, rename="camel", frozen=True, gc=False):
    """DeploymentStrategy and DaemonSetUpdateStrategy."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(ReplicaSetSpec, rename="camel", gc=False):
    strategy: UpdateStrategy | None = None
    paused: bool | None = None


class Deployment(KubernetesObject):
    spec: DeploymentSpec = field(default_factory=DeploymentSpec)


class DaemonSetSpec(Struct, rename="camel", gc=False):
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    update_strategy: UpdateStrategy | None = None
    min_ready_seconds: int = 0


class DaemonSet(KubernetesObject):
    spec: DaemonSetSpec = field(default_factory=DaemonSetSpec)


class PodConditionPattern(Struct, rename="camel", frozen=True, gc=False):
    type: str = ""
    status: str = "True"


class PodFailurePolicyRule(Struct, rename="camel", frozen=True, gc=False):
    """`on_exit_codes` is only whether the rule is one for exit codes."""

    action: str = ""
    on_pod_conditions: tuple[PodConditionPattern, ...] = ()
    on_exit_codes: ExitCodes | None = None


class ExitCodes(Struct, rename="camel", frozen=True, gc=False):
    """Nothing of it is read: no input has the exit codes of pods that are to come."""


class PodFailurePolicy(Struct, rename="camel", frozen=True, gc=False):
    rules: tuple[PodFailurePolicyRule, ...] = ()


class SuccessPolicyRule(Struct, rename="camel", frozen=True, gc=False):
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Struct, rename="camel", frozen=True, gc=False):
    rules: tuple[SuccessPolicyRule, ...] = ()


# Labels that the API server and the Job controller write into the template of a Job, each also as it was called first.
JOB_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")
JOB_UID_LABELS = ("batch.kubernetes.io/controller-uid", "controller-uid")


class JobSpec(Struct, rename="camel", gc=False):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    manual_selector: bool | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str | None = None
    pod_failure_policy: PodFailurePolicy | None = None


class JobCondition(Struct, rename="camel", frozen=True, gc=False):
    type: str = ""
    status: str = ""


class JobStatus(Struct, rename="camel", gc=False):
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    conditions: tuple[JobCondition, ...] = ()


class Job(KubernetesObject):
    spec: JobSpec = field(default_factory=JobSpec)
    status: JobStatus = field(default_factory=JobStatus)


class JobTemplateSpec(KubernetesObject):
    spec: JobSpec = field(default_factory=JobSpec)


class CronJobSpec(Struct, rename="camel", gc=False):
    schedule: str = ""
    suspend: bool | None = None
    job_template: JobTemplateSpec = field(default_factory=JobTemplateSpec)


class CronJob(KubernetesObject):
    spec: CronJobSpec = field(default_factory=CronJobSpec)


class PodTemplate(KubernetesObject):
    template: PodTemplateSpec = field(default_factory=PodTemplateSpec)


PODS_AND_WORKLOADS = frozenset(
    (Pod, PodTemplate, Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job, CronJob)
)


class PodDisruptionBudgetSpec(Struct, rename="camel", gc=False):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, rename="camel", gc=False):
    disruptions_allowed: Annotated[int, Meta(ge=0)] = 0
    disrupted_pods: dict[str, str] = {}
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0


class PodDisruptionBudget(KubernetesObject):
    spec: PodDisruptionBudgetSpec = field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = field(default_factory=PodDisruptionBudgetStatus)


# The API server makes these two classes by itself (scheduling.SystemPriorityClasses): a dump need not hold them.
SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


class PriorityClass(KubernetesObject):
    value: Int32 = 0
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
