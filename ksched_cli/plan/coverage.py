"""The input and the rules that a result ignores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.api.policy import PodGroup
from ksched_cli.api.workloads import CronJob, Job
from ksched_cli.config.extenders import extender_name, not_called
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.scheduler_spec import SchedulerSpec
from ksched_cli.sources.loaded import Loaded


def coverage_of(scheduler: Scheduler, loaded: Loaded, spec: SchedulerSpec) -> dict[str, Any]:
    """The coverage before the run."""
    coverage: dict[str, Any] = {"kubeVersion": spec.release.version}
    if not spec.modelled:
        coverage["kubeVersionNotModelled"] = spec.requested
    if not spec.release.recorded:
        coverage["kubeVersionReadFromSource"] = spec.release.version
    if loaded.unknown:
        coverage["notRead"] = dict(sorted(loaded.unknown.items()))
    if loaded.missing:
        coverage["missing"] = dict(sorted(loaded.missing.items()))
    if loaded.gaps:
        coverage["admissionNotModelled"] = list(loaded.gaps)
    jobs = job_gaps(loaded)
    if jobs:
        coverage["jobsNotModelled"] = jobs
    if scheduler.schedules_groups and (gangs := gang_gaps(loaded)):
        coverage["podGroupsNotModelled"] = gangs
    if scheduler.not_modelled:
        coverage["pluginsNotModelled"] = list(scheduler.not_modelled)
    if scheduler.gates_not_modelled:
        coverage["featureGatesNotModelled"] = list(scheduler.gates_not_modelled)
    if scheduler.extenders_skipped:
        coverage["extendersNotCalled"] = [extender_name(each) for each in scheduler.extenders_skipped]
        coverage["extendersCouldChange"] = [not_called(each) for each in scheduler.extenders_skipped]
    return coverage


def gang_gaps(loaded: Loaded) -> list[str]:
    """What no run takes into account where there is a gang: kube-scheduler may give a pod that found no node a second
    cycle when another pod of its gang is permitted."""
    has_gang = any(each.spec.scheduling_policy.gang is not None for each in loaded.of(PodGroup))
    return ["second cycles of pods in a gang"] if has_gang else []


def job_gaps(*inputs: Loaded) -> list[str]:
    """What Jobs have that no run takes into account: pods of a run do not finish by themselves and have no exit
    codes."""
    found: dict[str, str] = {}
    for loaded in inputs:
        specs = [("Job", each.metadata, each.spec) for each in loaded.of(Job)]
        specs += [("CronJob", each.metadata, each.spec.job_template.spec) for each in loaded.of(CronJob)]
        for kind, metadata, spec in specs:
            parts = ["activeDeadlineSeconds"] if spec.active_deadline_seconds is not None else []
            rules = spec.pod_failure_policy.rules if spec.pod_failure_policy is not None else ()
            parts += ["podFailurePolicy.onExitCodes"] if any(each.on_exit_codes is not None for each in rules) else []
            if parts:
                name = f"{kind} {metadata.namespace}/{metadata.name}"
                found[name] = f"{name}: {', '.join(parts)}"
    return list(found.values())


def with_job_gaps(coverage: Mapping[str, Any], *manifests: Loaded) -> dict[str, Any]:
    """The coverage with the gaps of the manifests too."""
    more = [*coverage.get("jobsNotModelled", []), *job_gaps(*manifests)]
    return {**coverage, **({"jobsNotModelled": list(dict.fromkeys(more))} if more else {})}
