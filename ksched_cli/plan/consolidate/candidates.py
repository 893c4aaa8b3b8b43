"""Which nodes may be removed, in which order they are tried, and what the cluster costs at least (a linear program that
cuts nodes and pods into pieces). Whether a node can really go is decided by a drain in `consolidate.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import is_terminal, pod_key
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.cluster.cache import Cluster
from ksched_cli.plan.consolidate.results import Conditions
from ksched_cli.plan.drain.results import DrainFilters, Flags
from ksched_cli.plan.results.nodes import CONTROL_PLANE
from ksched_cli.plan.size.catalog import INSTANCE_TYPE, NodeShape, ShapeCatalog, grain_of
from ksched_cli.plan.size.derived import type_of
from ksched_cli.plan.size.solver import LinearModel, solver_is_installed
from ksched_cli.sources.loaded import Loaded

_SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
_DISTURB = "karpenter.sh/do-not-disrupt"


class Candidates(Struct, frozen=True):
    """`order`: the nodes that may go, those that free most money for the least load first. `blocked`: why the others
    stay. `price_of` has every node with a known price."""

    order: tuple[str, ...]
    blocked: Mapping[str, str]
    price_of: Mapping[str, Decimal]

    @property
    def cost(self) -> Decimal:
        return sum(self.price_of.values(), Decimal(0))


def prices_of(nodes: list[Node], catalog: ShapeCatalog | None) -> dict[str, Decimal]:
    """The price of each node by its instance type; without a catalog every node costs 1."""
    if catalog is None:
        return {node.metadata.name: Decimal(1) for node in nodes}
    by_type: dict[str, list[NodeShape]] = {}
    for shape in catalog.shapes:
        for name in {shape.name, shape.all_labels[INSTANCE_TYPE]}:
            by_type.setdefault(name, []).append(shape)
    found = {node.metadata.name: _shape_of(node, by_type.get(type_of(node), [])) for node in nodes}
    return {name: shape.price for name, shape in found.items() if shape is not None}


def _shape_of(node: Node, shapes: Sequence[NodeShape]) -> NodeShape | None:
    """Of the shapes of an instance type, as a catalog has them for several pools and sizes, the one most like the
    node: with most of its labels, and the fewest others, and then of its size."""
    labels = node.metadata.labels.items()

    def likeness(shape: NodeShape) -> tuple[int, int, Fraction]:
        own = shape.all_labels.items()
        return len(own & labels), -len(own - labels), -_difference(shape.allocatable, node.status.allocatable)

    return max(shapes, key=likeness, default=None)


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> Fraction:
    """By what share the amounts differ, over all resources."""
    pairs = ([parse_quantity(each.get(name, "0")) for each in (one, other)] for name in {*one, *other})
    return sum((1 - min(pair) / max(pair) for pair in pairs if any(pair)), Fraction(0))


def find_candidates(
    loaded: Loaded, cluster: Cluster, flags: Flags, conditions: Conditions, prices: Mapping[str, Decimal]
) -> Candidates:
    filters = DrainFilters(flags, loaded.of(DaemonSet))
    on: dict[str, list[Pod]] = {}
    for pod in loaded.of(Pod):
        if pod.spec.node_name and not is_terminal(pod):
            on.setdefault(pod.spec.node_name, []).append(pod)
    blocked: dict[str, str] = {}
    loads: dict[str, float] = {}
    for node in loaded.of(Node):
        name = node.metadata.name
        why = _why_not(node, on.get(name, []), filters, conditions, prices)
        if why:
            blocked[name] = why
        else:
            leaving = [pod for pod in on.get(name, []) if filters.judge(pod).verdict == "evict"]
            loads[name] = _load(cluster, name, leaving)
    order = sorted(loads, key=lambda name: (loads[name] / max(float(prices[name]), 1e-9), name))
    return Candidates(tuple(order), blocked, prices)


def _why_not(
    node: Node, pods: list[Pod], filters: DrainFilters, conditions: Conditions, prices: Mapping[str, Decimal]
) -> str:
    """Why the node stays; empty if it may go."""
    name, notes = node.metadata.name, node.metadata.annotations
    if not CONTROL_PLANE.isdisjoint(node.metadata.labels):
        return "it runs the control plane"
    if conditions.only is not None and not conditions.only.matches(node.metadata.labels):
        return "--only leaves it out"
    if name not in prices:
        return f"the catalog has no price for {type_of(node)}"
    if notes.get(_DISABLED) == "true":
        return f"{_DISABLED} is true on the node"
    if notes.get(_DISTURB) == "true":
        return f"{_DISTURB} is true on the node"
    for pod in pods:
        verdict = filters.judge(pod)
        if verdict.verdict == "stay":
            continue
        own = pod.metadata.annotations
        if own.get(_SAFE) == "false":
            return f"{pod_key(pod)} has {_SAFE}: false"
        if own.get(_DISTURB) == "true":
            return f"{pod_key(pod)} has {_DISTURB}: true"
        if verdict.verdict == "refuse":
            return f"{pod_key(pod)}: {verdict.message}"
    return ""


def _load(cluster: Cluster, name: str, pods: list[Pod]) -> float:
    """The largest share of cpu, memory or places that the pods of the node take."""
    row = cluster.nodes.row_of[name]
    infos = [cluster.pods.infos[at] for at in cluster.pods_on(row)]
    moving = {pod_key(pod) for pod in pods}
    shares = [len(pods) / max(int(cluster.nodes.allowed_pods[row]), 1)]
    for resource in (0, 1):
        taken = sum(dict(info.requests).get(resource, 0) for info in infos if info.key in moving)
        shares.append(taken / max(int(cluster.nodes.allocatable[resource, row]), 1))
    return max(shares)


def lower_bound(
    cluster: Cluster,
    candidates: Candidates,
    staying: Mapping[str, str],
    catalog: ShapeCatalog | None,
    conditions: Conditions,
) -> Decimal:
    """The least that nodes with enough of every resource cost: a linear program, in which nodes may be cut into pieces.
    Nodes that must stay are paid for, and so is the headroom."""
    names, rows = cluster.nodes.names, cluster.nodes.all_rows
    schedulable = np.array([not cluster.nodes.objects[row].spec.unschedulable for row in rows.tolist()], dtype=bool)
    sizes = _with_places(cluster.nodes.allocatable[:, rows], cluster.nodes.allowed_pods[rows])
    daemons = _daemon_share(cluster, rows)
    movable = _with_places(cluster.usage.requested[:, rows], cluster.usage.pod_count[rows]) - daemons
    free = np.maximum(sizes - daemons, 0) * (1 - _headroom(cluster, conditions))[:, None]
    demand = movable.sum(axis=1)
    prices = [float(candidates.price_of.get(name, 0)) for name in names]
    least = [1.0 if name in staying else 0.0 for name in names]
    # A cordoned node that stays keeps its own pods and takes no others.
    free = np.where(schedulable[None, :], free, np.minimum(free, movable))
    grain = grain_of([*candidates.price_of.values(), *(shape.price for shape in (catalog.shapes if catalog else ()))])
    value = _cover(free, demand, prices, least, _offers(cluster, catalog, sizes.shape[0]))
    return _rounded_up(Fraction(value), grain)


def _with_places(amounts: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.concatenate([amounts, places[None, :]], axis=0).astype(float)


def _daemon_share(cluster: Cluster, rows: np.ndarray) -> np.ndarray:
    """What pods of DaemonSets and mirror pods take of each node: it goes with the node."""
    found = np.zeros((len(cluster.resources) + 1, len(rows)))
    filters = DrainFilters(Flags(ignore_daemonsets=True, force=True, delete_emptydir_data=True), ())
    for at, row in enumerate(rows.tolist()):
        for pod_row in cluster.pods_on(row):
            info = cluster.pods.infos[pod_row]
            if filters.judge(info.pod).verdict == "stay":
                for resource, amount in info.requests:
                    found[resource, at] += amount
                found[-1, at] += 1
    return found


def _headroom(cluster: Cluster, conditions: Conditions) -> np.ndarray:
    found = np.zeros(len(cluster.resources) + 1)
    for resource, share in conditions.headroom.items():
        index = cluster.resources.find(resource)
        if index is not None:
            found[index] = float(share)
    return found


def _offers(cluster: Cluster, catalog: ShapeCatalog | None, width: int) -> list[tuple[float, list[float]]]:
    """Price and amounts of each shape that can be bought."""
    from ksched_cli.api.quantity import milli_value, value

    found = []
    for shape in catalog.shapes if catalog else ():
        amounts = [0.0] * width
        for name, quantity in shape.allocatable.items():
            index = width - 1 if name == "pods" else cluster.resources.find(name)
            if index is not None:
                amounts[index] = float(milli_value(quantity) if name == "cpu" else value(quantity))
        found.append((float(shape.price), amounts))
    return found


def _cover(
    free: np.ndarray,
    demand: np.ndarray,
    prices: list[float],
    least: list[float],
    offers: list[tuple[float, list[float]]],
) -> float:
    """The cheapest fractions of nodes and shapes that cover the demand of every resource."""
    if not solver_is_installed():
        return max(
            _cover_one(free[at], demand[at], prices, least, [(price, own[at]) for price, own in offers])
            for at in range(len(demand))
        )
    model = LinearModel()
    scale = np.maximum(demand, 1.0)
    for _ in demand:
        model.add_row(0.0, float("inf"))
    fixed = 0.0
    left = demand.copy()
    for at, price in enumerate(prices):
        if least[at]:
            fixed += price
            left -= free[:, at]
        else:
            model.add_column(price, 1.0, range(len(demand)), free[:, at] / scale)
    for price, amounts in offers:
        model.add_column(price, float("inf"), range(len(demand)), np.array(amounts) / scale)
    wanted = np.maximum(left, 0.0) / scale
    model.set_least(wanted.tolist())
    solved = model.solve(5.0)
    return fixed + solved.objective if solved.status == "optimal" else fixed


def _cover_one(
    free: np.ndarray,
    demand: float,
    prices: list[float],
    least: list[float],
    offers: list[tuple[float, float]],
) -> float:
    """The same for one resource, without a solver: the cheapest rate first."""
    cost = sum(price for price, stays in zip(prices, least, strict=True) if stays)
    left = demand - sum(float(free[at]) for at, stays in enumerate(least) if stays)
    pieces = [(price, float(free[at]), False) for at, price in enumerate(prices) if not least[at]]
    pieces += [(price, amount, True) for price, amount in offers]
    for price, amount, unlimited in sorted(
        (each for each in pieces if each[1] > 0), key=lambda each: each[0] / each[1]
    ):
        if left <= 0:
            break
        share = left / amount if unlimited else min(left / amount, 1.0)
        cost, left = cost + share * price, left - share * amount
    return cost


def _rounded_up(cost: Fraction, grain: Decimal) -> Decimal:
    from math import ceil

    if not grain:
        return Decimal(0)
    grains = ceil((cost - Fraction(1, 10**6)) / Fraction(grain) - Fraction(1, 10**6))
    return grain * max(grains, 0)
