"""The spreading over topologies as it was up to 1.18, under a gate: plain sums of pods, and no reason of its own for a
node that lacks a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ksched_cli.api.selectors import SelectorError
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.cluster.labels import LabelColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SUCCESS, Status, error, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.topology_spread import SOFT, SpreadConstraint
from ksched_cli.plugins.pod_topology_spread.plugin import CountedNodes, PodTopologySpread, SpreadState
from ksched_cli.plugins.pod_topology_spread.reasons import PodTopologySpreadReasons
from ksched_cli.plugins.pod_topology_spread.soft import SoftDomains, SoftState

_SKEWED = unschedulable(PodTopologySpreadReasons.skewed())


class SummedSpread(PodTopologySpread):
    """The plugin of 1.18."""

    since = "1.18"
    until = "1.18"
    statuses: ClassVar[tuple[Status, ...]] = (SUCCESS, _SKEWED, _SKEWED)

    def _counted_nodes(
        self, constraint: SpreadConstraint, pod: PodInfo, constraints: Sequence[SpreadConstraint]
    ) -> CountedNodes:
        """Nodes that the pod may go to make up domains. Preemption takes pods off the other labelled nodes, too."""
        column = self.handle.cluster.nodes.labels.column(constraint.topology_key)
        labelled = self._fully_labelled(pod, constraints)
        counted = labelled & self._included(constraint, pod)
        present = np.bincount(column.ids[counted], minlength=len(column.values)) > 0
        return CountedNodes(present, labelled, counted, column.ids if counted.all() else column.ids[counted])

    def filter(self, state: SpreadState | None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        # A pod whose constraints have no domain at all may go anywhere.
        if state is not None and not any(each.present.any() for each in state.domains):
            state = SpreadState(())
        return super().filter(state, pod, nodes)

    def pre_score(self, state: SpreadState | None, pod: PodInfo, nodes: NodeRows) -> SoftState | Status:
        try:
            constraints = self._constraints(pod, SOFT)
        except SelectorError as problem:
            return error(f"error when calculating preScoreState: {problem}")
        labelled = self._fully_labelled(pod, constraints)
        domains = []
        for each in constraints:
            column = self.handle.cluster.nodes.labels.column(each.topology_key)
            counted, counts = labelled & self._included(each, pod), self._scored_counts(each, pod)
            by_value = np.bincount(column.ids[counted], weights=counts[counted], minlength=len(column.values))
            domains.append(SoftDomains(each, by_value.astype(np.int64)[column.ids], column.present, 1.0))
        return SoftState(tuple(domains), ~labelled)

    def _scored_counts(self, constraint: SpreadConstraint, pod: PodInfo) -> Int64Column:
        return self._counts(constraint, pod)

    def score(self, state: SoftState | None, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """The matching pods of the node's domains together."""
        if state is None:
            return error('error reading "PreScorePodTopologySpread" from cycleState: not found')
        total: Int64Column = np.zeros(len(nodes), dtype=np.int64)
        for each in state.domains:
            total = total + nodes.take(each.seen)
        return np.where(ignored_of(state, nodes), 0, total)

    def normalize(self, state: SoftState, pod: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        """A node's share of the pods that are on the other nodes; 0 for nodes that lack a label."""
        if not state.domains:
            return np.zeros_like(scores)
        ignored, best = ignored_of(state, nodes), self.handle.release.max_node_score
        counted = scores[~ignored]
        if not len(counted):
            return np.zeros_like(scores)
        total = int(counted.sum())
        spread = total - int(counted.min())
        if spread == 0:
            return np.full_like(scores, best)
        shares: Int64Column = (float(best) * ((total - scores) / float(spread))).astype(np.int64)
        return np.where(ignored, 0, shares)


class SpreadOfEveryPod(SummedSpread):
    """The plugin of 1.17: pods that are leaving count, and scores count pods of every namespace."""

    since = "1.17"
    until = "1.17"

    def placements_version(self, pod: PodInfo) -> None:
        # Pods that start to leave still count, which the version of the counts does not show.
        return None

    def _by_value(
        self, constraint: SpreadConstraint, pod: PodInfo, nodes: CountedNodes, column: LabelColumn
    ) -> Int64Column:
        return nodes.summed_up(self._every_pod(constraint, pod.namespace), column)

    def _scored_counts(self, constraint: SpreadConstraint, pod: PodInfo) -> Int64Column:
        return self._every_pod(constraint, None)

    def _every_pod(self, constraint: SpreadConstraint, namespace: str | None) -> Int64Column:
        cluster = self.handle.cluster
        counts = np.zeros(len(cluster.nodes), dtype=np.int64)
        for row in np.nonzero(cluster.pods.node_row >= 0)[0].tolist():
            info = cluster.pods.infos[row]
            if namespace in (None, info.namespace) and constraint.selector.matches(info.labels):
                counts[cluster.pods.node_row[row]] += 1
        return counts


def ignored_of(state: SoftState, nodes: NodeRows) -> BoolColumn:
    """Nodes that lack a label."""
    return np.zeros(len(nodes), dtype=np.bool_) if state.ignored is None else nodes.take(state.ignored)
