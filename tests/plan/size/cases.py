"""Clusters and catalogs for tests of `size`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from ksched_cli.plan.size.catalog import NodeShape
from ksched_cli.plan.size.problem import ForecastNodes, PackingProblem, PodClass, Room, ShapeChoice
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


def packing(
    pods: Sequence[tuple[int, int, int]],
    shapes: Sequence[tuple[int, int, int]],
    rivals: Sequence[tuple[int, int]] = (),
    cap: int = 9,
    *,
    limits: Sequence[int | None] = (),
    rooms: Sequence[tuple[int, int, int]] = (),
) -> PackingProblem:
    """Classes by number, cpu and memory; shapes by price, cpu and memory, and how many there are of each; rooms by
    number, cpu and memory. At most `cap` pods of a class on a node."""
    classes, first = [], 0
    for count, *requests in pods:
        classes.append(PodClass(tuple(range(first, first + count)), tuple(requests)))
        first += count

    def most(free: Sequence[int]) -> tuple[int, ...]:
        fit = (min(has // asked for has, asked in zip(free, each.requests, strict=True)) for each in classes)
        return tuple(min(cap, number) for number in fit)

    choices = []
    for number, (price, *free) in enumerate(shapes):
        limit = limits[number] if limits else None
        named = NodeShape(f"s{number}", Decimal(price), {}, most=limit)
        choices.append(ShapeChoice((named,), price, tuple(free), most(free), limit))
    turns = tuple(at for at, each in enumerate(classes) for _ in each.pods)
    of_rooms = [Room(tuple(free), most(free), count) for count, *free in rooms]
    nodes = [(f"node-{at}-{number}", each) for at, each in enumerate(of_rooms) for number in range(each.count)]
    return PackingProblem(
        tuple(classes),
        tuple(choices),
        tuple(of_rooms),
        frozenset(rivals),
        Decimal(1),
        turns,
        _forecast_nodes([name for name, _ in nodes], [room for _, room in nodes], len(classes)),
        _forecast_nodes([each.variants[0].name for each in choices], choices, len(classes)),
        False,
    )


def _forecast_nodes(names: Sequence[str], nodes: Sequence[Room | ShapeChoice], classes: int) -> ForecastNodes:
    free = np.array([each.free for each in nodes], dtype=np.int64).reshape(len(nodes), 2)
    most = np.array([each.most for each in nodes], dtype=np.int64).reshape(len(nodes), classes)
    return ForecastNodes(tuple(names), free, most, free, free * 0, free * 0)


def left_pending(simulator: Simulator, nodes: Any) -> list[str]:
    """What `simulate` leaves without a node once these nodes are added, as the document has them."""
    for each in nodes:
        simulator = simulator.add_node(each.template, each.count)
    return [outcome.pod for outcome in simulator.simulate(detail=False).outcomes if not outcome.node]
