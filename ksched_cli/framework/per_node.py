"""For plugins that look at one node at a time: the simplest way to write one of your own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksched_cli.api.core import Node
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import FilterPlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.framework.verdict import Verdict


class PerNodeFilter(FilterPlugin[Any]):
    """Override `filter_one`."""

    def filter_one(self, pod: PodInfo, node: Node) -> Status:
        return SUCCESS

    def filter(self, state: Any, pod: PodInfo, nodes: NodeRows) -> Verdict:
        objects = nodes.cluster.nodes.objects
        return Verdict.from_statuses([self.filter_one(pod, objects[row]) for row in nodes.rows])


class PerNodeScore(ScorePlugin[Any]):
    """Override `score_one`: 0 to 100, or anything if `normalize` brings it there."""

    def score_one(self, pod: PodInfo, node: Node) -> int:
        return 0

    def score(self, state: Any, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        objects = nodes.cluster.nodes.objects
        return np.array([self.score_one(pod, objects[row]) for row in nodes.rows], dtype=np.int64)


class PerNodePlugin(PerNodeFilter, PerNodeScore):
    """Both: override `filter_one`, `score_one` or the two of them."""
