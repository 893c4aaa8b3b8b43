"""Clusters to time: the shapes that kube-scheduler's own performance suite measures, a function of the arguments alone.

python -m tests.benchmarks.workloads basic --nodes 5000 --running 10000 --pending 1000 > basic.json
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

ZONES, IMAGES, NAMESPACES, SERVICES = 3, 40, 5, 50
# A group has so many pods, all of one namespace.
GROUP = 5
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)

Object = dict[str, Any]


def node(index: int) -> Object:
    name = f"node-{index:05d}"
    labels = {
        HOST: name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        ZONE: f"zone-{index % ZONES}",
        "topology.kubernetes.io/region": "region-0",
        "node.kubernetes.io/instance-type": ("m5.xlarge", "c5.2xlarge")[index % 2],
    }
    room = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    images = [
        {"names": [f"registry.local/app-{(index + step) % IMAGES}:v1"], "sizeBytes": 200_000_000 + 1_000_000 * step}
        for step in range(10)
    ]
    taints = [{"key": "spot", "value": "true", "effect": "PreferNoSchedule"}] if index % 10 == 0 else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"n{index}", "labels": labels},
        "spec": {"taints": taints},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "images": images,
        },
    }


def pod(name: str, index: int, *, app: str = "web", cpu: str = "100m", memory: str = "500Mi", **spec: Any) -> Object:
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    image = f"registry.local/app-{index % IMAGES}:v1"
    on = spec.get("nodeName")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": f"ns-{0 if 'schedulingGroup' in spec else index % NAMESPACES}",
            "uid": name,
            "labels": {"app": app, "color": ("green", "blue")[index % 2]},
            "creationTimestamp": f"2026-02-{1 + index // 86400 % 28:02d}T{index // 3600 % 24:02d}:"
            f"{index // 60 % 60:02d}:{index % 60:02d}Z",
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "priority": 0,
            "restartPolicy": "Always",
            "containers": [{"name": "c", "image": image, "resources": resources}],
            **spec,
        },
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"} if on else {"phase": "Pending"},
    }


def term(app: str, key: str) -> Object:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


def _near(index: int) -> Object:
    service = term(f"svc-{index % SERVICES}", HOST)
    return {
        "podAffinity": {PREFERRED: [{"weight": 50, "podAffinityTerm": service}]},
        "podAntiAffinity": {PREFERRED: [{"weight": 20, "podAffinityTerm": term("near", HOST)}]},
    }


def _spread(key: str, skew: int, when: str) -> Object:
    selector = {"matchLabels": {"app": "spread"}}
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}


_IN_TWO_ZONES = {"key": ZONE, "operator": "In", "values": ["zone-0", "zone-1"]}

# What the pending pod of a number asks for, by workload.
PENDING: Mapping[str, Callable[[int], Object]] = {
    "basic": lambda index: {},
    # Every pod has its own size: nothing found out for one is of use to the next.
    "varied": lambda index: {
        "cpu": f"{50 + index % 977}m",
        "memory": f"{64 + index % 1499}Mi",
        "app": f"svc-{index % SERVICES}",
    },
    "node-affinity": lambda index: {
        "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [_IN_TWO_ZONES]}]}}}
    },
    "antiaffinity": lambda index: {"app": "anti", "affinity": {"podAntiAffinity": {REQUIRED: [term("anti", HOST)]}}},
    "affinity": lambda index: {
        "app": "together",
        "affinity": {"podAffinity": {REQUIRED: [term("together", ZONE)]}},
    },
    "preferred-affinity": lambda index: {"app": "near", "affinity": _near(index)},
    "spread": lambda index: {
        "app": "spread",
        "topologySpreadConstraints": [_spread(ZONE, 5, "DoNotSchedule"), _spread(HOST, 1, "ScheduleAnyway")],
    },
    "unschedulable": lambda index: {"cpu": "64"},
    # Four pods of two cores fill every node: each newcomer has to evict two.
    "preemption": lambda index: {"priority": 1000, "cpu": "4", "memory": "1Gi"},
    # Each pod has a claim of its own: for one device of a node, or for a volume that is made for it.
    "devices": lambda index: {"resourceClaims": [{"name": "gpu", "resourceClaimName": f"gpu-{index}"}]},
    "volumes": lambda index: {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{index}"}}]},
    "pod-groups": lambda index: {"schedulingGroup": {"podGroupName": f"group-{index // GROUP * GROUP}"}},
    # The rules of an old minor.
    "basic-1.19": lambda index: {},
}
# Options of the command, by workload, and workloads that are measured at the first size only.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "pod-groups": ("--feature-gates", "GenericWorkload=true,GangScheduling=true"),
    "basic-1.19": ("--kube-version", "1.19"),
}
FEATURES = ("devices", "volumes", "pod-groups", "basic-1.19")


def running(workload: str, nodes: int, count: int) -> Iterator[Object]:
    if workload == "preemption":
        for index in range(nodes * 4):
            name = f"node-{index % nodes:05d}"
            yield pod(f"run-{index:06d}", index, nodeName=name, cpu="1900m", app=f"svc-{index % SERVICES}")
        return
    for index in range(count):
        cpu, name = ("50m", "100m", "250m")[index % 3], f"node-{index * 7919 % nodes:05d}"
        yield pod(f"run-{index:06d}", index, nodeName=name, cpu=cpu, app=f"svc-{index % SERVICES}")


# Pods of a ReplicaSet of `fleet`.
_REPLICAS = 100


def fleet(nodes: int, pods_per_node: int, cpu: str) -> list[dict[str, Any]]:
    """Nodes of three zones with 4 cpu, and running pods of ReplicaSets of 100 each in a random order."""
    zone, hostname = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
    resources = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{at:05}", "labels": {hostname: f"node-{at:05}", zone: f"zone-{at % 3}"}},
            "status": {"allocatable": resources, "capacity": resources},
        }
        for at in range(nodes)
    ]
    places = list(range(nodes * pods_per_node))
    random.Random(1).shuffle(places)
    for number, place in enumerate(places):
        group, at = divmod(number, _REPLICAS)
        labels = {"app": f"app-{group}"}
        spec = {"containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}]}
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{group}", "uid": f"rs-{group}"}
        if at == 0:
            template = {"metadata": {"labels": labels}, "spec": spec}
            wanted = {"replicas": _REPLICAS, "selector": {"matchLabels": labels}, "template": template}
            metadata = {"name": f"app-{group}", "namespace": "default", "uid": f"rs-{group}"}
            objects.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": wanted})
        metadata = {
            "name": f"app-{group}-{at}",
            "namespace": "default",
            "uid": f"pod-{number}",
            "labels": labels,
            "ownerReferences": [{**owner, "controller": True}],
        }
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        on = f"node-{place // pods_per_node:05}"
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": {**spec, "nodeName": on},
                "status": running,
            }
        )
    return objects


def _of_feature(workload: str, nodes: int, pending: int) -> Iterator[Object]:
    """The claims, devices and groups that the pods of a workload name."""
    if workload == "devices":
        version = "resource.k8s.io/v1"
        yield {"apiVersion": version, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
        for index in range(nodes):
            name = f"node-{index:05d}"
            pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
            devices = [{"name": f"gpu-{at}"} for at in range(4)]
            spec = {"driver": "gpu.example.com", "pool": pool, "nodeName": name, "devices": devices}
            yield {"apiVersion": version, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
        for index in range(pending):
            metadata = {"name": f"gpu-{index}", "namespace": f"ns-{index % NAMESPACES}", "uid": f"claim-{index}"}
            spec = {"devices": {"requests": [request]}}
            yield {"apiVersion": version, "kind": "ResourceClaim", "metadata": metadata, "spec": spec}
    if workload == "volumes":
        metadata, late = (
            {"name": "late"},
            {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"},
        )
        yield {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, **late}
        resources = {"requests": {"storage": "1Gi"}}
        for index in range(pending):
            metadata = {"name": f"data-{index}", "namespace": f"ns-{index % NAMESPACES}", "uid": f"claim-{index}"}
            spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "late", "resources": resources}
            yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    if workload == "pod-groups":
        for index in range(0, pending, GROUP):
            metadata = {"name": f"group-{index}", "namespace": "ns-0", "uid": f"group-{index}"}
            spec = {"schedulingPolicy": {"gang": {"minCount": GROUP}}}
            yield {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def objects(workload: str, nodes: int, count: int, pending: int) -> Iterator[Object]:
    yield from (node(index) for index in range(nodes))
    yield from _of_feature(workload, nodes, pending)
    yield from (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"ns-{index}"}} for index in range(NAMESPACES)
    )
    yield from running(workload, nodes, count)
    yield from (pod(f"new-{index:06d}", index, **PENDING[workload](index)) for index in range(pending))


def write(workload: str, nodes: int, count: int, pending: int, out: TextIO) -> None:
    """A v1 List."""
    out.write('{"apiVersion":"v1","kind":"List","items":[')
    for number, each in enumerate(objects(workload, nodes, count, pending)):
        out.write(",\n" if number else "\n")
        out.write(json.dumps(each, separators=(",", ":")))
    out.write("\n]}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=PENDING)
    for name, default in (("nodes", 5000), ("running", 10000), ("pending", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    write(given.workload, given.nodes, given.running, given.pending, sys.stdout)


if __name__ == "__main__":
    main()
