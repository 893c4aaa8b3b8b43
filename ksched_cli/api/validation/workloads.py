"""Rows for workloads: selectors, strategies, numbers (ValidateDeployment and its like in pkg/apis/apps/validation and
pkg/apis/batch/validation). Changes of an existing workload are compared in `controlplane/admission/updates.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.conversion import Path
from ksched_cli.api.core import LabelSelector, LabelSelectorRequirement
from ksched_cli.api.label_names import key_problems
from ksched_cli.api.selectors import SelectorError, compile_selector
from ksched_cli.api.validation import checks
from ksched_cli.api.validation.checks import LABEL, NEEDED, NOT_NEGATIVE, Rows
from ksched_cli.api.validation.errors import (
    Errors,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    invalid_all,
    required,
    unsupported,
)
from ksched_cli.api.validation.fields import each_at, items_at, number_at, object_at, text_at, texts_at
from ksched_cli.api.validation.pods import names_in_pod
from ksched_cli.api.workloads import JOB_NAME_LABELS, JOB_UID_LABELS

_ROLLING = "RollingUpdate"
_MOST_INDEXED, _MANY, _MOST_OF_MANY = 100_000, 100_000, 10_000
_DEFAULT_DEADLINE = 600


def _of_pods(owner: str, kind: str) -> Callable[[Any, Path], Errors]:
    """The selector and the template of a workload whose pods restart (ValidatePodTemplateSpecForReplicaSet)."""

    def check(spec: Mapping[str, Any], path: Path) -> Errors:
        pod, here = object_at(spec, "template", "spec"), (*path, "template", "spec")
        if owner != "StatefulSet":
            yield from names_in_pod(pod, here)
        if spec.get("selector") is not None and kind:
            yield from _selector(spec, path, kind)
        elif kind:
            yield required((*path, "selector"))
            yield from [_mismatch(path, None)] if owner == "DaemonSet" else ()
        if text_at(pod, "restartPolicy") not in ("", "Always"):
            yield unsupported((*here, "restartPolicy"), text_at(pod, "restartPolicy"), ("Always",))
        if number_at(pod, "activeDeadlineSeconds") is not None:
            yield forbidden((*here, "activeDeadlineSeconds"), f"activeDeadlineSeconds in {owner} is not Supported")

    return check


def _selector(spec: Mapping[str, Any], path: Path, kind: str) -> Errors:
    selector = object_at(spec, "selector")
    if kind and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid((*path, "selector"), dict(selector), f"empty selector is invalid for {kind}")
        return
    given = object_at(spec, "template", "metadata", "labels")
    wanted = {key: value for key, value in object_at(selector, "matchLabels").items() if value is not None}
    requirements = tuple(
        LabelSelectorRequirement(text_at(each, "key"), text_at(each, "operator"), tuple(texts_at(each, "values")))
        for _, each in items_at(selector, "matchExpressions")
    )
    try:
        compiled = compile_selector(LabelSelector(wanted, requirements))
    except SelectorError:
        return
    if not compiled.matches({key: value for key, value in given.items() if value is not None}):
        yield _mismatch(path, dict(given))


def _mismatch(path: Path, labels: object) -> FieldError:
    return invalid((*path, "template", "metadata", "labels"), labels, "`selector` does not match template `labels`")


def _deployment(spec: Mapping[str, Any], path: Path) -> Errors:
    """ValidateDeploymentSpec."""
    deadline, ready = number_at(spec, "progressDeadlineSeconds"), number_at(spec, "minReadySeconds") or 0
    if (_DEFAULT_DEADLINE if deadline is None else deadline) <= ready:
        text = "must be greater than minReadySeconds"
        yield invalid((*path, "progressDeadlineSeconds"), deadline or _DEFAULT_DEADLINE, text)


def _deployment_strategy(strategy: Mapping[str, Any], path: Path) -> Errors:
    """ValidateDeploymentStrategy."""
    rolling, kind = strategy.get("rollingUpdate"), text_at(strategy, "type")
    if kind == "Recreate" and rolling is not None:
        yield forbidden((*path, "rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'")
    elif kind in ("", _ROLLING):
        found = rolling or {}
        if (
            checks.amount_of(found.get("maxUnavailable", "25%")) == 0
            and checks.amount_of(found.get("maxSurge", "25%")) == 0
        ):
            here = (*path, "rollingUpdate", "maxUnavailable")
            yield invalid(here, found.get("maxUnavailable"), "may not be 0 when `maxSurge` is 0")


def _daemon_set_strategy(strategy: Mapping[str, Any], path: Path) -> Errors:
    """ValidateDaemonSetUpdateStrategy."""
    found, here = object_at(strategy, "rollingUpdate"), (*path, "rollingUpdate")
    surge, unavailable = checks.amount_of(found.get("maxSurge", 0)), checks.amount_of(found.get("maxUnavailable", 1))
    if text_at(strategy, "type") == "OnDelete":
        return
    if surge and unavailable:
        yield invalid((*here, "maxSurge"), found.get("maxSurge"), "may not be set when maxUnavailable is non-zero")
    elif surge == 0 and unavailable == 0:
        yield required((*here, "maxUnavailable"), "cannot be 0 when maxSurge is 0")


def _not_zero(value: Any, path: Path) -> Errors:
    if checks.amount_of(value) == 0:
        yield invalid(path, value, "cannot be 0")


def _stateful_set(spec: Mapping[str, Any], path: Path) -> Errors:
    """ValidateStatefulSetSpec."""
    policy, strategy = text_at(spec, "podManagementPolicy"), object_at(spec, "updateStrategy")
    if policy not in ("", "OrderedReady", "Parallel"):
        yield invalid((*path, "podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'")
    rolling, here = strategy.get("rollingUpdate"), (*path, "updateStrategy", "rollingUpdate")
    kind = text_at(strategy, "type")
    if kind not in ("", _ROLLING, "OnDelete"):
        error = invalid((*path, "updateStrategy"), dict(strategy), "must be 'RollingUpdate' or 'OnDelete'")
        yield replace(error, gate=("StatefulSetRecreateStrategy", False)) if kind == "Recreate" else error
    elif kind == "OnDelete" and rolling is not None:
        yield invalid(here, rolling, "only allowed for updateStrategy 'RollingUpdate'")
    claims = {
        (*here, "metadata", "name"): text_at(object_at(claim, "metadata"), "name")
        for here, claim in each_at(spec, path, "volumeClaimTemplates")
    }
    of_claims: Mapping[str, Any] = {name: {"persistentVolumeClaim": {}} for name in claims.values()}
    yield from names_in_pod(object_at(spec, "template", "spec"), (*path, "template", "spec"), of_claims)
    for here, name in claims.items():
        yield from invalid_all(here, name, checks.dns_label(name))


def _replication_controller(spec: Mapping[str, Any], path: Path) -> Errors:
    """ValidateReplicationControllerSpec. The selector is that of the template's labels if it is not written."""
    given, selector = object_at(spec, "template", "metadata", "labels"), object_at(spec, "selector")
    if not selector and not given:
        yield required((*path, "selector"))
    elif object_at(spec, "template") and any(given.get(key) != value for key, value in selector.items()):
        yield _mismatch(path, dict(given))


# Jobs


def _job(document: Mapping[str, Any], path: Path) -> Errors:
    """ValidateJob. A selector is only allowed with manualSelector: the API server makes one otherwise."""
    spec, name = object_at(document, "spec"), text_at(object_at(document, "metadata"), "name")
    completions, here = number_at(spec, "completions"), (*path, "spec")
    if spec.get("manualSelector") is True:
        if spec.get("selector") is None:
            yield from (required((*here, "selector")), _mismatch(here, None))
        else:
            yield from _selector(spec, here, "")
    elif spec.get("selector") is not None and not _is_generated(spec):
        yield invalid((*here, "selector"), dict(object_at(spec, "selector")), "`selector` not auto-generated")
    for label in reversed(JOB_NAME_LABELS):
        found = object_at(spec, "template", "metadata", "labels").get(label)
        if found is not None and found != name and spec.get("manualSelector") is not True:
            yield invalid((*here, "template", "metadata", "labels", label), found, f"must be '{name}'")
    if len(name) > 63:
        yield invalid((*here, "template", "metadata", "labels"), name, "job-name: must be no more than 63 bytes")
    if text_at(spec, "completionMode") == "Indexed" and completions and checks.dns_label(f"{name}-{completions - 1}"):
        text = f"will not able to create pod with invalid DNS label: {name}-{completions - 1}"
        yield invalid(("metadata", "name"), name, text)


def _is_generated(spec: Mapping[str, Any]) -> bool:
    """Whether the selector is the one that the API server has made, as `kubectl get job -o yaml` prints it. An update
    of that Job may have it (ValidateJobUpdate); admission refuses it in a new Job."""
    selector = object_at(spec, "selector")
    given = object_at(spec, "template", "metadata", "labels")
    wanted = object_at(selector, "matchLabels")
    known = all(key in JOB_UID_LABELS and given.get(key) == value for key, value in wanted.items())
    return bool(wanted) and known and not selector.get("matchExpressions")


def _job_spec(spec: Mapping[str, Any], path: Path) -> Errors:
    """validateJobSpec."""
    completions, parallelism = number_at(spec, "completions"), number_at(spec, "parallelism")
    failed, per_index = number_at(spec, "maxFailedIndexes"), number_at(spec, "backoffLimitPerIndex")
    if text_at(spec, "completionMode") != "Indexed":
        for field in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if spec.get(field) is not None:
                yield invalid((*path, field), spec[field], "requires indexed completion mode")
    else:
        if completions is None:
            yield required((*path, "completions"), "when completion mode is Indexed")
        is_many = completions is not None and completions > _MANY and per_index is not None
        if is_many and failed is None:
            yield required((*path, "maxFailedIndexes"), f"must be specified when completions is above {_MANY}")
        most = _MOST_OF_MANY if is_many else _MOST_INDEXED
        for field, number in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
            if number is not None and number > most:
                text = f"must be less than or equal to {most} when completion mode is Indexed"
                yield invalid((*path, field), number, text)
        if failed is not None and completions is not None and failed > completions:
            yield invalid((*path, "maxFailedIndexes"), failed, "must be less than or equal to completions")
        yield from _success_policy(spec, (*path, "successPolicy"))
    yield from _job_policies(spec, path)


def _job_policies(spec: Mapping[str, Any], path: Path) -> Errors:
    """validatePodFailurePolicy, validatePodReplacementPolicy, and the restartPolicy."""
    pod = object_at(spec, "template", "spec")
    yield from names_in_pod(pod, (*path, "template", "spec"))
    policy, here = text_at(pod, "restartPolicy"), (*path, "template", "spec", "restartPolicy")
    if policy in ("", "Always"):
        yield required(here, 'valid values: "OnFailure", "Never"')
    elif spec.get("podFailurePolicy") is not None and policy == "OnFailure":
        yield invalid(here, policy, 'only "Never" is supported when podFailurePolicy is specified')
    replacement = text_at(spec, "podReplacementPolicy")
    if replacement and spec.get("podFailurePolicy") is not None and replacement != "Failed":
        yield unsupported((*path, "podReplacementPolicy"), replacement, ("Failed",))
    names = {text_at(each, "name") for kind in ("containers", "initContainers") for _, each in items_at(pod, kind)}
    for at, rule in each_at(spec, path, "podFailurePolicy.rules"):
        if text_at(rule, "action") == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            yield invalid((*at, "action"), "FailIndex", "requires the backoffLimitPerIndex to be set")
        container = object_at(rule, "onExitCodes").get("containerName")
        if container is not None and container not in names:
            text = "must be one of the container or initContainer names in the pod template"
            yield invalid((*at, "onExitCodes", "containerName"), container, text)


def _success_policy(spec: Mapping[str, Any], path: Path) -> Errors:
    """validateSuccessPolicy."""
    policy, completions = spec.get("successPolicy"), number_at(spec, "completions") or 0
    if policy is not None and not items_at(policy, "rules"):
        yield required((*path, "rules"), "at least one rules must be specified when the successPolicy is specified")
    for here, rule in each_at(policy, path, "rules"):
        count, indexes = number_at(rule, "succeededCount"), rule.get("succeededIndexes")
        if count is not None and count > completions:
            text = f"must be less than or equal to {completions} (the number of specified completions)"
            yield invalid((*here, "succeededCount"), count, text)
        if indexes is not None:
            total = _indexes(indexes, completions)
            if isinstance(total, str):
                yield invalid((*here, "succeededIndexes"), indexes, f"error parsing succeededIndexes: {total}")
            elif count is not None and count > total:
                text = f"must be less than or equal to {total} (the number of indexes in succeededIndexes)"
                yield invalid((*here, "succeededCount"), count, text)


def _indexes(text: str, completions: int) -> int | str:
    """validateIndexesFormat: the number of indexes of a text such as `1,3-5`, or what is wrong with it."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if len(ends) > 2 or not all(end.isascii() and end.isdigit() for end in ends):
            return f"cannot convert string to integer for index: {part!r}"
        first, final = int(ends[0]), int(ends[-1])
        if first <= last or (len(ends) == 2 and final <= first):
            return f"non-increasing order, previous: {last}, current: {first}"
        if final >= completions:
            return f"too large index: {part!r}"
        total, last = total + final - first + 1, final
    return total


def _exit_codes(found: Mapping[str, Any], path: Path) -> Errors:
    """validatePodFailurePolicyRuleOnExitCodes."""
    values, here = list(found.get("values") or ()), (*path, "values")
    if not values:
        yield invalid(here, values, "at least one value is required")
    for index, value in enumerate(values):
        if value == 0 and text_at(found, "operator") == "In":
            yield invalid((*here, index), value, "must not be 0 for the In operator")
    for index, value in checks.repeated(values):
        yield duplicate((*here, index), value)
    if values != sorted(values):
        yield invalid(here, values, "must be ordered")


def _job_template(template: Mapping[str, Any], path: Path) -> Errors:
    """ValidateJobTemplateSpec."""
    spec, here = object_at(template, "spec"), (*path, "spec")
    if spec.get("selector") is not None:
        yield invalid((*here, "selector"), dict(object_at(spec, "selector")), "`selector` will be auto-generated")
    if spec.get("manualSelector") is True:
        yield unsupported((*here, "manualSelector"), True, ("nil", "false"))


_DAYS = {day: number for number, day in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {month: number for number, month in enumerate(_MONTH_NAMES, start=1)}
_CRON_FIELDS: tuple[tuple[int, int, Mapping[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_CRON_WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_DURATION = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))*|[+-]?0", re.A)


def schedule_problems(schedule: str) -> list[str]:
    """ParseStandard of robfig/cron."""
    if "TZ" in schedule:
        return ["cannot use TZ or CRON_TZ in schedule, use timeZone field instead"]
    if schedule.startswith("@"):
        every = schedule.removeprefix("@every ")
        known = schedule in _CRON_WORDS or (every != schedule and _DURATION.fullmatch(every))
        return [] if known else [f"unrecognized descriptor: {schedule}"]
    fields = schedule.split()
    if len(fields) != 5:
        return [f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"]
    parts = ((part, bounds) for text, bounds in zip(fields, _CRON_FIELDS, strict=True) for part in text.split(","))
    # strings.FieldsFunc leaves out empty parts.
    problems = [problem for part, bounds in parts if part and (problem := _cron_problem(part, *bounds))]
    return problems[:1]


def _cron_problem(part: str, least: int, most: int, names: Mapping[str, int]) -> str:
    """getRange."""
    ranges, *steps = part.split("/")
    ends = ranges.split("-")
    if len(steps) > 1:
        return f"too many slashes: {part}"
    if len(ends) > 2:
        return f"too many hyphens: {part}"
    numbers = []
    for end in ends if ends[0] not in ("*", "?") else ():
        known = names.get(end.lower())
        if known is None and not re.fullmatch(r"\+?\d+", end, re.ASCII):
            return f"failed to parse int from {end}"
        numbers.append(int(end) if known is None else known)
    step = steps[0] if steps else "1"
    if not re.fullmatch(r"\+?\d+", step, re.ASCII):
        return f"failed to parse int from {step}"
    first, last = numbers[0] if numbers else least, numbers[-1] if numbers else most
    if steps and len(numbers) == 1:
        last = most
    rules = (
        (first < least, f"beginning of range ({first}) below minimum ({least}): {part}"),
        (last > most, f"end of range ({last}) above maximum ({most}): {part}"),
        (first > last, f"beginning of range ({first}) beyond end of range ({last}): {part}"),
        (int(step) == 0, f"step of range should be a positive number: {part}"),
    )
    return next((text for is_wrong, text in rules if is_wrong), "")


@cache
def _zones() -> frozenset[str]:
    from zoneinfo import available_timezones

    return frozenset(available_timezones())


def zone_problems(zone: str) -> list[str]:
    """validateTimeZone. Without a database of time zones only their form is checked."""
    if not zone:
        return ["timeZone must be nil or non-empty string"]
    parts = zone.split("/")
    if any(each in (".", "..") or not re.fullmatch(r"[A-Za-z._0-9+][-A-Za-z._0-9+]{0,13}", each) for each in parts):
        return [f"unknown time zone {zone}"]
    if zone.lower() == "local":
        return ["timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"]
    return [] if zone in _zones() or not _zones() else [f"unknown time zone {zone}"]


def _named(pattern: str, problem: str) -> checks.Check:
    return checks.at("name", checks.matches(pattern, problem))


_PERCENT = (checks.int_or_percent, checks.at_most_100_percent)
_REPLICATED: Mapping[str, Any] = {"replicas minReadySeconds revisionHistoryLimit": NOT_NEGATIVE}

ROWS: Rows = {
    "DeploymentSpec": {
        **_REPLICATED,
        "": (_of_pods("ReplicaSet", "deployment"), _deployment),
        "progressDeadlineSeconds": NOT_NEGATIVE,
    },
    "DeploymentStrategy": {"": _deployment_strategy, "type": "Recreate|RollingUpdate"},
    "RollingUpdateDeployment": {"maxUnavailable": _PERCENT, "maxSurge": checks.int_or_percent},
    "ReplicaSetSpec": {**_REPLICATED, "": _of_pods("ReplicaSet", "deployment")},
    "DaemonSetSpec": {**_REPLICATED, "": _of_pods("DaemonSet", "daemonset")},
    "DaemonSetUpdateStrategy": {"": _daemon_set_strategy, "type": "RollingUpdate|OnDelete"},
    "RollingUpdateDaemonSet": {"maxUnavailable maxSurge": _PERCENT},
    "StatefulSetSpec": {
        **_REPLICATED,
        # The API server accepts a negative number of kept revisions.
        "replicas minReadySeconds revisionHistoryLimit": (),
        "replicas minReadySeconds": NOT_NEGATIVE,
        "": (_of_pods("StatefulSet", "statefulset"), _stateful_set),
        "serviceName": LABEL,
    },
    # The API server accepts a longer name, and refuses the pods: they have it in a label, with a dash and ten digits.
    "StatefulSet": {"metadata": _named("(?s).{0,52}|.{64,}", "labels of its pods: must be no more than 63 bytes")},
    "StatefulSetOrdinals": {"start": NOT_NEGATIVE},
    "RollingUpdateStatefulSetStrategy": {"partition": NOT_NEGATIVE, "maxUnavailable": (*_PERCENT, _not_zero)},
    "StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted whenScaled": "Delete|Retain"},
    "ReplicationControllerSpec": {
        "replicas minReadySeconds": NOT_NEGATIVE,
        "template": NEEDED,
        "": (_of_pods("ReplicationController", ""), _replication_controller),
    },
    "PodTemplate": {
        "": lambda item, path: names_in_pod(object_at(item, "template", "spec"), ("template", "spec")),
    },
    "Job": {"": _job},
    "JobSpec": {
        "": (
            checks.requires("maxFailedIndexes", "backoffLimitPerIndex", "when maxFailedIndexes is specified"),
            _job_spec,
        ),
        "parallelism completions activeDeadlineSeconds backoffLimit ttlSecondsAfterFinished": NOT_NEGATIVE,
        "backoffLimitPerIndex maxFailedIndexes": NOT_NEGATIVE,
        "completionMode": "*NonIndexed|Indexed",
        "podReplacementPolicy": "*Failed|TerminatingOrFailed",
        "managedBy": (checks.no_longer(63), checks.form(checks.domain_prefixed_path)),
    },
    "PodFailurePolicy": {"rules": checks.not_more_than(20)},
    "PodFailurePolicyRule": {
        "": checks.choice(
            *("onExitCodes", "onPodConditions"),
            none=(required, "specifying one of OnExitCodes and OnPodConditions is required"),
            many=(forbidden, "specifying both OnExitCodes and OnPodConditions is not supported"),
        ),
        "action!": "Count|FailIndex|FailJob|Ignore",
        "onPodConditions": checks.not_more_than(20),
    },
    "PodFailurePolicyOnExitCodesRequirement": {
        "": _exit_codes,
        "operator!": "In|NotIn",
        "values": checks.not_more_than(255),
    },
    "PodFailurePolicyOnPodConditionsPattern": {"type!": checks.form(key_problems), "status": "False|True|Unknown"},
    "SuccessPolicy": {"rules": checks.not_more_than(20)},
    "SuccessPolicyRule": {
        "": checks.choice(
            *("succeededCount", "succeededIndexes"),
            none=(required, "at least one of succeededCount or succeededIndexes must be specified"),
        ),
        "succeededCount": NOT_NEGATIVE,
        "succeededIndexes": checks.no_longer(64 * 1024),
    },
    "CronJob": {"metadata": _named("(?s).{0,52}", "must be no more than 52 characters")},
    "CronJobSpec": {
        "schedule!": checks.name(schedule_problems),
        "timeZone": checks.form(zone_problems),
        "startingDeadlineSeconds successfulJobsHistoryLimit failedJobsHistoryLimit": NOT_NEGATIVE,
        "concurrencyPolicy": "Allow|Forbid|Replace",
    },
    "JobTemplateSpec": {"": _job_template},
}
