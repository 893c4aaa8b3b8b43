"""Manifests of which kube-scheduler places no pod, because all of them name another scheduler."""

from __future__ import annotations

from ksched_cli.api.defaults import DEFAULT_SCHEDULER
from ksched_cli.api.listing import did_you_mean
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.errors import Problem
from ksched_cli.sources.loaded import Loaded, workload_label
from ksched_cli.sources.places import Places
from ksched_cli.whatif.manifests import pod_templates

_FIELD = ("spec", "schedulerName")


def left_to_other_schedulers(manifests: Loaded, configuration: SchedulerConfiguration, code: str = "") -> list[Problem]:
    """A problem for each pod and workload without a node if none of them names a profile; else nothing."""
    profiles = [each.scheduler_name for each in configuration.profiles]
    named = [
        (item, pod.spec.scheduler_name or DEFAULT_SCHEDULER)
        for item, pod in pod_templates(manifests)
        if not pod.spec.node_name
    ]
    if any(name in profiles for _, name in named):
        return []
    places, problems = Places(manifests), []
    for item, name in named:
        place = places.of_pod_field(item, _FIELD)
        hint = did_you_mean(name, profiles, "--config FILE has its profile; --allow-empty exits with code 0")
        text = f'nothing to place: no profile is named "{name}", and another scheduler places its pods'
        problems.append(Problem(text, place.source, place.line, f"{workload_label(item)}: {place.path}", hint, code))
    return problems
