"""Generated instances for `size`.

An instance of known optimum is built backwards: nodes are drawn, filled with pods, and the pods are taken off and put into
the queue. Its optimum is proven without a solver: every shape costs at least `rate` for each unit of one resource that its
pods can use, the pods of the packed nodes use so much of that resource that less money cannot buy it, and every cost is a
multiple of the grain. The scheduler must accept the packed nodes, or they are no answer: instances that it rejects are
drawn again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from ksched_cli.api.quantity import milli_value
from ksched_cli.plan.size.catalog import grain_of
from ksched_cli.simulator import RunOptions, Simulator

ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class Instance:
    """`packed`: how many nodes of each shape the pods were taken off. `rate`: the price of a core (in thousandths)."""

    name: str
    objects: tuple[dict[str, Any], ...]
    catalog: Mapping[str, Any]
    packed: Mapping[str, int] = field(default_factory=dict)
    rate: Fraction = Fraction(0)
    daemon_milli: int = 0
    room_milli: int = 0

    def simulator(self) -> Simulator:
        return Simulator.of(RunOptions(objects=self.objects, allow_empty=True))

    @property
    def prices(self) -> dict[str, Decimal]:
        return {each["name"]: Decimal(each["price"]) for each in self.catalog["shapes"]}

    @property
    def optimum(self) -> Decimal:
        return sum((self.prices[name] * count for name, count in self.packed.items()), Decimal(0))

    def proven_bound(self) -> Decimal:
        """What the pods must cost at least: no shape sells a core below the rate."""
        for shape in self.catalog["shapes"]:
            cores = milli_value(shape["allocatable"]["cpu"]) - self.daemon_milli
            assert Fraction(Decimal(shape["price"])) >= self.rate * cores
        wanted = sum(
            _requested(each) for each in self.objects if each["kind"] == "Pod" and not each["spec"].get("nodeName")
        )
        grain = Fraction(grain_of(self.prices.values()))
        least = ceil(self.rate * (wanted - self.room_milli) / grain) * grain
        return Decimal(least.numerator) / Decimal(least.denominator)


def _requested(pod: Mapping[str, Any]) -> int:
    return sum(milli_value(each["resources"]["requests"]["cpu"]) for each in pod["spec"]["containers"])


# The first draw of each number that is an instance: `python -m tests.benchmarks.sizing draw` finds them anew.
DRAWS = (2, 1, 48, 6, 0, 15, 2, 241, 0, 5, 0, 1, 115, 3, 0, 1, 0, 26, 1, 1, 2, 1, 8, 5, 0, 0, 0, 577, 0, 1)
KNOWN = 30


def known_optimum(number: int) -> Instance:
    """The instance with this number."""
    return _draw_packed(number, random.Random(1000 * number + DRAWS[number]))


def find_draw(number: int) -> int:
    """The first draw whose optimum is proven and whose packed nodes the scheduler accepts."""
    for attempt in range(1000):
        drawn = _draw_packed(number, random.Random(1000 * number + attempt))
        if drawn.proven_bound() == drawn.optimum and packed_nodes_are_accepted(drawn):
            return attempt
    raise AssertionError(f"no instance {number}")


def packed_nodes_are_accepted(instance: Instance) -> bool:
    simulator = instance.simulator()
    templates = {each["name"]: node_of(each) for each in instance.catalog["shapes"]}
    for name, count in instance.packed.items():
        simulator = simulator.add_node(templates[name], count)
    return all(outcome.node for outcome in simulator.simulate(detail=False).outcomes)


def node_of(shape: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    labels = {"node.kubernetes.io/instance-type": shape["name"], "kubernetes.io/os": "linux", **shape.get("labels", {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name or shape["name"], "labels": labels},
        "spec": {"taints": shape["taints"]} if shape.get("taints") else {},
        "status": {"allocatable": {"pods": "110", **shape["allocatable"]}},
    }


def _draw_packed(number: int, draw: random.Random) -> Instance:
    """The features of an instance follow from its number."""
    per_core = draw.choice((Decimal("0.025"), Decimal("0.04"), Decimal("0.05")))
    daemon = 250 * (number % 3 == 1)
    shapes = _shapes(draw, per_core, daemon)
    honest = [each for each in shapes if each["honest"]]
    packed: Counter[str] = Counter()
    pods: list[dict[str, Any]] = []
    for _ in range(draw.randint(3, 9)):
        shape = draw.choice(honest)
        packed[shape["name"]] += 1
        filled = _fill(draw, shape, daemon, draw.choice((0.0, 0.0, 0.03, 0.06)))
        if number % 3 == 0 and draw.random() < 0.5:
            _bind_to_pool(filled, shape["name"])
        if number % 6 == 5:
            _keep_apart(filled[-1])
        pods += filled
    running, room = _cluster(draw, number)
    if number % 4 == 3:
        pods.append(_pod(room, 256))
    if number % 5 == 2:
        draw.shuffle(pods)
    else:
        pods.sort(key=lambda pod: -_requested(pod))
    objects = (*running, *(_daemon_set(daemon) if daemon else ()), *_numbered(pods))
    offered = [{key: each for key, each in shape.items() if key != "honest"} for shape in shapes]
    catalog = {"apiVersion": "ksched/v1", "kind": "Catalog", "shapes": offered}
    rate = Fraction(per_core) / 1000
    return Instance(f"known-{number:02}", objects, catalog, packed, rate, daemon, room if number % 4 == 3 else 0)


def _shapes(draw: random.Random, per_core: Decimal, daemon: int) -> list[dict[str, Any]]:
    """Honest shapes sell cores at the rate; the others are dearer. Each has more of the other resources than needed."""
    found = []
    for cores in draw.sample((4, 8, 16, 32), draw.randint(2, 4)):
        allocatable = {"cpu": f"{cores * 1000 + daemon}m", "memory": f"{cores * 4}Gi"}
        found.append({"name": f"m{cores}", "price": str(per_core * cores), "allocatable": allocatable, "honest": True})
        if draw.random() < 0.6:
            dear = {"cpu": f"{cores * 1000 + daemon}m", "memory": f"{cores * 8}Gi"}
            found.append(
                {"name": f"r{cores}", "price": str(per_core * (cores + 1)), "allocatable": dear, "honest": False}
            )
        if draw.random() < 0.4:
            dear = {"cpu": f"{cores * 750 + daemon}m", "memory": f"{cores * 4}Gi"}
            found.append({"name": f"s{cores}", "price": str(per_core * cores), "allocatable": dear, "honest": False})
    return found


def _bind_to_pool(pods: list[dict[str, Any]], name: str) -> None:
    """Only nodes of the shape will do."""
    for pod in pods:
        pod["spec"]["nodeSelector"] = {"node.kubernetes.io/instance-type": name}


def _keep_apart(pod: dict[str, Any]) -> None:
    """No two such pods on a node."""
    pod["metadata"]["labels"] = {"app": "apart"}
    term = {"labelSelector": {"matchLabels": {"app": "apart"}}, "topologyKey": "kubernetes.io/hostname"}
    pod["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _fill(draw: random.Random, shape: Mapping[str, Any], daemon: int, slack: float) -> list[dict[str, Any]]:
    """Pods that fill the cores of a node but for the slack."""
    left = milli_value(shape["allocatable"]["cpu"]) - daemon
    left -= int(left * slack) // 100 * 100
    pods = []
    while left > 0 and len(pods) < 60:
        size = draw.choice((250, 500, 1000, 1000, 2000, 2000, 3000, 4000))
        size = min(size, left)
        pods.append(_pod(size, draw.choice((256, 512, 1024)) * size // 1000))
        left -= size
    return pods


def _pod(milli: int, mebi: int) -> dict[str, Any]:
    requests = {"cpu": f"{milli}m", "memory": f"{max(mebi, 64)}Mi"}
    container = {"name": "main", "image": "registry.local/app:v1", "resources": {"requests": requests}}
    spec: dict[str, Any] = {"containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default"}, "spec": spec}


def _numbered(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Named in their order, which is that of their cycles."""
    for number, pod in enumerate(pods):
        labels = pod["metadata"].get("labels", {"app": "web"})
        pod["metadata"] = {"name": f"p{number:03}", "namespace": "default", "labels": labels}
    return pods


def _daemon_set(milli: int) -> list[dict[str, Any]]:
    requests = {"cpu": f"{milli}m", "memory": "128Mi"}
    container = {"name": "agent", "image": "registry.local/agent:v1", "resources": {"requests": requests}}
    spec = {"priorityClassName": "system-node-critical", "containers": [container]}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": spec}
    metadata = {"name": "agent", "namespace": "kube-system", "uid": "uid-agent"}
    of_set = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    return [{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": of_set}]


def _cluster(draw: random.Random, number: int) -> tuple[list[dict[str, Any]], int]:
    """A node of the cluster whose room one pending pod fills, for some instances."""
    if number % 4 != 3:
        return [], 0
    room = draw.choice((500, 750))
    node = node_of({"name": "old", "allocatable": {"cpu": "4", "memory": "16Gi"}})
    busy = _pod(4000 - room, 512)
    busy["metadata"] = {"name": "busy", "namespace": "default"}
    busy["spec"]["nodeName"] = "old"
    busy["status"] = {"phase": "Running"}
    return [node, busy], room
