"""What a result does not take into account."""

from __future__ import annotations

from typing import Any

from ksched_cli.config.extenders import extender_name, not_called
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.scheduler_spec import SchedulerSpec
from ksched_cli.sources.loaded import Loaded


def coverage_of(scheduler: Scheduler, loaded: Loaded, spec: SchedulerSpec) -> dict[str, Any]:
    """As far as it is known before the run."""
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
    if scheduler.not_modelled:
        coverage["pluginsNotModelled"] = list(scheduler.not_modelled)
    if scheduler.gates_not_modelled:
        coverage["featureGatesNotModelled"] = list(scheduler.gates_not_modelled)
    if scheduler.extenders_skipped:
        coverage["extendersNotCalled"] = [extender_name(each) for each in scheduler.extenders_skipped]
        coverage["extendersCouldChange"] = [not_called(each) for each in scheduler.extenders_skipped]
    return coverage
