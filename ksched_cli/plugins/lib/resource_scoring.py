"""What the plugins that score resources have in common (noderesources.resourceAllocationScorer), to the last bit as
Go does it.

Nodes of equal size and use are loads: what is computed of cpu and memory is computed once for all of them. The
scoring strategies at the end measure how full a node is; they were plugins of their own up to 1.21.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from msgspec import Struct

from ksched_cli.api.core import Container
from ksched_cli.api.pod_resources import DEFAULT_MEMORY, DEFAULT_MILLI_CPU, requests_of, scoring_requests_of
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import FloatColumn, Int64Column, RowColumn, grown, truncated_divide
from ksched_cli.cluster.pod_info import CPU, MEMORY, PodInfo, is_scalar
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.plugins.lib.devices.inventory import DeviceTotals
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.engine_rules import PodInfoRules
from ksched_cli.releases.minors import Release
from ksched_cli.releases.plugin_names import NODE_RESOURCES_BALANCED_ALLOCATION, NODE_RESOURCES_FIT

MAX_CUSTOM_PRIORITY_SCORE = 10
MAX_UTILIZATION = 100

# Up to here every int64 is a float64 as well.
EXACT = 2**53


def floor_quotient(dividend: Int64Column, divisor: Int64Column) -> Int64Column:
    """Division of numbers that are not negative. In float64 it takes a third of the time, and it is exact below 2**53:
    a quotient that is no whole number is further from the next one than rounding can carry it."""
    if dividend.max(initial=0) < EXACT and divisor.max(initial=1) < EXACT:
        return (dividend / divisor).astype(np.int64)
    quotient: Int64Column = np.floor_divide(dividend, divisor)
    return quotient


def spared_share(most: int, counts: Int64Column | FloatColumn, best: float) -> FloatColumn:
    """The best score where nothing is, 0 where most is."""
    spared: FloatColumn = best * ((most - counts) / most) if most > 0 else np.full(len(counts), best)
    return spared


def go_round(values: FloatColumn) -> Int64Column:
    """math.Round of numbers that are not negative: halves go up."""
    whole = np.trunc(values)
    return whole.astype(np.int64) + (values - whole >= 0.5)


_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


def go_log(x: float) -> float:
    """math.Log to the last bit: Go evaluates FreeBSD's series, which can differ from the C library's logarithm."""
    fraction, exponent = math.frexp(x)
    if fraction < math.sqrt(2) / 2:
        fraction, exponent = fraction * 2, exponent - 1
    f, k = fraction - 1, float(exponent)
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_LOG[0] + s4 * (_LOG[2] + s4 * (_LOG[4] + s4 * _LOG[6])))
    even = s4 * (_LOG[1] + s4 * (_LOG[3] + s4 * _LOG[5]))
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + (odd + even)) + k * _LN2_LOW)) - f)


def broken_linear(points: Sequence[tuple[int, int]], percent: int, best: int = MAX_NODE_SCORE) -> int:
    """helper.BuildBrokenLinearFunction, with the shape's 0..10 scores scaled to 0..100."""
    scale = best // MAX_CUSTOM_PRIORITY_SCORE
    previous: tuple[int, int] | None = None
    for utilization, score in points:
        if percent <= utilization:
            if previous is None:
                return score * scale
            rise = (score - previous[1]) * scale * (percent - previous[0])
            step = truncated_divide(np.array([rise], dtype=np.int64), utilization - previous[0])
            return previous[1] * scale + int(step[0])
        previous = utilization, score
    return points[-1][1] * scale


# To find the loads takes as long as to compute this often without them.
_PAYS = 24
# With more than one load for so many nodes, a computation for each node takes as long.
_NODES_PER_LOAD = 4

Load = tuple[int, ...]


class NodeLoads:
    """What nodes have and what their pods request, as the journal lists it. `place` is for each node the entry of its
    load in all columns. Of cpu and memory each load has what is `allocatable`, in float64 as well (`divisor`, without
    rounding), what is `requested`, and the requests that scoring uses (`nonzero`); `pods` are how many a node may have,
    and how many it has. Loads that no node has any more stay, until there are too many."""

    allocatable: Int64Column
    requested: Int64Column
    nonzero: Int64Column
    pods: Int64Column
    divisor: FloatColumn

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._uses = 0
        self._is_of_use = True
        self._position = -1
        self._known: dict[Load, int] = {}
        self._columns: Int64Column = np.zeros((4, 2, 0), dtype=np.int64)
        self._divisor: FloatColumn = np.zeros((2, 0))
        self.place: RowColumn = np.zeros(0, dtype=np.int64)

    @classmethod
    def of(cls, nodes: NodeRows) -> NodeLoads | None:
        """The loads of all nodes; None where others are evaluated, or where most nodes have a load of their own."""
        cluster = nodes.cluster
        if not nodes.whole or nodes.bare or not cluster.reuse:
            return None
        loads = cluster.derived(cls, lambda: cls(cluster))
        loads._uses += 1
        if loads._uses <= _PAYS or not loads._is_of_use:
            return None
        if loads._position != len(cluster.journal):
            loads._follow()
        return loads if loads._is_of_use else None

    def _follow(self) -> None:
        """Bring the loads up to date, and find out whether they are of use."""
        journal = self._cluster.journal
        most = len(self._cluster.nodes) // _NODES_PER_LOAD
        touched = set(journal[self._position :]) if self._position >= 0 else set()
        is_new = self._position < 0 or len(self._known) + len(touched) > most
        if is_new:
            self._find_all()
        else:
            for row in touched:
                self.place[row] = self._place_of(self._load_of(row))
        count = len(self._known)
        self.allocatable, self.requested, self.nonzero, self.pods = self._columns[:, :, :count]
        self.divisor = self._divisor[:, :count]
        if is_new:
            self._is_of_use = 2 * count <= most and _are_exact(self.allocatable)
        self._position = len(journal)

    def _find_all(self) -> None:
        nodes, usage = self._cluster.nodes, self._cluster.usage
        matrices = nodes.allocatable[:2], usage.requested[:2], usage.nonzero, nodes.allowed_pods[np.newaxis]
        columns = np.concatenate([*matrices, usage.pod_count[np.newaxis]]).tolist()
        self._known.clear()
        self.place = np.array([self._place_of(load) for load in zip(*columns, strict=True)], dtype=np.int64)

    def _load_of(self, row: int) -> Load:
        nodes, usage = self._cluster.nodes, self._cluster.usage
        allocatable, requested, nonzero = nodes.allocatable.item, usage.requested.item, usage.nonzero.item
        return (
            *(allocatable(0, row), allocatable(1, row), requested(0, row), requested(1, row)),
            *(nonzero(0, row), nonzero(1, row), nodes.allowed_pods.item(row), usage.pod_count.item(row)),
        )

    def _place_of(self, load: Load) -> int:
        known = self._known.get(load)
        if known is None:
            known = self._known[load] = len(self._known)
            if known >= self._columns.shape[-1]:
                self._columns = cast(Int64Column, grown(self._columns, known + 1))
                self._divisor = cast(FloatColumn, grown(self._divisor, known + 1))
            self._columns[:, :, known] = np.reshape(load, (4, 2))
            self._divisor[:, known] = load[:2]
        return known


def _are_exact(allocatable: Int64Column) -> bool:
    """Whether float64 is exact for scores of these amounts, none of which is 0."""
    return bool(allocatable.all() and allocatable.max(initial=0) < EXACT // MAX_NODE_SCORE)


CPU_AND_MEMORY = ["cpu", "memory"]
STAND_INS = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY}


def depends_on_requests(info: PodInfo, names: Sequence[str], totals: DeviceTotals) -> Depends:
    """What the answers depend on that compare the pod's requests of these resources with what nodes have left."""
    if names != CPU_AND_MEMORY and any(map(totals.backs, names)):
        # Devices behind a resource come and go without a placement on the node.
        return Depends("usage")
    parts, sums = info.parts, info.parts.sums
    return Depends("usage", sums if parts.containers_are_all else (sums, parts.template))


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
    name: str


class MeasuredResources(Struct, eq=False):
    """The resources that count towards a score. `requests` is a column with an entry for each, and `are_cpu_and_memory`
    is set where there are these two and no others."""

    resources: tuple[MeasuredResource, ...]
    requests: Int64Column
    are_cpu_and_memory: bool


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
    info: PodInfo, names: Sequence[str], nodes: NodeRows, *, use_requested: bool, with_overhead: bool = True
) -> MeasuredResources:
    """calculatePodResourceRequestList: the requests of the pod with `use_requested`; else those of its containers, as
    they are specified, with stand-ins for missing requests of cpu and memory."""
    if info.parts.containers_are_all and names == CPU_AND_MEMORY:
        # Without overhead, init containers and so on, the sums of the cache are those that count here.
        cpu, memory = info.parts.sums.nonzero
        if use_requested:
            taken = dict(info.parts.sums.requests)
            cpu, memory = taken.get(CPU, 0), taken.get(MEMORY, 0)
        both = MeasuredResource(CPU, cpu, "cpu"), MeasuredResource(MEMORY, memory, "memory")
        return MeasuredResources(both, np.array(((cpu,), (memory,)), dtype=np.int64), True)
    found: list[MeasuredResource] = []
    requests = _requests_for_scores(
        info, nodes.cluster.release, use_requested=use_requested, with_overhead=with_overhead
    )
    for name in names:
        amount = requests.get(name, 0)
        # An extended resource that the pod does not request is left out of the score.
        row = None if amount == 0 and is_scalar(name) else nodes.cluster.resources.find(name)
        found.append(MeasuredResource(row, amount, name))
    column = np.array([[each.request] for each in found], dtype=np.int64)
    return MeasuredResources(tuple(found), column, [each.row for each in found] == [CPU, MEMORY])


def _requests_for_scores(
    info: PodInfo, release: Release, *, use_requested: bool, with_overhead: bool
) -> dict[str, int]:
    """The requests of the pod by the name of the resource."""
    if use_requested:
        requests = requests_of(info.pod, use_status=True)
    else:
        cpu, memory = scoring_requests_of(info.pod)
        requests = {**requests_of(info.pod, use_status=False, pod_level=False), "cpu": cpu, "memory": memory}
    if not with_overhead:
        for name, overhead in info.pod.spec.overhead.items():
            requests[name] -= milli_value(overhead) if name == "cpu" else value(overhead)
    elif "cpu" in info.pod.spec.overhead and not RequestRules.of(release).overhead_counts_as_it_is:
        overhead = info.pod.spec.overhead["cpu"]
        requests["cpu"] += _whole_cores(overhead) - milli_value(overhead)
    return requests


def measure_together(pods: Sequence[PodInfo], names: Sequence[str], nodes: NodeRows) -> Allocation:
    """scorePlacement: the nodes as one large node, and the pods as one large pod. Devices do not count here."""
    requests = [measured(info, names, nodes, use_requested=False).resources for info in pods]
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
        allocatable, allocated = table.allocatable[:2], usage.requested[:2] if use_requested else usage.nonzero
        divisor = nodes.cluster.derived(NodeDivisors, lambda: NodeDivisors(table.allocatable[:2])).divisor
        if not nodes.whole:
            allocatable, allocated = nodes.take(allocatable), nodes.take(allocated)
            divisor = divisor if divisor is None else nodes.take(divisor)
        if divisor is not None:
            return Allocation(allocated + wanted.requests, allocated, allocatable, True, divisor)
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
        self.divisor: FloatColumn | None = allocatable.astype(np.float64) if _are_exact(allocatable) else None


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


def measure_before_1_22(info: PodInfo, names: Sequence[str], nodes: NodeRows) -> Allocation:
    """What the score plugins of up to 1.21 measured: cpu and memory always with stand-ins for missing requests,
    and extended resources whether or not the pod requests them."""
    shape = (len(names), len(nodes))
    allocatable, allocated = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    requests = np.zeros((len(names), 1), dtype=np.int64)
    table, usage = nodes.cluster.nodes, nodes.cluster.usage
    for index, name in enumerate(names):
        if name not in ("cpu", "memory", "ephemeral-storage") and not is_scalar(name):
            continue
        requests[index] = _request_before_1_22(info, name, nodes.cluster.release)
        row = nodes.cluster.resources.find(name)
        if row is not None:
            used = usage.nonzero if row in (CPU, MEMORY) else usage.requested
            allocatable[index], allocated[index] = nodes.take(table.allocatable[row]), nodes.take(used[row])
    return Allocation(allocated + requests, allocated, allocatable)


def _request_before_1_22(info: PodInfo, name: str, release: Release) -> int:
    spec, scale = info.pod.spec, milli_value if name == "cpu" else value

    def of(container: Container) -> int:
        quantity = container.resources.requests.get(name)
        return STAND_INS.get(name, 0) if quantity is None else scale(quantity)

    first = spec.init_containers if PodInfoRules.of(release).init_containers_count else ()
    requests = max([sum(map(of, spec.containers)), *map(of, first)])
    return requests + (_whole_cores(spec.overhead[name]) if name in spec.overhead else 0)


def _whole_cores(overhead: str | int | float) -> int:
    """Up to 1.26 a score counted the overhead's cpu in whole cores, where everything else is in thousandths."""
    return value(overhead)


def least_requested(allocation: Allocation, best: int = MAX_NODE_SCORE) -> Int64Column:
    """leastRequestedScore: the share that stays free."""
    free = allocation.allocatable - allocation.requested
    if allocation.divisor is None:
        return floor_quotient(np.maximum(free, 0) * best, _capacity(allocation))
    if free.size and free.item(free.argmin()) < 0:
        np.maximum(free, 0, out=free)
    # To make floats first takes half as long as to divide integers by floats.
    share = free.astype(np.float64)
    share *= best
    share /= allocation.divisor
    return share.astype(np.int64)


def most_requested(
    allocation: Allocation, best: int = MAX_NODE_SCORE, *, exceeding_is_nothing: bool = False
) -> Int64Column:
    """mostRequestedScore: the share that is taken; stand-in requests may exceed what there is, and up to 1.19 such a
    resource scored 0."""
    capacity = _capacity(allocation)
    scores = floor_quotient(np.minimum(allocation.requested, allocation.allocatable) * best, capacity)
    return np.where(allocation.requested > allocation.allocatable, 0, scores) if exceeding_is_nothing else scores


def _capacity(allocation: Allocation) -> Int64Column:
    """The allocatable amounts, with 1 for 0, to divide by."""
    return allocation.allocatable if allocation.complete else np.maximum(allocation.allocatable, 1)


def weighted_mean(scores: Int64Column, allocation: Allocation, weights: Sequence[int]) -> Int64Column:
    """Over the resources that the node has; 0 where it has none of them."""
    mean: Int64Column
    if allocation.complete:
        if len(weights) == 2 and weights[0] == weights[1] > 0:
            # Scores are not negative.
            mean = (scores[0] + scores[1]) >> 1
            return mean
        total = scores[0] * weights[0]
        for score, factor in zip(scores[1:], weights[1:], strict=True):
            total = total + score * factor
        mean = total // max(sum(weights), 1)
        return mean
    weight = np.array(weights, dtype=np.int64)[:, np.newaxis]
    counted = (allocation.allocatable != 0) * weight
    total = counted.sum(axis=0)
    mean = (scores * counted).sum(axis=0) // np.maximum(total, 1)
    return mean


def mean_over_all(scores: Int64Column, weights: Sequence[int]) -> Int64Column:
    """The mean up to 1.21: a resource that the node does not have counts as one that scores 0."""
    weight = np.array(weights, dtype=np.int64)[:, np.newaxis]
    mean: Int64Column = (scores * weight).sum(axis=0) // max(sum(weights), 1)
    return mean


def requested_to_capacity_ratio(
    allocation: Allocation,
    points: Sequence[tuple[int, int]],
    weights: Sequence[int],
    *,
    missing_is_full: bool = False,
    best: int = MAX_NODE_SCORE,
) -> Int64Column:
    """buildRequestedToCapacityRatioScorerFunction: a broken line over the utilisation in whole per cent. A resource
    that scores 0 does not count in the mean, which is rounded. Up to 1.21 a resource that the node does not have
    counted as used up, and what was free was cut off to whole per cent."""
    line = np.array([broken_linear(points, percent, best) for percent in range(MAX_UTILIZATION + 1)], dtype=np.int64)
    capacity = np.maximum(allocation.allocatable, 1)
    if missing_is_full:
        free = np.maximum(allocation.allocatable - allocation.requested, 0)
        scores = line[MAX_UTILIZATION - free * MAX_UTILIZATION // capacity]
    else:
        utilization = allocation.requested * MAX_UTILIZATION // capacity
        scores = np.where(allocation.allocatable != 0, line[np.clip(utilization, 0, MAX_UTILIZATION)], 0)
    counted = (scores > 0) * np.array(weights, dtype=np.int64)[:, np.newaxis]
    total, weight = (scores * counted).sum(axis=0), counted.sum(axis=0)
    return np.where(weight == 0, 0, (2 * total + weight) // np.maximum(2 * weight, 1))
