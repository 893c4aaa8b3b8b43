"""Rows for services, budgets, quotas, classes, autoscalers and other objects that the simulation reads (the
Validate functions of pkg/apis and of PodSecurity). Kinds without rows are checked for names and types of fields
only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.conversion import Path
from ksched_cli.api.label_names import key_problems
from ksched_cli.api.validation import checks, errors
from ksched_cli.api.validation.checks import DOMAIN, LABEL, NEEDED, NOT_NEGATIVE, PORT, Needed, Rows
from ksched_cli.api.validation.containers import is_extended_name, may_overcommit, overhead_amounts, resource_name
from ksched_cli.api.validation.errors import Errors, duplicate, forbidden, invalid, invalid_all, required, unsupported
from ksched_cli.api.validation.fields import (
    amount_in,
    each_at,
    items_at,
    number_at,
    object_at,
    text_at,
    texts_at,
)
from ksched_cli.api.workloads import SYSTEM_PRIORITIES

_HIGHEST_USER_PRIORITY = 1_000_000_000
_LARGEST_DATA = 1024 * 1024

# Services


def _service(spec: Mapping[str, Any], path: Path) -> Errors:
    """validateService."""
    kind, ports = text_at(spec, "type") or "ClusterIP", items_at(spec, "ports")
    cluster_ip, addresses = text_at(spec, "clusterIP"), texts_at(spec, "clusterIPs")
    is_headless = "None" in (cluster_ip, *addresses[:1])
    if not ports and not is_headless and kind != "ExternalName":
        yield required((*path, "ports"))
    if kind == "ExternalName":
        external = text_at(spec, "externalName").removesuffix(".")
        yield from [required((*path, "externalName"))] if not external else DOMAIN(external, (*path, "externalName"))
        fields, text = (
            ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"),
            "may not be set for ExternalName services",
        )
        yield from checks.none_of(fields, spec, path, text, "", [])
    elif kind in ("NodePort", "LoadBalancer") and is_headless:
        yield invalid((*path, "clusterIP"), "None", f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        yield from _cluster_ips(spec, cluster_ip, addresses, path)
    for here, port in each_at(spec, path, "ports"):
        if not text_at(port, "name") and len(ports) > 1:
            yield required((*here, "name"))
        if kind == "ClusterIP":
            yield from checks.none_of(["nodePort"], port, here, "may not be used when `type` is 'ClusterIP'", 0)
    for field in ("port", "nodePort"):
        yield from _repeated_ports(ports, field, (*path, "ports"))
    yield from _traffic(spec, kind, path)


def _repeated_ports(ports: list[tuple[int, Mapping[str, Any]]], field: str, path: Path) -> Errors:
    for at, pair in checks.repeated((text_at(port, "protocol") or "TCP", number_at(port, field)) for _, port in ports):
        if pair[1]:
            here = (*path, ports[at][0], *([field] if field == "nodePort" else []))
            yield duplicate(here, {"protocol": pair[0], field: pair[1]})


def _traffic(spec: Mapping[str, Any], kind: str, path: Path) -> Errors:
    """validateServiceExternalTrafficPolicy, and fields that only one type has."""
    is_external = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    policy = text_at(spec, "externalTrafficPolicy")
    if policy and not is_external:
        text = "may only be set for externally-accessible services"
        yield invalid((*path, "externalTrafficPolicy"), policy, text)
    elif policy not in ("", "Cluster", "Local"):
        yield unsupported((*path, "externalTrafficPolicy"), policy, ("Cluster", "Local"))
    checked = number_at(spec, "healthCheckNodePort")
    if checked and not (kind == "LoadBalancer" and policy == "Local"):
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid((*path, "healthCheckNodePort"), checked, text)
    if kind != "LoadBalancer":
        fields = ("loadBalancerSourceRanges", "allocateLoadBalancerNodePorts", "loadBalancerClass")
        yield from checks.none_of(fields, spec, path, "may only be used when `type` is 'LoadBalancer'", [])


def _cluster_ips(spec: Mapping[str, Any], own: str, addresses: list[str], path: Path) -> Errors:
    """ValidateServiceClusterIPsRelatedFields."""
    here = (*path, "clusterIPs")
    if addresses and not own:
        yield invalid(here, addresses, "must be empty when `clusterIP` is not specified")
    elif addresses and addresses[0] != own:
        yield invalid(here, addresses, "first value must match `clusterIP`")
    if "None" in addresses and len(addresses) > 1:
        yield invalid(here, addresses, "'None' must be the first and only value")
    if len(addresses) > 2:
        yield invalid(here, addresses, "may only hold up to 2 values")
    for index, address in enumerate(addresses or [own]):
        if address not in ("", "None"):
            yield from checks.address(address, (*here, index))
    families = texts_at(spec, "ipFamilies")
    for index, family in checks.repeated(families):
        yield duplicate((*path, "ipFamilies", index), family)
    for address, family in zip(addresses or [own], families, strict=False):
        if not checks.ip(address) and {family, f"IPv{checks.parse_ip(address).version}"} == {"IPv4", "IPv6"}:
            yield invalid(here, address, f"expected an {family} value as indicated by `ipFamilies`")
    if text_at(spec, "ipFamilyPolicy") in ("", "SingleStack"):
        for found, name in ((addresses, "cluster IPs"), (families, "IP families")):
            if len(found) == 2:
                text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {name} are specified"
                yield invalid((*path, "ipFamilyPolicy"), "SingleStack", text)


# Policy


def _priority_class(document: Mapping[str, Any], path: Path) -> Errors:
    """ValidatePriorityClass."""
    own, value = text_at(object_at(document, "metadata"), "name"), number_at(document, "value") or 0
    if own.startswith("system-"):
        if SYSTEM_PRIORITIES.get(own) != value or document.get("globalDefault") is True:
            text = "priority class names with 'system-' prefix are reserved for system use only"
            yield forbidden(("metadata", "name"), text)
    elif value > _HIGHEST_USER_PRIORITY:
        yield forbidden(("value",), f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}")


def _runtime_class(document: Mapping[str, Any], path: Path) -> Errors:
    """ValidateRuntimeClass."""
    yield from overhead_amounts(object_at(document, "overhead", "podFixed"), ("overhead", "podFixed"))
    tolerations = [each for _, each in items_at(object_at(document, "scheduling"), "tolerations")]
    keys = (tuple(text_at(each, field) for field in ("key", "operator", "value", "effect")) for each in tolerations)
    for index, _ in checks.repeated(keys):
        yield duplicate(("scheduling", "tolerations", index), tolerations[index])


_QUOTA_NAMES = frozenset(
    (
        *("cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage", "limits.cpu"),
        *("requests.ephemeral-storage", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas"),
        *("services", "replicationcontrollers", "secrets", "persistentvolumeclaims", "configmaps"),
        *("services.nodeports", "services.loadbalancers"),
    )
)
_STANDARD_NAMES = _QUOTA_NAMES | {"storage"}
_WHOLE_NAMES = frozenset(each for each in _QUOTA_NAMES if each[-1:] == "s" and "." not in each) | {
    "services.nodeports",
    "services.loadbalancers",
}
_POD_SCOPES = ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")
_SCOPES = (*_POD_SCOPES, "BestEffort", "VolumeAttributesClass")
_POD_NAMES = frozenset(("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"))
_NAMES_OF_SCOPE: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(_POD_SCOPES, _POD_NAMES),
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_CONFLICTS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def _is_huge(resource: str) -> bool:
    return resource.startswith(("hugepages-", "requests.hugepages-"))


def _any_name(resource: str, path: Path, known: frozenset[str]) -> Errors:
    """validateResourceName and ValidateResourceQuotaResourceName."""
    if problems := key_problems(resource):
        return invalid_all(path, resource, problems)
    if "/" in resource or resource in known or _is_huge(resource):
        return ()
    return [invalid(path, resource, "must be a standard resource type or fully qualified")]


def _quota(spec: Mapping[str, Any], path: Path) -> Errors:
    """ValidateResourceQuotaSpec."""
    hard = object_at(spec, "hard")
    for resource, quantity in hard.items():
        here, amount = (*path, "hard", resource), amount_in(quantity)
        yield from _any_name(resource, here, _QUOTA_NAMES)
        yield from checks.amount_not_negative(quantity, here)
        if amount is not None and amount.denominator != 1 and (resource in _WHOLE_NAMES or is_extended_name(resource)):
            yield invalid(here, str(quantity), "must be an integer")
    requirements = list(each_at(spec, path, "scopeSelector.matchExpressions"))
    scopes = [(each, (*path, "scopes")) for each in texts_at(spec, "scopes")]
    scopes += [(text_at(each, "scopeName"), (*here, "scopeName")) for here, each in requirements]
    for scope, here in scopes:
        if scope not in _SCOPES:
            yield invalid(here, scope, "unsupported scope")
        elif any(resource not in _NAMES_OF_SCOPE[scope] for resource in hard if resource in _QUOTA_NAMES):
            yield invalid(here[:4], scope, "unsupported scope applied to resource")
    for pair in _CONFLICTS:
        if set(pair) <= {scope for scope, _ in scopes}:
            yield invalid(scopes[0][1], list(pair), "conflicting scopes")
    for here, requirement in requirements:
        yield from _scope_requirement(requirement, here)


def _scope_requirement(found: Mapping[str, Any], path: Path) -> Errors:
    """validateScopedResourceSelectorRequirement."""
    scope, operator, values = text_at(found, "scopeName"), text_at(found, "operator"), texts_at(found, "values")
    if scope not in ("PriorityClass", "VolumeAttributesClass") and scope in _SCOPES and operator != "Exists":
        yield invalid((*path, "operator"), operator, f"must be 'Exists' when scope is {scope}")
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required((*path, "values"), text)
    elif operator not in ("Exists", "DoesNotExist"):
        yield invalid((*path, "operator"), operator, "not a valid selector operator")
    elif values:
        text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
        yield invalid((*path, "values"), values, text)


_REQUESTED = "defaultRequest"
_AMOUNTS = ("max", "min", "default", _REQUESTED, "maxLimitRequestRatio")
# Each pair of amounts of one resource, where the first may not be above the second: the field of the error, the amount
# that it shows, and the words.
_ORDER = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", _REQUESTED, _REQUESTED, _REQUESTED, "min value {} is greater than default request value {}"),
    (_REQUESTED, "max", _REQUESTED, _REQUESTED, "default request value {} is greater than max value {}"),
    (_REQUESTED, "default", _REQUESTED, _REQUESTED, "default request value {} is greater than default limit value {}"),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def _limits(found: list[Any], path: Path) -> Errors:
    """ValidateLimitRange."""
    for index, kind in checks.repeated(text_at(item, "type") for item in found):
        yield duplicate((*path, index, "type"), kind)
    for index, item in enumerate(found):
        here, kind = (*path, index), text_at(item, "type")
        if key_problems(kind) or ("/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim")):
            yield invalid((*here, "type"), kind, "must be a standard limit type or fully qualified")
        yield from _limit_item(item, kind, here)


def _limit_item(item: Mapping[str, Any], kind: str, path: Path) -> Errors:
    given = {field: object_at(item, field) for field in _AMOUNTS}
    for field, amounts in given.items():
        for resource in amounts:
            here = (*path, field, resource)
            if kind in ("Pod", "Container"):
                yield from resource_name(resource, here)
            else:
                yield from _any_name(resource, here, _STANDARD_NAMES)
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if given[field]:
                yield forbidden((*path, field), "may not be specified when `type` is 'Pod'")
            given[field] = {}
    if kind == "PersistentVolumeClaim" and "storage" not in {**given["min"], **given["max"]}:
        text = "either minimum or maximum storage value is required, but neither was provided"
        yield required((*path, "limits"), text)
    if kind == "Container":
        # SetDefaults_LimitRangeItem
        given["default"] = {**given["max"], **given["default"]}
        given["defaultRequest"] = {**given["min"], **given["default"], **given["defaultRequest"]}
    amounts = {field: {key: amount_in(value) for key, value in found.items()} for field, found in given.items()}
    for low, high, field, shown, text in _ORDER:
        for resource, least in amounts[low].items():
            most = amounts[high].get(resource)
            if least is not None and most is not None and least > most:
                words = text.format(given[low][resource], given[high][resource])
                yield invalid((*path, field, resource), str(given[shown][resource]), words)
    for resource, ratio in amounts["maxLimitRequestRatio"].items():
        least, most = amounts["min"].get(resource), amounts["max"].get(resource)
        here = (*path, "maxLimitRequestRatio", resource)
        shown = str(given["maxLimitRequestRatio"][resource])
        if ratio is not None and ratio < 1:
            yield invalid(here, shown, f"ratio {shown} is less than 1")
        if ratio is not None and least and most is not None and ratio > most / least:
            yield invalid(here, shown, f"ratio {shown} is greater than max/min = {float(most / least):f}")
    for resource, wanted in amounts["defaultRequest"].items():
        if resource in amounts["default"] and not may_overcommit(resource) and amounts["default"][resource] != wanted:
            text = f"default value must equal to defaultRequest value in {resource}"
            yield invalid((*path, "defaultRequest", resource), str(given["defaultRequest"][resource]), text)


_LEVELS = ("privileged", "baseline", "restricted")
_MODES = ("enforce", "audit", "warn")


def _namespace(document: Mapping[str, Any], path: Path) -> Errors:
    """PolicyToEvaluate of PodSecurity, and ValidateNamespace."""
    found, here = object_at(document, "metadata", "labels"), ("metadata", "labels")
    for mode in _MODES:
        level, version = (found.get(f"pod-security.kubernetes.io/{mode}{end}") for end in ("", "-version"))
        if level is not None and level not in _LEVELS:
            text = f"must be one of {', '.join(_LEVELS)}"
            yield invalid((*here, f"pod-security.kubernetes.io/{mode}"), level, text)
        if version is not None and pod_security_minor(version) is None:
            text = 'must be "latest" or "v1.x"'
            yield invalid((*here, f"pod-security.kubernetes.io/{mode}-version"), version, text)
    for index, finalizer in enumerate(texts_at(object_at(document, "spec"), "finalizers")):
        problems = key_problems(finalizer)
        if not problems and "/" not in finalizer and finalizer not in ("kubernetes", "orphan", "foregroundDeletion"):
            problems = ["name is neither a standard finalizer name nor is it fully qualified"]
        yield from invalid_all(("spec", "finalizers", index), finalizer, problems)


def pod_security_minor(version: Any) -> int | None:
    """api.ParseVersion of PodSecurity: the minor, a large number for `latest`, None for another text."""
    if version == "latest":
        return 10_000
    digits = version.removeprefix("v1.") if isinstance(version, str) else ""
    is_plain = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")
    return int(digits) if is_plain and version.startswith("v1.") else None


# Autoscalers


def _autoscaler(spec: Mapping[str, Any], path: Path) -> Errors:
    """validateHorizontalPodAutoscalerSpec."""
    fewest, most = number_at(spec, "minReplicas"), number_at(spec, "maxReplicas") or 0
    if most < 1:
        yield invalid((*path, "maxReplicas"), most, "must be greater than 0")
    if fewest is not None and most < fewest:
        yield invalid((*path, "maxReplicas"), most, "must be greater than or equal to `minReplicas`")
    target = object_at(spec, "scaleTargetRef")
    if target:
        needs_group = text_at(target, "kind") != "ReplicationController"
        yield from _group_version(target, (*path, "scaleTargetRef"), needs_group=needs_group)
    for here, metric in each_at(spec, path, "metrics"):
        place = ("object", "describedObject")
        yield from _group_version(object_at(metric, *place), (*here, *place), needs_group=False)
    kinds = {text_at(each, "type") for _, each in items_at(spec, "metrics")}
    if fewest == 0 and not kinds & {"Object", "External"}:
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden((*path, "metrics"), text)


def _fewest(fewest: int, path: Path) -> Errors:
    if fewest < 1:
        error, gate = invalid(path, fewest, "must be greater than or equal to 1"), "HPAScaleToZero"
        yield replace(error, gate=(gate, False), hint="" if fewest else f"0 needs the feature gate {gate}")
    yield from NOT_NEGATIVE(fewest, path)


# The first minor that validates the apiVersion of what an autoscaler names.
_CHECKS_TARGETS = 34


def _group_version(target: Mapping[str, Any], path: Path, *, needs_group: bool) -> Errors:
    """ValidateAPIVersion, which is asked for the object that is scaled and for that of a metric."""
    given, here = text_at(target, "apiVersion"), (*path, "apiVersion")
    error = None
    if given.count("/") > 1:
        error = invalid(here, given, f"unexpected GroupVersion string: {given}")
    elif needs_group and (given[:1] in ("", "/") or "/" not in given):
        error = invalid(here, given, "apiVersion must specify API group")
    if error is not None:
        yield replace(error, since=_CHECKS_TARGETS)


_SOURCE_OF = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "containerResource",
}


def _metric(metric: Mapping[str, Any], path: Path) -> Errors:
    """validateMetricSpec."""
    kind, given = text_at(metric, "type"), [each for each in _SOURCE_OF.values() if metric.get(each) is not None]
    wanted = _SOURCE_OF.get(kind)
    if wanted is not None and wanted not in given:
        yield required((*path, wanted), "must populate information for the given metric source")
    for field in given:
        if field != wanted:
            yield forbidden((*path, field), "must populate the given metric source only")


def _target(*needed: str, exclusive_field: str = "") -> Any:
    """A metric source with one of these fields in its target, or if named not more than one."""

    def check(source: Mapping[str, Any], path: Path) -> Errors:
        target, here = object_at(source, "target"), (*path, "target")
        given = [field for field in needed if target.get(field) is not None]
        if not given:
            yield required((*here, needed[0]), f"must set {' or '.join(needed)}")
        if exclusive_field and len(given) > 1:
            text = "may not set both a target raw value and a target utilization"
            yield forbidden((*here, exclusive_field), text)

    return check


_DATA_KEYS = checks.each_key(checks.config_key)
_POSITIVE = (Needed("must be greater than zero"), checks.no_less_than(1, "must be greater than zero"))
_SEGMENT = checks.name(checks.path_segment)


def _config_map(document: Mapping[str, Any], path: Path) -> Errors:
    """ValidateConfigMap: a key that both fields have, and the size of all values."""
    plain, binary = object_at(document, "data"), object_at(document, "binaryData")
    for found, field, others, other in ((plain, "data", binary, "binaryData"), (binary, "binaryData", plain, "data")):
        for key in found:
            if key in others:
                yield invalid((*path, field, key), key, f"duplicate of key present in {other}")
    size = sum(len(each.encode()) for each in plain.values() if isinstance(each, str))
    if size + sum(3 * len(each) // 4 for each in binary.values() if isinstance(each, str)) > _LARGEST_DATA:
        yield errors.too_long((*path, "data"), _LARGEST_DATA)


ROWS: Rows = {
    "ServiceSpec": {
        "": _service,
        "type": "ClusterIP|ExternalName|LoadBalancer|NodePort",
        "selector": checks.labels,
        "ports": checks.unique("name"),
        "sessionAffinity": "ClientIP|None",
        "externalIPs": checks.each_item(checks.external_ip),
        "loadBalancerSourceRanges": checks.each_item(checks.network),
        "ipFamilies": checks.each_item(checks.one_of("*IPv4|IPv6")),
        "ipFamilyPolicy": "*PreferDualStack|RequireDualStack|SingleStack",
        "internalTrafficPolicy": "*Cluster|Local",
        "trafficDistribution": "*PreferClose|PreferSameZone|PreferSameNode",
        "loadBalancerClass": checks.form(checks.domain_prefixed_path),
    },
    "ServicePort": {
        "name": LABEL,
        "port!": PORT,
        "protocol": "SCTP|TCP|UDP",
        "targetPort": lambda value, path: checks.port_or_name(value, path) if value not in ("", 0) else (),
        "appProtocol": checks.form(key_problems),
    },
    "ClientIPConfig": {"timeoutSeconds": checks.in_range(1, 86400, "must be greater than 0 and less than 86400")},
    "PodDisruptionBudgetSpec": {
        "": checks.choice(
            *("minAvailable", "maxUnavailable"), many=(invalid, "minAvailable and maxUnavailable cannot be both set")
        ),
        "minAvailable maxUnavailable": (checks.int_or_percent, checks.at_most_100_percent),
        "unhealthyPodEvictionPolicy": "*AlwaysAllow|IfHealthyBudget",
    },
    "PriorityClass": {"": _priority_class, "preemptionPolicy": "*PreemptLowerPriority|Never"},
    "RuntimeClass": {"": _runtime_class, "handler!": LABEL},
    "Scheduling": {"nodeSelector": checks.labels},
    "ResourceQuotaSpec": {"": _quota},
    "LimitRangeSpec": {"limits": _limits},
    "Namespace": {"": _namespace},
    "HorizontalPodAutoscalerSpec": {
        "": _autoscaler,
        "scaleTargetRef": NEEDED,
        "minReplicas": _fewest,
        "targetCPUUtilizationPercentage": checks.no_less_than(1, "must be greater than 0"),
    },
    "CrossVersionObjectReference": {"kind! name!": _SEGMENT},
    "MetricSpec": {
        "": _metric,
        "type": (Needed("must specify a metric source type"), "Object|Pods|Resource|External|ContainerResource"),
    },
    "MetricTarget": {
        "type": (
            Needed("must specify a metric target type"),
            checks.matches("|Utilization|Value|AverageValue", "must be either Utilization, Value, or AverageValue"),
        ),
        "value averageValue": checks.positive_amount,
        "averageUtilization": checks.no_less_than(1, "must be greater than 0"),
    },
    "MetricIdentifier": {"name": (Needed("must specify a metric name"), _SEGMENT)},
    "ObjectMetricSource": {"": _target("averageValue", "value"), "describedObject metric": NEEDED},
    "PodsMetricSource": {"": _target("averageValue"), "metric": NEEDED},
    "ExternalMetricSource": {"": _target("averageValue", "value", exclusive_field="value"), "metric": NEEDED},
    "ResourceMetricSource": {
        "": _target("averageUtilization", "averageValue", exclusive_field="averageValue"),
        "name": Needed("must specify a resource name"),
    },
    "ContainerResourceMetricSource": {
        "": _target("averageUtilization", "averageValue", exclusive_field="averageValue"),
        "name": (Needed("must specify a resource name"), lambda text, path: resource_name(text, path) if text else ()),
        "container": (Needed("must specify a container"), LABEL),
    },
    "HPAScalingRules": {
        "": lambda found, path: (
            [required((*path, "policies"), "must specify at least one Policy")] if found.get("policies") == [] else ()
        ),
        "stabilizationWindowSeconds": checks.in_range(0, 3600, "must be between 0 and 3600"),
        "selectPolicy": "*Disabled|Max|Min",
        "tolerance": checks.amount_not_negative,
    },
    "HPAScalingPolicy": {
        "type!": "Percent|Pods",
        "value": _POSITIVE,
        "periodSeconds": (*_POSITIVE, checks.in_range(-(2**31), 1800, "must be less than or equal to 1800")),
    },
    "ConfigMap": {"": _config_map, "data binaryData": _DATA_KEYS},
    "Secret": {"data stringData": _DATA_KEYS},
}
