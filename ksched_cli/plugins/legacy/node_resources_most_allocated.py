"""NodeResourcesMostAllocated: nodes that are fullest. A scoring strategy since 1.22."""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import NodeResourcesMostAllocatedArgs
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.legacy.requested_resources import RequestedResources
from ksched_cli.plugins.lib.resource_strategies import most_requested
from ksched_cli.releases.changes import NewRule, ReleaseRules


class MostAllocatedRules(ReleaseRules, plugins="NodeResourcesMostAllocated"):
    exceeded_resource_is_used_up = NewRule(
        "1.20", "score", "A resource that is requested beyond what there is counts as used up; before, it scored 0."
    )


class NodeResourcesMostAllocated(ScorePlugin[None]):
    name = "NodeResourcesMostAllocated"
    column = "Most"
    lasting = True
    reads_usage_only = True
    until = "1.22"
    summary = "Prefers nodes with the largest share of cpu, memory, ... in use."
    args: NodeResourcesMostAllocatedArgs

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._resources = RequestedResources(handle, self.args.resources)

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        allocation = self._resources.allocation(pod, nodes)
        release = self.handle.release
        exceeding_is_nothing = not MostAllocatedRules.of(release).exceeded_resource_is_used_up
        scores = most_requested(allocation, release.max_node_score, exceeding_is_nothing=exceeding_is_nothing)
        return self._resources.mean(scores, allocation)
