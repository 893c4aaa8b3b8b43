"""Makes the workloads that stand for a custom resource, by the table in `kinds.py` or by --pod-template. What the
operator of the resource does beyond creating pods is not modelled."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from ksched_cli.api.conversion import as_go_reads, path_text, problems_in
from ksched_cli.api.decode import UnknownKind, document_of, label_of
from ksched_cli.api.workloads import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet
from ksched_cli.errors import Problem, UsageError
from ksched_cli.sources.custom.kinds import (
    CUSTOM_KINDS,
    TEMPLATE,
    CustomPodGroup,
    CustomResource,
    Draft,
    Steps,
    elements_of,
    pod_spec,
)
from ksched_cli.sources.loaded import INVALID, STANDS_FOR, UNKNOWN_WORKLOAD, Origin
from ksched_cli.sources.templates import template_hash

_TYPES: Mapping[str, type[Struct]] = {
    kind.__name__: kind for kind in (Deployment, StatefulSet, ReplicaSet, DaemonSet, Job)
}
_UNIQUE = "ksched.dev/pods-of"
_MOST_COPIES = 10_000


class CustomWorkload(Struct, frozen=True):
    """A workload that stands for a group of pods of a custom resource. `paths` are pairs of a path in the workload and
    the path in the resource, the longest first."""

    item: Any
    paths: Sequence[tuple[Steps, Steps]] = ()

    def path_in_resource(self, path: Steps) -> Steps:
        return in_resource(self.paths, path)


def in_resource(paths: Sequence[tuple[Steps, Steps]], path: Steps) -> Steps:
    for own, there in paths:
        if path[: len(own)] == own:
            return (*there, *path[len(own) :])
    return ("spec",) if path else ()


Kinds = Mapping[tuple[str, str], Sequence[CustomPodGroup]]


def custom_workloads(unknown: UnknownKind, origin: Origin, kinds: Kinds) -> Iterator[CustomWorkload | Problem]:
    """The workloads of a resource whose kind is in the table; none for other kinds."""
    group = unknown.api_version.partition("/")[0]
    groups = kinds.get((unknown.kind.lower(), group.lower()))
    if groups is None:
        return
    resource = CustomResource(as_go_reads(document_of(unknown)))
    if not resource.name:
        text = "Required value: name or generateName is required"
        yield Problem(text, origin.source, origin.line, f"{label_of(unknown)}: metadata.name", code=INVALID)
        return
    found = False
    for each in groups:
        for made in _workloads(each, unknown, resource, origin):
            found = True
            yield made
    if not found and not any(each.only_if for each in groups):
        text = f"there are no pods where a {unknown.kind} of {group} has them"
        yield Problem(text, origin.source, origin.line, label_of(unknown), "", UNKNOWN_WORKLOAD, "warning")


def known_kinds(given: Kinds) -> Kinds:
    """The table with the kinds of --pod-template, which come first."""
    built_in = {(kind.lower(), group.lower()): groups for (kind, group), groups in CUSTOM_KINDS.items()}
    return {**built_in, **given}


def _workloads(
    group: CustomPodGroup, unknown: UnknownKind, resource: CustomResource, origin: Origin
) -> Iterator[CustomWorkload | Problem]:
    elements = elements_of(resource, group.each) if group.each else (resource,)
    for element in elements:
        if not _has_pods(group, element):
            continue
        copies = min(element.number(group.copies, 1), _MOST_COPIES) if group.copies else 1
        for number in range(copies):
            yield from _workload(group, unknown, element, number, origin)


def _has_pods(group: CustomPodGroup, element: CustomResource) -> bool:
    if group.only_if:
        return element.at(group.only_if) is not None
    path = group.fields.get(TEMPLATE, group.fields.get("spec"))
    return path is None or element.at(path) is not None or group.adjust is not None


def _workload(
    group: CustomPodGroup, unknown: UnknownKind, element: CustomResource, number: int, origin: Origin
) -> Iterator[CustomWorkload | Problem]:
    draft, paths = _draft(group, unknown, element, number)
    item, mistakes = problems_in(draft, _TYPES[group.manner])
    if not mistakes:
        if TEMPLATE not in group.fields and "spec" not in group.fields:
            pod_spec(draft).setdefault("containers", [{}])
        if group.adjust is not None:
            group.adjust(draft, element)
        words = _words(element, number)
        _label(group, draft, element, {name: text.format(**words) for name, text in group.labels.items()})
        _complete(group, draft)
        item, mistakes = problems_in(draft, _TYPES[group.manner])
    label = label_of(unknown)
    for steps, text in mistakes:
        path = f"{label}: {path_text(in_resource(paths, tuple(steps)))}"
        yield Problem(text, origin.source, origin.line, path, code=INVALID)
    if not mistakes and item.spec.template is not None and item.spec.template.spec.containers:
        yield CustomWorkload(item, paths)


def _draft(
    group: CustomPodGroup, unknown: UnknownKind, element: CustomResource, number: int
) -> tuple[Draft, Sequence[tuple[Steps, Steps]]]:
    """The workload as a document, and pairs of a path in it and the path in the resource."""
    words = _words(element, number)
    metadata = dict(element.document["metadata"])
    metadata["name"] = group.name.format(**words)
    metadata["ownerReferences"] = [_owner(unknown, metadata, element.name)]
    suffix = group.group.format(**words).strip("-") or (element.key if group.each else "")
    metadata["annotations"] = {STANDS_FOR: suffix}
    draft: Draft = {"metadata": metadata, "spec": {}}
    paths: list[tuple[Steps, Steps]] = []
    for field, first in group.fields.items():
        path = group.otherwise if group.otherwise and element.at(first) is None else first
        value = element.at(path)
        steps = tuple(int(step) if step.isdecimal() else step for step in field.split("."))
        paths.append((steps, element.steps(path)))
        if value is not None:
            _set(draft, steps, copy.deepcopy(value))
    if group.manner not in ("DaemonSet", "Job"):
        times = element.number(group.times, 1) if group.times else 1
        draft["spec"]["replicas"] = element.number(group.replicas, group.default) * times
        if group.replicas:
            paths.append((("spec", "replicas"), element.steps(group.replicas)))
    return draft, sorted(paths, key=lambda each: -len(each[0]))


def _words(element: CustomResource, number: int) -> Mapping[str, Any]:
    """The values that names and labels may contain."""
    shard = f"-shard-{number}" if number else ""
    return {"name": element.name, "key": element.key.lower(), "copy": number, "shard": shard}


def _owner(unknown: UnknownKind, metadata: Mapping[str, Any], name: str) -> Draft:
    uid = metadata.get("uid") or ""
    return {"apiVersion": unknown.api_version, "kind": unknown.kind, "name": name, "uid": uid, "controller": True}


def _set(draft: Draft, steps: Steps, value: Any) -> None:
    """Set the field, unless a field around it has a wrong type, which is a mistake of that field."""
    here: Any = draft
    for step, following in pairwise(steps):
        if isinstance(here, dict) and not here.get(step):
            here[step] = [{}] if isinstance(following, int) else {}
        here = here[step] if isinstance(here, list if isinstance(step, int) else dict) else None  # type: ignore[index]
    if isinstance(here, dict):
        here[steps[-1]] = value


def _label(group: CustomPodGroup, draft: Draft, element: CustomResource, labels: Mapping[str, str]) -> None:
    """Set the labels that the operator gives to the pods, and a selector for them."""
    spec = draft["spec"]
    if group.manner == "Job":
        return
    metadata = spec.setdefault("template", {}).setdefault("metadata", {})
    selector = element.at(group.selector) if group.selector else None
    if not selector:
        own = dict(labels) or {_UNIQUE: template_hash(draft["metadata"]["name"].encode())}
        metadata["labels"] = {**(metadata.get("labels") or {}), **own}
        selector = {"matchLabels": own}
    spec["selector"] = selector


def _complete(group: CustomPodGroup, draft: Draft) -> None:
    """Set fields that a workload of Kubernetes needs and a custom resource may lack."""
    spec = pod_spec(draft)
    if group.manner != "Job":
        spec.pop("restartPolicy", None)
    for index, each in enumerate(spec.get("containers") or ()):
        each.setdefault("name", f"container-{index}")


def stand_in_kind(name: str) -> type[Struct] | None:
    """The workload that stands for a custom kind, `rollout` or `rollout.argoproj.io`, and has its name."""
    kind, _, group = name.lower().partition(".")
    for (known, of_group), groups in CUSTOM_KINDS.items():
        if known.lower() == kind and group in ("", of_group) and len(groups) == 1 and groups[0].name == "{name}":
            return _TYPES[groups[0].manner]
    return None


def read_pod_templates(texts: Sequence[str]) -> Kinds:
    """The kinds of --pod-template. Raises UsageError for texts of another form."""
    found: dict[tuple[str, str], list[CustomPodGroup]] = {}
    for text in texts:
        kind, group = _parse_pod_template(text)
        found.setdefault(kind, []).append(group)
    return found


def _parse_pod_template(text: str) -> tuple[tuple[str, str], CustomPodGroup]:
    """The kind and group of `Kind.group=path[,replicas=path]`. `[*]` after a list or mapping means each element."""
    target, _, paths = text.partition("=")
    kind, found, group = target.partition(".")
    where, _, replicas = paths.partition(",")
    if not (kind and found and group and where) or (replicas and not replicas.startswith("replicas=")):
        hint = "write KIND.GROUP=PATH[,replicas=PATH], such as Game.example.com=spec.template"
        raise UsageError(Problem("incomplete", f"--pod-template {text}", hint=hint))
    path, count = where.strip("."), replicas.removeprefix("replicas=").strip(".")
    each, several, inner = path.partition("[*]")
    if several:
        path = f".{inner.strip('.')}"
        count = count.replace(f"{each}[*].", ".", 1) if count.startswith(f"{each}[*]") else count
    made = CustomPodGroup("ReplicaSet", {TEMPLATE: path}, each if several else "", count, name=_NAME_OF[bool(several)])
    return (kind.lower(), group.lower()), made


_NAME_OF = {False: "{name}", True: "{name}-{key}"}
