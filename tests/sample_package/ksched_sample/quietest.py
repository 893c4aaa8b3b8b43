"""Quietest: the fewer pods run on a node the better."""

from __future__ import annotations

import msgspec
import numpy as np

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.interfaces import ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import default_normalize_score


class QuietestArgs(msgspec.Struct, rename="camel", frozen=True):
    free_pods: int = 0


class Quietest(ScorePlugin[None]):
    name = "Quietest"
    summary = "Prefers nodes with few pods."
    args_model = QuietestArgs
    args: QuietestArgs

    def depends(self, info: PodInfo) -> Depends:
        return Depends("usage", ())

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        counts = nodes.take(nodes.cluster.usage.pod_count)
        return np.maximum(counts - self.args.free_pods, 0).astype(np.int64)

    def normalize(self, state: None, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        return default_normalize_score(scores, reverse=True)
