"""Containers: names, images, ports, environment, mounts, probes, resources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ksched_cli.api.label_names import key_problems
from ksched_cli.api.validation.fields import (
    FieldErrors,
    Path,
    amount_in,
    duplicate,
    forbidden,
    invalid,
    invalid_all,
    items_at,
    not_found,
    not_negative,
    number_at,
    object_at,
    one_of,
    quantity,
    required,
    text_at,
    texts_at,
)
from ksched_cli.api.validation.names import dns_label, environment_name, port_name, port_number

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_NATIVE = ("cpu", "memory", "ephemeral-storage")


def containers(spec: Mapping[str, Any], path: Path, volumes: Collection[str] | None) -> FieldErrors:
    """validateContainers and validateInitContainers. `volumes` are the names that mounts may have, None if unknown."""
    found = items_at(spec, "containers")
    if not found:
        yield required((*path, "containers"))
    names: set[str] = set()
    for field, listed in (("containers", found), ("initContainers", items_at(spec, "initContainers"))):
        for index, each in listed:
            here = (*path, field, index)
            name = text_at(each, "name")
            if name and name in names:
                yield duplicate((*here, "name"), name)
            names.add(name)
            yield from _container(each, here, volumes)
            if field == "initContainers":
                yield from _host_ports([(index, each)], (*path, field))
                yield from _init_container(each, here)
    yield from _host_ports(found, (*path, "containers"))


def _init_container(container: Mapping[str, Any], path: Path) -> FieldErrors:
    if text_at(container, "restartPolicy") != "Always":
        for field in ("lifecycle", *_PROBES):
            if field in container and container[field] is not None:
                yield forbidden((*path, field), "may not be set for init containers without restartPolicy=Always")


def _container(container: Mapping[str, Any], path: Path, volumes: Collection[str] | None) -> FieldErrors:
    """validateContainerCommon."""
    name = text_at(container, "name")
    if not name:
        yield required((*path, "name"))
    else:
        yield from invalid_all((*path, "name"), name, dns_label(name))
    if not text_at(container, "image"):
        yield required((*path, "image"))
    policies = ("Always", "IfNotPresent", "Never")
    yield from one_of(container, "imagePullPolicy", path, policies)
    yield from one_of(container, "terminationMessagePolicy", path, ("File", "FallbackToLogsOnError"))
    yield from _ports(container, path)
    yield from _environment(container, path)
    if volumes is not None:
        yield from _mounts(container, path, volumes)
    yield from resources(object_at(container, "resources"), (*path, "resources"))
    for field in _PROBES:
        yield from _probe(container, field, path)


def _ports(container: Mapping[str, Any], path: Path) -> FieldErrors:
    """validateContainerPorts."""
    names = set()
    for index, port in items_at(container, "ports"):
        here = (*path, "ports", index)
        name = text_at(port, "name")
        problems = port_name(name) if name else []
        yield from invalid_all((*here, "name"), name, problems)
        if name and not problems and name in names:
            yield duplicate((*here, "name"), name)
        names.add(name)
        number, host = number_at(port, "containerPort") or 0, number_at(port, "hostPort") or 0
        if not number:
            yield required((*here, "containerPort"))
        else:
            yield from invalid_all((*here, "containerPort"), number, port_number(number))
        if host:
            yield from invalid_all((*here, "hostPort"), host, port_number(host))
        yield from one_of(port, "protocol", here, ("SCTP", "TCP", "UDP"))


def _host_ports(found: list[tuple[int, Mapping[str, Any]]], path: Path) -> FieldErrors:
    """checkHostPortConflicts."""
    seen = set()
    for index, container in found:
        for at, port in items_at(container, "ports"):
            number = number_at(port, "hostPort")
            if number:
                name = f"{text_at(port, 'protocol') or 'TCP'}/{text_at(port, 'hostIP')}/{number}"
                if name in seen:
                    yield duplicate((*path, index, "ports", at, "hostPort"), name)
                seen.add(name)


def _environment(container: Mapping[str, Any], path: Path) -> FieldErrors:
    """ValidateEnv and ValidateEnvFrom."""
    for index, each in items_at(container, "env"):
        here = (*path, "env", index)
        name = text_at(each, "name")
        if not name:
            yield required((*here, "name"))
        else:
            yield from invalid_all((*here, "name"), name, environment_name(name))
        if isinstance(each.get("valueFrom"), dict):
            yield from _value_from(each, (*here, "valueFrom"))
    for index, each in items_at(container, "envFrom"):
        here = (*path, "envFrom", index)
        sources = [field for field in ("configMapRef", "secretRef") if isinstance(each.get(field), dict)]
        if not sources:
            yield invalid(here, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(sources) > 1:
            yield invalid(here, "", "may not have more than one field specified at a time")
        for field in sources:
            if not text_at(each[field], "name"):
                yield required((*here, field, "name"))


def _value_from(variable: Mapping[str, Any], path: Path) -> FieldErrors:
    """validateEnvVarValueFrom."""
    found = object_at(variable, "valueFrom")
    sources = [field for field in _SOURCES if isinstance(found.get(field), dict)]
    if not sources:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        yield invalid(path, "", text)
    elif text_at(variable, "value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(sources) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")
    for field in ("configMapKeyRef", "secretKeyRef"):
        if field in sources:
            for name in ("name", "key"):
                if not text_at(found[field], name):
                    yield required((*path, field, name))


def _mounts(container: Mapping[str, Any], path: Path, volumes: Collection[str]) -> FieldErrors:
    """ValidateVolumeMounts and ValidateVolumeDevices."""
    for field, place in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        paths = set()
        for index, each in items_at(container, field):
            here = (*path, field, index)
            name, at = text_at(each, "name"), text_at(each, place)
            if not name:
                yield required((*here, "name"))
            elif name not in volumes:
                yield not_found((*here, "name"), name)
            if not at:
                yield required((*here, place))
            elif at in paths:
                yield invalid((*here, place), at, "must be unique")
            paths.add(at)


def _probe(container: Mapping[str, Any], field: str, path: Path) -> FieldErrors:
    """validateProbe."""
    probe = container.get(field)
    if not isinstance(probe, dict):
        return
    here = (*path, field)
    handlers = [each for each in _HANDLERS if isinstance(probe.get(each), dict)]
    if not handlers:
        yield required(here, "must specify a handler type")
    for each in handlers[1:]:
        yield forbidden((*here, each), "may not specify more than 1 handler type")
    for number in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        yield from not_negative(probe, number, here)
    successes = number_at(probe, "successThreshold")
    if field != "readinessProbe" and successes is not None and successes > 1:
        yield invalid((*here, "successThreshold"), successes, "must be 1")
    for handler in ("httpGet", "tcpSocket"):
        if handler in handlers:
            yield from _port(probe[handler], (*here, handler))
    if "exec" in handlers and not texts_at(probe["exec"], "command"):
        yield required((*here, "exec", "command"))


def _port(handler: Mapping[str, Any], path: Path) -> FieldErrors:
    """ValidatePortNumOrName."""
    port = handler.get("port")
    if isinstance(port, str):
        yield from invalid_all((*path, "port"), port, port_name(port))
    else:
        number = number_at(handler, "port") or 0
        yield from invalid_all((*path, "port"), number, port_number(number))


def resources(found: Mapping[str, Any], path: Path) -> FieldErrors:
    """ValidateResourceRequirements."""
    limits = object_at(found, "limits")
    for kind in ("limits", "requests"):
        for name, amount in object_at(found, kind).items():
            yield from invalid_all((*path, kind, name), name, _resource_name(name))
            yield from quantity(amount, (*path, kind, name), whole="/" in name)
    for name, wanted in object_at(found, "requests").items():
        is_exact, here = "/" in name or name.startswith("hugepages-"), (*path, "requests", name)
        if name in limits:
            yield from _within(name, wanted, limits[name], here, exact=is_exact)
        elif is_exact:
            yield required((*path, "limits", name), "Limit must be set for non overcommitable resources")


def _within(name: str, wanted: Any, limit: Any, path: Path, *, exact: bool) -> FieldErrors:
    request, most = amount_in(wanted), amount_in(limit)
    if request is None or most is None:
        return
    if exact and request != most:
        yield invalid(path, str(wanted), f"must be equal to {name} limit of {limit}")
    elif request > most:
        yield invalid(path, str(wanted), f"must be less than or equal to {name} limit of {limit}")


def _resource_name(name: str) -> list[str]:
    """validateContainerResourceName."""
    found = key_problems(name)
    if "/" not in name and name not in _NATIVE and not name.startswith("hugepages-"):
        found.append("must be a standard resource for containers")
    return found
