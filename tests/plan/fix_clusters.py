"""Clusters with Deployments, StatefulSets, priorities and one workload that does not fit, made from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from tests.builders import make_node

CLASSES = {"low": 10, "middle": 100, "high": 1000}
_KINDS = ("Deployment", "StatefulSet")


@dataclass(frozen=True)
class FixCluster:
    """The objects, the workload whose pods are pending, and one of these pods."""

    items: list[dict[str, Any]]
    workload: dict[str, Any]
    pod: str

    @property
    def name(self) -> str:
        """As results name it: `Deployment/shop/web`."""
        return f"{self.workload['kind']}/shop/{self.workload['metadata']['name']}"


def fix_cluster(seed: int) -> FixCluster:
    chance = random.Random(seed)
    nodes = [_node(index, chance) for index in range(chance.randint(3, 6))]
    free = {node["metadata"]["name"]: int(node["status"]["allocatable"]["cpu"]) * 1000 for node in nodes}
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in CLASSES.items()
    ]
    items: list[dict[str, Any]] = [*nodes, *classes]
    for index in range(chance.randint(4, 8)):
        kind, milli = chance.choice(_KINDS), chance.choice((500, 1000, 1500))
        places = _places(free, milli, chance.randint(1, 4), chance)
        items += _workload(
            f"app{index}", kind, _template(f"app{index}", milli, chance.choice(list(CLASSES))), places, 0
        )
    for index in range(chance.randint(0, 2)):
        bare = _template(f"bare{index}", 500, "low")["spec"]
        items += [_pod(f"bare{index}", {}, None, bare, node) for node in _places(free, 500, 1, chance)]
    wanted = max(free.values()) + chance.choice((300, 1000, 2000))
    template = _template("wanted", wanted, chance.choice(list(CLASSES)))
    if chance.random() < 0.4:
        template["spec"]["nodeSelector"] = {"disk": chance.choice(("nvme", "ssd"))}
    made = _workload("wanted", chance.choice(_KINDS), template, [], chance.randint(1, 3))
    return FixCluster([*items, *made], made[0], f"shop/{made[-1]['metadata']['name']}")


def _node(index: int, chance: random.Random) -> dict[str, Any]:
    node = make_node(f"node-{index}").allocatable(cpu=str(chance.choice((2, 4, 6))), memory="32Gi", pods=20)
    node.zone(chance.choice("ab")).label(disk=chance.choice(("hdd", "ssd")))
    if chance.random() < 0.2:
        node.taint("dedicated", "x")
    return node.doc()


def _places(free: dict[str, int], milli: int, replicas: int, chance: random.Random) -> list[str]:
    """Nodes with room, one for each replica, as long as there is room."""
    found = []
    for _ in range(replicas):
        fitting = [name for name, amount in free.items() if amount >= milli]
        if fitting:
            found.append(chance.choice(fitting))
            free[found[-1]] -= milli
    return found


def _template(app: str, milli: int, priority: str) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.local/app:v1", "resources": {"requests": {"cpu": f"{milli}m"}}}
    spec = {
        "containers": [container],
        "priorityClassName": priority,
        "tolerations": [{"key": "dedicated", "operator": "Exists"}] if app != "wanted" else [],
    }
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def _workload(name: str, kind: str, template: dict[str, Any], places: list[str], pending: int) -> list[dict[str, Any]]:
    """The workload, its ReplicaSet if it is a Deployment, and its pods: running on the places, and pending."""
    selector = {"matchLabels": {"app": name}}
    spec = {"replicas": len(places) + pending, "selector": selector, "template": template}
    metadata = {"name": name, "namespace": "shop", "uid": name}
    made: list[dict[str, Any]] = [{"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}]
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
    labels = dict(template["metadata"]["labels"])
    prefix = name
    if kind == "Deployment":
        labels["pod-template-hash"] = "h"
        prefix = f"{name}-h"
        of_set = {"name": prefix, "namespace": "shop", "uid": prefix, "labels": labels, "ownerReferences": [owner]}
        hashed = {**template, "metadata": {"labels": labels}}
        replicas = {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": hashed}
        made.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": of_set, "spec": replicas})
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": prefix, "uid": prefix, "controller": True}
    else:
        # An OrderedReady set has no more than one pending pod.
        policy = "OrderedReady" if pending == 1 else "Parallel"
        spec |= {"serviceName": name, "podManagementPolicy": policy}
        spec["replicas"] += pending == 1
    for index, node in enumerate([*places, *[""] * pending]):
        made.append(_pod(f"{prefix}-{index}", labels, owner, template["spec"], node))
    return made


def _pod(
    name: str, labels: dict[str, Any], owner: dict[str, Any] | None, spec: dict[str, Any], node: str
) -> dict[str, Any]:
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "labels": labels,
            "creationTimestamp": "2026-01-01T09:00:00Z",
            **({"ownerReferences": [owner]} if owner else {}),
        },
        "spec": {
            **spec,
            "priority": CLASSES[spec["priorityClassName"]],
            "preemptionPolicy": "PreemptLowerPriority",
            **({"nodeName": node} if node else {}),
        },
        "status": ready if node else {"phase": "Pending"},
    }
