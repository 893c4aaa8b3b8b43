"""Workloads: selectors, strategies, numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ksched_cli.api.meta import LabelSelector, LabelSelectorRequirement
from ksched_cli.api.selectors import SelectorError, compile_selector
from ksched_cli.api.validation.fields import (
    FieldErrors,
    Path,
    forbidden,
    invalid,
    invalid_all,
    items_at,
    not_negative,
    number_at,
    object_at,
    one_of,
    required,
    text_at,
    texts_at,
    unsupported,
)
from ksched_cli.api.validation.names import amount_of, at_most_100_percent, dns_label, int_or_percent
from ksched_cli.api.validation.pods import template
from ksched_cli.api.validation.selectors import label_selector
from ksched_cli.api.validation.volumes import claim_spec

_ROLLING = "RollingUpdate"
_SPEC: Path = ("spec",)
_LONGEST_CRON_JOB = 52
_MOST_INDEXED_PARALLELISM = 100_000
# `*/5 0-23 1,15 * mon-fri`, or a word such as @daily.
_SCHEDULE_FIELD = re.compile(r"(\*|\?|[\w-]+)(/\d+)?(,(\*|\?|[\w-]+)(/\d+)?)*", re.ASCII)
_SCHEDULE_WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def deployment(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateDeploymentSpec."""
    spec = object_at(document, "spec")
    yield from _replicated(spec, "deployment", "ReplicaSet")
    yield from _deployment_strategy(spec)
    yield from not_negative(spec, "revisionHistoryLimit", _SPEC)
    yield from not_negative(spec, "progressDeadlineSeconds", _SPEC)
    deadline, ready = number_at(spec, "progressDeadlineSeconds"), number_at(spec, "minReadySeconds") or 0
    if deadline is not None and deadline <= ready:
        yield invalid((*_SPEC, "progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds")


def replica_set(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateReplicaSetSpec."""
    yield from _replicated(object_at(document, "spec"), "deployment", "ReplicaSet")


def stateful_set(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateStatefulSetSpec."""
    spec = object_at(document, "spec")
    claims = items_at(spec, "volumeClaimTemplates")
    names = [text_at(object_at(each, "metadata"), "name") for _, each in claims]
    yield from _replicated(spec, "statefulset", "StatefulSet", names)
    policy = text_at(spec, "podManagementPolicy")
    if policy not in ("", "OrderedReady", "Parallel"):
        yield invalid((*_SPEC, "podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _stateful_set_strategy(spec)
    yield from not_negative(object_at(spec, "ordinals"), "start", (*_SPEC, "ordinals"))
    service = text_at(spec, "serviceName")
    if service:
        yield from invalid_all((*_SPEC, "serviceName"), service, dns_label(service))
    for index, each in claims:
        here = (*_SPEC, "volumeClaimTemplates", index)
        if not names[[at for at, _ in claims].index(index)]:
            yield required((*here, "metadata", "name"))
        yield from claim_spec(object_at(each, "spec"), (*here, "spec"))


def daemon_set(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateDaemonSetSpec."""
    spec = object_at(document, "spec")
    yield from _replicated(spec, "daemonset", "DaemonSet")
    strategy, path = object_at(spec, "updateStrategy"), (*_SPEC, "updateStrategy")
    yield from one_of(strategy, "type", path, (_ROLLING, "OnDelete"))
    rolling, here = object_at(strategy, "rollingUpdate"), (*path, "rollingUpdate")
    for field in ("maxUnavailable", "maxSurge"):
        yield from int_or_percent(rolling, field, here)
        yield from at_most_100_percent(rolling, field, here)
    surge = amount_of(rolling.get("maxSurge", 0))
    unavailable = amount_of(rolling.get("maxUnavailable", 1))
    if surge and unavailable and "maxUnavailable" in rolling:
        yield invalid((*here, "maxSurge"), rolling.get("maxSurge"), "may not be set when maxUnavailable is non-zero")
    elif surge == 0 and unavailable == 0:
        yield required((*here, "maxUnavailable"), "cannot be 0 when maxSurge is 0")


def replication_controller(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateReplicationControllerSpec."""
    spec = object_at(document, "spec")
    yield from not_negative(spec, "replicas", _SPEC)
    yield from not_negative(spec, "minReadySeconds", _SPEC)
    found = object_at(spec, "template")
    if not found:
        yield required((*_SPEC, "template"))
        return
    labels, selector = object_at(found, "metadata", "labels"), object_at(spec, "selector")
    if not selector and not labels:
        yield required((*_SPEC, "selector"))
    elif any(labels.get(key) != value for key, value in selector.items()):
        yield invalid(
            (*_SPEC, "template", "metadata", "labels"), dict(labels), "`selector` does not match template `labels`"
        )
    yield from _always_restarting(found, "ReplicationController")


def _replicated(spec: Mapping[str, Any], kind: str, owner: str, more_volumes: list[str] | None = None) -> FieldErrors:
    yield from not_negative(spec, "replicas", _SPEC)
    yield from not_negative(spec, "minReadySeconds", _SPEC)
    yield from _selector(spec, _SPEC, kind)
    found = object_at(spec, "template")
    if not found:
        yield required((*_SPEC, "template"))
    else:
        yield from _always_restarting(found, owner, more_volumes or [])


def _always_restarting(found: Mapping[str, Any], owner: str, more_volumes: list[str] | None = None) -> FieldErrors:
    path = (*_SPEC, "template")
    yield from template(found, path, more_volumes or [])
    spec = object_at(found, "spec")
    policy = text_at(spec, "restartPolicy")
    if policy in ("OnFailure", "Never"):
        yield unsupported((*path, "spec", "restartPolicy"), policy, ("Always",))
    if number_at(spec, "activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {owner} is not Supported"
        yield forbidden((*path, "spec", "activeDeadlineSeconds"), text)


def _selector(spec: Mapping[str, Any], path: Path, kind: str) -> FieldErrors:
    selector, here = object_at(spec, "selector"), (*path, "selector")
    if "selector" not in spec or spec["selector"] is None:
        yield required(here)
        return
    yield from label_selector(selector, here)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid(here, dict(selector), f"empty selector is invalid for {kind}")
    else:
        yield from _matching(spec, selector, path)


def _matching(spec: Mapping[str, Any], selector: Mapping[str, Any], path: Path) -> FieldErrors:
    labels = object_at(spec, "template", "metadata", "labels")
    texts = {key: value for key, value in labels.items() if isinstance(value, str)}
    wanted = object_at(selector, "matchLabels")
    if not all(isinstance(value, str) for value in wanted.values()):
        return
    requirements = tuple(
        LabelSelectorRequirement(text_at(each, "key"), text_at(each, "operator"), tuple(texts_at(each, "values")))
        for _, each in items_at(selector, "matchExpressions")
    )
    try:
        compiled = compile_selector(LabelSelector(dict(wanted), requirements))
    except SelectorError:
        return
    if object_at(spec, "template") and not compiled.matches(texts):
        text = "`selector` does not match template `labels`"
        yield invalid((*path, "template", "metadata", "labels"), dict(labels), text)


def _deployment_strategy(spec: Mapping[str, Any]) -> FieldErrors:
    """ValidateDeploymentStrategy."""
    strategy, path = object_at(spec, "strategy"), (*_SPEC, "strategy")
    yield from one_of(strategy, "type", path, ("Recreate", _ROLLING))
    rolling, here = strategy.get("rollingUpdate"), (*path, "rollingUpdate")
    if text_at(strategy, "type") == "Recreate" and rolling is not None:
        yield forbidden(here, "may not be specified when strategy `type` is 'Recreate'")
        return
    found = rolling if isinstance(rolling, dict) else {}
    yield from int_or_percent(found, "maxUnavailable", here)
    yield from int_or_percent(found, "maxSurge", here)
    if amount_of(found.get("maxUnavailable", "25%")) == 0 and amount_of(found.get("maxSurge", "25%")) == 0:
        yield invalid((*here, "maxUnavailable"), found.get("maxUnavailable"), "may not be 0 when `maxSurge` is 0")
    yield from at_most_100_percent(found, "maxUnavailable", here)


def _stateful_set_strategy(spec: Mapping[str, Any]) -> FieldErrors:
    strategy, path = object_at(spec, "updateStrategy"), (*_SPEC, "updateStrategy")
    kind = text_at(strategy, "type")
    if kind not in ("", _ROLLING, "OnDelete"):
        yield invalid(path, dict(strategy), "must be 'RollingUpdate' or 'OnDelete'")
    rolling, here = object_at(strategy, "rollingUpdate"), (*path, "rollingUpdate")
    if kind == "OnDelete" and rolling:
        yield invalid(here, dict(rolling), "only allowed for updateStrategy 'RollingUpdate'")
        return
    yield from not_negative(rolling, "partition", here)
    yield from int_or_percent(rolling, "maxUnavailable", here)
    yield from at_most_100_percent(rolling, "maxUnavailable", here)
    if amount_of(rolling.get("maxUnavailable", 1)) == 0:
        yield invalid((*here, "maxUnavailable"), rolling["maxUnavailable"], "cannot be 0")


def job(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateJob."""
    spec = object_at(document, "spec")
    yield from _job_spec(spec, _SPEC)
    if spec.get("manualSelector") is True:
        yield from _selector(spec, _SPEC, "job")
    name, completions = text_at(object_at(document, "metadata"), "name"), number_at(spec, "completions")
    if text_at(spec, "completionMode") == "Indexed" and completions and dns_label(f"{name}-{completions - 1}"):
        text = f"will not able to create pod with invalid DNS label: {name}-{completions - 1}"
        yield invalid(("metadata", "name"), name, text)


def _job_spec(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    """validateJobSpec."""
    numbers = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    for field in (*numbers, "backoffLimitPerIndex", "maxFailedIndexes"):
        yield from not_negative(spec, field, path)
    mode = text_at(spec, "completionMode")
    yield from one_of(spec, "completionMode", path, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        if number_at(spec, "completions") is None:
            yield required((*path, "completions"), "when completion mode is Indexed")
        parallelism = number_at(spec, "parallelism") or 0
        if parallelism > _MOST_INDEXED_PARALLELISM:
            text = f"must be less than or equal to {_MOST_INDEXED_PARALLELISM} when completion mode is Indexed"
            yield invalid((*path, "parallelism"), parallelism, text)
    else:
        for field in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if spec.get(field) is not None:
                yield invalid((*path, field), spec[field], "requires indexed completion mode")
    yield from one_of(spec, "podReplacementPolicy", path, ("Failed", "TerminatingOrFailed"))
    found = object_at(spec, "template")
    if not found:
        yield required((*path, "template"))
        return
    yield from template(found, (*path, "template"))
    yield from _job_restarts(spec, text_at(object_at(found, "spec"), "restartPolicy"), (*path, "template", "spec"))


def _job_restarts(spec: Mapping[str, Any], policy: str, path: Path) -> FieldErrors:
    if policy in ("", "Always"):
        yield required((*path, "restartPolicy"), 'valid values: "OnFailure", "Never"')
    elif object_at(spec, "podFailurePolicy") and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid((*path, "restartPolicy"), policy, text)


def cron_job(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateCronJobCreate."""
    spec, name = object_at(document, "spec"), text_at(object_at(document, "metadata"), "name")
    if len(name) > _LONGEST_CRON_JOB:
        yield invalid(("metadata", "name"), name, f"must be no more than {_LONGEST_CRON_JOB} characters")
    schedule = text_at(spec, "schedule")
    if not schedule:
        yield required((*_SPEC, "schedule"))
    else:
        yield from invalid_all((*_SPEC, "schedule"), schedule, _schedule_problems(schedule))
    for field in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from not_negative(spec, field, _SPEC)
    yield from one_of(spec, "concurrencyPolicy", _SPEC, ("Allow", "Forbid", "Replace"))
    yield from _job_spec(object_at(spec, "jobTemplate", "spec"), (*_SPEC, "jobTemplate", "spec"))
    if object_at(spec, "jobTemplate", "spec").get("selector") is not None:
        here = (*_SPEC, "jobTemplate", "spec", "selector")
        yield invalid(
            here, dict(object_at(spec, "jobTemplate", "spec", "selector")), "`selector` will be auto-generated"
        )


def _schedule_problems(schedule: str) -> list[str]:
    """cron's ParseStandard, as far as the form goes."""
    if "TZ" in schedule:
        return ["cannot use TZ or CRON_TZ in schedule, use timeZone field instead"]
    if schedule.startswith("@"):
        known = schedule in _SCHEDULE_WORDS or schedule.startswith("@every ")
        return [] if known else [f"unrecognized descriptor: {schedule}"]
    fields = schedule.split()
    if len(fields) != 5:
        return [f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"]
    return [f"failed to parse {each}" for each in fields if not _SCHEDULE_FIELD.fullmatch(each)]


def pod_template(document: Mapping[str, Any]) -> FieldErrors:
    yield from template(object_at(document, "template"), ("template",))
