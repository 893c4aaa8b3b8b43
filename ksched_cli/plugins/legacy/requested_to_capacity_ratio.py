"""RequestedToCapacityRatio: a score by how full a node is, as the profile draws it. A scoring strategy
since 1.22."""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import RequestedToCapacityRatioArgs
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.legacy.requested_resources import RequestedResources
from ksched_cli.plugins.lib.resource_strategies import requested_to_capacity_ratio


class RequestedToCapacityRatio(ScorePlugin[None]):
    name = "RequestedToCapacityRatio"
    lasting = True
    reads_usage_only = True
    until = "1.22"
    summary = "Scores nodes by their use of cpu, memory, ..., along a line that the profile gives."
    args: RequestedToCapacityRatioArgs

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._resources = RequestedResources(handle, self.args.resources)

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        allocation = self._resources.allocation(pod, nodes)
        points = [(point.utilization, point.score) for point in self.args.shape]
        old, best = not self._resources.as_strategies, self.handle.release.max_node_score
        return requested_to_capacity_ratio(allocation, points, self._resources.weights, missing_is_full=old, best=best)
