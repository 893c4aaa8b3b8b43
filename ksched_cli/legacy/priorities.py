"""Priorities, by which kube-scheduler 1.16 ranked nodes until plugins took their place (algorithm/priorities).

Most are the score of a plugin under another name: the rows of `PRIORITIES` that `_renamed` makes. A plugin scores 0 to
10 where the minor did. NodeLabelPriority and ServiceAntiAffinityPriority have names of a Policy's choice there, and
their labels from it. The others have a class.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ksched_cli.api.core import Service
from ksched_cli.api.selectors import EVERYTHING, Selector, selector_from_map
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import PodTopologySpreadArgs
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Plugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status
from ksched_cli.legacy.earlier import SpreadOfEveryPod, ignored_of, within_limits
from ksched_cli.legacy.removed import (
    NodeLabel,
    NodePreferAvoidPods,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
    ServiceAffinity,
)
from ksched_cli.plugins.image_locality import ImageLocality
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity, Preferences
from ksched_cli.plugins.lib.topology_spread import selected_labels
from ksched_cli.plugins.node_affinity import NodeAffinity
from ksched_cli.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from ksched_cli.plugins.pod_topology_spread.soft import SoftState
from ksched_cli.plugins.selector_spread import SelectorSpread
from ksched_cli.plugins.taint_toleration import TaintToleration
from ksched_cli.releases.changes import ReleaseRules, Rule


class Priority:
    """To be inherited from before the plugin whose score it is."""

    since: ClassVar[str] = ""
    until: ClassVar[str] = "1.16"
    only_at: ClassVar[tuple[str, ...]] = ("preScore", "score")


def _renamed(name: str, plugin: type[Plugin], **own: Any) -> Any:
    """The score of a plugin as the priority of this name. `own`: attributes that differ from those of the plugin."""
    return type(name, (Priority, plugin), {"__module__": __name__, "name": name, **own})


class EqualPriority(Priority, ScorePlugin[None]):
    name = "EqualPriority"
    summary = "Gives every node 1."

    def depends(self, info: PodInfo) -> Depends:
        return NOTHING

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        return np.ones(len(nodes), dtype=np.int64)


class InterPodAffinityPriority(Priority, InterPodAffinity):
    """It looked at all nodes at once, so that what it gives a node is in proportion already."""

    name = "InterPodAffinityPriority"
    column = "PodAffinity"
    summary = "Prefers nodes by preferred pod affinity and anti-affinity, the pod's own and that of running pods."

    def score(self, state: Preferences | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        worth = super().score(state, info, nodes)
        return worth if state is None or isinstance(worth, Status) else super().normalize(state, info, nodes, worth)

    def normalize(self, state: Preferences, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        return scores


class EvenPodsSpreadPriority(Priority, SpreadOfEveryPod):
    """It looked at all nodes at once, so that what it gives a node is in proportion already."""

    name = "EvenPodsSpreadPriority"
    column = "Spread"
    summary = "Prefers nodes by soft topology spread constraints of the pod."

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args or PodTopologySpreadArgs(defaulting_type="List"), handle)

    def score(self, state: SoftState | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        sums = super().score(state, info, nodes)
        if state is None or isinstance(sums, Status):
            return sums
        # A node that lacks a label gets nothing, even where all others are equal.
        return np.where(ignored_of(state, nodes), 0, super().normalize(state, info, nodes, sums))

    def normalize(self, state: SoftState, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        return scores


class ServiceSpreadingPriority(Priority, SelectorSpread):
    name = "ServiceSpreadingPriority"
    summary = "Prefers hosts and zones with fewer pods of the same service."

    def pre_score(self, state: None, info: PodInfo, nodes: NodeRows) -> Selector:
        found = selected_labels(info.pod, self.handle.cluster.catalog.in_namespace(Service, info.namespace))
        return selector_from_map(found) if found else EVERYTHING


class ResourceLimitsRules(ReleaseRules, plugins="ResourceLimitsPriority"):
    notes = (
        Rule(
            "ResourceLimitsPriorityFunction",
            "score",
            "Nodes that have room for a pod's limits rank higher; without the gate, limits do not count.",
        ),
    )


class ResourceLimitsPriority(Priority, ScorePlugin[None]):
    name = "ResourceLimitsPriority"
    summary = "Prefers nodes that are large enough for the pod's limits on cpu or memory."

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", info.template)

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        return within_limits(info.pod, nodes)


PRIORITIES: tuple[type[Plugin], ...] = (
    _renamed(
        "BalancedResourceAllocation",
        NodeResourcesBalancedAllocation,
        column="Balance",
        only_at=("score",),
        summary="Prefers nodes where the shares of cpu and memory in use would be alike.",
    ),
    EqualPriority,
    EvenPodsSpreadPriority,
    _renamed("ImageLocalityPriority", ImageLocality, column="Images"),
    InterPodAffinityPriority,
    _renamed("LeastRequestedPriority", NodeResourcesLeastAllocated, column="Least"),
    _renamed("MostRequestedPriority", NodeResourcesMostAllocated, column="Most"),
    _renamed(
        "NodeAffinityPriority",
        NodeAffinity,
        column="Affinity",
        summary="Prefers nodes that the pod's preferred node affinity names.",
    ),
    _renamed("NodeLabelPriority", NodeLabel, summary="Prefers nodes that have a label, or do not have it."),
    _renamed("NodePreferAvoidPodsPriority", NodePreferAvoidPods, column="Avoid"),
    _renamed("RequestedToCapacityRatioPriority", RequestedToCapacityRatio),
    ResourceLimitsPriority,
    _renamed("SelectorSpreadPriority", SelectorSpread, column="Selector"),
    _renamed(
        "ServiceAntiAffinityPriority",
        ServiceAffinity,
        summary="Spreads the pods of a service over the values of a label.",
    ),
    ServiceSpreadingPriority,
    _renamed(
        "TaintTolerationPriority",
        TaintToleration,
        column="Taints",
        summary="Prefers nodes with fewer PreferNoSchedule taints that the pod does not tolerate.",
    ),
)
