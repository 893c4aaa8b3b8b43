"""NodeResourcesBalancedAllocation: whether the pod evens out or unbalances what is used of cpu, memory, ..."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ksched_cli.cluster.columns import FloatColumn, Int64Column, RowColumn
from ksched_cli.cluster.node_memory import NodeMemory
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import NodeResourcesBalancedAllocationArgs
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import PreScorePlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import SKIP, Status, error
from ksched_cli.plugins.lib.arithmetic import halved
from ksched_cli.plugins.lib.devices.totals import DeviceTotals
from ksched_cli.plugins.lib.resource_scoring import Allocation, MeasuredResource, measure, measure_before_1_22, measured
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import Change, ReleaseRules


class BalancedAllocationRules(ReleaseRules, plugins="NodeResourcesBalancedAllocation"):
    scores_the_difference = Change(
        "1.36",
        before=False,
        now=True,
        about="score",
        sentence=(
            "How much more even the pod makes the use of the node: 75 is as it was, more is better; before, how "
            "even the use is with the pod."
        ),
    )
    skips_best_effort_pods = Change(
        "1.33",
        before=False,
        now=True,
        about="score",
        sentence="Does not score pods that ask for nothing; before, all of them went to the most even node.",
    )
    scores_the_deviation = Change(
        "1.22",
        before=False,
        now=True,
        about="score",
        sentence=(
            "100 less the standard deviation of the shares in use of each resource; before, 100 less the "
            "difference between the shares of cpu and memory, and 0 where one of them was used up."
        ),
    )


class NodeResourcesBalancedAllocation(
    PreScorePlugin[None, list[MeasuredResource]], ScorePlugin[list[MeasuredResource]]
):
    name = "NodeResourcesBalancedAllocation"
    column = "Balance"
    lasting = True
    reads_usage_only = True
    summary = "Prefers nodes whose use of cpu, memory, ... the pod makes more even."
    points_since = (("preScore", "1.27"),)
    args: NodeResourcesBalancedAllocationArgs

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._totals = DeviceTotals(handle)
        self._rules = BalancedAllocationRules.of(handle.release)
        # How even each node is without the pod, by the resources that count.
        self._without_pod: NodeMemory[Int64Column] = NodeMemory(handle.cluster)

    @property
    def _names(self) -> list[str]:
        return [resource.name for resource in self.args.resources]

    def pre_score(self, state: None, pod: PodInfo, nodes: NodeRows) -> list[MeasuredResource] | Status:
        resources = measured(pod, self._names, nodes, use_requested=True)
        # Best-effort pods would all go to the one node that is most even.
        skips = self._rules.skips_best_effort_pods and not any(resource.asked for resource in resources)
        return SKIP if skips else resources

    def sign_score(self, state: list[MeasuredResource] | None, pod: PodInfo) -> Hashable | None:
        # Devices behind a resource come and go without a placement on the node.
        if state is None or any(self._totals.backs(resource.name) for resource in state):
            return None
        return tuple(state)

    def score(self, state: list[MeasuredResource] | None, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        if not self._rules.scores_the_deviation:
            return self._score_1_21(pod, nodes)
        if not self.args.resources:
            return error("resources not found")
        if state is None:
            state = measured(pod, self._names, nodes, use_requested=True)
            if self._rules.skips_best_effort_pods and not any(resource.asked for resource in state):
                return np.zeros(len(nodes), dtype=np.int64)
        allocation = measure(state, nodes, self._totals, use_requested=True)
        with_pod = balance(allocation.requested, allocation)
        if not self._rules.scores_the_difference:
            return with_pod
        without_pod = self._balance_without_pod(state, allocation, nodes)
        half = MAX_NODE_SCORE // 2
        return half + halved(half + with_pod - without_pod)

    def _balance_without_pod(
        self, resources: list[MeasuredResource], allocation: Allocation, nodes: NodeRows
    ) -> Int64Column:
        """The score of the nodes as they are. Of all nodes it is kept, for it is the same for many pods."""
        whole = nodes.whole and not nodes.bare and nodes.cluster.reuse
        if not whole or any(self._totals.backs(resource.name) for resource in resources):
            return balance(allocation.allocated, allocation)

        def renewed(known: Int64Column, rows: RowColumn) -> Int64Column:
            some = measure(resources, NodeRows(nodes.cluster, rows), self._totals, use_requested=True)
            known[rows] = balance(some.allocated, some)
            return known

        key = tuple(resource.row for resource in resources)
        return self._without_pod.recall(key, lambda: balance(allocation.allocated, allocation), renewed)

    def _score_1_21(self, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        """The best score less the difference between the shares of cpu and memory, 0 where one of them is used up."""
        allocation = measure_before_1_22(pod, ("cpu", "memory"), nodes)
        capacity = allocation.allocatable
        shares = np.where(capacity == 0, 1.0, allocation.requested / np.maximum(capacity, 1))
        best = float(self.handle.release.max_node_score)
        even = ((1.0 - np.abs(shares[0] - shares[1])) * best).astype(np.int64)
        return np.where((shares >= 1.0).any(axis=0), 0, even)


def balance(used: Int64Column, allocation: Allocation) -> Int64Column:
    """balancedResourceScore: 100 less the standard deviation of the shares in use, over the resources a node has."""
    allocatable = allocation.allocatable
    if allocation.complete:
        return evenness(used, allocatable)
    has = allocatable != 0
    score = np.empty(used.shape[1], dtype=np.int64)
    # Nodes by the set of resources that they have, as a number with a bit for each.
    sets = (has * (np.int64(1) << np.arange(len(has), dtype=np.int64))[:, np.newaxis]).sum(axis=0)
    for each in np.unique(sets).tolist():
        where = sets == each
        counted = np.array([bool(each >> bit & 1) for bit in range(len(has))], dtype=np.bool_)
        score[where] = evenness(used[counted][:, where], allocatable[counted][:, where])
    return score


def evenness(used: Int64Column, allocatable: Int64Column) -> Int64Column:
    """For nodes that have all of the resources."""
    shares = np.minimum(used / allocatable, 1.0)
    score: Int64Column = ((1.0 - deviation(shares)) * float(MAX_NODE_SCORE)).astype(np.int64)
    return score


def deviation(shares: FloatColumn) -> FloatColumn:
    """Added up resource by resource, in Go's order, so that the last bit agrees."""
    count = len(shares)
    if count == 2:
        half: FloatColumn = np.abs((shares[0] - shares[1]) / 2)
        return half
    if count < 2:
        return np.zeros(shares.shape[1])
    total = np.zeros(shares.shape[1])
    for share in shares:
        total = total + share
    mean = total / float(count)
    squares = np.zeros(shares.shape[1])
    for share in shares:
        squares = squares + (share - mean) * (share - mean)
    root: FloatColumn = np.sqrt(squares / float(count))
    return root


SPEC = Spec(plugins=(NodeResourcesBalancedAllocation,))
