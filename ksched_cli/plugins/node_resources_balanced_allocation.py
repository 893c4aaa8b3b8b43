"""NodeResourcesBalancedAllocation: scores how even the use of cpu, memory and other resources is
(noderesources/balanced_allocation.go). Each minor's formula is here: the difference of two shares up to 1.21, their
standard deviation, and in newer minors what the pod changes of it. `plugins/lib/resource_scoring.py` measures the
use."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksched_cli.cluster.columns import FloatColumn, Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import NodeResourcesBalancedAllocationArgs
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import PreScorePlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import MAX_NODE_SCORE
from ksched_cli.framework.status import SKIP, Status, error
from ksched_cli.plugins.lib.devices.inventory import DeviceTotals
from ksched_cli.plugins.lib.resource_scoring import (
    Allocation,
    MeasuredResources,
    OneAllocation,
    depends_on_requests,
    measure,
    measure_before_1_22,
    measure_one,
    measured,
)
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.plugins.lib.volumes import AttachedVolumes
from ksched_cli.releases.changes import ReleaseRules, Rule

# Places in a OneAllocation.
_ALLOCATED, _REQUESTED, _ALLOCATABLE = 0, 1, 2


class BalancedAllocationRules(ReleaseRules, plugins="NodeResourcesBalancedAllocation"):
    scores_the_difference = Rule(
        "1.36",
        "score",
        "How much more even the pod makes the use of the node: 75 is as it was, more is better; before, how even the "
        "use is with the pod.",
    )
    skips_best_effort_pods = Rule(
        "1.33", "score", "Does not score pods without requests; before, all of them went to the most even node."
    )
    volumes_of_earlier_pods_count = Rule.until(
        "1.20",
        "score",
        "With the gate BalanceAttachedNodeVolumes disks count for pods that have volumes; before, pods without volumes "
        "were scored with what an earlier pod had left noted on a node.",
    )
    scores_the_deviation = Rule(
        "1.22",
        "score",
        "100 less the standard deviation of the shares in use of each resource; before, 100 less the difference "
        "between the shares of cpu and memory, and 0 where one of them was used up.",
    )

    notes = (
        Rule(
            "BalanceAttachedNodeVolumes",
            "score",
            "The share of the disks that a node still takes counts beside the shares of cpu and memory; without the "
            "gate, it does not.",
        ),
    )


class NodeResourcesBalancedAllocation(PreScorePlugin[None, MeasuredResources], ScorePlugin[MeasuredResources]):
    name = "NodeResourcesBalancedAllocation"
    column = "Balance"
    summary = "Prefers nodes whose use of cpu, memory, ... the pod makes more even."
    points_since = (("preScore", "1.27"),)
    args: NodeResourcesBalancedAllocationArgs

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._totals = DeviceTotals(handle)
        self._balances_volumes = handle.gates.enabled("BalanceAttachedNodeVolumes")
        self._rules = BalancedAllocationRules.of(handle.release)
        self._names = [resource.name for resource in self.args.resources]

    def pre_score(self, state: None, info: PodInfo, nodes: NodeRows) -> MeasuredResources | Status:
        resources = measured(info, self._names, nodes, use_requested=True)
        # Best-effort pods would all go to the one node that is most even.
        skips = self._rules.skips_best_effort_pods and not any(each.request for each in resources.resources)
        return SKIP if skips else resources

    def depends(self, info: PodInfo) -> Depends:
        if self._balances_volumes:
            # What limits of disks have noted on a node changes without a placement there.
            return Depends("pods on the node")
        return depends_on_requests(info, self._names, self._totals)

    def score(self, state: MeasuredResources | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        if not self._rules.scores_the_deviation:
            return self._score_1_21(info, nodes)
        if not self.args.resources:
            return error("resources not found")
        if state is None:
            state = measured(info, self._names, nodes, use_requested=True)
            if self._rules.skips_best_effort_pods and not any(each.request for each in state.resources):
                return np.zeros(len(nodes), dtype=np.int64)
        one = measure_one(state, nodes, use_requested=True)
        if one is not None:
            if self._rules.scores_the_difference:
                return _SCORES_OF_GAINS[[_evenness_of_one(one, _REQUESTED) - _evenness_of_one(one, _ALLOCATED)]]
            return np.array([_evenness_of_one(one, _REQUESTED)], dtype=np.int64)
        allocation = measure(state, nodes, self._totals, use_requested=True, by_load=True)
        if not self._rules.scores_the_difference:
            return allocation.for_nodes(balance(allocation.requested, allocation))
        # A loss is a negative index, which counts from the end.
        return allocation.for_nodes(_SCORES_OF_GAINS[self._gain(allocation)])

    @staticmethod
    def _gain(allocation: Allocation) -> Int64Column:
        """The balance with the pod minus the balance without it."""
        used = np.empty((2, *allocation.allocated.shape))
        used[0], used[1] = allocation.requested, allocation.allocated
        with_pod, without_pod = balance(used, allocation)
        gain: Int64Column = with_pod - without_pod
        return gain

    def _score_1_21(self, info: PodInfo, nodes: NodeRows) -> Int64Column:
        """The best score less the difference between the shares of cpu and memory, 0 where one of them is used up."""
        allocation = measure_before_1_22(info, ("cpu", "memory"), nodes)
        capacity = allocation.allocatable
        shares = np.where(capacity == 0, 1.0, allocation.requested / np.maximum(capacity, 1))
        best = float(self.handle.release.max_node_score)
        even = ((1.0 - np.abs(shares[0] - shares[1])) * best).astype(np.int64)
        if self._balances_volumes and (info.pod.spec.volumes or self._rules.volumes_of_earlier_pods_count):
            free, needed = AttachedVolumes.of(nodes.cluster).at(nodes)
            even = np.where(free > 0, _even_with_volumes(shares, free, needed, best), even)
        return np.where((shares >= 1.0).any(axis=0), 0, even)


def _even_with_volumes(shares: FloatColumn, free: Int64Column, needed: Int64Column, best: float) -> Int64Column:
    """The best score less the variance of three shares, 0 where the pod takes the last disks that the node can have."""
    cpu, memory, volumes = *shares, needed / np.maximum(free, 1)
    mean = (cpu + memory + volumes) / 3.0
    apart = [each - mean for each in (cpu, memory, volumes)]
    variance = (apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2]) / 3.0
    return np.where(volumes >= 1.0, 0, ((1.0 - variance) * best).astype(np.int64))


def _score_of_gain(gain: int) -> int:
    """75 where nothing changes. Go halves whole numbers, without the fraction."""
    half = MAX_NODE_SCORE // 2
    return int((half + gain) / 2) + half


# By the gain, and then by the loss from the greatest to the least.
_SCORES_OF_GAINS: Int64Column = np.array(
    [_score_of_gain(gain) for gain in (*range(MAX_NODE_SCORE + 1), *range(-MAX_NODE_SCORE, 0))], dtype=np.int64
)


def balance(used: Int64Column | FloatColumn, allocation: Allocation) -> Int64Column:
    """balancedResourceScore: 100 less the standard deviation of the shares in use, over the resources a node has, as a
    whole number. What is used is `[..., resource, node]`, and the result is `[..., node]`."""
    allocatable = allocation.allocatable
    if allocation.complete:
        return evenness(used, allocatable if allocation.divisor is None else allocation.divisor)
    has = allocatable != 0
    score = np.empty((*used.shape[:-2], used.shape[-1]), dtype=np.int64)
    # Nodes by the set of resources that they have, as a number with a bit for each.
    sets = (has * (np.int64(1) << np.arange(len(has), dtype=np.int64))[:, np.newaxis]).sum(axis=0)
    for each in np.unique(sets).tolist():
        where = sets == each
        counted = np.array([bool(each >> bit & 1) for bit in range(len(has))], dtype=np.bool_)
        score[..., where] = evenness(used[..., counted, :][..., where], allocatable[counted][:, where])
    return score


def evenness(used: Int64Column | FloatColumn, allocatable: Int64Column | FloatColumn) -> Int64Column:
    """For nodes that have all of the resources."""
    # To make floats first takes half as long as to divide integers by floats.
    shares: FloatColumn = used.astype(np.float64, copy=False) / allocatable
    if shares.size and shares.item(shares.argmax()) > 1.0:
        np.minimum(shares, 1.0, out=shares)
    score = deviation(shares)
    np.subtract(1.0, score, out=score)
    score *= float(MAX_NODE_SCORE)
    # A standard deviation of shares is at most a half: to cut off is to round down.
    return score.astype(np.int64)


def _evenness_of_one(amounts: OneAllocation, used: int) -> int:
    """`evenness` of a single node. `used` is the place of what is in use among the amounts."""
    of_cpu, of_memory = amounts
    cpu = min(float(of_cpu[used]) / float(of_cpu[_ALLOCATABLE]), 1.0)
    memory = min(float(of_memory[used]) / float(of_memory[_ALLOCATABLE]), 1.0)
    return int((1.0 - abs((cpu - memory) / 2)) * float(MAX_NODE_SCORE))


def deviation(shares: FloatColumn) -> FloatColumn:
    """Added up resource by resource, in Go's order, so that the last bit agrees."""
    count = shares.shape[-2]
    if count == 2:
        half: FloatColumn = shares[..., 0, :] - shares[..., 1, :]
        half /= 2
        return np.abs(half, out=half)
    total = np.zeros((*shares.shape[:-2], shares.shape[-1]))
    if not count:
        # A node that has none of the resources.
        return total
    for index in range(count):
        total = total + shares[..., index, :]
    mean = total / float(count)
    squares = np.zeros_like(total)
    for index in range(count):
        difference = shares[..., index, :] - mean
        squares = squares + difference * difference
    root: FloatColumn = np.sqrt(squares / float(count))
    return root


SPEC = Spec(plugins=(NodeResourcesBalancedAllocation,))
