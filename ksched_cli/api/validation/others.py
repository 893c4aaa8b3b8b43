"""Services, budgets, quotas and other objects that the simulation reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.api.validation.fields import (
    FieldErrors,
    duplicate,
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
)
from ksched_cli.api.validation.names import dns_label, int_or_percent, labels, port_number
from ksched_cli.api.validation.selectors import label_selector, taints

_SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_HIGHEST_USER_PRIORITY = 1_000_000_000


def service(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateService."""
    spec = object_at(document, "spec")
    kind, ports = text_at(spec, "type") or "ClusterIP", items_at(spec, "ports")
    if not ports and text_at(spec, "clusterIP") != "None" and kind != "ExternalName":
        yield required(("spec", "ports"))
    yield from one_of(spec, "type", ("spec",), _SERVICE_TYPES)
    if kind == "ExternalName" and not text_at(spec, "externalName"):
        yield required(("spec", "externalName"))
    yield from labels(object_at(spec, "selector"), ("spec", "selector"))
    names, numbers = set(), set()
    for index, port in ports:
        here = ("spec", "ports", index)
        name, protocol = text_at(port, "name"), text_at(port, "protocol") or "TCP"
        if not name and len(ports) > 1:
            yield required((*here, "name"))
        elif name:
            yield from invalid_all((*here, "name"), name, dns_label(name))
        if name and name in names:
            yield duplicate((*here, "name"), name)
        number = number_at(port, "port") or 0
        yield from invalid_all((*here, "port"), number, port_number(number))
        if (protocol, number) in numbers:
            yield duplicate(here, {"protocol": protocol, "port": number})
        yield from one_of(port, "protocol", here, ("SCTP", "TCP", "UDP"))
        if kind == "ClusterIP" and number_at(port, "nodePort"):
            yield forbidden((*here, "nodePort"), "may not be used when `type` is 'ClusterIP'")
        names.add(name)
        numbers.add((protocol, number))


def disruption_budget(document: Mapping[str, Any]) -> FieldErrors:
    """ValidatePodDisruptionBudgetSpec."""
    spec = object_at(document, "spec")
    both = spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None
    if both:
        text = "minAvailable and maxUnavailable cannot be both set"
        yield invalid(("spec",), dict(spec), text)
    for field in ("minAvailable", "maxUnavailable"):
        yield from int_or_percent(spec, field, ("spec",))
    yield from label_selector(object_at(spec, "selector"), ("spec", "selector"))
    yield from one_of(spec, "unhealthyPodEvictionPolicy", ("spec",), ("AlwaysAllow", "IfHealthyBudget"))


def priority_class(document: Mapping[str, Any]) -> FieldErrors:
    """ValidatePriorityClass."""
    name, value = text_at(object_at(document, "metadata"), "name"), number_at(document, "value") or 0
    if name.startswith("system-") and name not in ("system-cluster-critical", "system-node-critical"):
        yield forbidden(
            ("metadata", "name"), "priority class names with 'system-' prefix are reserved for system use only"
        )
    elif not name.startswith("system-") and value > _HIGHEST_USER_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        yield forbidden(("value",), text)
    yield from one_of(document, "preemptionPolicy", (), ("PreemptLowerPriority", "Never"))


def runtime_class(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateRuntimeClass."""
    handler = text_at(document, "handler")
    if not handler:
        yield required(("handler",))
    else:
        yield from invalid_all(("handler",), handler, dns_label(handler))


def node(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateNode."""
    yield from taints(object_at(document, "spec"), ("spec",))


def autoscaler(document: Mapping[str, Any]) -> FieldErrors:
    """ValidateHorizontalPodAutoscalerSpec."""
    spec = object_at(document, "spec")
    fewest, most = number_at(spec, "minReplicas"), number_at(spec, "maxReplicas") or 0
    yield from not_negative(spec, "minReplicas", ("spec",))
    if most < 1:
        yield invalid(("spec", "maxReplicas"), most, "must be greater than 0")
    elif fewest is not None and most < fewest:
        yield invalid(("spec", "maxReplicas"), most, "must be greater than or equal to `minReplicas`")
