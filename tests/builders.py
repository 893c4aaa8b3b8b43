"""Pods and nodes in a line: `make_pod("web").requests(cpu="100m").on("node-1").obj()`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import structs

from ksched_cli.api.core import Node, ObjectMeta, Pod
from ksched_cli.api.decode import KINDS
from ksched_cli.api.defaults import default_node, default_pod
from ksched_cli.sources.loaded import Loaded


class _Builder:
    def __init__(self, name: str) -> None:
        self.data: dict[str, Any] = {"metadata": {"name": name, "labels": {}}, "spec": {}, "status": {}}

    def label(self, key: str | None = None, value: str = "", **labels: str) -> Self:
        self.data["metadata"]["labels"].update({key: value} if key else {}, **labels)
        return self

    def annotate(self, **annotations: str) -> Self:
        self.data["metadata"].setdefault("annotations", {}).update(annotations)
        return self

    def created(self, stamp: str) -> Self:
        self.data["metadata"]["creationTimestamp"] = stamp
        return self

    def spec(self, **fields: Any) -> Self:
        """Fields by their JSON names, for whatever has no method of its own."""
        self.data["spec"].update(fields)
        return self

    def status(self, **fields: Any) -> Self:
        self.data["status"].update(fields)
        return self


class PodBuilder(_Builder):
    def __init__(self, name: str, namespace: str) -> None:
        super().__init__(name)
        self.data["metadata"]["namespace"] = namespace
        self.data["spec"]["containers"] = [{"name": "main", "image": "registry.local/app:v1", "resources": {}}]

    def uid(self, uid: str) -> Self:
        self.data["metadata"]["uid"] = uid
        return self

    def owner(self, kind: str, name: str, **reference: Any) -> Self:
        """Its controller, unless `controller` is False."""
        reference = {"kind": kind, "name": name, "controller": True, **reference}
        self.data["metadata"]["ownerReferences"] = [reference]
        return self

    def terminating(self) -> Self:
        self.data["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return self

    def image(self, image: str) -> Self:
        self.data["spec"]["containers"][0]["image"] = image
        return self

    def requests(self, **quantities: Any) -> Self:
        """Of the first container; `example_com__gpu` is example.com/gpu."""
        self.data["spec"]["containers"][0]["resources"]["requests"] = _named(quantities)
        return self

    def limits(self, **quantities: Any) -> Self:
        self.data["spec"]["containers"][0]["resources"]["limits"] = _named(quantities)
        return self

    def container(self, **fields: Any) -> Self:
        containers = self.data["spec"]["containers"]
        containers.append({"name": f"c{len(containers)}", **fields})
        return self

    def init(self, **fields: Any) -> Self:
        containers = self.data["spec"].setdefault("initContainers", [])
        containers.append({"name": f"i{len(containers)}", **fields})
        return self

    def host_port(self, port: int, protocol: str = "TCP", address: str = "") -> Self:
        entry = {"containerPort": port, "hostPort": port, "protocol": protocol, "hostIP": address}
        self.data["spec"]["containers"][0].setdefault("ports", []).append(entry)
        return self

    def on(self, node: str) -> Self:
        self.data["spec"]["nodeName"] = node
        return self

    def priority(self, priority: int) -> Self:
        self.data["spec"]["priority"] = priority
        return self

    def scheduler(self, name: str) -> Self:
        self.data["spec"]["schedulerName"] = name
        return self

    def gate(self, name: str) -> Self:
        self.data["spec"].setdefault("schedulingGates", []).append({"name": name})
        return self

    def selector(self, **labels: str) -> Self:
        self.data["spec"]["nodeSelector"] = labels
        return self

    def toleration(self, key: str = "", operator: str = "Equal", value: str = "", effect: str = "") -> Self:
        entry = {"key": key, "operator": operator, "value": value, "effect": effect}
        self.data["spec"].setdefault("tolerations", []).append(entry)
        return self

    def node_affinity(self, *terms: dict[str, Any]) -> Self:
        required = {"nodeSelectorTerms": list(terms)}
        self._node_affinity()["requiredDuringSchedulingIgnoredDuringExecution"] = required
        return self

    def prefers(self, weight: int, term: dict[str, Any]) -> Self:
        preferred = self._node_affinity().setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
        preferred.append({"weight": weight, "preference": term})
        return self

    def _node_affinity(self) -> dict[str, Any]:
        affinity: dict[str, Any] = self.data["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
        return affinity

    def phase(self, phase: str) -> Self:
        return self.status(phase=phase)

    def started(self, stamp: str) -> Self:
        return self.status(startTime=stamp)

    def nominated(self, node: str) -> Self:
        return self.status(nominatedNodeName=node)

    def obj(self) -> Pod:
        pod = msgspec.convert(self.data, Pod)
        default_pod(pod)
        return pod

    def doc(self) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Pod", **self.data}


class NodeBuilder(_Builder):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.data["metadata"]["labels"]["kubernetes.io/hostname"] = name
        self.allocatable(cpu="4", memory="16Gi", pods="110")

    def allocatable(self, **quantities: Any) -> Self:
        self.data["status"]["allocatable"] = _named(quantities)
        return self

    def zone(self, zone: str, region: str = "region") -> Self:
        return self.label("topology.kubernetes.io/zone", zone).label("topology.kubernetes.io/region", region)

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        self.data["spec"].setdefault("taints", []).append({"key": key, "value": value, "effect": effect})
        return self

    def cordoned(self) -> Self:
        return self.spec(unschedulable=True)

    def image(self, size: int, *names: str) -> Self:
        self.data["status"].setdefault("images", []).append({"names": list(names), "sizeBytes": size})
        return self

    def obj(self) -> Node:
        node = msgspec.convert(self.data, Node)
        default_node(node)
        return node

    def doc(self) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Node", **self.data}


def make_pod(name: str = "pod", namespace: str = "default") -> PodBuilder:
    return PodBuilder(name, namespace)


def make_node(name: str = "node") -> NodeBuilder:
    return NodeBuilder(name)


def make_object(kind: str, name: str, spec: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A document such as `make_object("PodDisruptionBudget", "b", {"minAvailable": 1}, namespace="shop")`. `kind` is
    VERSION/KIND for a kind that ksched has no type for, and for an older version than the newest of a type. Fields of
    the metadata go there, others to the object."""
    version, _, kind = kind.rpartition("/")
    version = version or next(each for each, of in KINDS if of == kind)
    metadata = {"name": name, **{field: value for field, value in fields.items() if field in _METADATA}}
    others = {field: value for field, value in fields.items() if field not in _METADATA}
    given = {} if spec is None else {"spec": spec}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **given, **others}


_METADATA = {"managedFields", *(field.encode_name for field in structs.fields(ObjectMeta))}


def make_workload(
    kind: str,
    name: str = "web",
    *,
    requests: dict[str, Any] | None = None,
    pod: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A workload of apps/v1. Its pods have the label app=NAME and a container with these requests; `pod` has more fields
    of their spec."""
    container = {"name": "main", "image": "registry.local/app:v1", "resources": {"requests": requests or {}}}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **(pod or {})}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, **(metadata or {})},
        "spec": {**spec, "selector": {"matchLabels": labels}, "template": template},
    }


def make_configuration(*profiles: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration with these profiles and other fields."""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**head, **fields, **({"profiles": list(profiles)} if profiles else {})}


def loaded_of(*items: Any) -> Loaded:
    """A cluster with these objects."""
    loaded = Loaded()
    for each in items:
        loaded.add(each)
    return loaded


def write_list(path: Path, *items: Any) -> str:
    """A file with these documents or builders; returns its name."""
    listed = [each if isinstance(each, dict) else each.doc() for each in items]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
    return str(path)


def term(
    *expressions: tuple[str, str, list[str]], fields: tuple[tuple[str, str, list[str]], ...] = ()
) -> dict[str, Any]:
    """A node selector term from (key, operator, values)."""
    return {
        "matchExpressions": [{"key": key, "operator": op, "values": values} for key, op, values in expressions],
        "matchFields": [{"key": key, "operator": op, "values": values} for key, op, values in fields],
    }


def _named(quantities: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("__", "/").replace("_", "."): value for name, value in quantities.items()}
