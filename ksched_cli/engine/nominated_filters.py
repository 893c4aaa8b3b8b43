"""Runs Filter plugins beside the pods that are nominated to a node (RunFilterPluginsWithNominatedPods)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import NOWHERE, RowColumn
from ksched_cli.cluster.node_memory import NodeMemory
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.sandbox import Sandbox
from ksched_cli.engine.cycle_state import CycleState
from ksched_cli.engine.filters import Filters
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.pre_filters import PreFilters
from ksched_cli.framework.diagnosis import NodeStatuses
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Code

# As a plain number: numpy takes its time with members of an enum.
_SUCCESS = int(Code.SUCCESS)


class NominatedFilters:
    """The Filter plugins of a profile, run with and without the pods that are nominated to each node."""

    def __init__(self, cluster: Cluster, nominator: NominatedPods, pre_filters: PreFilters, filters: Filters) -> None:
        self._cluster = cluster
        self._nominator = nominator
        self._pre_filters = pre_filters
        self._filters = filters
        self._refused: NodeMemory[NodeStatuses] = NodeMemory(cluster)

    def run(self, state: CycleState, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses) -> NodeRows:
        """RunFilterPluginsWithNominatedPods: a node must do both with and without the pods nominated to it."""
        if nodes.whole:
            feasible = self._filters.run_everywhere(state, pod, statuses)
            refused = self._refused_everywhere(state, pod)
            if refused is None:
                return feasible
            statuses.take_over(refused, refused.failed.nonzero()[0])
            return feasible.select(refused.codes[feasible.rows] == _SUCCESS)
        rivals = self.rivals(pod, nodes)
        if rivals:
            # As in Go: where the pod does not fit beside the others it is not tried without them.
            refused = NodeStatuses(len(self._cluster.nodes))
            self._try_beside(state, pod, rivals, refused)
            failed = refused.failed.nonzero()[0]
            if len(rivals) == len(nodes):
                # The filters that ignore pods have passed these nodes.
                state = replace(state, skip_filter=state.skip_filter | self._filters.fixed)
            if len(failed):
                statuses.take_over(refused, failed)
                nodes = nodes.select(refused.codes[nodes.rows] == _SUCCESS)
        return self._filters.run(state, pod, nodes, statuses) if len(nodes) else nodes

    def run_again(self, state: CycleState, pod: PodInfo, nodes: NodeRows, statuses: NodeStatuses) -> NodeRows:
        """`run` for some nodes outside of a trial: what is remembered of all nodes holds there."""
        if not self._is_remembered(state, pod):
            return self.run(state, pod, nodes, statuses)
        refused = self._refused_everywhere(state, pod)
        if refused is not None:
            passed = refused.codes.take(nodes.rows) == _SUCCESS
            statuses.take_over(refused, nodes.rows[~passed])
            nodes = nodes.select(passed)
        return self._filters.run(state, pod, nodes, statuses)

    def passing(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> NodeRows:
        """The rows that `run` passes, without noting why the others fail."""
        rivals = self.rivals(pod, nodes)
        for batch in self._batches(state, rivals):
            passed = self._run_beside(state, pod, batch, None)
            if len(passed) < len(batch):
                nodes = nodes.select(~np.isin(nodes.rows, [row for row in batch if row not in passed.rows]))
        return self._filters.run(state, pod, nodes, None)

    def _refused_everywhere(self, state: CycleState, pod: PodInfo) -> NodeStatuses | None:
        """`refused_beside` for all nodes, remembered where that depends on what a node holds and who is nominated
        to it."""
        if not self._nominator.nodes():
            return None
        everywhere = NodeRows(self._cluster)
        if not self._is_remembered(state, pod):
            return self.refused_beside(state, pod, everywhere)

        def afresh() -> NodeStatuses:
            return self.refused_beside(state, pod, everywhere) or NodeStatuses(len(everywhere))

        def renew(known: NodeStatuses, rows: RowColumn) -> NodeStatuses:
            known.forget(rows)
            self._try_beside(state, pod, self.rivals(pod, NodeRows(self._cluster, rows)), known)
            return known

        key = (pod.priority, self._filters.signatures(self._filters.in_force(state).plugins, pod))
        return self._refused.recall(key, afresh, renew)

    def _is_remembered(self, state: CycleState, pod: PodInfo) -> bool:
        signing = self._cluster.reuse and self._filters.in_force(state).are_signing
        return signing and not self._nominator.node_of(self._cluster.pods.row_of[pod.uid])

    def refused_beside(self, state: CycleState, pod: PodInfo, nodes: NodeRows) -> NodeStatuses | None:
        """The statuses of nodes that do not take the pod beside those that are nominated to them; None if no such pod
        is in the way anywhere."""
        rivals = self.rivals(pod, nodes)
        if not rivals:
            return None
        statuses = NodeStatuses(len(self._cluster.nodes))
        self._try_beside(state, pod, rivals, statuses)
        return statuses

    def _try_beside(
        self, state: CycleState, pod: PodInfo, rivals: dict[int, list[int]], statuses: NodeStatuses
    ) -> None:
        """Note the statuses of the nodes that do not take the pod beside their rivals."""
        for batch in self._batches(state, rivals):
            self._run_beside(state, pod, batch, statuses)

    def _batches(self, state: CycleState, rivals: dict[int, list[int]]) -> list[dict[int, list[int]]]:
        """All at once where what comes to one node means nothing to another."""
        if not rivals:
            return []
        together = self._filters.in_force(state).row_scoped
        return [rivals] if together else [{row: others} for row, others in rivals.items()]

    def rivals(self, pod: PodInfo, nodes: NodeRows) -> dict[int, list[int]]:
        """Of these nodes the rows that have nominated pods which the pod must yield to, with those pods."""
        infos, node_row = self._cluster.pods.infos, self._cluster.pods.node_row
        mine, uid = pod.priority, pod.uid
        rivals: dict[int, list[int]] = {}
        for row, node in self._contested(nodes):
            others = [
                other
                for other in self._nominator.nominated_on(node)
                if infos[other].priority >= mine and node_row[other] == NOWHERE and infos[other].uid != uid
            ]
            if others:
                rivals[row] = others
        return rivals

    def _contested(self, nodes: NodeRows) -> list[tuple[int, str]]:
        """Those of the nodes that have nominated pods, from whichever side there is less to look through."""
        waiting, table = self._nominator.nodes(), self._cluster.nodes
        if len(nodes) < len(waiting):
            candidates = [(row, table.names[row]) for row in nodes.rows.tolist()]
            return [(row, node) for row, node in candidates if node in waiting]
        known = [(table.row_of[node], node) for node in waiting if node in table.row_of]
        mask = nodes.mask()
        return [(row, node) for row, node in known if mask[row]]

    def _run_beside(
        self, state: CycleState, pod: PodInfo, rivals: Mapping[int, list[int]], statuses: NodeStatuses | None
    ) -> NodeRows:
        """addGENominatedPods and the filters after it."""
        come = [(other, row) for row, others in rivals.items() for other in others]
        added = np.array([other for other, _ in come], dtype=np.int64)
        where = np.array([row for _, row in come], dtype=np.int64)
        nodes = NodeRows(self._cluster, np.array(list(rivals), dtype=np.int64))
        follows = bool(self._pre_filters.followers(state))
        with Sandbox(self._cluster) if follows else self._filters.sandbox(state) as sandbox:
            if not follows:
                sandbox.add(added, where)
                return self._filters.run(state, pod, nodes, statuses)
            crowded = self._pre_filters.clone(state)
            for index, (other, row) in enumerate(come):
                sandbox.add(added[index : index + 1], where[index : index + 1])
                self._pre_filters.add_pod(crowded, pod, other, row)
            return self._filters.run(crowded, pod, nodes, statuses)
