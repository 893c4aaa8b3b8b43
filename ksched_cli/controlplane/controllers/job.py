"""The Job controller and the Job that a CronJob makes (pkg/controller/job, pkg/controller/cronjob): names and indexes
of pods, and which failures end a Job. Pods of Jobs do not finish by themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_active, uid_of_pod
from ksched_cli.api.workloads import JOB_INDEX, JOB_NAME_LABELS, JOB_UID_LABELS, CronJob, Job
from ksched_cli.cluster.undo import Logged, LoggedDict, LoggedSet
from ksched_cli.controlplane.api_server import ApiServer
from ksched_cli.controlplane.controllers.replicaset import order_of_deletion
from ksched_cli.controlplane.store import Identity, identity_of, owner_identity
from ksched_cli.controlplane.work import Controller, WorkQueue
from ksched_cli.sources.templates import copied, own_metadata, owner_reference, stamp, suffix

INDEXED = "Indexed"


def parallelism(item: Job) -> int:
    return 1 if item.spec.parallelism is None else item.spec.parallelism


def completions_of(item: Job) -> int | None:
    """SetDefaults_Job: one, unless parallelism alone is set, which makes it a work queue."""
    if item.spec.completions is None and item.spec.parallelism is None:
        return 1
    return item.spec.completions


def indexes_of(item: Job) -> int:
    """How many indexes the pods of the Job have; the API server takes no Indexed Job without completions."""
    return completions_of(item) or 0


def read_indexes(text: str, completions: int) -> set[int]:
    """`1,3-5` of status.completedIndexes, as far as there are such indexes."""
    indexes: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            indexes.update(range(int(first), min(int(last or first) + 1, completions)))
    return indexes


def job_pod(item: Job, name: str, index: int | None = None) -> Pod:
    """A pod of the Job; with addCompletionIndexAnnotation and -Label that of an index."""
    assert item.spec.template is not None
    owner = owner_reference("Job", "batch/v1", item.metadata)
    pod = stamp(item.spec.template, item.metadata.namespace, name, owner)
    if not item.spec.manual_selector:
        pod.metadata.labels |= dict.fromkeys(JOB_NAME_LABELS, item.metadata.name)
        pod.metadata.labels |= dict.fromkeys(JOB_UID_LABELS, owner.uid)
    if index is not None:
        pod.metadata.annotations[JOB_INDEX] = pod.metadata.labels[JOB_INDEX] = str(index)
        pod.spec.hostname = f"{item.metadata.name}-{index}"
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
    return bool(failed) and len(failed) + len(succeeded) >= indexes_of(item)


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
        wanted = read_indexes(rule.succeeded_indexes, indexes_of(item))
        found = len(wanted.intersection(succeeded))
        if wanted and (found == len(wanted) or (rule.succeeded_count is not None and found >= rule.succeeded_count)):
            return True
    return False


def _count(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    return int(text) if text.isdecimal() else 0


class CronJobController(Controller):
    """Creates one Job of each CronJob that the run has created, at once; no schedule is followed. Keys are identities
    of CronJobs."""

    informers = (CronJob,)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        return (identity_of(new),) if old is None else ()

    def reconcile(self, key: Identity) -> None:
        item = self.store.get(CronJob, key[2], key[1])
        if item is None or item.spec.suspend:
            return
        run = cron_run(item)
        if self.store.current(run) is None:
            self.api.create(run)


COMPLETE, FAILED = "Complete", "Failed"
# SyncJobBatchPeriod: changes of pods are waited for so long, so that one reconcile sees many.
BATCH_SECONDS = 1.0
# DefaultJobPodFailureBackOff and MaxJobPodFailureBackOff.
_FIRST_BACKOFF, _LONGEST_BACKOFF = 10.0, 600.0
# SetDefaults_Job: backoffLimit.
_BACKOFF_LIMIT, _NO_LIMIT = 6, 2**31 - 1
# MaxPodCreateDeletePerSync.
_BURST = 500


class JobState(Struct, frozen=True):
    """JobStatus; `finished` is the type of the condition that ends the Job, or empty."""

    active: int
    succeeded: int
    failed: int
    finished: str


@dataclass
class _Progress(Logged):
    """What the Job has counted. Pods that are gone stay counted. `released`: pods that the controller itself has
    deleted have not failed."""

    succeeded: int
    failed: int
    indexes: frozenset[int]
    finished: str
    released: LoggedSet[str]
    failed_indexes: frozenset[int] = frozenset()
    # The last failed pod of each index that has failed, where each index has a limit of its own.
    replaced: dict[int, ReplacedPod] = field(default_factory=dict)
    # Whether the pod failure policy has ended the Job.
    must_fail: bool = False
    # The back-off record: failures since the last success, and when the last one was.
    failures: int = 0
    last_failure: float = 0.0

    def remaining(self, now: float) -> float:
        """getRemainingTime: how long no pod is created after failures."""
        if not self.failures:
            return 0.0
        return _back_off(self.failures, self.last_failure, now)

    def remaining_of(self, index: int, now: float) -> float:
        """getRemainingTimePerIndex."""
        last = self.replaced.get(index)
        return _back_off(last.failures + last.ignored, last.at, now) if last is not None else 0.0


class JobController(Controller):
    """Creates the pods of a Job, replaces failed ones up to its limits, and ends the Job. Keys are identities of
    Jobs."""

    informers = (Job, Pod)
    serves = (Job,)

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        super().__init__(api, queue)
        begun = ((identity_of(item), self._begin(item)) for item in self.store.of(Job))
        self._progress: dict[Identity, _Progress] = LoggedDict(api.undo, begun)

    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Identity]:
        item = old if new is None else new
        if isinstance(item, Job):
            if new is None:
                self._progress.pop(identity_of(item), None)
            return (identity_of(item),)
        owner = owner_identity(item)
        if owner is not None and owner[0] == "Job":
            self._observe(owner, old, new)
            self.queue.add_after(self, owner, BATCH_SECONDS)
        return ()

    # What has been counted

    def _begin(self, item: Job) -> _Progress:
        pods = self.store.pods_of(item)
        done = [pod for pod in pods if pod.status.phase == "Succeeded"]
        failed = sum(_has_failed(item, pod) for pod in pods)
        indexes = _indexes(done) | read_indexes(item.status.completed_indexes, indexes_of(item))
        succeeded, failed = max(item.status.succeeded, len(done)), max(item.status.failed, failed)
        finished = (each.type for each in item.status.conditions if each.status == "True")
        end = next((each for each in finished if each in (COMPLETE, FAILED)), "")
        gone = read_indexes(item.status.failed_indexes, indexes_of(item))
        replaced = LoggedDict[int, ReplacedPod](self.api.undo)
        progress = _Progress(succeeded, failed, indexes, end, LoggedSet(self.api.undo), frozenset(gone), replaced)
        progress.undo = self.api.undo
        return progress

    def _observe(self, owner: Identity, old: Pod | None, new: Pod | None) -> None:
        """getNewFinishedPods: count a pod in the moment it finishes or is lost."""
        item, progress = self.store.get(Job, owner[2], owner[1]), self._progress.get(owner)
        pod = old if new is None else new
        if item is None or progress is None or pod is None:
            return
        if new is not None and new.status.phase == "Succeeded":
            if old is None or old.status.phase != "Succeeded":
                progress.succeeded += 1
                progress.indexes |= _indexes((new,))
                progress.failures = 0
            return
        was_over = old is not None and (old.status.phase == "Succeeded" or _has_failed(item, old))
        if was_over or not (new is None or _has_failed(item, new)):
            return
        if pod.metadata.uid not in progress.released:
            self._observe_failure(item, progress, pod)

    def _observe_failure(self, item: Job, progress: _Progress, pod: Pod) -> None:
        action = failure_action(item, pod, disrupted=uid_of_pod(pod) in self.api.disrupted)
        progress.failures += 1
        progress.last_failure = self.api.now()
        if action != "Ignore":
            progress.failed += 1
        if action == "FailJob":
            progress.must_fail = True
        for index in _indexes((pod,)) if has_limit_per_index(item) else ():
            progress.replaced[index] = ReplacedPod.of(pod, action, self.api.now())
            if fails_index(item, pod, action):
                progress.failed_indexes |= {index}

    # syncJob

    def reconcile(self, key: Identity) -> None:
        item = self.store.get(Job, key[2], key[1])
        if item is None or item.metadata.deletion_timestamp is not None or item.spec.template is None:
            return
        if key not in self._progress:
            self._progress[key] = self._begin(item)
        progress = self._progress[key]
        if progress.finished:
            return
        pods = self.store.pods_of(item)
        active = [pod for pod in pods if is_active(pod)]
        try:
            end = _end_of(item, progress)
            if end:
                self._delete(item, progress, active)
                progress.finished = end
            else:
                self._manage(item, progress, pods, active)
                if not any(is_active(pod) for pod in self.store.pods_of(item)) and self._is_complete(item, progress):
                    progress.finished = COMPLETE
        finally:
            self.api.statuses.set(item, self.state(item))

    def state(self, item: Job) -> JobState:
        progress = self._progress.get(identity_of(item)) or self._begin(item)
        active = sum(is_active(pod) for pod in self.store.pods_of(item))
        return JobState(active, self._succeeded(item, progress), progress.failed, progress.finished)

    def _succeeded(self, item: Job, progress: _Progress) -> int:
        return len(progress.indexes) if item.spec.completion_mode == INDEXED else progress.succeeded

    def _is_complete(self, item: Job, progress: _Progress) -> bool:
        """Without completions, one success is enough."""
        wanted = completions_of(item)
        succeeded = self._succeeded(item, progress)
        return succeeded > 0 if wanted is None else succeeded >= wanted

    # manageJob

    def _manage(self, item: Job, progress: _Progress, pods: Sequence[Pod], active: list[Pod]) -> None:
        if item.spec.suspend:
            self._delete(item, progress, active)
            return
        wanted, succeeded = completions_of(item), self._succeeded(item, progress)
        if wanted is None:
            # A work queue is empty once a pod has succeeded: those that run may finish, none is added.
            want_active = len(active) if succeeded else parallelism(item)
        else:
            want_active = max(min(wanted - succeeded, parallelism(item)), 0)
        leaving = self._pods_for_removal(item, active, max(len(active) - want_active, 0))
        if leaving:
            self._delete(item, progress, leaving[:_BURST])
            return
        # controller.CountTerminatingPods.
        terminating = sum(map(_is_terminating, pods)) if _replaces_failed_only(item) else 0
        missing = min(want_active - terminating - len(active), _BURST)
        if missing <= 0:
            return
        remaining = 0.0 if has_limit_per_index(item) else progress.remaining(self.api.now())
        if remaining > 0:
            self.queue.add_after(self, identity_of(item), remaining)
            return
        self._create(item, progress, pods, missing)

    def _pods_for_removal(self, item: Job, active: Sequence[Pod], least: int) -> list[Pod]:
        """activePodsForRemoval: pods whose index is no index or is taken by another, then the usual order."""
        leaving: list[Pod] = []
        ordered = sorted(active, key=order_of_deletion)
        if item.spec.completion_mode == INDEXED:
            indexes = range(indexes_of(item))
            last = {index: pod for pod in ordered for index in _indexes((pod,)) if index in indexes}
            kept = {pod.metadata.name for pod in last.values()}
            leaving = [pod for pod in ordered if pod.metadata.name not in kept]
            ordered = [pod for pod in ordered if pod.metadata.name in kept]
        more = max(least - len(leaving), 0)
        return [*leaving, *self._first(item, ordered, more)]

    def _first(self, item: Job, ordered: Sequence[Pod], count: int) -> list[Pod]:
        """The first so many. Among pods that no rule distinguishes, it is a draw."""
        if not 0 < count < len(ordered):
            return list(ordered[:count])
        last = order_of_deletion(ordered[count - 1])
        certain = [pod for pod in ordered[:count] if order_of_deletion(pod) != last]
        equal = [(pod.metadata.name, pod) for pod in ordered if order_of_deletion(pod) == last]
        if len(certain) + len(equal) == count:
            return list(ordered[:count])
        subject = "/".join(identity_of(item))
        return [*certain, *self.api.draws.take("deletion order", subject, equal, count - len(certain))]

    def _delete(self, item: Job, progress: _Progress, pods: Iterable[Pod]) -> None:
        """deleteJobPods."""
        for pod in pods:
            progress.released.add(pod.metadata.uid)
            self.api.delete(pod, why=f"Job {item.metadata.name} does not want the pod any more")

    def _create(self, item: Job, progress: _Progress, pods: Sequence[Pod], count: int) -> None:
        if item.spec.completion_mode != INDEXED:
            for number in range(count):
                self._create_pod(item, None, number)
            return
        holding = [pod for pod in pods if is_active(pod) or (_replaces_failed_only(item) and _is_terminating(pod))]
        taken = progress.indexes | progress.failed_indexes | _indexes(holding)
        free = [index for index in range(indexes_of(item)) if index not in taken][:count]
        if has_limit_per_index(item):
            free = self._without_back_off(item, progress, free)
        for index in free:
            self._create_pod(item, index, index, progress.replaced.get(index))

    def _without_back_off(self, item: Job, progress: _Progress, indexes: Sequence[int]) -> list[int]:
        """getPodCreationInfoForIndependentIndexes: each index waits after its own failures."""
        waits = {index: progress.remaining_of(index, self.api.now()) for index in indexes}
        ready = [index for index, remaining in waits.items() if remaining <= 0]
        if waits and not ready:
            self.queue.add_after(self, identity_of(item), min(waits.values()))
        return ready

    def _create_pod(self, item: Job, index: int | None, number: int, replaced: ReplacedPod | None = None) -> None:
        namespace, owner = item.metadata.namespace, identity_of(item)
        # podGenerateNameWithIndex.
        base = f"{item.metadata.name}-" if index is None else f"{item.metadata.name}-{index}-"
        name = self.api.successors.new_name(base, namespace, owner, number)
        pod = job_pod(item, name, index)
        if has_limit_per_index(item):
            pod.metadata.annotations |= replaced.annotations if replaced is not None else {FAILURE_COUNT: "0"}
        self.api.create_for(item, pod)


def _end_of(item: Job, progress: _Progress) -> str:
    """Which condition ends the Job before its completions are reached; empty if none does."""
    if progress.must_fail or progress.failed > _backoff_limit(item):
        return FAILED
    if has_limit_per_index(item) and has_too_many_failed(item, progress.failed_indexes, progress.indexes):
        return FAILED
    return COMPLETE if meets_success_policy(item, progress.indexes) else ""


def _backoff_limit(item: Job) -> int:
    """SetDefaults_Job."""
    if item.spec.backoff_limit is not None:
        return item.spec.backoff_limit
    return _NO_LIMIT if has_limit_per_index(item) else _BACKOFF_LIMIT


def _back_off(failures: int, last: float, now: float) -> float:
    """getRemainingTimeForFailuresCount."""
    delay = min(_FIRST_BACKOFF * float(2 ** min(failures - 1, 10)), _LONGEST_BACKOFF)
    return max(last + delay - now, 0.0)


def _replaces_failed_only(item: Job) -> bool:
    """onlyReplaceFailedPods."""
    return item.spec.pod_replacement_policy == FAILED or item.spec.pod_failure_policy is not None


def _has_failed(item: Job, pod: Pod) -> bool:
    """isPodFailed: a pod that is deleted has failed too, unless the Job waits for its end."""
    if pod.status.phase == FAILED:
        return True
    deleted = pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"
    return deleted and not _replaces_failed_only(item)


def _is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None and pod.status.phase not in ("Succeeded", FAILED)


def _indexes(pods: Iterable[Pod]) -> frozenset[int]:
    found = (pod.metadata.annotations.get(JOB_INDEX, "") for pod in pods)
    return frozenset(int(index) for index in found if index.isdecimal())
