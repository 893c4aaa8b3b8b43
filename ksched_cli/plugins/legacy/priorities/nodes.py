"""Priorities about a node itself."""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.legacy.node_label import NodeLabel
from ksched_cli.plugins.legacy.node_prefer_avoid_pods import NodePreferAvoidPods
from ksched_cli.plugins.legacy.priorities import Priority
from ksched_cli.plugins.legacy.successors import ImageLocalityPlugin, NodeAffinityPlugin, TaintTolerationPlugin


class NodeAffinityPriority(Priority, NodeAffinityPlugin):
    name = "NodeAffinityPriority"
    column = "Affinity"
    summary = "Prefers nodes that the pod's preferred node affinity names."


class TaintTolerationPriority(Priority, TaintTolerationPlugin):
    name = "TaintTolerationPriority"
    column = "Taints"
    summary = "Prefers nodes with fewer PreferNoSchedule taints that the pod does not tolerate."


class ImageLocalityPriority(Priority, ImageLocalityPlugin):
    name = "ImageLocalityPriority"
    column = "Images"


class NodePreferAvoidPodsPriority(Priority, NodePreferAvoidPods):
    name = "NodePreferAvoidPodsPriority"
    column = "Avoid"


class NodeLabelPriority(Priority, NodeLabel):
    """A Policy names it as it likes, and gives it the label."""

    name = "NodeLabelPriority"
    summary = "Prefers nodes that have a label, or do not have it."


class EqualPriority(Priority, ScorePlugin[None]):
    name = "EqualPriority"
    follows_pods = False
    summary = "Gives every node 1."

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        return np.ones(len(nodes), dtype=np.int64)
