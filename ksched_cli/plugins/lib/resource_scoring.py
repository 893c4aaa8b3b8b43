"""What the two plugins that score resources measure alike (noderesources.resourceAllocationScorer)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from ksched_cli.api.core import Container
from ksched_cli.api.pod_resources import DEFAULT_MEMORY, DEFAULT_MILLI_CPU, requests_of, scoring_requests_of
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.cluster.columns import FloatColumn, Int64Column, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, MEMORY, is_scalar
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.plugins.lib.arithmetic import EXACT
from ksched_cli.plugins.lib.devices.totals import DeviceTotals
from ksched_cli.plugins.lib.node_loads import NodeLoads
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.engine_rules import PodInfoRules
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import NODE_RESOURCES_BALANCED_ALLOCATION, NODE_RESOURCES_FIT

CPU_AND_MEMORY = ["cpu", "memory"]
STAND_INS = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY}


class RequestRules(ReleaseRules, plugins=f"{NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}"):
    overhead_counts_as_it_is = Rule(
        "1.27",
        "score",
        "The cpu of a pod's overhead counts as it is, and the pod's requests are added up in PreScore; before, the "
        "overhead's cpu was rounded up to whole cores.",
    )


class MeasuredResource(NamedTuple):
    """A resource that counts towards a score: its columns, and the pod's request of it."""

    row: int | None
    request: int
    name: str = ""


class MeasuredResources:
    """The resources that count towards a score. `requests` is a column with an entry for each, and `are_cpu_and_memory`
    is set where there are these two and no others."""

    __slots__ = ("are_cpu_and_memory", "requests", "resources")

    def __init__(self, resources: Sequence[MeasuredResource]) -> None:
        self.resources: tuple[MeasuredResource, ...] = tuple(resources)
        self.requests: Int64Column = np.array([[resource.request] for resource in resources], dtype=np.int64)
        self.are_cpu_and_memory = [resource.row for resource in resources] == [CPU, MEMORY]

    @classmethod
    def of_cpu_and_memory(cls, cpu: int, memory: int) -> MeasuredResources:
        """The two resources that most profiles score by, for pods with these requests."""
        made = cls.__new__(cls)
        made.resources = MeasuredResource(CPU, cpu, "cpu"), MeasuredResource(MEMORY, memory, "memory")
        made.requests = np.array(((cpu,), (memory,)), dtype=np.int64)
        made.are_cpu_and_memory = True
        return made


class Allocation(Struct):
    """`[resource, node]` each, not to be written to. A resource that does not count on a node has 0 allocatable there;
    `complete` where there is none such. `divisor` is `allocatable` in float64, for divisions. With `place` the columns
    are `[resource, load]`, and it has the load of each node."""

    requested: Int64Column
    allocated: Int64Column
    allocatable: Int64Column
    complete: bool = False
    divisor: FloatColumn | None = None
    place: RowColumn | None = None

    def for_nodes(self, scores: Int64Column) -> Int64Column:
        """The scores of the nodes."""
        return scores if self.place is None else scores.take(self.place)


def measured(
    pod: PodInfo, names: Sequence[str], nodes: NodeRows, *, use_requested: bool, with_overhead: bool = True
) -> MeasuredResources:
    """calculatePodResourceRequestList: the requests of the pod with `use_requested`; else those of its containers, as
    they are specified, with stand-ins for missing requests of cpu and memory."""
    if pod.containers_are_all and names == CPU_AND_MEMORY:
        # Without overhead, init containers and so on, the sums of the cache are those that count here.
        if not use_requested:
            return MeasuredResources.of_cpu_and_memory(*pod.parts.sums.nonzero)
        taken = dict(pod.requests)
        return MeasuredResources.of_cpu_and_memory(taken.get(CPU, 0), taken.get(MEMORY, 0))
    found = []
    requests = _requests_for_scores(
        pod, nodes.cluster.release, use_requested=use_requested, with_overhead=with_overhead
    )
    for name in names:
        amount = requests.get(name, 0)
        # An extended resource that the pod does not request is left out of the score.
        row = None if amount == 0 and is_scalar(name) else nodes.cluster.resources.find(name)
        found.append(MeasuredResource(row, amount, name))
    return MeasuredResources(found)


def _requests_for_scores(pod: PodInfo, release: Release, *, use_requested: bool, with_overhead: bool) -> dict[str, int]:
    """The requests of the pod by the name of the resource."""
    if use_requested:
        requests = requests_of(pod.pod, use_status=True)
    else:
        cpu, memory = scoring_requests_of(pod.pod)
        requests = {**requests_of(pod.pod, use_status=False, pod_level=False), "cpu": cpu, "memory": memory}
    if not with_overhead:
        for name, overhead in pod.pod.spec.overhead.items():
            requests[name] -= milli_value(overhead) if name == "cpu" else value(overhead)
    elif "cpu" in pod.pod.spec.overhead and not RequestRules.of(release).overhead_counts_as_it_is:
        overhead = pod.pod.spec.overhead["cpu"]
        requests["cpu"] += _whole_cores(overhead) - milli_value(overhead)
    return requests


def measure_together(pods: Sequence[PodInfo], names: Sequence[str], nodes: NodeRows) -> Allocation:
    """scorePlacement: the nodes as one large node, and the pods as one large pod. Devices do not count here."""
    requests = [measured(pod, names, nodes, use_requested=False).resources for pod in pods]
    totals = [sum(resource.request for resource in same) for same in zip(*requests, strict=True)] or [0] * len(names)
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


# Of cpu and of memory of one node: allocated, requested with the pod, allocatable.
OneAllocation = tuple[tuple[int, int, int], tuple[int, int, int]]


def measure_one(wanted: MeasuredResources, nodes: NodeRows, *, use_requested: bool) -> OneAllocation | None:
    """`measure` of a single node in plain numbers, for most repairs are of one. None for several nodes, for other
    resources than cpu and memory, and for a node that has none of one of the two."""
    if len(nodes.rows) != 1 or not wanted.are_cpu_and_memory or nodes.bare:
        return None
    row, usage = nodes.rows.item(0), nodes.cluster.usage
    capacity, allocated = nodes.cluster.nodes.allocatable, usage.requested if use_requested else usage.nonzero
    cpu, memory = allocated.item(0, row), allocated.item(1, row)
    of_cpu, of_memory = wanted.resources
    found = (
        (cpu, cpu + of_cpu.request, capacity.item(0, row)),
        (memory, memory + of_memory.request, capacity.item(1, row)),
    )
    return found if found[0][2] and found[1][2] else None


def measure(
    wanted: MeasuredResources, nodes: NodeRows, totals: DeviceTotals, *, use_requested: bool, by_load: bool = False
) -> Allocation:
    """calculateNodeAllocatableRequest for all rows at once. Devices count where a node does not announce a resource.
    `by_load`: for each load instead, if that is less work."""
    if wanted.are_cpu_and_memory and not nodes.bare:
        loads = NodeLoads.of(nodes) if by_load else None
        if loads is not None:
            allocated = loads.requested if use_requested else loads.nonzero
            requested = allocated + wanted.requests
            return Allocation(requested, allocated, loads.allocatable, True, loads.divisor, loads.place)
        # Both matrices begin with these two: nothing is copied where all nodes are evaluated.
        table, usage = nodes.cluster.nodes, nodes.cluster.usage
        allocatable = nodes.take(table.allocatable[:2])
        allocated = nodes.take(usage.requested[:2] if use_requested else usage.nonzero)
        divisors = nodes.cluster.derived(NodeDivisors, lambda: NodeDivisors(table.allocatable[:2]))
        if divisors.divisor is not None:
            return Allocation(allocated + wanted.requests, allocated, allocatable, True, nodes.take(divisors.divisor))
    else:
        allocatable, allocated = _gathered(wanted.resources, nodes, totals, use_requested=use_requested)
    requested = allocated + wanted.requests
    complete = bool(allocatable.all())
    if not complete:
        allocated, requested = np.where(allocatable == 0, 0, (allocated, requested))
    return Allocation(requested, allocated, allocatable, complete)


class NodeDivisors:
    """The cpu and memory of all nodes as numbers to divide by; None where a node has none of one, or has so much that
    float64 is not exact."""

    def __init__(self, allocatable: Int64Column) -> None:
        exact = allocatable.all() and allocatable.max(initial=0) < EXACT // MAX_NODE_SCORE
        self.divisor: FloatColumn | None = allocatable.astype(np.float64) if exact else None


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
    requests = np.zeros((len(names), 1), dtype=np.int64)
    table, usage = nodes.cluster.nodes, nodes.cluster.usage
    for index, name in enumerate(names):
        if name not in ("cpu", "memory", "ephemeral-storage") and not is_scalar(name):
            continue
        requests[index] = _request_before_1_22(pod, name, nodes.cluster.release)
        row = nodes.cluster.resources.find(name)
        if row is not None:
            used = usage.nonzero if row in (CPU, MEMORY) else usage.requested
            allocatable[index], allocated[index] = nodes.take(table.allocatable[row]), nodes.take(used[row])
    return Allocation(allocated + requests, allocated, allocatable)


def _request_before_1_22(pod: PodInfo, name: str, release: Release) -> int:
    spec, scale = pod.pod.spec, milli_value if name == "cpu" else value

    def of(container: Container) -> int:
        quantity = container.resources.requests.get(name)
        return STAND_INS.get(name, 0) if quantity is None else scale(quantity)

    first = spec.init_containers if PodInfoRules.of(release).init_containers_count else ()
    requests = max([sum(map(of, spec.containers)), *map(of, first)])
    return requests + (_whole_cores(spec.overhead[name]) if name in spec.overhead else 0)


def _whole_cores(overhead: str | int | float) -> int:
    """Up to 1.26 a score counted the overhead's cpu in whole cores, where everything else is in thousandths."""
    return value(overhead)
