"""Clusters and catalogs for tests of `size`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksched_cli.simulator import RunOptions, Simulator
from tests.builders import make_node, make_pod, make_workload


def shape(name: str, price: Any, cpu: Any = "4", memory: Any = "16Gi", **more: Any) -> dict[str, Any]:
    return {"name": name, "price": price, "allocatable": {"cpu": cpu, "memory": memory}, **more}


def catalog(*shapes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"apiVersion": "ksched/v1", "kind": "Catalog", "shapes": list(shapes), **more}


def node(name: str, **allocatable: Any) -> dict[str, Any]:
    return make_node(name).allocatable(**allocatable).doc()


def pending(name: str, **requests: Any) -> dict[str, Any]:
    return make_pod(name).requests(**requests).doc()


def daemon_set(name: str, cpu: str) -> dict[str, Any]:
    return make_workload(
        "DaemonSet", name, requests={"cpu": cpu}, metadata={"namespace": "default", "uid": f"uid-{name}"}
    )


def load(objects: Sequence[Any]) -> Simulator:
    """A cluster, even one without a node."""
    return Simulator.of(RunOptions(objects=tuple(objects), allow_empty=True))


def left_pending(simulator: Simulator, nodes: Any) -> list[str]:
    """What `simulate` leaves without a node once these nodes are added, as the document has them."""
    for each in nodes:
        simulator = simulator.add_node(each.template, each.count)
    return [outcome.pod for outcome in simulator.simulate(detail=False).outcomes if not outcome.node]
