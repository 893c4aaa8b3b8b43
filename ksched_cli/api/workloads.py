"""Controllers and the pods they would make."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.api.core import Pod, PodSpec
from ksched_cli.api.meta import KubernetesObject, LabelSelector
from ksched_cli.api.volumes import PersistentVolumeClaimTemplate

# intstr.IntOrString: a number, or "25%".
IntOrPercent = int | str | None


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
