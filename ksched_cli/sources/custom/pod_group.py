"""Describes groups of equal pods of custom resources, and reads values at paths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, field

Manner = Literal["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Job"]
Draft = dict[str, Any]
Steps = tuple[str | int, ...]


class CustomResource(Struct, frozen=True):
    """A custom resource as plain values, or one element of a list or mapping in it."""

    document: Mapping[str, Any]
    element: Any = None
    key: str = ""
    prefix: Steps = ()

    @property
    def name(self) -> str:
        metadata = self.document.get("metadata") or {}
        return str(metadata.get("name") or metadata.get("generateName", "").rstrip("-") or "unnamed")

    def at(self, path: str) -> Any:
        """The value at `spec.replicas`, or at `.replicas` of the element; None if there is none."""
        value: Any = self.element if path.startswith(".") else self.document
        for step in path.lstrip(".").split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def steps(self, path: str) -> Steps:
        own = tuple(path.lstrip(".").split("."))
        return (*self.prefix, *own) if path.startswith(".") else own

    def number(self, path: str, default: int) -> int:
        value = self.at(path) if path else default
        return value if isinstance(value, int) and not isinstance(value, bool) else default


def elements_of(resource: CustomResource, path: str) -> Iterator[CustomResource]:
    """The elements of a list or mapping, each with its key or name."""
    found = resource.at(path)
    steps = tuple(path.split("."))
    if isinstance(found, dict):
        for key, each in found.items():
            yield CustomResource(resource.document, each, str(key), (*steps, key))
    elif isinstance(found, list):
        for index, each in enumerate(found):
            named = each if isinstance(each, dict) else {}
            key = named.get("groupName") or named.get("name") or str(index)
            yield CustomResource(resource.document, each, str(key), (*steps, index))


class CustomPodGroup(Struct, frozen=True):
    """One group of equal pods of a custom resource.

    `manner` is the workload of Kubernetes whose controller replaces pods in the same way. `fields` maps fields of that
    workload to paths in the resource; a path that begins with a dot is in an element of the list or mapping `each`.
    `replicas` times `times` pods are wanted; `copies` is the path of the number of such workloads. `name` and `labels`
    may contain {name}, {key} and {copy}. `adjust` completes the draft with values that no path alone has.
    """

    manner: Manner
    fields: Mapping[str, str]
    each: str = ""
    replicas: str = ""
    default: int = 1
    times: str = ""
    copies: str = ""
    name: str = "{name}"
    group: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    selector: str = ""
    only_if: str = ""
    adjust: Callable[[Draft, CustomResource], None] | None = None


TEMPLATE = "spec.template"


def template(path: str) -> Mapping[str, str]:
    """The field of a complete pod template."""
    return {TEMPLATE: path}


_POD_FIELDS = (
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
    "priorityClassName",
    "schedulerName",
    "hostNetwork",
)


def pod_fields(base: str, *, without: Collection[str] = ()) -> Mapping[str, str]:
    """The pod fields that a resource without a pod template has, under the names of Kubernetes."""
    found = {f"{TEMPLATE}.spec.{name}": f"{base}.{name}" for name in _POD_FIELDS if name not in without}
    return {**found, f"{TEMPLATE}.spec.containers.0.resources": f"{base}.resources"}
