"""How many pods Karpenter's provisioner places in a second, in the mix of Karpenter's own benchmark.

    python -m tests.benchmarks.autoscaling                    # all mixes
    python -m tests.benchmarks.autoscaling diverse 1000

The mix is that of scheduling_benchmark_test.go: 400 instance types of n cpu and 2n GiB in three zones, spot and
on-demand, and pods one fifth each plain, with zone spread, with hostname spread, with zone affinity to themselves and
with hostname anti-affinity to themselves. ORIGINAL has what Karpenter 1.13's own `Solve` placed per second of CPU, one
worker, without reading the objects; the figures here are of CPU seconds too, and with reading them.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ksched_cli.api.core import Pod
from ksched_cli.api.karpenter import NodePool
from ksched_cli.autoscale.instance_types.catalog import InstanceType
from ksched_cli.autoscale.karpenter.decision import Provisioning
from ksched_cli.autoscale.karpenter.provisioner import provision
from tests.benchmarks.__main__ import say

ORIGINAL: Mapping[tuple[str, int], int] = {
    ("plain", 500): 2234,
    ("plain", 1000): 1698,
    ("plain", 5000): 1606,
    ("diverse", 500): 409,
    ("diverse", 1000): 472,
    ("diverse", 5000): 349,
    ("preferences", 500): 145,
    ("preferences", 1000): 92,
}
# Nodes that Karpenter made for these pods. Only the sizes of the pods are random.
NODES: Mapping[tuple[str, int], int] = {
    ("plain", 1000): 3,
    ("plain", 5000): 12,
    ("diverse", 500): 100,
    ("diverse", 1000): 200,
    ("diverse", 5000): 1000,
    ("preferences", 500): 500,
    ("preferences", 1000): 1000,
}
ZONES = ("test-zone-a", "test-zone-b", "test-zone-c")
_CPUS, _MEMORIES, _LABELS = (100, 250, 500, 1000, 1500), (100, 256, 512, 1024, 2048, 4096), "abcdefg"
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def instance_types(count: int = 400) -> list[InstanceType]:
    return msgspec.convert(list(map(_instance_type, range(1, count + 1))), list[InstanceType])


def _instance_type(size: int) -> dict[str, Any]:
    prices = {"spot": 0.012 * size, "on-demand": 0.02 * size}
    return {
        "name": f"fake-it-{size}",
        "requirements": {
            "node.kubernetes.io/instance-type": [f"fake-it-{size}"],
            "kubernetes.io/arch": ["amd64"],
            "kubernetes.io/os": ["linux"],
            _ZONE: list(ZONES),
            "karpenter.sh/capacity-type": list(prices),
        },
        "offerings": [
            {"zone": zone, "capacityType": kind, "price": price} for zone in ZONES for kind, price in prices.items()
        ],
        "capacity": {"cpu": str(size), "memory": f"{2 * size}Gi", "pods": str(10 * size)},
        "overhead": {"kubeReserved": {"cpu": "100m", "memory": "10Mi"}},
    }


def node_pool() -> NodePool:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    spec = {"template": {"spec": {"nodeClassRef": reference, "requirements": []}}}
    return msgspec.convert({"metadata": {"name": "default"}, "spec": spec, "status": status}, NodePool)


def pods(mix: str, count: int) -> list[Pod]:
    chance = random.Random(42)
    shapes = {"plain": _plain, "diverse": _diverse, "preferences": _preferences}[mix](count, chance)
    return msgspec.convert([_pod(number, *shape, chance) for number, shape in enumerate(shapes)], list[Pod])


def _pod(number: int, labels: dict[str, str], spec: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    requests = {"cpu": f"{chance.choice(_CPUS)}m", "memory": f"{chance.choice(_MEMORIES)}Mi"}
    name = f"p{number:05d}"
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": labels},
        "spec": {"containers": [{"name": "app", "resources": {"requests": requests}}], **spec},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
    }


_Shape = tuple[dict[str, str], dict[str, Any]]


def _plain(count: int, chance: random.Random) -> Iterator[_Shape]:
    for _ in range(count):
        yield {"my-label": chance.choice(_LABELS)}, {}


def _diverse(count: int, chance: random.Random) -> Iterator[_Shape]:
    fifth = count // 5
    yield from _plain(fifth, chance)
    for key in (_ZONE, _HOST):
        for _ in range(fifth):
            selector = {"matchLabels": {"my-label": chance.choice(_LABELS)}}
            rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
            yield {"my-label": chance.choice(_LABELS)}, {"topologySpreadConstraints": [rule]}
    for _ in range(fifth):
        labels = {"my-affinity": chance.choice(_LABELS)}
        yield labels, {"affinity": {"podAffinity": {_REQUIRED: [_term(_ZONE, labels)]}}}
    for _ in range(fifth):
        labels = {"app": "nginx"}
        yield labels, {"affinity": {"podAntiAffinity": {_REQUIRED: [_term(_HOST, labels)]}}}


def _preferences(count: int, chance: random.Random) -> Iterator[_Shape]:
    """A preferred zone, and preferred anti-affinity by zone, which cannot be kept, and by hostname, which can."""
    labels = {"app": "nginx"}
    zone = {"key": _ZONE, "operator": "In", "values": [ZONES[0]]}
    apart = [{"weight": weight, "podAffinityTerm": _term(key, labels)} for key, weight in ((_ZONE, 10), (_HOST, 1))]
    affinity = {
        "nodeAffinity": {_PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [zone]}}]},
        "podAntiAffinity": {_PREFERRED: apart},
    }
    for _ in range(count):
        yield labels, {"affinity": affinity}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _term(key: str, labels: dict[str, str]) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def decide(pending: Sequence[Pod], types: Sequence[InstanceType]) -> Provisioning:
    objects: dict[type[Any], Sequence[Any]] = {Pod: pending, NodePool: [node_pool()]}
    return provision(lambda kind: objects.get(kind, ()), types)


def main(arguments: Sequence[str]) -> None:
    wanted = [(arguments[0], int(arguments[1]))] if arguments else list(ORIGINAL)
    types = instance_types()
    for mix, count in wanted:
        pending = pods(mix, count)
        started = time.process_time()
        found = decide(pending, types)
        seconds = time.process_time() - started
        recorded = ORIGINAL.get((mix, count))
        say(
            f"{mix:12} {count:6,} pods  {len(found.new_nodes):6,} nodes  {seconds:7.3f} s  {count / seconds:8,.0f} pods/s"
            + (f"  (Karpenter {recorded:,})" if recorded else "")
        )


if __name__ == "__main__":
    main(sys.argv[1:])
