"""Job and CronJob: pods until the work is done."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.workloads import CronJob, Job
from ksched_cli.sources.controllers.existing import Existing, active
from ksched_cli.sources.controllers.made import Made
from ksched_cli.sources.controllers.naming import suffix, uid_of
from ksched_cli.sources.controllers.templates import copied, owner_reference, stamp

INDEX = "batch.kubernetes.io/job-completion-index"
_JOB_NAME = ("batch.kubernetes.io/job-name", "job-name")
_JOB_UID = ("batch.kubernetes.io/controller-uid", "controller-uid")
INDEXED = "Indexed"


def job(item: Job, existing: Existing) -> Made:
    """Controller.manageJob: as many at a time as parallelism allows and completions still ask for."""
    where = f"Job {item.metadata.namespace}/{item.metadata.name}"
    if item.spec.suspend:
        return Made(notes=[f"{where} is suspended: it makes no pods"])
    owned = existing.owned_by("Job", item.metadata)
    if item.spec.completion_mode == INDEXED:
        return Made(_indexed(item, owned, existing))
    finished = sum(pod.status.phase == "Succeeded" for pod in owned)
    done = max(finished, item.status.succeeded)
    wanted, completions = parallelism(item), completions_of(item)
    if completions is not None:
        wanted = min(wanted, completions - done)
    elif done:
        # A work queue is empty once a worker says so: those that run may finish, none is added.
        wanted = 0
    return Made(_pods(item, wanted - len(active(owned)), existing))


def parallelism(item: Job) -> int:
    return 1 if item.spec.parallelism is None else item.spec.parallelism


def completions_of(item: Job) -> int | None:
    """SetDefaults_Job: one, unless parallelism alone says that it is a work queue."""
    if item.spec.completions is None and item.spec.parallelism is None:
        return 1
    return item.spec.completions


def _pods(item: Job, count: int, existing: Existing) -> list[Pod]:
    names = (existing.new_name(f"{item.metadata.name}-", item.metadata.namespace, number) for number in range(count))
    return [job_pod(item, name) for name in names]


def _indexed(item: Job, owned: list[Pod], existing: Existing) -> list[Pod]:
    """firstPendingIndexes: the lowest that are neither done nor under way."""
    running = active(owned)
    completions = item.spec.completions or 0
    done = read_indexes(item.status.completed_indexes, completions)
    done |= _indexes(pod for pod in owned if pod.status.phase == "Succeeded")
    count = min(parallelism(item), completions - len(done)) - len(running)
    taken = done | _indexes(running)
    free = [index for index in range(completions) if index not in taken]
    return [
        indexed_pod(item, index, existing.new_name(index_base(item, index), item.metadata.namespace))
        for index in free[: max(count, 0)]
    ]


def _indexes(pods: Iterable[Pod]) -> set[int]:
    found = (pod.metadata.annotations.get(INDEX, "") for pod in pods)
    return {int(index) for index in found if index.isdecimal()}


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


def cron_job(item: CronJob, existing: Existing) -> Made:
    """One run of it, whenever that is. (Its job is called after the minute, which nobody knows here.)"""
    where, namespace = item.metadata.name, item.metadata.namespace
    if item.spec.suspend:
        return Made(notes=[f"CronJob {namespace}/{where} is suspended: it makes no pods"])
    return job(cron_run(item), existing)


def cron_run(item: CronJob) -> Job:
    """getJobFromTemplate2."""
    where, namespace = item.metadata.name, item.metadata.namespace
    template = copied(item.spec.job_template)
    name = f"{where}-{suffix(namespace, where)}"
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=uid_of("Job", namespace, name),
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        owner_references=(owner_reference("CronJob", "batch/v1", item.metadata),),
    )
    return Job(metadata, template.spec)
