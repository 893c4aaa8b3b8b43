"""The pods of Jobs: their names and indexes, which failures end a Job, and the Job that a CronJob makes
(pkg/controller/job, pkg/controller/cronjob)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import CronJob, Job
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller
from ksched_cli.sources.controllers.naming import suffix
from ksched_cli.sources.controllers.templates import copied, own_metadata, owner_reference, stamp

INDEX = "batch.kubernetes.io/job-completion-index"
_JOB_NAME = ("batch.kubernetes.io/job-name", "job-name")
_JOB_UID = ("batch.kubernetes.io/controller-uid", "controller-uid")
INDEXED = "Indexed"


def parallelism(item: Job) -> int:
    return 1 if item.spec.parallelism is None else item.spec.parallelism


def completions_of(item: Job) -> int | None:
    """SetDefaults_Job: one, unless parallelism alone is set, which makes it a work queue."""
    if item.spec.completions is None and item.spec.parallelism is None:
        return 1
    return item.spec.completions


def read_indexes(text: str, completions: int) -> set[int]:
    """`1,3-5` of status.completedIndexes, as far as there are such indexes."""
    indexes: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            indexes.update(range(int(first), min(int(last or first) + 1, completions)))
    return indexes


def index_base(item: Job, index: int) -> str:
    """podGenerateNameWithIndex."""
    return f"{item.metadata.name}-{index}-"


def indexed_pod(item: Job, index: int, name: str) -> Pod:
    """addCompletionIndexAnnotation, -Label."""
    pod = job_pod(item, name)
    pod.metadata.annotations[INDEX] = str(index)
    pod.metadata.labels[INDEX] = str(index)
    pod.spec.hostname = f"{item.metadata.name}-{index}"
    return pod


def job_pod(item: Job, name: str) -> Pod:
    assert item.spec.template is not None
    owner = owner_reference("Job", "batch/v1", item.metadata)
    pod = stamp(item.spec.template, item.metadata.namespace, name, owner)
    if not item.spec.manual_selector:
        pod.metadata.labels |= dict.fromkeys(_JOB_NAME, item.metadata.name)
        pod.metadata.labels |= dict.fromkeys(_JOB_UID, owner.uid)
    return pod


def cron_run(item: CronJob) -> Job:
    """getJobFromTemplate2."""
    where, namespace = item.metadata.name, item.metadata.namespace
    template = copied(item.spec.job_template)
    name = f"{where}-{suffix(namespace, where)}"
    owner = owner_reference("CronJob", "batch/v1", item.metadata)
    return Job(own_metadata("Job", namespace, name, template.metadata, owner), template.spec)


FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"
# What kube-scheduler, the eviction API, the taint eviction controller and pod garbage collection write into pods that
# they delete.
_DISRUPTION = ("DisruptionTarget", "True")

FailureAction = Literal["Count", "Ignore", "FailJob", "FailIndex"]
_ACTIONS: dict[str, FailureAction] = {"Ignore": "Ignore", "FailJob": "FailJob", "FailIndex": "FailIndex"}


def failure_action(item: Job, pod: Pod, *, disrupted: bool) -> FailureAction:
    """matchPodFailurePolicy: the action of the first rule with a condition that the pod has. The exit codes of
    containers are not known: no rule for them matches."""
    conditions = {(each.type, each.status) for each in pod.status.conditions}
    conditions |= {_DISRUPTION} if disrupted else set()
    for rule in item.spec.pod_failure_policy.rules if item.spec.pod_failure_policy else ():
        if any((pattern.type, pattern.status) in conditions for pattern in rule.on_pod_conditions):
            return _ACTIONS.get(rule.action, "Count")
    return "Count"


def has_limit_per_index(item: Job) -> bool:
    """hasBackoffLimitPerIndex."""
    return item.spec.completion_mode == INDEXED and item.spec.backoff_limit_per_index is not None


class ReplacedPod(Struct, frozen=True):
    """The last failed pod of an index: how often the index had failed by then, and when."""

    failures: int
    ignored: int
    at: float

    @classmethod
    def of(cls, pod: Pod, action: FailureAction, at: float) -> ReplacedPod:
        """getNewIndexFailureCounts."""
        failures, ignored = _count(pod, FAILURE_COUNT), _count(pod, IGNORED_COUNT)
        return cls(failures, ignored + 1, at) if action == "Ignore" else cls(failures + 1, ignored, at)

    @property
    def annotations(self) -> dict[str, str]:
        """addIndexFailureCountAnnotation."""
        found = {FAILURE_COUNT: str(self.failures)}
        return {**found, IGNORED_COUNT: str(self.ignored)} if self.ignored else found


def fails_index(item: Job, pod: Pod, action: FailureAction) -> bool:
    """isIndexFailed."""
    limit = item.spec.backoff_limit_per_index or 0
    return action == "FailIndex" or (action != "Ignore" and _count(pod, FAILURE_COUNT) >= limit)


def has_too_many_failed(item: Job, failed: Collection[int], succeeded: Collection[int]) -> bool:
    """Whether more indexes have failed than may fail, or all others have succeeded."""
    most = item.spec.max_failed_indexes
    if most is not None and len(failed) > most:
        return True
    return bool(failed) and len(failed) + len(succeeded) >= (completions_of(item) or 0)


def meets_success_policy(item: Job, succeeded: Collection[int]) -> bool:
    """matchSuccessPolicy."""
    policy = item.spec.success_policy
    if policy is None or not succeeded or item.spec.completion_mode != INDEXED:
        return False
    for rule in policy.rules:
        if rule.succeeded_indexes is None:
            if rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count:
                return True
            continue
        wanted = read_indexes(rule.succeeded_indexes, completions_of(item) or 0)
        found = len(wanted.intersection(succeeded))
        if wanted and (found == len(wanted) or (rule.succeeded_count is not None and found >= rule.succeeded_count)):
            return True
    return False


def _count(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    return int(text) if text.isdecimal() else 0


class CronJobController(Controller):
    """Keys are identities of CronJobs that the run has created: they run once, at once."""

    informers = (CronJob,)

    def concerned(self, old: Any, new: Any) -> Iterable[Identity]:
        return (identity_of(new),) if isinstance(new, CronJob) and old is None else ()

    def reconcile(self, key: Identity) -> None:
        item = self.store.get(CronJob, key[2], key[1])
        if item is None or item.spec.suspend:
            return
        run = cron_run(item)
        if self.store.current(run) is None:
            self.api.create(run)
