"""Reads what scales: the bounds of workloads of HorizontalPodAutoscalers and KEDA ScaledObjects, and the nodes that
autoscalers can add, which Karpenter's NodePools and NodeClaims and the groups of Cluster API name. Metrics are not
read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from ksched_cli.api.conversion import type_name
from ksched_cli.api.core import Taint
from ksched_cli.api.decode import UnknownKind, document_of
from ksched_cli.api.validation.fields import object_at


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


_CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
_MOST = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
# The annotations of scale from zero, and the resources that they name.
_RESOURCES = {"cpu": "cpu", "memory": "memory", "ephemeral-disk": "ephemeral-storage", "maxPods": "pods"}
_ZONE = "topology.kubernetes.io/zone"
_TYPE = "node.kubernetes.io/instance-type"
_CAPACITY_TYPE = "karpenter.sh/capacity-type"


class NodeGroup(Struct, frozen=True):
    """A group of nodes that an autoscaler enlarges. `types` are the instance types that a NodePool allows; without
    `resources` a catalog must have their sizes. `most` is the number of nodes that it may add."""

    kind: str
    name: str
    types: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    resources: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    most: int | None = None
    spot: bool = False

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name}"


def node_group_of(unknown: UnknownKind) -> NodeGroup | None:
    """The node group in the object, or None."""
    group = unknown.api_version.partition("/")[0]
    if group == "karpenter.sh" and unknown.kind == "NodePool":
        return _node_pool(document_of(unknown))
    if group == "karpenter.sh" and unknown.kind == "NodeClaim":
        return _node_claim(document_of(unknown))
    if group == "cluster.x-k8s.io" and unknown.kind in ("MachineDeployment", "MachineSet", "MachinePool"):
        return _machines(unknown.kind, document_of(unknown))
    return None


def _node_pool(document: Mapping[str, Any]) -> NodeGroup:
    template = object_at(object_at(document, "spec"), "template")
    spec, labels = object_at(template, "spec"), _texts(object_at(object_at(template, "metadata"), "labels"))
    wanted = {
        str(each.get("key")): tuple(map(str, each.get("values") or ()))
        for each in _list(spec, "requirements")
        if each.get("operator") == "In"
    }
    single = {key: values[0] for key, values in wanted.items() if len(values) == 1 and key not in (_ZONE, _TYPE)}
    name = str(object_at(document, "metadata").get("name") or "")
    return NodeGroup(
        "NodePool",
        name,
        wanted.get(_TYPE, ()),
        wanted.get(_ZONE, ()),
        labels={"karpenter.sh/nodepool": name, **single, **labels},
        taints=tuple(_taints(spec)),
        spot=wanted.get(_CAPACITY_TYPE) == ("spot",),
    )


def _node_claim(document: Mapping[str, Any]) -> NodeGroup:
    metadata, status = object_at(document, "metadata"), object_at(document, "status")
    labels = _texts(object_at(metadata, "labels"))
    own = {key: each for key, each in labels.items() if key not in (_ZONE, _TYPE)}
    return NodeGroup(
        "NodeClaim",
        str(metadata.get("name") or ""),
        (labels[_TYPE],) if _TYPE in labels else (),
        (labels[_ZONE],) if _ZONE in labels else (),
        _texts(object_at(status, "allocatable") or object_at(status, "capacity")),
        own,
        tuple(_taints(object_at(document, "spec"))),
        spot=labels.get(_CAPACITY_TYPE) == "spot",
    )


def _machines(kind: str, document: Mapping[str, Any]) -> NodeGroup | None:
    metadata, spec = object_at(document, "metadata"), object_at(document, "spec")
    notes = _texts(object_at(metadata, "annotations"))
    resources = {name: notes[_CAPACITY + key] for key, name in _RESOURCES.items() if _CAPACITY + key in notes}
    if "cpu" not in resources or "memory" not in resources:
        return None
    gpu = notes.get(f"{_CAPACITY}gpu-type")
    if gpu and f"{_CAPACITY}gpu-count" in notes:
        resources[gpu] = notes[f"{_CAPACITY}gpu-count"]
    labels = dict(_pairs(notes.get(f"{_CAPACITY}labels", "")))
    zone = labels.pop(_ZONE, "")
    current = spec.get("replicas")
    most = int(notes[_MOST]) if re.fullmatch("[0-9]{1,9}", notes.get(_MOST, "")) else None
    if most is not None and isinstance(current, int):
        most = max(most - current, 0)
    taints = tuple(_taint(each) for each in notes.get(f"{_CAPACITY}taints", "").split(",") if each.strip())
    name, kind_of_node = str(metadata.get("name") or ""), labels.pop(_TYPE, "")
    types, zones = ((kind_of_node,) if kind_of_node else ()), ((zone,) if zone else ())
    return NodeGroup(kind, name, types, zones, resources, labels, taints, most)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for each in text.split(","):
        key, found, value = each.strip().partition("=")
        if key and found:
            yield key, value


def _taint(text: str) -> Taint:
    """The taint of `key=value:Effect`."""
    pair, _, effect = text.strip().rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key, value, effect)


def _taints(spec: Mapping[str, Any]) -> Iterator[Taint]:
    for each in _list(spec, "taints"):
        yield Taint(str(each.get("key") or ""), str(each.get("value") or ""), str(each.get("effect") or ""))


def _list(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = value.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _texts(value: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(each) for key, each in value.items() if isinstance(each, str | int | float)}
