"""Rows for containers and their security contexts (validateContainerCommon of pkg/apis/core/validation). `checks.py`
explains the form of a row; what compares containers with their pod is in `pods.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from ksched_cli.api.conversion import Path
from ksched_cli.api.label_names import domain_problems, key_problems
from ksched_cli.api.validation import checks, errors
from ksched_cli.api.validation.checks import DOMAIN, LABEL, NEEDED, NOT_NEGATIVE, PORT, VARIABLE, Needed, Rows
from ksched_cli.api.validation.errors import Errors, duplicate, forbidden, invalid, invalid_all, required, unsupported
from ksched_cli.api.validation.fields import amount_in, each_at, fields_of, items_at, object_at, text_at, texts_at

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_POD_LEVEL = ("cpu", "memory")
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
HIGHEST_ID = 2**31 - 1
_SYSCTL = "|([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_ENV_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
# Fields that ConvertDownwardAPIFieldLabel knows.
_POD_FIELDS = frozenset((*_ENV_FIELDS, *_VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"))
_RESOURCE_FIELDS = tuple(f"{kind}.{each}" for kind in ("limits", "requests") for each in _NATIVE)
_SUBSCRIPT = re.compile(r"(.+)\['(.*)'\]")
_WORDS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
# allowedEphemeralContainerFields
_NOT_FOR_EPHEMERAL = ("ports", *PROBES, "lifecycle", "resources", "resizePolicy")

# Containers


def _ports(found: list[Any], path: Path) -> Errors:
    """The names in validateContainerPorts."""
    seen: set[str] = set()
    for index, port in enumerate(found):
        if text := text_at(port, "name"):
            problems = checks.port_or_name(text, (*path, index, "name"))
            yield from problems
            if not problems and text in seen:
                yield duplicate((*path, index, "name"), text)
            seen.add(text)


def _value_from(variable: Mapping[str, Any], path: Path) -> Errors:
    """validateEnvVarValueFrom."""
    found, here = variable.get("valueFrom"), (*path, "valueFrom")
    if found is None:
        return ()
    if text_at(variable, "value") and any(found.get(field) is not None for field in fields_of("EnvVarSource")):
        return [invalid(here, "", "may not be specified when `value` is not empty")]
    return _ONE_SOURCE(found, here)


def _field_ref(supported: tuple[str, ...]) -> Any:
    """validateObjectFieldSelector."""

    def check(found: Mapping[str, Any], path: Path) -> Errors:
        version, text, here = text_at(found, "apiVersion"), text_at(found, "fieldPath"), (*path, "fieldPath")
        if not text:
            return [required(here)]
        if version not in ("", "v1"):
            return [invalid(here, text, f"error converting fieldPath: unsupported pod version: {version}")]
        subscript = _SUBSCRIPT.fullmatch(text)
        if subscript is not None:
            if subscript[1] not in ("metadata.annotations", "metadata.labels"):
                return [invalid(here, text, "error converting fieldPath: field label does not support subscript")]
            key = subscript[2].lower() if subscript[1] == "metadata.annotations" else subscript[2]
            return invalid_all(here, text, key_problems(key))
        text = "spec.nodeName" if text == "spec.host" else text
        if text not in _POD_FIELDS:
            return [invalid(here, text, f"error converting fieldPath: field label not supported: {text}")]
        return () if text in supported else [unsupported(here, text, supported)]

    return check


def _resource_ref(found: Mapping[str, Any], path: Path, *, is_volume: bool = False) -> Errors:
    """validateContainerResourceFieldSelector."""
    resource, divisor = text_at(found, "resource"), found.get("divisor")
    if is_volume and not text_at(found, "containerName"):
        yield required((*path, "containerName"))
    elif not resource:
        yield required((*path, "resource"))
    elif resource not in _RESOURCE_FIELDS and not resource.startswith(("requests.hugepages-", "limits.hugepages-")):
        yield unsupported((*path, "resource"), resource, _RESOURCE_FIELDS)
    amount = amount_in(divisor)
    if amount:
        words = ("1m", "1") if resource.endswith(".cpu") else _WORDS
        if amount not in [amount_in(each) for each in words]:
            yield invalid((*path, "divisor"), resource, f"only divisor's values {', '.join(words)} are supported")


def _container(container: Mapping[str, Any], path: Path) -> Errors:
    """ValidateVolumeMounts and ValidateVolumeDevices, as far as they compare both."""
    mounts, devices = ("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")
    for (field, place), (other_field, other_place) in ((mounts, devices), (devices, mounts)):
        seen: set[str] = set()
        others = items_at(container, other_field)
        for here, item in each_at(container, path, field):
            at = text_at(item, place)
            if at and at in seen:
                yield invalid((*here, place), at, "must be unique")
            seen.add(at)
            for _, other in others:
                if text_at(item, "name") and text_at(item, "name") == text_at(other, "name"):
                    text = f"must not already exist in {other_field}"
                    yield invalid((*here, "name"), text_at(item, "name"), text)
                if at and at == text_at(other, other_place):
                    yield invalid((*here, place), at, f"must not already exist as a path in {other_field}")
    for here, mount in each_at(container, path, "volumeMounts"):
        yield from _mount(container, mount, here)


def _mount(container: Mapping[str, Any], mount: Mapping[str, Any], path: Path) -> Errors:
    """validateMountPropagation and validateMountRecursiveReadOnly."""
    propagation, read_only = text_at(mount, "mountPropagation"), mount.get("recursiveReadOnly")
    if text_at(mount, "subPathExpr") and text_at(mount, "subPath"):
        text = "subPathExpr and subPath are mutually exclusive"
        yield invalid((*path, "subPathExpr"), text_at(mount, "subPathExpr"), text)
    privileged = object_at(container, "securityContext").get("privileged") is True
    if propagation == "Bidirectional" and not privileged:
        text = "Bidirectional mount propagation is available only to privileged containers"
        yield forbidden((*path, "mountPropagation"), text)
    if read_only in ("Enabled", "IfPossible"):
        if mount.get("readOnly") is not True:
            yield forbidden((*path, "recursiveReadOnly"), "may only be specified when readOnly is true")
        if propagation not in ("", "None"):
            text = "may only be specified when mountPropagation is None or not specified"
            yield forbidden((*path, "recursiveReadOnly"), text)


def resource_requirements(found: Mapping[str, Any], path: Path, *, of_pod: bool = False) -> Errors:
    """validateResourceRequirements."""
    limits, requests = object_at(found, "limits"), object_at(found, "requests")
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for resource, quantity in amounts.items():
            here = (*path, kind, resource)
            yield from resource_name(resource, here, of_pod=of_pod)
            yield from resource_amount(resource, quantity, here)
    for resource, wanted in requests.items():
        is_exact = not may_overcommit(resource)
        if resource in limits:
            yield from _within(resource, wanted, limits[resource], (*path, "requests", resource), is_exact=is_exact)
        elif is_exact:
            yield required((*path, "limits", resource), "Limit must be set for non overcommitable resources")
    every = limits.keys() | requests.keys()
    if not every & {"cpu", "memory"} and any(each.startswith("hugepages-") for each in every):
        yield forbidden(path, "HugePages require cpu or memory")


def overhead_amounts(found: Mapping[str, Any], path: Path) -> Errors:
    """validateOverhead: the overhead is checked as the limits of a container."""
    for error in resource_requirements({"limits": found}, path):
        yield errors.FieldError((*path, *error.path[len(path) + 1 :]), error.message, error.is_missing)


def _within(resource: str, wanted: Any, limit: Any, path: Path, *, is_exact: bool) -> Errors:
    request, most = amount_in(wanted), amount_in(limit)
    if request is None or most is None:
        return ()
    if is_exact and request != most:
        return [invalid(path, str(wanted), f"must be equal to {resource} limit of {limit}")]
    text = f"must be less than or equal to {resource} limit of {limit}"
    return [invalid(path, str(wanted), text)] if request > most else ()


def _is_native(resource: str) -> bool:
    """helper.IsNativeResource."""
    return "/" not in resource or "kubernetes.io/" in resource


def may_overcommit(resource: str) -> bool:
    """helper.IsOvercommitAllowed."""
    return _is_native(resource) and not resource.startswith("hugepages-")


def is_extended_name(resource: str) -> bool:
    """helper.IsExtendedResourceName."""
    is_other = not _is_native(resource) and not resource.startswith("requests.")
    return is_other and not key_problems(f"requests.{resource}")


def resource_name(resource: str, path: Path, *, of_pod: bool = False) -> Errors:
    """validateContainerResourceName and validatePodResourceName."""
    if problems := key_problems(resource):
        return invalid_all(path, resource, problems)
    is_huge = resource.startswith("hugepages-")
    if of_pod:
        return () if resource in _POD_LEVEL or is_huge else [unsupported(path, resource, (*_POD_LEVEL, "hugepages-"))]
    if "/" not in resource:
        known = resource in _NATIVE or is_huge
        return () if known else [invalid(path, resource, "must be a standard resource for containers")]
    if not _is_native(resource) and not is_extended_name(resource):
        return [invalid(path, resource, "doesn't follow extended resource name standard")]
    return ()


def resource_amount(resource: str, quantity: Any, path: Path) -> Errors:
    """ValidateResourceQuantityValue and validateResourceQuantityHugePageValue."""
    amount = amount_in(quantity)
    yield from checks.amount_not_negative(quantity, path)
    if amount is None:
        return
    if amount.denominator != 1 and amount >= 0 and is_extended_name(resource):
        yield invalid(path, str(quantity), "must be an integer")
    size = amount_in(resource.removeprefix("hugepages-")) if resource.startswith("hugepages-") else None
    if resource.startswith("hugepages-") and (not size or size < 0 or amount % size):
        yield invalid(path, str(quantity), f"{quantity} is not positive integer multiple of {resource}")


# Security


def _profile(found: Mapping[str, Any], path: Path) -> Errors:
    """validateSeccompProfileField, and the same of AppArmor."""
    local = found.get("localhostProfile")
    if text_at(found, "type") != "Localhost":
        if local is not None:
            yield invalid((*path, "localhostProfile"), local, "can only be set when the type is Localhost")
    elif local is None or (not local.strip() and path[-1] == "appArmorProfile"):
        yield required((*path, "localhostProfile"), "must be set when the type is Localhost")
    elif path[-1] == "appArmorProfile" and local != local.strip():
        yield invalid((*path, "localhostProfile"), local, "must not be padded with whitespace")


def _context(found: Mapping[str, Any], path: Path) -> Errors:
    """ValidateSecurityContext."""
    if found.get("allowPrivilegeEscalation") is not False:
        return
    if found.get("privileged") is True:
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield invalid((*path, "allowPrivilegeEscalation"), False, text)
    if "CAP_SYS_ADMIN" in texts_at(object_at(found, "capabilities"), "add"):
        text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        yield invalid((*path, "capabilities", "add"), "CAP_SYS_ADMIN", text)


def _user_name(value: str, path: Path) -> Errors:
    """RunAsUserName in validateWindowsSecurityContextOptions."""
    parts = value.split("\\")
    rules = (
        (not value, "cannot be an empty string"),
        (re.search(r"[\x00-\x1f\x7f]", value), "cannot contain control characters"),
        (len(parts) > 2, "cannot contain more than one backslash"),
        (value and not parts[-1], "needs a user"),
        (
            len(parts) == 2
            and not re.fullmatch(r"[a-zA-Z0-9][-a-zA-Z0-9.]*|[^\\/:*?\"<>|.][^\\/:*?\"<>|]{0,14}", parts[0]),
            "has a domain that is neither a NetBIOS nor a DNS name",
        ),
        (len(parts[-1]) > 104, "has a user of more than 104 characters"),
        (re.fullmatch(r"[. ]+", parts[-1]), "cannot consist of periods and spaces"),
        (re.search(r'["/:;|=,+*?<>@\[\]]', parts[-1]), 'cannot contain the following characters: "/\\:;|=,+*?<>@[]'),
    )
    return [invalid(path, value, f"runAsUserName {text}") for is_wrong, text in rules if is_wrong][:1]


_MANY_SOURCES = (invalid, "", "may not have more than one field specified at a time")
_ONE_SOURCE = checks.choice(
    *("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"),
    none=(
        *(invalid, ""),
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
    ),
    many=_MANY_SOURCES,
)
_ONE_HANDLER = checks.choice(
    *("exec", "httpGet", "tcpSocket", "grpc", "sleep"),
    none=(required, "must specify a handler type"),
    many=(forbidden, "may not specify more than 1 handler type"),
)
_GROUP = checks.in_range(0, HIGHEST_ID)
_CONTAINER: Mapping[str, Any] = {
    "": _container,
    "name!": LABEL,
    "image": NEEDED,
    "imagePullPolicy": "Always|IfNotPresent|Never",
    "terminationMessagePolicy": "File|FallbackToLogsOnError",
    "restartPolicy": "*Always|Never|OnFailure",
    "restartPolicyRules": checks.not_more_than(20),
    "ports": _ports,
    "resizePolicy": checks.unique("resourceName", of_item=True),
    "resources": resource_requirements,
    "livenessProbe startupProbe": checks.at("successThreshold", checks.in_range(0, 1, "must be 1")),
    "readinessProbe": checks.at("terminationGracePeriodSeconds", checks.refused("must not be set for readinessProbes")),
}


ROWS: Rows = {
    "Container": {
        **_CONTAINER,
        "": (
            _container,
            checks.requires(
                *("restartPolicyRules", "restartPolicy"), "must specify restartPolicy when restart rules are used"
            ),
        ),
    },
    "EphemeralContainer": {
        **_CONTAINER,
        "": (
            _container,
            lambda container, path: checks.none_of(
                _NOT_FOR_EPHEMERAL, container, path, "cannot be set for an Ephemeral Container", [], {}
            ),
        ),
    },
    "ContainerPort": {
        "containerPort!": PORT,
        "hostPort": checks.in_range(0, 65535, "must be between 1 and 65535, inclusive"),
        "protocol": "SCTP|TCP|UDP",
    },
    "ContainerResizePolicy": {"resourceName!": "cpu|memory", "restartPolicy!": "NotRequired|RestartContainer"},
    "ContainerRestartRule": {"action!": "Restart|RestartAllContainers", "exitCodes": NEEDED},
    "ContainerRestartRuleOnExitCodes": {"operator!": "In|NotIn", "values": checks.not_more_than(255)},
    "EnvVar": {"": _value_from, "name!": VARIABLE},
    "EnvFromSource": {
        "": checks.choice(
            *("configMapRef", "secretRef"),
            none=(invalid, "", "must specify one of: `configMapRef` or `secretRef`"),
            many=_MANY_SOURCES,
        ),
        "prefix": VARIABLE,
    },
    "EnvVarSource": {"fieldRef": _field_ref(_ENV_FIELDS), "resourceFieldRef": _resource_ref},
    "DownwardAPIVolumeFile": {
        "fieldRef": _field_ref(_VOLUME_FIELDS),
        "resourceFieldRef": partial(_resource_ref, is_volume=True),
    },
    "ConfigMapEnvSource SecretEnvSource": {"name!": DOMAIN},
    "ConfigMapKeySelector SecretKeySelector": {"name!": DOMAIN, "key!": checks.name(checks.config_key)},
    "FileKeySelector": {"key!": VARIABLE, "volumeName!": LABEL, "path!": checks.name(checks.no_way_back)},
    "VolumeMount": {
        "name mountPath": NEEDED,
        "subPath subPathExpr": checks.name(checks.inside_path),
        "mountPropagation": "*Bidirectional|HostToContainer|None",
        "recursiveReadOnly": "*Disabled|Enabled|IfPossible",
    },
    "VolumeDevice": {"name devicePath": NEEDED, "devicePath": checks.name(checks.no_way_back)},
    "Probe": {
        "": _ONE_HANDLER,
        "initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold": NOT_NEGATIVE,
        "terminationGracePeriodSeconds": checks.no_less_than(1, "must be greater than 0"),
    },
    "LifecycleHandler": {"": _ONE_HANDLER},
    "ExecAction": {"command": NEEDED},
    "HTTPGetAction": {"port!": checks.port_or_name, "scheme": "HTTP|HTTPS"},
    "HTTPHeader": {"name": checks.matches("[-A-Za-z0-9]+", "a valid HTTP header")},
    "TCPSocketAction": {"port!": checks.port_or_name},
    "GRPCAction": {"port!": PORT},
    "SecurityContext": {"": _context, "runAsUser runAsGroup": _GROUP, "procMount": "*Default|Unmasked"},
    "PodSecurityContext": {
        "runAsUser runAsGroup fsGroup": _GROUP,
        "sysctls": checks.unique("name"),
        "supplementalGroups": checks.each_item(_GROUP),
        "fsGroupChangePolicy": "*Always|OnRootMismatch",
        "supplementalGroupsPolicy": "*Merge|Strict",
        "seLinuxChangePolicy": "*MountOption|Recursive",
    },
    "SeccompProfile": {
        "": _profile,
        "type": (Needed("type is required when seccompProfile is set"), "Localhost|RuntimeDefault|Unconfined"),
        "localhostProfile": checks.form(checks.inside_path),
    },
    "AppArmorProfile": {
        "": _profile,
        "type": (Needed("type is required when appArmorProfile is set"), "Localhost|RuntimeDefault|Unconfined"),
        "localhostProfile": checks.no_longer(4095),
    },
    "Sysctl": {"name!": (checks.no_longer(253), checks.matches(_SYSCTL, "must match the regex of sysctl names"))},
    "WindowsSecurityContextOptions": {
        "gmsaCredentialSpecName": checks.form(domain_problems),
        "gmsaCredentialSpec": (checks.no_longer(64 * 1024), checks.matches("(?s).+", "cannot be an empty string")),
        "runAsUserName": _user_name,
    },
    "ResourceClaim.core.v1": {"request": checks.name(checks.dns_label)},
}
