"""RequestedToCapacityRatio: a score by how full a node is, as the profile draws it. A strategy of NodeResourcesFit
since 1.22."""

from __future__ import annotations

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import RequestedToCapacityRatioArgs
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.resource_scoring import measure_before_1_22
from ksched_cli.framework.resource_strategies import requested_to_capacity_ratio
from ksched_cli.framework.rows import NodeRows


class RequestedToCapacityRatio(ScorePlugin[None]):
    name = "RequestedToCapacityRatio"
    until = "1.22"
    summary = "Scores nodes by their use of cpu, memory, ..., along a line that the profile gives."
    args: RequestedToCapacityRatioArgs

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        resources = self.args.resources
        allocation = measure_before_1_22(pod, [each.name for each in resources], nodes)
        points = [(point.utilization, point.score) for point in self.args.shape]
        weights = [each.weight or 1 for each in resources]
        return requested_to_capacity_ratio(allocation, points, weights, missing_is_full=True)
