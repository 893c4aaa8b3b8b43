"""When a Job ends before its completions are reached: pod failure policy, failed indexes and success policy."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.workloads import Job
from ksched_cli.controlplane.controllers.job_pods import INDEXED, completions_of, read_indexes

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
