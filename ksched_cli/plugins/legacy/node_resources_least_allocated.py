"""NodeResourcesLeastAllocated: nodes with most room left. A scoring strategy since 1.22."""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import NodeResourcesLeastAllocatedArgs
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.legacy.requested_resources import RequestedResources
from ksched_cli.plugins.lib.resource_strategies import least_requested


class NodeResourcesLeastAllocated(ScorePlugin[None]):
    name = "NodeResourcesLeastAllocated"
    column = "Least"
    lasting = True
    reads_usage_only = True
    until = "1.22"
    summary = "Prefers nodes with the largest share of cpu, memory, ... left free."
    args: NodeResourcesLeastAllocatedArgs

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._resources = RequestedResources(handle, self.args.resources)

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        allocation = self._resources.allocation(pod, nodes)
        return self._resources.mean(least_requested(allocation, self.handle.release.max_node_score), allocation)
