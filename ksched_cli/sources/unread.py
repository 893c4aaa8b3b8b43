"""Finds problems of objects in manifests whose kind is not read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ksched_cli.api.decode import UnknownKind
from ksched_cli.api.kinds import KINDS
from ksched_cli.errors import Problem
from ksched_cli.sources.input_codes import INVALID, REMOVED_VERSION, UNKNOWN_KIND, UNKNOWN_WORKLOAD
from ksched_cli.sources.loaded import Origin
from ksched_cli.sources.unknown_objects import document_of, label_of


def _group_of(version: str) -> str:
    return version.rpartition("/")[0]


# The other kinds of API groups in which all kinds are known.
_OTHER_KINDS: Mapping[str, frozenset[str]] = {
    "v1": frozenset(
        (
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "List",
            "Secret",
            "ServiceAccount",
        )
    ),
    "apps/v1": frozenset(("ControllerRevision",)),
    "batch/v1": frozenset(),
}
# Versions of workloads that Kubernetes has removed, and those to write instead.
_REMOVED: Mapping[tuple[str, str], str] = {
    ("extensions/v1beta1", "DaemonSet"): "apps/v1",
    ("extensions/v1beta1", "Deployment"): "apps/v1",
    ("extensions/v1beta1", "ReplicaSet"): "apps/v1",
    ("apps/v1beta1", "Deployment"): "apps/v1",
    ("apps/v1beta1", "StatefulSet"): "apps/v1",
    ("apps/v1beta2", "DaemonSet"): "apps/v1",
    ("apps/v1beta2", "Deployment"): "apps/v1",
    ("apps/v1beta2", "ReplicaSet"): "apps/v1",
    ("apps/v1beta2", "StatefulSet"): "apps/v1",
    ("batch/v1beta1", "CronJob"): "batch/v1",
    ("batch/v2alpha1", "CronJob"): "batch/v1",
}
_VERSIONS: Mapping[str, str] = {kind: version for version, kind in reversed(KINDS)}
_GROUPS = frozenset((_group_of(version), kind) for version, kind in KINDS)
_STABLE = re.compile(r".*/v\d+")
# Kinds with these endings describe pods that other objects create.
_DEFINITIONS = ("Class", "Config", "Definition", "Policy", "Profile", "Runtime", "StorageContainer", "Task", "Template")
_IMAGE = re.compile(r"[\w.-]+(:\d+)?(/[\w.-]+)+(:[\w.-]+|@sha256:\w+)")
# How deep a pod template may be in a custom resource.
_DEEPEST = 12


def no_manifest(unknown: UnknownKind, source: str, line: int | None) -> Problem:
    """The problem of a document that is no object: an error of the API server, or a table."""
    if unknown.kind == "Table":
        text, hint = "this is a table that kubectl printed, not objects", "print them with -o json or -o yaml"
    else:
        message = document_of(unknown).get("message")
        text = f"this is a Status of the API server, not an object{f': {message}' if message else ''}"
        hint = "run the command that wrote the file again"
    return Problem(text, source, line, hint=hint, code=INVALID)


def judge(unknown: UnknownKind, origin: Origin) -> Iterator[Problem]:
    """Problems of unknown kinds, of versions that Kubernetes has removed, and of custom resources that look like
    workloads."""
    version, kind = unknown.api_version, unknown.kind
    where = (origin.source, origin.line, label_of(unknown))
    newer = _REMOVED.get((version, kind))
    if newer:
        text = f"{version} {kind} is no longer served: Kubernetes has removed it"
        yield Problem(text, *where, f"write apiVersion: {newer}", REMOVED_VERSION)
    elif _is_unknown(version, kind):
        yield Problem(f"there is no kind {kind} in {version}", *where, _nearest(version, kind), UNKNOWN_KIND)
    elif _is_custom(version) and not kind.endswith(_DEFINITIONS):
        path = pod_template_path(document_of(unknown))
        if path is not None:
            group = version.partition("/")[0]
            text = f"{kind} of {group} looks like a workload: ksched does not place its pods"
            hint = f"--pod-template {kind}.{group}={path or 'PATH'}"
            yield Problem(text, *where, hint, UNKNOWN_WORKLOAD, "warning")


def _is_unknown(version: str, kind: str) -> bool:
    """Whether Kubernetes has no such kind, as far as ksched has the kinds of the version or the versions of the kind.
    Groups with a dot have alpha and beta versions that ksched does not read."""
    if version in _OTHER_KINDS:
        return kind not in _OTHER_KINDS[version]
    if kind not in _VERSIONS or _is_custom(version):
        return False
    group = _group_of(version)
    return "." not in group or (group, kind) not in _GROUPS or _STABLE.fullmatch(version) is not None


def _nearest(version: str, kind: str) -> str:
    if kind in _VERSIONS:
        return f"write apiVersion: {_VERSIONS[kind]}"
    names = [*_VERSIONS, *_OTHER_KINDS[version]]
    close = difflib.get_close_matches(kind, names, 1, 0.7)
    if not close:
        return ""
    wanted = _VERSIONS.get(close[0], version)
    return f"did you mean {close[0]}?" if wanted == version else f"did you mean {wanted} {close[0]}?"


def _is_custom(version: str) -> bool:
    """Whether the group is not of Kubernetes. Its groups have no dot, or end in k8s.io without a project before it."""
    group, found, _ = version.partition("/")
    if not found or "." not in group:
        return False
    return not group.endswith(".k8s.io") or group.count(".") > 2 or group.endswith(".x-k8s.io")


def pod_template_path(document: Mapping[str, Any]) -> str | None:
    """The path of the pod template of a custom resource; `""` if it has containers or resources of pods elsewhere;
    None if it has neither."""
    spec = document.get("spec")
    return _template_below(spec, "spec", 0) if isinstance(spec, dict) else None


def _template_below(value: Mapping[str, Any], path: str, depth: int) -> str | None:
    if depth > _DEEPEST:
        return None
    inner = value.get("spec")
    if isinstance(inner, dict) and _has_containers(inner):
        return path
    if _has_containers(value) or _asks_for_resources(value) or _names_image(value):
        return ""
    found: str | None = None
    for name, each in value.items():
        for below, at in _mappings(each, f"{path}.{name}"):
            deeper = _template_below(below, at, depth + 1)
            if deeper:
                return deeper
            found = deeper if found is None else found
    return found


def _mappings(value: Any, path: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    if isinstance(value, dict):
        yield value, path
    elif isinstance(value, list):
        yield from ((each, f"{path}[*]") for each in value if isinstance(each, dict))


def _has_containers(value: Mapping[str, Any]) -> bool:
    containers = value.get("containers")
    return isinstance(containers, list) and any(isinstance(each, dict) and "name" in each for each in containers)


def _names_image(value: Mapping[str, Any]) -> bool:
    image = value.get("image")
    return isinstance(image, str) and _IMAGE.fullmatch(image) is not None


def _asks_for_resources(value: Mapping[str, Any]) -> bool:
    resources = value.get("resources")
    requests = resources.get("requests") if isinstance(resources, dict) else None
    return isinstance(requests, dict) and any(name in requests for name in ("cpu", "memory"))
