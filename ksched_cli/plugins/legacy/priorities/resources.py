"""Priorities about how full a node would be."""

from __future__ import annotations

import numpy as np

from ksched_cli.api.core import Pod
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, MEMORY
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.legacy.priorities import Priority
from ksched_cli.plugins.legacy.requested_resources import (
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
)
from ksched_cli.plugins.legacy.successors import NodeResourcesBalancedAllocationPlugin
from ksched_cli.releases.changes import GateNote, ReleaseRules


class ResourceLimitsRules(ReleaseRules, plugins="ResourceLimitsPriority"):
    notes = (
        GateNote(
            "ResourceLimitsPriorityFunction",
            "score",
            "Nodes that have room for a pod's limits rank higher; without the gate, limits do not count.",
        ),
    )


class BalancedResourceAllocation(Priority, NodeResourcesBalancedAllocationPlugin):
    name = "BalancedResourceAllocation"
    column = "Balance"
    only_at = ("score",)
    summary = "Prefers nodes where the shares of cpu and memory in use would be alike."


class LeastRequestedPriority(Priority, NodeResourcesLeastAllocated):
    name = "LeastRequestedPriority"
    column = "Least"


class MostRequestedPriority(Priority, NodeResourcesMostAllocated):
    name = "MostRequestedPriority"
    column = "Most"


class RequestedToCapacityRatioPriority(Priority, RequestedToCapacityRatio):
    name = "RequestedToCapacityRatioPriority"


class ResourceLimitsPriority(Priority, ScorePlugin[None]):
    name = "ResourceLimitsPriority"
    summary = "Prefers nodes that are large enough for the pod's limits on cpu or memory."

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        return within_limits(pod.pod, nodes)


def within_limits(pod: Pod, nodes: NodeRows) -> Int64Column:
    """1 for nodes whose allocatable cpu or memory covers the pod's limit, else 0."""
    large_enough = np.zeros(len(nodes), dtype=np.bool_)
    for resource, limit in zip((CPU, MEMORY), _limits(pod), strict=True):
        if limit:
            large_enough |= limit <= nodes.take(nodes.cluster.nodes.allocatable[resource])
    return large_enough.astype(np.int64)


def _limits(pod: Pod) -> tuple[int, int]:
    """Of the containers together, or of the init container with the highest."""

    def of(name: str) -> int:
        scale = milli_value if name == "cpu" else value
        run, first = (
            [scale(each.resources.limits.get(name, 0)) for each in containers]
            for containers in (pod.spec.containers, pod.spec.init_containers)
        )
        return max([sum(run), *first])

    return of("cpu"), of("memory")
