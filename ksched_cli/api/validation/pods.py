"""Pod specs and pod templates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ksched_cli.api.label_names import domain_problems, key_problems
from ksched_cli.api.validation.containers import containers, resources
from ksched_cli.api.validation.fields import (
    FieldErrors,
    Path,
    duplicate,
    forbidden,
    invalid,
    invalid_all,
    items_at,
    number_at,
    object_at,
    one_of,
    required,
    text_at,
)
from ksched_cli.api.validation.names import dns_label, labels, template_metadata
from ksched_cli.api.validation.selectors import affinity, spread_constraints, tolerations
from ksched_cli.api.validation.volumes import volume_names, volumes

_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_SUBDOMAINS = ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName")
_MOST_SECONDS = 2**31 - 1


def pod(document: Mapping[str, Any]) -> FieldErrors:
    spec = object_at(document, "spec")
    yield from pod_spec(spec, ("spec",))
    if items_at(spec, "schedulingGates") and text_at(spec, "nodeName"):
        yield forbidden(("spec", "nodeName"), "cannot be set until all schedulingGates have been cleared")


def template(found: Mapping[str, Any], path: Path, more_volumes: Collection[str] = ()) -> FieldErrors:
    """ValidatePodTemplateSpec. `more_volumes` are those that a controller adds."""
    yield from template_metadata(object_at(found, "metadata"), (*path, "metadata"))
    yield from pod_spec(object_at(found, "spec"), (*path, "spec"), more_volumes)


def pod_spec(spec: Mapping[str, Any], path: Path, more_volumes: Collection[str] = ()) -> FieldErrors:
    """ValidatePodSpec."""
    yield from volumes(spec, path)
    yield from containers(spec, path, volume_names(spec) | set(more_volumes))
    yield from resources(object_at(spec, "resources"), (*path, "resources"))
    yield from _names(spec, path)
    yield from _numbers(spec, path)
    yield from one_of(spec, "restartPolicy", path, ("Always", "Never", "OnFailure"))
    yield from one_of(spec, "dnsPolicy", path, _DNS_POLICIES)
    yield from one_of(spec, "preemptionPolicy", path, ("PreemptLowerPriority", "Never"))
    yield from labels(object_at(spec, "nodeSelector"), (*path, "nodeSelector"))
    yield from affinity(object_at(spec, "affinity"), (*path, "affinity"))
    yield from tolerations(spec, path)
    yield from spread_constraints(spec, path)
    yield from _gates(spec, path)
    yield from _claims(spec, path)
    yield from _host_network(spec, path)


def _names(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    for field in _SUBDOMAINS:
        name = text_at(spec, field)
        if name:
            yield from invalid_all((*path, field), name, domain_problems(name))
    for field in ("hostname", "subdomain"):
        name = text_at(spec, field)
        if name:
            yield from invalid_all((*path, field), name, dns_label(name))


def _numbers(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    seconds = number_at(spec, "activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _MOST_SECONDS:
        text = f"must be between 1 and {_MOST_SECONDS}, inclusive"
        yield invalid((*path, "activeDeadlineSeconds"), seconds, text)


def _gates(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    """validateSchedulingGates."""
    seen = set()
    for index, each in items_at(spec, "schedulingGates"):
        name = text_at(each, "name")
        yield from invalid_all((*path, "schedulingGates", index), name, key_problems(name))
        if name in seen:
            yield duplicate((*path, "schedulingGates", index), name)
        seen.add(name)


def _claims(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    """validatePodResourceClaims, and the claims that containers name."""
    names = set()
    for index, each in items_at(spec, "resourceClaims"):
        here = (*path, "resourceClaims", index)
        name = text_at(each, "name")
        if not name:
            yield required((*here, "name"))
        elif name in names:
            yield duplicate((*here, "name"), name)
        names.add(name)
    for field in ("containers", "initContainers"):
        for index, container in items_at(spec, field):
            for at, each in items_at(object_at(container, "resources"), "claims"):
                if text_at(each, "name") not in names:
                    here = (*path, field, index, "resources", "claims", at)
                    yield invalid(here, text_at(each, "name"), "must be one of the names in pod.spec.resourceClaims")


def _host_network(spec: Mapping[str, Any], path: Path) -> FieldErrors:
    """validatePodHostNetworkDeps."""
    if spec.get("hostNetwork") is not True:
        return
    for index, container in items_at(spec, "containers"):
        for at, port in items_at(container, "ports"):
            host = number_at(port, "hostPort")
            if host and host != number_at(port, "containerPort"):
                here = (*path, "containers", index, "ports", at, "hostPort")
                yield invalid(here, host, "must match `containerPort` when `hostNetwork` is true")
