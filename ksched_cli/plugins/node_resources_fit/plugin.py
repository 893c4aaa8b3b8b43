"""NodeResourcesFit: whether the pod's requests fit, and how full a node would be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ksched_cli.api.pod_facts import holds_place
from ksched_cli.cluster.columns import BoolColumn, Int64Column, RowColumn, distinct
from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, EPHEMERAL_STORAGE, MEMORY, is_extended
from ksched_cli.config.plugin_args import NodeResourcesFitArgs, ScoringStrategy
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import (
    Detail,
    FilterPlugin,
    Placement,
    PlacementScorePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import Code, Status, error, unresolvable
from ksched_cli.framework.verdict import ReasonTuple, Verdict
from ksched_cli.plugins.lib.blocking_pods import largest_blocking_pods
from ksched_cli.plugins.lib.devices.extended import ExtendedResourceIndex
from ksched_cli.plugins.lib.devices.totals import DeviceTotals
from ksched_cli.plugins.lib.node_loads import NodeLoads
from ksched_cli.plugins.lib.resource_scoring import (
    CPU_AND_MEMORY,
    Allocation,
    MeasuredResources,
    measure,
    measure_one,
    measure_together,
    measured,
)
from ksched_cli.plugins.lib.resource_strategies import (
    least_requested,
    most_requested,
    requested_to_capacity_ratio,
    weighted_mean,
)
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.node_resources_fit.guide import FitGuide
from ksched_cli.plugins.node_resources_fit.hints import AskedOfNode, class_may_help, scale_down_may_help
from ksched_cli.plugins.node_resources_fit.reasons import NodeResourcesFitReasons
from ksched_cli.plugins.node_resources_fit.rules import NodeResourcesFitRules
from ksched_cli.releases.plugin_names import REQUESTED_TO_CAPACITY_RATIO

_HOPELESS, _SHORT = np.int8(Code.UNSCHEDULABLE_AND_UNRESOLVABLE), np.int8(Code.UNSCHEDULABLE)
# Where fewer nodes than one of so many lack something, only they are looked at closely.
_SHARE_OF_FEW = 4
_SIDECARS_OFF = unresolvable(NodeResourcesFitReasons.sidecars_off())

Scorer = Callable[[Allocation], Int64Column]


@dataclass(slots=True)
class FitState:
    """(resource row, amount) that has to fit, cpu, memory and storage first as kube-scheduler lists them. `column` has
    the amounts if they are of cpu and memory, as for most pods."""

    requests: tuple[tuple[int, int], ...]
    column: Int64Column | None = field(default=None, compare=False)


class NodeResourcesFit(
    PreFilterPlugin[FitState],
    FilterPlugin[FitState],
    PreScorePlugin[FitState, MeasuredResources],
    ScorePlugin[MeasuredResources],
    PlacementScorePlugin,
):
    name = "NodeResourcesFit"
    column = "Fit"
    points_since = (("score", "1.22"), ("preScore", "1.27"), ("placementScore", "1.36"))
    summary = "Rejects nodes without room for the pod's requests; scores by the profile's scoring strategy."
    args: NodeResourcesFitArgs
    events = (
        ClusterEvent("Pod", Action.DELETE | Action.UPDATE_POD_SCALE_DOWN),
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
    )

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        enabled = handle.gates.enabled("DRAExtendedResource")
        self._extended = ExtendedResourceIndex(handle.cluster.catalog, enabled=enabled)
        self._totals = DeviceTotals(handle)
        rules = NodeResourcesFitRules.of(handle.release)
        reasons = NodeResourcesFitReasons.of(handle.release)
        self._too_many_pods = reasons.too_many_pods()
        self._insufficient = cache(lambda resource: reasons.insufficient(resource=resource))
        # Else every lack of resources is one that eviction may mend.
        self._sees_hopeless = rules.sees_hopeless_nodes
        # Else a node with more requested than it has takes no pod with any request.
        self._requested_only = rules.only_requested_resources_lack
        self._overhead_counts = rules.overhead_counts_in_scores
        self._names = [resource.name for resource in self.args.scoring_strategy.resources]
        self._scorer = scorer_of(self.args.scoring_strategy)
        # With equal weights, that is.
        weights = {resource.weight for resource in self.args.scoring_strategy.resources}
        self._prefers_least = self.args.scoring_strategy.type == "LeastAllocated" and len(weights) == 1
        # While the gate is off, nodes may have a kubelet that adds up less than sidecars need.
        self._refuses_sidecars = not handle.gates.enabled("SidecarContainers")

    def events_to_register(self) -> Sequence[ClusterEvent]:
        if not self.handle.gates.enabled("DRAExtendedResource"):
            return self.events
        return (*self.events, ClusterEvent("DeviceClass", Action.ADD | Action.UPDATE))

    def is_schedulable_after(self, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        match event.resource:
            case "Node":
                empty = AskedOfNode(pod, self.handle.cluster.resources, self._extended)
                return empty.fits(new) and (old is None or empty.more_than(old, new))
            case "DeviceClass":
                return class_may_help(pod.pod, old, new)
            case _:
                return holds_place(old) if new is None else scale_down_may_help(pod.pod, old, new)

    def pre_filter(self, pod: PodInfo) -> PreFilterResult[FitState] | Status:
        if self._requested_only and [resource for resource, _ in pod.incoming_requests] == [CPU, MEMORY]:
            return PreFilterResult(_of_cpu_and_memory(pod.incoming_requests))
        wanted = [pair for pair in pod.incoming_requests if not self._ignored(pair[0])]
        if wanted and not self._requested_only:
            wanted += [(resource, 0) for resource in (CPU, MEMORY, EPHEMERAL_STORAGE) if resource not in dict(wanted)]
        wanted.sort(key=lambda pair: (pair[0] not in (CPU, MEMORY, EPHEMERAL_STORAGE), pair[0]))
        both = [resource for resource, _ in wanted] == [CPU, MEMORY]
        return PreFilterResult(_of_cpu_and_memory(wanted) if both else FitState(tuple(wanted)))

    def _ignored(self, resource: int) -> bool:
        name = self.handle.cluster.resources.names[resource]
        return is_extended(name) and (
            name in self.args.ignored_resources or name.split("/")[0] in self.args.ignored_resource_groups
        )

    def filter(self, state: FitState | None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        """fitsRequest: every resource that lacks is a reason; one that no eviction can free makes the node hopeless."""
        if self._refuses_sidecars and _has_sidecar(pod):
            return Verdict.of_all(len(nodes), _SIDECARS_OFF)
        if state is None:
            return Verdict.of_all(
                len(nodes), error('error reading "PreFilterNodeResourcesFit" from cycleState: not found')
            )
        if len(nodes) == 1:
            return self._judge_one(state, nodes)
        table, usage = nodes.cluster.nodes, nodes.cluster.usage
        if state.column is not None:
            loads = NodeLoads.of(nodes)
            if loads is not None and not np.count_nonzero(_lack(state.column, loads)):
                return Verdict.passing(len(nodes))
        crowded = nodes.take(usage.pod_count) >= nodes.take(table.allowed_pods)
        if state.column is not None:
            short = state.column > nodes.take(table.allocatable[:2]) - nodes.take(usage.requested[:2])
            failing = (crowded | short[0] | short[1]).nonzero()[0]
            if not len(failing):
                return Verdict.passing(len(nodes))
            if _SHARE_OF_FEW * len(failing) < len(nodes):
                few = NodeRows(nodes.cluster, nodes.rows.take(failing))
                return _spread(self._judge(state, few, crowded.take(failing)), failing, len(nodes))
        return self._judge(state, nodes, crowded)

    def _judge_one(self, state: FitState, nodes: NodeRows) -> Verdict:
        """The verdict of a single node, in plain numbers: dry runs try one node again and again."""
        table, usage, row = nodes.cluster.nodes, nodes.cluster.usage, nodes.rows.item(0)
        lacks, hopeless = int(usage.pod_count.item(row) >= table.allowed_pods.item(row)), False
        for bit, (resource, amount) in enumerate(state.requests, start=1):
            allocatable = table.allocatable.item(resource, row)
            if amount <= allocatable - usage.requested.item(resource, row):
                continue
            if allocatable > 0 or not self._extended.backs(nodes.cluster.resources.names[resource]):
                lacks |= 1 << bit
                hopeless |= self._sees_hopeless and amount > allocatable
        if not lacks:
            return Verdict.passing(1)
        code = np.array([_HOPELESS if hopeless else _SHORT], dtype=np.int8)
        return Verdict(code, np.ones(1, dtype=np.int32), ((), self._reasons(state, lacks)))

    def _judge(self, state: FitState, nodes: NodeRows, crowded: BoolColumn) -> Verdict:
        """The verdict of nodes some of which may lack something."""
        table, usage = nodes.cluster.nodes, nodes.cluster.usage
        lacks = crowded.astype(np.int64)
        hopeless = np.zeros(len(nodes), dtype=np.bool_)
        for bit, (resource, amount) in enumerate(state.requests, start=1):
            allocatable = nodes.take(table.allocatable[resource])
            short = amount > allocatable - nodes.take(usage.requested[resource])
            if self._extended.backs(nodes.cluster.resources.names[resource]):
                # shouldDelegateResourceToDRA: devices may provide what the node does not announce.
                short &= allocatable > 0
            if np.count_nonzero(short):
                lacks |= short.astype(np.int64) << bit
                if self._sees_hopeless:
                    hopeless |= short & (amount > allocatable)
        return self._verdict(state, lacks, hopeless)

    def depends(self, pod: PodInfo) -> Depends:
        if self._names != CPU_AND_MEMORY and any(map(self._totals.backs, self._names)):
            # Devices behind a resource come and go without a placement on the node.
            return Depends("usage")
        if pod.containers_are_all:
            return Depends("usage", pod.parts.sums)
        return Depends("usage", (pod.parts.sums, pod.template))

    def _verdict(self, state: FitState, lacks: Int64Column, hopeless: BoolColumn) -> Verdict:
        """`lacks` has one bit per reason; each distinct combination becomes one reason tuple."""
        if not np.count_nonzero(lacks):
            return Verdict.passing(len(lacks))
        codes = np.where(hopeless, _HOPELESS, _SHORT).astype(np.int8)
        combinations, reason_ids = distinct(lacks)
        reasons = [self._reasons(state, combination) for combination in combinations.tolist()]
        if combinations[0] != 0:  # entry 0 of a verdict is a pass, whether or not any row passes
            reasons.insert(0, ())
            reason_ids = reason_ids + 1
        return Verdict(np.where(lacks != 0, codes, np.int8(0)), reason_ids.astype(np.int32), reasons)

    def _reasons(self, state: FitState, combination: int) -> ReasonTuple:
        """Those with a bit in the combination; extended resources last and by name, which Go has in random order."""
        names = self.handle.cluster.resources.names
        short = [resource for bit, (resource, _) in enumerate(state.requests, start=1) if combination >> bit & 1]
        short.sort(key=lambda resource: (min(resource, EPHEMERAL_STORAGE + 1), names[resource]))
        first = (self._too_many_pods,) if combination & 1 else ()
        return (*first, *(self._insufficient(names[resource]) for resource in short))

    def explain(self, state: FitState | None, pod: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The lacking resources: requested, allocatable, used, free, and the pods that use them. Cpu in thousandths."""
        row, cluster = int(nodes.rows[index]), nodes.cluster
        numbers: dict[str, dict[str, Any]] = {}
        if cluster.usage.pod_count[row] + 1 > cluster.nodes.allowed_pods[row]:
            numbers["pods"] = _figures(1, int(cluster.usage.pod_count[row]), int(cluster.nodes.allowed_pods[row]))
        for resource, amount in state.requests if state else ():
            used = int(cluster.usage.requested[resource, row])
            limit = int(cluster.nodes.allocatable[resource, row])
            name = cluster.resources.names[resource]
            delegated = self._extended.backs(name) and limit == 0
            if amount > limit - used and not delegated:
                numbers[name] = {**_figures(amount, used, limit), **largest_blocking_pods(cluster, row, resource)}
        return numbers

    def pre_score(self, state: FitState | None, pod: PodInfo, nodes: NodeRows) -> MeasuredResources:
        return measured(pod, self._names, nodes, use_requested=False, with_overhead=self._overhead_counts)

    def score(self, state: MeasuredResources | None, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        if not self.args.scoring_strategy.resources:
            return error("resources not found")
        resources = self.pre_score(None, pod, nodes) if state is None else state
        one = measure_one(resources, nodes, use_requested=False) if self._prefers_least else None
        if one is not None:
            free = [max(capacity - requested, 0) * MAX_NODE_SCORE // capacity for _, requested, capacity in one]
            return np.array([sum(free) // 2], dtype=np.int64)
        allocation = measure(resources, nodes, self._totals, use_requested=False, by_load=True)
        return allocation.for_nodes(self._scorer(allocation))

    def score_placement(self, key: GroupKey, placement: Placement, proposed: Sequence[PodInfo]) -> int:
        """How full the placement would be with these pods, whatever the profile's strategy: fuller is better."""
        resources = self.args.scoring_strategy.resources
        nodes = NodeRows(self.handle.cluster, placement.rows)
        allocation = measure_together(proposed, [resource.name for resource in resources], nodes)
        weights = [resource.weight for resource in resources]
        return int(weighted_mean(most_requested(allocation), allocation, weights)[0])


def _of_cpu_and_memory(requests: Sequence[tuple[int, int]]) -> FitState:
    return FitState(tuple(requests), np.array([[amount] for _, amount in requests], dtype=np.int64))


def _lack(requests: Int64Column, loads: NodeLoads) -> BoolColumn:
    """Which loads have no room for a pod with these requests of cpu and memory."""
    allowed, there = loads.pods
    short = requests > loads.allocatable - loads.requested
    lack: BoolColumn = short[0] | short[1] | (there >= allowed)
    return lack


def _spread(judged: Verdict, rows: RowColumn, size: int) -> Verdict:
    """The verdict of `size` rows, of which these were judged. All others pass."""
    codes, reason_ids = np.zeros(size, dtype=np.int8), np.zeros(size, dtype=np.int32)
    codes[rows], reason_ids[rows] = judged.codes, judged.reason_ids
    return Verdict(codes, reason_ids, judged.reasons)


def _has_sidecar(pod: PodInfo) -> bool:
    return any(container.restart_policy == "Always" for container in pod.pod.spec.init_containers)


def _figures(requested: int, used: int, allocatable: int) -> dict[str, Any]:
    free = allocatable - used
    return {"asked": requested, "used": used, "allocatable": allocatable, "free": free, "short": requested - free}


def scorer_of(strategy: ScoringStrategy) -> Scorer:
    """nodeResourceStrategyTypeMap."""
    weights = [resource.weight for resource in strategy.resources]
    if strategy.type == "MostAllocated":
        return lambda allocation: weighted_mean(most_requested(allocation), allocation, weights)
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        ratio = strategy.requested_to_capacity_ratio
        points = [(point.utilization, point.score) for point in (ratio.shape if ratio else ())]
        return lambda allocation: requested_to_capacity_ratio(allocation, points, weights)
    return lambda allocation: weighted_mean(least_requested(allocation), allocation, weights)


SPEC = Spec(plugins=(NodeResourcesFit,), reasons=(NodeResourcesFitReasons,), guide=FitGuide())
