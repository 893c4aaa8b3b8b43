"""NodeResourcesFit: whether the pod's requests fit, and how full a node would be (noderesources/fit.go).

First the rules that changed between minors and the queueing hints, then the plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.dynamic_resources import DeviceClass
from ksched_cli.api.object_facts import holds_place, is_same_pod
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.cluster.columns import BoolColumn, Int64Column, RowColumn, distinct
from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.cluster.pod_info import CPU, EPHEMERAL_STORAGE, MEMORY, PodInfo, ResourceIndex, is_extended, is_scalar
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
from ksched_cli.plugins.lib.devices.claims import IMPLICIT_PREFIX, ExtendedResourceIndex
from ksched_cli.plugins.lib.devices.inventory import DeviceTotals
from ksched_cli.plugins.lib.resource_scoring import (
    Allocation,
    MeasuredResources,
    NodeLoads,
    depends_on_requests,
    least_requested,
    measure,
    measure_one,
    measure_together,
    measured,
    most_requested,
    requested_to_capacity_ratio,
    weighted_mean,
)
from ksched_cli.plugins.lib.spec import Spec, largest_blocking_pods, shortage
from ksched_cli.plugins.node_resources_fit.guide import FitGuide, NodeResourcesFitReasons
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import (
    GENERAL_PREDICATES,
    INTER_POD_AFFINITY,
    NODE_AFFINITY,
    NODE_LABEL,
    NODE_NAME,
    NODE_PORTS,
    NODE_PREFER_AVOID_PODS,
    NODE_RESOURCES_BALANCED_ALLOCATION,
    NODE_RESOURCES_LEAST_ALLOCATED,
    NODE_RESOURCES_MOST_ALLOCATED,
    NODE_UNSCHEDULABLE,
    NODE_VOLUME_LIMITS,
    POD_GROUP_PODS_COUNT,
    REQUESTED_TO_CAPACITY_RATIO,
    SERVICE_AFFINITY,
    TAINT_TOLERATION,
    TOPOLOGY_PLACEMENT_GENERATOR,
    VOLUME_RESTRICTIONS,
    VOLUME_ZONE,
)

# Gates that decide which of a pod's requests count.
_GATES = {
    "InPlacePodLevelResourcesVerticalScaling": (
        "A pod whose own requests are resized in place counts with what it has been given, where that is more; without "
        "the gate, with what it asks for."
    ),
    "InPlacePodVerticalScaling": (
        "A pod that is resized in place counts with what its containers have been given, where that is more; without "
        "the gate, with what it asks for."
    ),
    "LocalStorageCapacityIsolation": (
        "Ephemeral storage counts (from 1.19 to 1.24 the gate decides that); without the gate, no pod requests any and "
        "no node has any."
    ),
    "PodLevelResources": (
        "Requests of the pod as a whole (spec.resources) count; without the gate, those of its containers alone."
    ),
    "PodOverhead": "A pod's overhead counts; without the gate, it does not.",
}
_BOTH = f"NodeResourcesFit {NODE_RESOURCES_BALANCED_ALLOCATION}"


class NodeResourcesFitRules(ReleaseRules, plugins="NodeResourcesFit"):
    sees_hopeless_nodes = Rule(
        "1.34",
        "filter preemption",
        "A node that is too small for the pod even if it was empty is beyond help, and no preemption is tried there; "
        "before, it was.",
    )
    only_requested_resources_lack = Rule(
        "1.28",
        "filter",
        "Only resources that the pod asks for can lack; before, a node with more cpu, memory or storage requested "
        "than it has took no pod that asks for anything.",
    )
    overhead_counts_in_scores = Rule(
        "1.24", "score", "Scores include the overhead of the pending pod; before, scores of this plugin left it out."
    )
    notes = (
        Rule(
            "1.17",
            "score",
            "Nodes score 0 to 100; before, 0 to 10, and small differences were lost.",
            plugins=(
                f"NodeResourcesFit {NODE_RESOURCES_BALANCED_ALLOCATION} {NODE_LABEL} {NODE_PREFER_AVOID_PODS} "
                f"{SERVICE_AFFINITY} {TAINT_TOLERATION}"
            ),
        ),
        Rule(
            "1.17",
            "message",
            "Filters are plugins with words of their own; before, there were predicates, one of which, "
            f"{GENERAL_PREDICATES}, reported all that was wrong with resources, ports, host name and node selector.",
            plugins=(
                f"NodeResourcesFit {NODE_AFFINITY} {NODE_NAME} {NODE_PORTS} {INTER_POD_AFFINITY} {TAINT_TOLERATION} "
                f"{NODE_UNSCHEDULABLE} {VOLUME_RESTRICTIONS} {VOLUME_ZONE} {NODE_VOLUME_LIMITS} {SERVICE_AFFINITY} "
                f"{NODE_LABEL}"
            ),
        ),
        Rule(
            "1.22",
            "score",
            "NodeResourcesFit scores nodes by its scoringStrategy, over the resources that a node has; before, "
            f"{NODE_RESOURCES_LEAST_ALLOCATED} and two other plugins did, where a resource that a node lacks "
            "counted as 0.",
            plugins=(
                f"NodeResourcesFit {NODE_RESOURCES_LEAST_ALLOCATED} {NODE_RESOURCES_MOST_ALLOCATED} "
                f"{REQUESTED_TO_CAPACITY_RATIO}"
            ),
        ),
        Rule(
            "1.36",
            "search",
            "Placements for whole pod groups are made and scored where the gate TopologyAwareWorkloadScheduling is "
            "on; before, there were none.",
            plugins=f"NodeResourcesFit {TOPOLOGY_PLACEMENT_GENERATOR} {POD_GROUP_PODS_COUNT}",
        ),
        Rule(
            "SidecarContainers",
            "fields filter",
            "Sidecars (init containers that stay) count beside the containers; without the gate, a pod with one fits "
            "on no node.",
            plugins=_BOTH,
        ),
        *(Rule(gate, "fields", sentence, _BOTH) for gate, sentence in _GATES.items()),
    )


class AskedOfNode:
    """A pod's requests, compared with the allocatable of nodes."""

    def __init__(self, info: PodInfo, resources: ResourceIndex, extended: ExtendedResourceIndex) -> None:
        self._requests = [(resources.names[row], amount) for row, amount in info.incoming_requests]
        self._extended = extended

    def fits(self, node: Node) -> bool:
        """isFit."""
        return _allocatable(node, "pods") >= 1 and all(
            amount <= _allocatable(node, name) or self._left_to_devices(node, name) for name, amount in self._requests
        )

    def more_than(self, old: Node, new: Node) -> bool:
        """haveAnyRequestedResourcesIncreased."""
        names = [name for name, _ in self._requests]
        return any(_allocatable(new, name) > _allocatable(old, name) for name in ("pods", *names)) or any(
            self._left_to_devices(new, name) for name in names
        )

    def _left_to_devices(self, node: Node, name: str) -> bool:
        return is_scalar(name) and not _allocatable(node, name) and self._extended.backs(name)


def _allocatable(node: Node, name: str) -> int:
    quantity = node.status.allocatable.get(name, 0)
    return milli_value(quantity) if name == "cpu" else value(quantity)


def scale_down_may_help(pod: Pod, old: Pod, new: Pod) -> bool:
    """isSchedulableAfterPodScaleDown: the pod itself wants less, or a placed pod wants less of what the pod wants."""
    if is_same_pod(new, pod):
        return True
    if not new.spec.node_name:
        return False
    wanted, before, after = (requests_of(each, use_status=True) for each in (pod, old, new))
    counted = (name for name, amount in wanted.items() if amount and (name in _NATIVE or is_scalar(name)))
    return any(before.get(name, 0) > after.get(name, 0) for name in counted)


_NATIVE = ("cpu", "memory", "ephemeral-storage")


def class_may_help(pod: Pod, old: DeviceClass | None, new: DeviceClass) -> bool:
    """isSchedulableAfterDeviceClassEvent: the class provides a resource that the pod requests."""
    named = new.spec.extended_resource_name
    if old is not None and (old.spec.extended_resource_name or "") == (named or ""):
        return False
    wanted = requests_of(pod, use_status=False)
    implicit = IMPLICIT_PREFIX + new.metadata.name
    return (old is None and implicit in wanted) or named in wanted


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
        self._reasons_of_cpu_and_memory = cache(lambda combination: self._listed((CPU, MEMORY), combination))
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

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        match event.resource:
            case "Node":
                empty = AskedOfNode(info, self.handle.cluster.resources, self._extended)
                return empty.fits(new) and (old is None or empty.more_than(old, new))
            case "DeviceClass":
                return class_may_help(info.pod, old, new)
            case _:
                return holds_place(old) if new is None else scale_down_may_help(info.pod, old, new)

    def pre_filter(self, info: PodInfo) -> PreFilterResult[FitState] | Status:
        requests = info.incoming_requests
        if self._requested_only and len(requests) == 2 and requests[0][0] == CPU and requests[1][0] == MEMORY:
            return PreFilterResult(_of_cpu_and_memory(requests))
        wanted = [pair for pair in requests if not self._ignored(pair[0])]
        if wanted and not self._requested_only:
            wanted += [(resource, 0) for resource in (CPU, MEMORY, EPHEMERAL_STORAGE) if resource not in dict(wanted)]
        wanted.sort()
        both = [resource for resource, _ in wanted] == [CPU, MEMORY]
        return PreFilterResult(_of_cpu_and_memory(wanted) if both else FitState(tuple(wanted)))

    def _ignored(self, resource: int) -> bool:
        name = self.handle.cluster.resources.names[resource]
        return is_extended(name) and (
            name in self.args.ignored_resources or name.split("/")[0] in self.args.ignored_resource_groups
        )

    def filter(self, state: FitState | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        """fitsRequest: every resource that lacks is a reason; one that no eviction can free makes the node hopeless."""
        if self._refuses_sidecars and _has_sidecar(info):
            return Verdict.of_all(len(nodes.rows), _SIDECARS_OFF)
        if state is None:
            return Verdict.of_all(
                len(nodes.rows), error('error reading "PreFilterNodeResourcesFit" from cycleState: not found')
            )
        if len(nodes.rows) == 1:
            return self._judge_one(state, nodes)
        table, usage = nodes.cluster.nodes, nodes.cluster.usage
        if state.column is not None:
            loads = NodeLoads.of(nodes)
            if loads is not None and not np.count_nonzero(_lack(state.column, loads)):
                return Verdict.passing(len(nodes.rows))
        count, most, has, taken = usage.pod_count, table.allowed_pods, table.allocatable[:2], usage.requested[:2]
        if not nodes.whole:
            count, most, has, taken = map(nodes.take, (count, most, has, taken))
        crowded = count >= most
        if state.column is not None:
            short = state.column > has - taken
            failing = (crowded | short[0] | short[1]).nonzero()[0]
            if not len(failing):
                return Verdict.passing(len(nodes.rows))
            if _SHARE_OF_FEW * len(failing) < len(nodes.rows):
                few = NodeRows(nodes.cluster, nodes.rows.take(failing))
                return _spread(self._judge(state, few, crowded.take(failing)), failing, len(nodes.rows))
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
        hopeless = np.zeros(len(nodes.rows), dtype=np.bool_)
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

    def depends(self, info: PodInfo) -> Depends:
        return depends_on_requests(info, self._names, self._totals)

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
        if state.column is not None:
            return self._reasons_of_cpu_and_memory(combination)
        return self._listed([resource for resource, _ in state.requests], combination)

    def _listed(self, resources: Sequence[int], combination: int) -> ReasonTuple:
        names = self.handle.cluster.resources.names
        short = [resource for bit, resource in enumerate(resources, start=1) if combination >> bit & 1]
        short.sort(key=lambda resource: (min(resource, EPHEMERAL_STORAGE + 1), names[resource]))
        first = (self._too_many_pods,) if combination & 1 else ()
        return (*first, *(self._insufficient(names[resource]) for resource in short))

    def explain(self, state: FitState | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The lacking resources: requested, allocatable, used, free, and the pods that use them. Cpu in thousandths."""
        row, cluster = int(nodes.rows[index]), nodes.cluster
        numbers: dict[str, dict[str, Any]] = {}
        if cluster.usage.pod_count[row] + 1 > cluster.nodes.allowed_pods[row]:
            numbers["pods"] = shortage(1, int(cluster.usage.pod_count[row]), int(cluster.nodes.allowed_pods[row]))
        for resource, amount in state.requests if state else ():
            used = int(cluster.usage.requested[resource, row])
            limit = int(cluster.nodes.allocatable[resource, row])
            name = cluster.resources.names[resource]
            delegated = self._extended.backs(name) and limit == 0
            if amount > limit - used and not delegated:
                numbers[name] = {**shortage(amount, used, limit), **largest_blocking_pods(cluster, row, resource)}
        return numbers

    def pre_score(self, state: FitState | None, info: PodInfo, nodes: NodeRows) -> MeasuredResources:
        return measured(info, self._names, nodes, use_requested=False, with_overhead=self._overhead_counts)

    def score(self, state: MeasuredResources | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        if not self.args.scoring_strategy.resources:
            return error("resources not found")
        resources = state if isinstance(state, MeasuredResources) else self.pre_score(None, info, nodes)
        one = measure_one(resources, nodes, use_requested=False) if self._prefers_least else None
        if one is not None:
            (_, cpu, of_cpu), (_, memory, of_memory) = one
            free = (
                max(of_cpu - cpu, 0) * MAX_NODE_SCORE // of_cpu
                + max(of_memory - memory, 0) * MAX_NODE_SCORE // of_memory
            )
            return np.array([free // 2], dtype=np.int64)
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


def _has_sidecar(info: PodInfo) -> bool:
    return any(container.restart_policy == "Always" for container in info.pod.spec.init_containers)


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
