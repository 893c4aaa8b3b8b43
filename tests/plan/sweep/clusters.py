"""Clusters for sweeps: nodes in zones, and pods of ReplicaSets, from a seed."""

from __future__ import annotations

import random
from typing import Any

from tests.builders import make_node, make_pod, make_workload

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"


def replica_set(name: str, replicas: int, template: Object) -> Object:
    metadata = {"namespace": "default", "uid": f"uid-{name}"}
    return make_workload("ReplicaSet", name, pod=template["spec"], metadata=metadata, replicas=replicas)


def owned_pod(owner: str, number: int, node: str, spec: Object) -> Object:
    pod = make_pod(f"{owner}-{number}").uid(f"uid-{owner}-{number}").label(app=owner)
    pod.owner("ReplicaSet", owner, apiVersion="apps/v1", uid=f"uid-{owner}")
    pod.spec(**spec, **({"nodeName": node} if node else {}))
    return pod.phase("Running" if node else "Pending").doc()


def node(name: str, zone: str, cpu: str = "4") -> Object:
    built = make_node(name).label(ZONE, zone).label("kubernetes.io/hostname", name)
    return built.allocatable(cpu=cpu, memory="16Gi", pods="20").doc()


def cluster(seed: int, *, pending: int = 0) -> list[Object]:
    """Random and mostly full, so that some failures leave pods without a node."""
    rng = random.Random(seed)
    names = [f"node-{number}" for number in range(rng.randint(4, 7))]
    items: list[Object] = [node(name, f"zone-{at % 2}", rng.choice(("4", "6"))) for at, name in enumerate(names)]
    for index in range(rng.randint(2, 4)):
        owner, cpu = f"app-{index}", rng.choice(("500m", "1", "1500m"))
        spec: Object = {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}
        if rng.random() < 0.4:
            spec["nodeSelector"] = {ZONE: f"zone-{rng.randrange(2)}"}
        replicas = rng.randint(2, 5)
        items.append(replica_set(owner, replicas, {"spec": spec}))
        zone = spec.get("nodeSelector", {}).get(ZONE, "")
        hosts = [each for at, each in enumerate(names) if zone in ("", f"zone-{at % 2}")]
        items += [owned_pod(owner, number, rng.choice(hosts), spec) for number in range(replicas)]
    items.append(make_pod("bare").uid("uid-bare").requests(cpu="500m").on(names[0]).phase("Running").doc())
    items += [
        make_pod(f"new-{number}").uid(f"uid-new-{number}").requests(cpu=rng.choice(("500m", "2", "3"))).doc()
        for number in range(pending)
    ]
    return items


def with_priorities(items: list[Object], seed: int) -> list[Object]:
    """Half of the pending pods may preempt others."""
    rng = random.Random(seed)
    pending = [item for item in items if item["kind"] == "Pod" and item["metadata"]["name"].startswith("new-")]
    for pod in pending:
        if rng.random() < 0.5:
            pod["spec"]["priority"] = 10
    return items
