"""NodeLabel: nodes by labels that the profile wants present or absent. It went away with 1.23."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import NodeLabelArgs
from ksched_cli.framework.interfaces import FilterPlugin, ScorePlugin
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import unresolvable
from ksched_cli.framework.verdict import Verdict

_REQUESTED_LABELS = ReasonCode(
    "KS162",
    "requested-labels",
    "the nodes do not have the labels that the scheduler's configuration requires",
    "The NodeLabel plugin of older schedulers keeps pods to nodes with, or without, certain labels.",
    ("label the nodes", "correct the arguments of NodeLabel"),
)


class NodeLabelReasons(ReasonTable, plugins="NodeLabel"):
    labels_differ = ReasonKind("node(s) didn't have the requested labels", _REQUESTED_LABELS)


class NodeLabel(FilterPlugin[None], ScorePlugin[None]):
    name = "NodeLabel"
    lasting = True
    until = "1.22"
    follows_pods = False
    summary = "Rejects nodes that lack a label, or have one that they should not have; prefers nodes likewise."
    args: NodeLabelArgs

    def filter(self, state: None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        right = np.ones(len(nodes), dtype=np.bool_)
        for satisfied in self._satisfied(self.args.present_labels, self.args.absent_labels, nodes):
            right &= satisfied
        return Verdict.rejecting(~right, unresolvable(NodeLabelReasons.labels_differ()))

    def sign(self, pod: PodInfo) -> Hashable:
        return ()

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        """The share of the preferences that the node satisfies."""
        args = self.args
        found = self._satisfied(args.present_labels_preference, args.absent_labels_preference, nodes)
        total = np.zeros(len(nodes), dtype=np.int64)
        for satisfied in found:
            total += satisfied * np.int64(self.handle.release.max_node_score)
        return total // max(len(found), 1)

    @staticmethod
    def _satisfied(present: Sequence[str], absent: Sequence[str], nodes: NodeRows) -> list[BoolColumn]:
        """One column per label: whether the node is as it should be."""
        labels = nodes.cluster.nodes.labels
        has = [nodes.take(labels.column(key).present) for key in present]
        return [*has, *(~nodes.take(labels.column(key).present) for key in absent)]
