"""Larger instances: a catalog of instance types in zones, workloads of many replicas, and a cluster that is in use."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

from tests.benchmarks.sizing.instances import ZONE, Instance, node_of

LARGE = 10
_ZONES = ("eu-1a", "eu-1b", "eu-1c")
# vCPUs and GiB of memory of a size, and prices of an hour, as public price lists have them.
_FAMILIES = {
    "m5": (4, Decimal("0.048")),
    "c5": (2, Decimal("0.0425")),
    "r5": (8, Decimal("0.063")),
    "t3": (4, Decimal("0.0416")),
}
_SIZES = (2, 4, 8, 16)


def catalog(draw: random.Random, shapes: int) -> dict[str, Any]:
    """So many instance types. The kubelet keeps a share of each back."""
    found = []
    for family, (ratio, per_core) in _FAMILIES.items():
        for cores in _SIZES:
            kubelet = {"kubeReserved": {"cpu": "80m", "memory": f"{255 + 11 * cores * 7}Mi"}}
            capacity = {"cpu": str(cores), "memory": f"{cores * ratio}Gi", "pods": "58" if cores < 16 else "234"}
            found.append(
                {"name": f"{family}.{cores}", "price": str(per_core * cores), "capacity": capacity, "kubelet": kubelet}
            )
    chosen = sorted(draw.sample(range(len(found)), min(shapes, len(found))))
    return {"apiVersion": "ksched/v1", "kind": "Catalog", "unit": "USD/h", "shapes": [found[at] for at in chosen]}


def large(number: int) -> Instance:
    """The instance with this number: 150 to 600 pending pods, 8 to 16 shapes."""
    draw = random.Random(f"large-{number}")
    offered = catalog(draw, 8 + number)
    if number % 3 == 2:
        for each in offered["shapes"]:
            each["zones"] = list(_ZONES[:2])
    objects = cluster(draw, nodes=5 * number, pending=150 + 50 * number, workloads=8 + 2 * number)
    return Instance(f"large-{number:02}", tuple(objects), offered)


def cluster(draw: random.Random, nodes: int, pending: int, workloads: int) -> list[dict[str, Any]]:
    """A DaemonSet, nodes with running pods, and pending pods of several workloads."""
    objects: list[dict[str, Any]] = [_daemon_set()]
    free = {}
    for number in range(nodes):
        name = f"node-{number:04}"
        cores = draw.choice((4, 8, 16))
        shape = {
            "name": "m5",
            "labels": {ZONE: _ZONES[number % 3]},
            "allocatable": {"cpu": str(cores), "memory": f"{cores * 4}Gi"},
        }
        node = node_of(shape, name)
        node["metadata"]["labels"]["kubernetes.io/hostname"] = name
        objects += [node, _pod(f"agent-{name}", 100, 128, on=name, owner="agent")]
        free[name] = [cores * 1000 - 100, cores * 4096 - 128]
    templates = [_request(draw) for _ in range(workloads)]
    number = 0
    for on, (cores, memory) in free.items():
        # The cluster is full: pods are pending because no node has room for one more of any workload.
        while fitting := [each for each in templates if each[0] <= cores and each[1] <= memory]:
            milli, mebi = draw.choice(fitting)
            cores, memory, number = cores - milli, memory - mebi, number + 1
            objects.append(_pod(f"run-{number:05}", milli, mebi, on=on))
    for number in range(pending):
        which = draw.randrange(workloads)
        pod = _pod(f"w{which:02}-{number:04}", *templates[which])
        pod["metadata"]["labels"] = {"app": f"w{which}"}
        if which % 7 == 3:
            pod["spec"]["nodeSelector"] = {"kubernetes.io/os": "linux"}
        objects.append(pod)
    return objects


def _request(draw: random.Random) -> tuple[int, int]:
    milli = draw.choice((100, 250, 250, 500, 500, 1000, 1500, 2000, 3000))
    return milli, milli * draw.choice((1, 2, 4, 4, 7)) * 1024 // 1000


def _pod(name: str, milli: int, mebi: int, on: str = "", owner: str = "") -> dict[str, Any]:
    requests = {"cpu": f"{milli}m", "memory": f"{mebi}Mi"}
    container = {"name": "main", "image": "registry.local/app:v1", "resources": {"requests": requests}}
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if owner:
        metadata["namespace"] = "kube-system"
        metadata["labels"] = {"app": owner}
        reference = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": owner,
            "uid": f"uid-{owner}",
            "controller": True,
        }
        metadata["ownerReferences"] = [reference]
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    if on:
        pod["spec"]["nodeName"] = on
        pod["status"] = {"phase": "Running"}
    return pod


def _daemon_set() -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": "128Mi"}
    container = {"name": "agent", "image": "registry.local/agent:v1", "resources": {"requests": requests}}
    spec = {"priorityClassName": "system-node-critical", "containers": [container]}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": spec}
    metadata = {"name": "agent", "namespace": "kube-system", "uid": "uid-agent"}
    of_set = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": of_set}
