"""The score plugins that became scoring strategies in 1.22."""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import (
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
)
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.lib.devices.totals import DeviceTotals
from ksched_cli.plugins.lib.resource_scoring import Allocation, measure, measure_before_1_22, measured
from ksched_cli.plugins.lib.resource_strategies import (
    least_requested,
    mean_over_all,
    most_requested,
    requested_to_capacity_ratio,
    weighted_mean,
)
from ksched_cli.releases.changes import Change, NewRule, ReleaseRules
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT


class RequestedResourcesRules(ReleaseRules, plugins=NODE_RESOURCES_FIT):
    measures_as_strategies = Change("1.22", before=False, now=True, described_by=NODE_RESOURCES_FIT)


class MostAllocatedRules(ReleaseRules, plugins="NodeResourcesMostAllocated"):
    exceeded_resource_is_used_up = NewRule(
        "1.20", "score", "A resource that is requested beyond what there is counts as used up; before, it scored 0."
    )


class _RequestedResources(ScorePlugin[None]):
    """A score of the shares of some resources in use. In 1.22 they are measured as by the strategies."""

    lasting = True
    reads_usage_only = True
    until = "1.22"
    args: NodeResourcesLeastAllocatedArgs | NodeResourcesMostAllocatedArgs | RequestedToCapacityRatioArgs

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._names = [each.name for each in self.args.resources]
        self._weights = [each.weight or 1 for each in self.args.resources]
        self._totals = DeviceTotals(handle)
        self._as_strategies = RequestedResourcesRules.of(handle.release).measures_as_strategies

    def _allocation(self, pod: PodInfo, nodes: NodeRows) -> Allocation:
        if not self._as_strategies:
            return measure_before_1_22(pod, self._names, nodes)
        resources = measured(pod, self._names, nodes, use_requested=False)
        return measure(resources, nodes, self._totals, use_requested=False)

    def _mean(self, scores: Int64Column, allocation: Allocation) -> Int64Column:
        if not self._as_strategies:
            return mean_over_all(scores, self._weights)
        return weighted_mean(scores, allocation, self._weights)


class NodeResourcesLeastAllocated(_RequestedResources):
    name = "NodeResourcesLeastAllocated"
    column = "Least"
    summary = "Prefers nodes with the largest share of cpu, memory, ... left free."

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        allocation = self._allocation(pod, nodes)
        return self._mean(least_requested(allocation, self.handle.release.max_node_score), allocation)


class NodeResourcesMostAllocated(_RequestedResources):
    name = "NodeResourcesMostAllocated"
    column = "Most"
    summary = "Prefers nodes with the largest share of cpu, memory, ... in use."

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        allocation, release = self._allocation(pod, nodes), self.handle.release
        exceeding_is_nothing = not MostAllocatedRules.of(release).exceeded_resource_is_used_up
        scores = most_requested(allocation, release.max_node_score, exceeding_is_nothing=exceeding_is_nothing)
        return self._mean(scores, allocation)


class RequestedToCapacityRatio(_RequestedResources):
    name = "RequestedToCapacityRatio"
    summary = "Scores nodes by their use of cpu, memory, ..., along a line that the profile gives."
    args: RequestedToCapacityRatioArgs

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        allocation, best = self._allocation(pod, nodes), self.handle.release.max_node_score
        points = [(point.utilization, point.score) for point in self.args.shape]
        old = not self._as_strategies
        return requested_to_capacity_ratio(allocation, points, self._weights, missing_is_full=old, best=best)
