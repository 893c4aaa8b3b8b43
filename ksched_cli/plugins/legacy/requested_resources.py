"""What the score plugins measured that became scoring strategies, in 1.22 already as those do."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import ResourceSpec
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.lib.devices.totals import DeviceTotals
from ksched_cli.plugins.lib.resource_scoring import Allocation, measure, measure_before_1_22, measured
from ksched_cli.plugins.lib.resource_strategies import mean_over_all, weighted_mean
from ksched_cli.releases.changes import Change, ReleaseRules
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT


class RequestedResourcesRules(ReleaseRules, plugins=NODE_RESOURCES_FIT):
    measures_as_strategies = Change("1.22", before=False, now=True, told_by=NODE_RESOURCES_FIT)


class RequestedResources:
    """For a plugin with these resources."""

    def __init__(self, handle: Handle, resources: Sequence[ResourceSpec]) -> None:
        self._names = [each.name for each in resources]
        self.weights = [each.weight or 1 for each in resources]
        self._totals = DeviceTotals(handle)
        self.as_strategies = RequestedResourcesRules.of(handle.release).measures_as_strategies

    def allocation(self, pod: PodInfo, nodes: NodeRows) -> Allocation:
        if not self.as_strategies:
            return measure_before_1_22(pod, self._names, nodes)
        asked = measured(pod, self._names, nodes, use_requested=False)
        return measure(asked, nodes, self._totals, use_requested=False)

    def mean(self, scores: Int64Column, allocation: Allocation) -> Int64Column:
        if not self.as_strategies:
            return mean_over_all(scores, self.weights)
        return weighted_mean(scores, allocation, self.weights)
