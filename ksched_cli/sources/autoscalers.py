"""Reads the bounds of workloads from HorizontalPodAutoscalers and KEDA ScaledObjects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from ksched_cli.api.conversion import type_name
from ksched_cli.api.decode import UnknownKind
from ksched_cli.api.validation.fields import object_at
from ksched_cli.sources.unknown_objects import document_of


class Autoscaler(Struct, frozen=True):
    """The bounds of the workload that it scales. KEDA scales idle workloads to zero."""

    name: str
    namespace: str
    target_kind: str
    target_name: str
    least: int
    most: int
    is_keda: bool = False

    @property
    def label(self) -> str:
        kind = "ScaledObject" if self.is_keda else "HorizontalPodAutoscaler"
        return f"{kind} {self.namespace}/{self.name}"

    def within(self, replicas: int) -> int:
        """The number of replicas within the bounds. The autoscaler is disabled at 0 replicas."""
        if not replicas:
            return replicas
        return min(max(replicas, self.least), self.most)


def autoscaler_of(unknown: UnknownKind, namespace: str) -> Autoscaler | None:
    """The autoscaler in the object, or None. `namespace` is for objects that name none."""
    group = unknown.api_version.partition("/")[0]
    if (unknown.kind, group) not in (("HorizontalPodAutoscaler", "autoscaling"), ("ScaledObject", "keda.sh")):
        return None
    document = document_of(unknown)
    metadata, spec = object_at(document, "metadata"), object_at(document, "spec")
    target = object_at(spec, "scaleTargetRef")
    where = str(metadata.get("namespace") or namespace)
    names = (str(metadata.get("name") or ""), where, str(target.get("kind") or "Deployment"), str(target.get("name")))
    is_keda = unknown.kind == "ScaledObject"
    least, most = (_number(spec, name, default) for name, default in _BOUNDS[is_keda])
    return Autoscaler(*names, least, most, is_keda)


def wrong_bounds(unknown: UnknownKind, autoscaler: Autoscaler) -> Iterator[tuple[str, str]]:
    """The paths of bounds that the API server or KEDA refuses, each with the mistake
    (validateHorizontalPodAutoscalerSpec)."""
    spec = object_at(document_of(unknown), "spec")
    (least, _), (most, _) = _BOUNDS[autoscaler.is_keda]
    wrong = [name for name in (least, most) if not _is_number(spec.get(name))]
    yield from ((f"spec.{name}", f"expected a whole number, got {type_name(spec[name])}") for name in wrong)
    if wrong:
        return
    if autoscaler.least < 0:
        yield f"spec.{least}", f"Invalid value: {autoscaler.least}: must be greater than or equal to 0"
    if autoscaler.most < 1:
        yield f"spec.{most}", f"Invalid value: {autoscaler.most}: must be greater than 0"
    elif autoscaler.most < autoscaler.least:
        yield f"spec.{most}", f"Invalid value: {autoscaler.most}: must be greater than or equal to `{least}`"


# The fields of the bounds with their defaults, without KEDA and with it. maxReplicas has no default.
_BOUNDS = (("minReplicas", 1), ("maxReplicas", 0)), (("minReplicaCount", 0), ("maxReplicaCount", 100))


def _number(spec: Mapping[str, Any], name: str, default: int) -> int:
    value = spec.get(name)
    return value if value is not None and _is_number(value) else default


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))
