"""Larger instances: instance types in pools and zones, workloads of many replicas, and a cluster that is full."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

from tests.benchmarks.sizing.instances import ZONE, Instance, node_of

LARGE = 10
MIXED = 13
WIDE = 2
POOL = "pool"
_ZONES = ("eu-1a", "eu-1b", "eu-1c")
# GiB of memory for a vCPU, and the price of a vCPU and hour, as public price lists have them; and the pool of the family.
_FAMILIES = {
    "m5": (4, Decimal("0.048"), "general"),
    "t3": (4, Decimal("0.0416"), "general"),
    "c5": (2, Decimal("0.0425"), "compute"),
    "r5": (8, Decimal("0.063"), "memory"),
}
_SIZES = (2, 4, 8, 16)
# GiB for each core that the pods of a pool request.
_RATIOS = {"general": (2, 3, 4), "compute": (1, 2), "memory": (6, 7, 8)}


def catalog(draw: random.Random, shapes: int) -> dict[str, Any]:
    """So many instance types, some of each pool."""
    found = [
        _instance_type(family, cores, *figures) for cores in reversed(_SIZES) for family, figures in _FAMILIES.items()
    ]
    # The largest of each family, so that every pod fits, and others.
    others = sorted(draw.sample(range(4, len(found)), max(shapes - 4, 0)))
    return _catalog_of(found[:4] + [found[at] for at in others])


def _catalog_of(shapes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "ksched/v1", "kind": "Catalog", "unit": "USD/h", "shapes": shapes}


def _instance_type(family: str, cores: int, ratio: int, per_core: Decimal, pool: str) -> dict[str, Any]:
    """The kubelet keeps a share of each back."""
    return {
        "name": f"{family}.{cores}",
        "price": str(per_core * cores),
        "capacity": {"cpu": str(cores), "memory": f"{cores * ratio}Gi", "pods": "58" if cores < 16 else "234"},
        "kubelet": {"kubeReserved": {"cpu": "80m", "memory": f"{255 + 77 * cores}Mi"}},
        "labels": {POOL: pool},
    }


def large(number: int) -> Instance:
    """The instance with this number: 150 to 600 pending pods, 7 to 16 shapes."""
    draw = random.Random(f"large-{number}")
    offered = catalog(draw, 7 + number)
    if number % 3 == 2:
        for each in offered["shapes"]:
            each["zones"] = list(_ZONES[:2])
    objects = cluster(draw, nodes=5 * number, pending=150 + 50 * number, workloads=8 + 2 * number)
    return Instance(f"large-{number:02}", tuple(objects), offered)


def mixed(number: int) -> Instance:
    """The first eight have nodes with room for some pods, each second of them with pools; the others have no nodes. Without
    pools every pod fits on every shape, so that a part has 8 to 12 shapes."""
    has_room, pools = number < 8, number < 8 and number % 2 == 1
    step = number // 2 if has_room else number - 8
    draw = random.Random(f"roomy-{step}")
    offered = catalog(draw, 8 + step)
    nodes = 4 + 3 * step if has_room else 0
    objects = []
    for each in cluster(draw, nodes, pending=120 + 40 * step, workloads=6 + 2 * step):
        if has_room and each["metadata"]["name"].startswith("run-") and draw.random() < 0.3:
            continue
        if not pools:
            each["spec"].pop("nodeSelector", None)
        objects.append(each)
    return Instance(f"mixed-{number:02}", tuple(objects), offered)


def wide(number: int) -> Instance:
    """160 instance types: four generations of each family, in ten sizes, at prices that differ by a few per cent."""
    draw, shapes = random.Random(f"wide-{number}"), []
    for generation in range(1, 5):
        for family, (ratio, per_core, pool) in _FAMILIES.items():
            price = (per_core * (100 + draw.randint(-8, 8)) / 100).quantize(Decimal("0.0001"))
            sizes = (64, 48, 32, 24, 16, 12, 8, 6, 4, 2)
            shapes += [_instance_type(f"{family}.{generation}", cores, ratio, price, pool) for cores in sizes]
    return Instance(f"wide-{number:02}", tuple(cluster(draw, 20, 400, 16)), _catalog_of(shapes))


def cluster(draw: random.Random, nodes: int, pending: int, workloads: int) -> list[dict[str, Any]]:
    """A DaemonSet, nodes that are full of running pods, and pending pods of several workloads."""
    objects: list[dict[str, Any]] = [_daemon_set()]
    templates = [_template(draw) for _ in range(workloads)]
    number = 0
    for at in range(nodes):
        name, cores = f"node-{at:04}", draw.choice((4, 8, 16))
        family = draw.choice(sorted(_FAMILIES))
        ratio, _, pool = _FAMILIES[family]
        labels = {ZONE: _ZONES[at % 3], POOL: pool}
        node = node_of(
            {"name": family, "labels": labels, "allocatable": {"cpu": str(cores), "memory": f"{cores * ratio}Gi"}}, name
        )
        node["metadata"]["labels"]["kubernetes.io/hostname"] = name
        objects += [node, _pod(f"agent-{name}", 100, 128, on=name, owner="agent")]
        free = [cores * 1000 - 100, cores * ratio * 1024 - 128]
        # Pods are pending because no node has room for one more of any workload.
        while fitting := [each for each in templates if each[2] == pool and each[0] <= free[0] and each[1] <= free[1]]:
            milli, mebi, _ = draw.choice(fitting)
            free, number = [free[0] - milli, free[1] - mebi], number + 1
            objects.append(_pod(f"run-{number:05}", milli, mebi, on=name))
    for number in range(pending):
        which = draw.randrange(workloads)
        milli, mebi, pool = templates[which]
        pod = _pod(f"w{which:02}-{number:04}", milli, mebi)
        pod["metadata"]["labels"] = {"app": f"w{which}"}
        pod["spec"]["nodeSelector"] = {POOL: pool}
        objects.append(pod)
    return objects


def _template(draw: random.Random) -> tuple[int, int, str]:
    """Thousandths of a core, MiB, and the pool."""
    milli = draw.choice((100, 250, 250, 500, 500, 1000, 1500, 2000))
    pool = draw.choice(("general", "general", "compute", "memory"))
    return milli, milli * draw.choice(_RATIOS[pool]) * 1024 // 1000, pool


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
