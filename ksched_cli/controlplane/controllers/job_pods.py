"""The pods of a Job, and the Job of a CronJob, as their controllers write them."""

from __future__ import annotations

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import CronJob, Job
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
