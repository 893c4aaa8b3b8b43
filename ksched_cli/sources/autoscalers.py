"""Reads the bounds of workloads from HorizontalPodAutoscalers and KEDA ScaledObjects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksched_cli.api.decode import UnknownKind
from ksched_cli.api.validation.fields import object_at
from ksched_cli.sources.unknown_objects import document_of


@dataclass(frozen=True)
class Autoscaler:
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
    if unknown.kind == "ScaledObject":
        least, most = _number(spec, "minReplicaCount", 0), _number(spec, "maxReplicaCount", 100)
        return Autoscaler(*names, least, most, is_keda=True)
    return Autoscaler(*names, _number(spec, "minReplicas", 1), _number(spec, "maxReplicas", 1))


def _number(spec: Mapping[str, Any], name: str, default: int) -> int:
    value = spec.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
