"""What the two plugins that score resources measure alike (noderesources.resourceAllocationScorer)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ksched_cli.api.core import Container
from ksched_cli.api.pod_resources import DEFAULT_MEMORY, DEFAULT_MILLI_CPU, requests_of, scoring_requests_of
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, MEMORY, is_scalar
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.lib.devices.totals import DeviceTotals
from ksched_cli.releases.changes import Change, ReleaseRules
from ksched_cli.releases.plugin_names import NODE_RESOURCES_BALANCED_ALLOCATION, NODE_RESOURCES_FIT

STAND_INS = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY}


class RequestRules(ReleaseRules, plugins=f"{NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}"):
    overhead_counts_as_it_is = Change(
        "1.27",
        before=False,
        now=True,
        about="score",
        sentence=(
            "The cpu of a pod's overhead counts as it is, and what the pod asks for is added up in PreScore; "
            "before, the overhead's cpu was rounded up to whole cores."
        ),
    )


@dataclass(frozen=True)
class MeasuredResource:
    """A resource that counts towards a score: its columns, and the pod's request of it."""

    row: int | None
    asked: int
    name: str = ""


@dataclass(frozen=True)
class Allocation:
    """`[resource, node]` each, not to be written to. A resource that does not count on a node has 0 allocatable there;
    `complete` where there is none such."""

    requested: Int64Column
    allocated: Int64Column
    allocatable: Int64Column
    complete: bool = False


def measured(
    pod: PodInfo, names: Sequence[str], nodes: NodeRows, *, use_requested: bool, with_overhead: bool = True
) -> list[MeasuredResource]:
    """calculatePodResourceRequestList. With `use_requested` the pod counts as its requests; without, containers
    without requests of cpu or memory get stand-ins.

    In Go the scorer by strategies is made without the settings for pod-level resources and resizes in place,
    so that it counts containers alone, as they are specified.
    """
    if use_requested:
        asked = requests_of(pod.pod, use_status=True)
    else:
        cpu, memory = scoring_requests_of(pod.pod)
        asked = {**requests_of(pod.pod, use_status=False, pod_level=False), "cpu": cpu, "memory": memory}
    counts = RequestRules.of(nodes.cluster.release).overhead_counts_as_it_is
    if not with_overhead:
        for name, overhead in pod.pod.spec.overhead.items():
            asked[name] -= milli_value(overhead) if name == "cpu" else value(overhead)
    elif "cpu" in pod.pod.spec.overhead and not counts:
        overhead = pod.pod.spec.overhead["cpu"]
        asked["cpu"] += _whole_cores(overhead) - milli_value(overhead)
    found = []
    for name in names:
        amount = asked.get(name, 0)
        # An extended resource that the pod does not request is left out of the score.
        row = None if amount == 0 and is_scalar(name) else nodes.cluster.resources.find(name)
        found.append(MeasuredResource(row, amount, name))
    return found


def measure_together(pods: Sequence[PodInfo], names: Sequence[str], nodes: NodeRows) -> Allocation:
    """scorePlacement: the nodes as one large node, and the pods as one large pod. Devices do not count here."""
    asked = [measured(pod, names, nodes, use_requested=False) for pod in pods]
    totals = [sum(resource.asked for resource in same) for same in zip(*asked, strict=True)] or [0] * len(names)
    allocatable, allocated = np.zeros((len(names), 1), dtype=np.int64), np.zeros((len(names), 1), dtype=np.int64)
    table, usage = nodes.cluster.nodes, nodes.cluster.usage
    for index, (name, total) in enumerate(zip(names, totals, strict=True)):
        row = None if total == 0 and is_scalar(name) else nodes.cluster.resources.find(name)
        if row is None:
            continue
        used = usage.nonzero if row in (CPU, MEMORY) else usage.requested
        here = nodes.take(table.allocatable[row])
        allocatable[index] = here.sum()
        allocated[index] = nodes.take(used[row])[here != 0].sum()
    return Allocation(allocated + np.array(totals, dtype=np.int64)[:, np.newaxis], allocated, allocatable)


def measure(
    resources: Sequence[MeasuredResource], nodes: NodeRows, totals: DeviceTotals, *, use_requested: bool
) -> Allocation:
    """calculateNodeAllocatableRequest for all rows at once. Devices count where a node does not announce a resource."""
    rows = [resource.row for resource in resources]
    usage = nodes.cluster.usage
    if rows == [CPU, MEMORY] and not nodes.bare:
        # Both matrices begin with these two: nothing is copied where all nodes are evaluated.
        allocatable = nodes.take(nodes.cluster.nodes.allocatable[:2])
        allocated = nodes.take(usage.requested[:2] if use_requested else usage.nonzero)
    else:
        allocatable, allocated = _gathered(resources, nodes, totals, use_requested=use_requested)
    asked = np.array([resource.asked for resource in resources], dtype=np.int64)[:, np.newaxis]
    requested = allocated + asked
    complete = _all_nodes_have(rows, nodes) or bool(allocatable.all())
    if not complete:
        allocated, requested = np.where(allocatable == 0, 0, (allocated, requested))
    return Allocation(requested, allocated, allocatable, complete)


def _all_nodes_have(rows: Sequence[int | None], nodes: NodeRows) -> bool:
    """Whether all nodes of the cluster have cpu and memory, and nothing else is measured."""
    cluster = nodes.cluster
    if rows != [CPU, MEMORY] or nodes.bare:
        return False
    return bool(cluster.derived(_all_nodes_have, lambda: np.all(cluster.nodes.allocatable[:2])))


def _gathered(
    resources: Sequence[MeasuredResource], nodes: NodeRows, totals: DeviceTotals, *, use_requested: bool
) -> tuple[Int64Column, Int64Column]:
    """What the nodes have of each resource, and what pods take of it."""
    shape = (len(resources), len(nodes))
    allocatable, allocated = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    table, usage = nodes.cluster.nodes, nodes.cluster.usage
    for index, resource in enumerate(resources):
        row = resource.row
        if row is None:
            continue
        used = usage.nonzero if row in (CPU, MEMORY) and not use_requested else usage.requested
        allocatable[index] = nodes.take(table.allocatable[row])
        if not nodes.bare:
            allocated[index] = nodes.take(used[row])
        devices = totals.of(resource.name)
        if devices is not None:
            unannounced = allocatable[index] == 0
            allocated[index] = np.where(unannounced, nodes.take(devices[1]), allocated[index])
            allocatable[index] = np.where(unannounced, nodes.take(devices[0]), allocatable[index])
    return allocatable, allocated


def measure_before_1_22(pod: PodInfo, names: Sequence[str], nodes: NodeRows) -> Allocation:
    """What the score plugins of up to 1.21 measured: cpu and memory always with stand-ins for missing requests,
    and extended resources whether or not the pod requests them."""
    shape = (len(names), len(nodes))
    allocatable, allocated = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    asked = np.zeros((len(names), 1), dtype=np.int64)
    table, usage = nodes.cluster.nodes, nodes.cluster.usage
    for index, name in enumerate(names):
        if name not in ("cpu", "memory", "ephemeral-storage") and not is_scalar(name):
            continue
        asked[index] = _asked_before_1_22(pod, name)
        row = nodes.cluster.resources.find(name)
        if row is not None:
            used = usage.nonzero if row in (CPU, MEMORY) else usage.requested
            allocatable[index], allocated[index] = nodes.take(table.allocatable[row]), nodes.take(used[row])
    return Allocation(allocated + asked, allocated, allocatable)


def _asked_before_1_22(pod: PodInfo, name: str) -> int:
    spec, scale = pod.pod.spec, milli_value if name == "cpu" else value

    def of(container: Container) -> int:
        quantity = container.resources.requests.get(name)
        return STAND_INS.get(name, 0) if quantity is None else scale(quantity)

    asked = max([sum(map(of, spec.containers)), *map(of, spec.init_containers)])
    return asked + (_whole_cores(spec.overhead[name]) if name in spec.overhead else 0)


def _whole_cores(overhead: str | int | float) -> int:
    """Up to 1.26 a score counted the overhead's cpu in whole cores, where everything else is in thousandths."""
    return value(overhead)
