"""NodeResourcesLeastAllocated: nodes with most room left. A strategy of NodeResourcesFit since 1.22."""

from __future__ import annotations

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import NodeResourcesLeastAllocatedArgs
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.resource_scoring import measure_before_1_22
from ksched_cli.framework.resource_strategies import least_requested, mean_over_all
from ksched_cli.framework.rows import NodeRows


class NodeResourcesLeastAllocated(ScorePlugin[None]):
    name = "NodeResourcesLeastAllocated"
    until = "1.22"
    summary = "Prefers nodes with the largest share of cpu, memory, ... left free."
    args: NodeResourcesLeastAllocatedArgs

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        resources = self.args.resources
        allocation = measure_before_1_22(pod, [each.name for each in resources], nodes)
        return mean_over_all(least_requested(allocation), [each.weight for each in resources])
