"""What 1.17 and 1.18 had in the place of plugins of today, and plugins that came and went with these minors.

SummedSpread and SpreadOfEveryPod are PodTopologySpread under a gate: plain sums of pods, and no reason of its own for a
node that lacks a label. VolumeBindingOnEachNode only filtered: each node looked for claims that no controller will
bind, and the first such claim ended the cycle with an error. DefaultPodTopologySpread is SelectorSpread under its first
name. NodeResourceLimits was dropped.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ksched_cli.api.core import Pod
from ksched_cli.api.quantity import milli_value, value
from ksched_cli.api.selectors import SelectorError
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.cluster.catalog import find_claim, mounted_claims
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.cluster.pod_info import CPU, MEMORY, PodInfo
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.interfaces import PreFilterResult, PreScorePlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Status, error, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.topology_spread import SOFT, CountedNodes, SpreadConstraint
from ksched_cli.plugins.lib.volumes import is_fully_bound, waits_for_consumer
from ksched_cli.plugins.pod_topology_spread import (
    HardConstraint,
    PodTopologySpread,
    PodTopologySpreadReasons,
    SpreadState,
)
from ksched_cli.plugins.pod_topology_spread.soft import NO_SOFT, SoftConstraint, SoftDomains, SoftState
from ksched_cli.plugins.selector_spread import SelectorSpread
from ksched_cli.plugins.volume_binding import VolumeBinding, Volumes
from ksched_cli.plugins.volume_binding.placement import PodClaims, VolumeBindingReasons
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import (
    DEFAULT_POD_TOPOLOGY_SPREAD,
    NODE_RESOURCE_LIMITS,
    RESOURCE_LIMITS_PRIORITY,
    SELECTOR_SPREAD,
)

_SKEWED = unschedulable(PodTopologySpreadReasons.skewed())


class SummedSpread(PodTopologySpread):
    """PodTopologySpread of 1.18: a node scores by the sum of matching pods in its domains, and a node without the label
    is rejected for the same reason as one with too many pods."""

    since = "1.18"
    until = "1.18"
    statuses: ClassVar[tuple[Status, ...]] = (SUCCESS, _SKEWED, _SKEWED)

    def _counted_nodes(self, constraint: SpreadConstraint, info: PodInfo, labelled: BoolColumn) -> CountedNodes:
        """Nodes that the pod may go to make up domains. Preemption takes pods off the other labelled nodes, too."""
        column = self.handle.cluster.nodes.labels.column(constraint.topology_key)
        counted = labelled & self._included(constraint, info)
        present = np.bincount(column.ids[counted], minlength=len(column.values)) > 0
        return CountedNodes(present, labelled, counted, column.ids)

    def filter(self, state: SpreadState | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        # A pod whose constraints have no domain at all may go anywhere.
        if state is not None and not any(each.present.any() for each in state.domains):
            state = SpreadState(())
        return super().filter(state, info, nodes)

    def pre_score(self, state: SpreadState | None, info: PodInfo, nodes: NodeRows) -> SoftState | Status:
        try:
            soft = self._known(info, SOFT, self._soft_of, lambda: self._soft(info), NO_SOFT)
        except SelectorError as problem:
            return error(f"error when calculating preScoreState: {problem}")
        domains = []
        for each in soft.each:
            by_value = each.nodes.summed_up(self._scored_counts(each, info))
            domains.append(SoftDomains(each.constraint, by_value[each.nodes.ids], each.labels, 1.0))
        return SoftState(tuple(domains), None if soft.labelled is None else ~soft.labelled)

    def score(self, state: SoftState | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """The matching pods of the node's domains together."""
        if not isinstance(state, SoftState):
            return error('error reading "PreScorePodTopologySpread" from cycleState: not found')
        total: Int64Column = np.zeros(len(nodes), dtype=np.int64)
        for each in state.domains:
            total = total + nodes.take(each.seen)
        return np.where(ignored_of(state, nodes), 0, total)

    def normalize(self, state: SoftState, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
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

    def depends(self, info: PodInfo) -> None:
        # Pods that start to leave still count, which the version of the counts does not show.
        return None

    def _by_value(self, each: HardConstraint | SoftConstraint, info: PodInfo) -> Int64Column:
        return each.nodes.summed_up(self._every_pod(each.constraint, info.namespace))

    def _scored_counts(self, soft: SoftConstraint, info: PodInfo) -> Int64Column:
        return self._every_pod(soft.constraint, None)

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


class VolumeBindingOnEachNode(VolumeBinding):
    since = "1.17"
    until = "1.18"
    only_at: ClassVar[tuple[str, ...]] = ("filter",)
    # The scheduler held and bound the volumes that the filter had found.
    unlisted_at = ("preFilter", "reserve", "preBind")

    def pre_filter(self, info: PodInfo) -> PreFilterResult[Volumes] | Status:
        found = self._claims(info.pod)
        if not found:
            return SKIP
        return PreFilterResult(self._volumes(found))

    def _volumes(self, found: list[PersistentVolumeClaim]) -> Volumes:
        bound = tuple(each for each in found if is_fully_bound(each))
        delayed = tuple(each for each in found if self._waits(each))
        return Volumes(self.handle.cluster, PodClaims(bound, delayed), self.handle.gates)

    def _claims(self, pod: Pod) -> list[PersistentVolumeClaim]:
        claims = (find_claim(self.handle.cluster.catalog, pod, name) for name in mounted_claims(pod))
        return [claim for claim in claims if claim is not None]

    def _waits(self, claim: PersistentVolumeClaim) -> bool:
        unbound = not is_fully_bound(claim) and not claim.spec.volume_name
        return unbound and waits_for_consumer(claim, self.handle.cluster.catalog)

    def filter(self, state: Volumes | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        found = self._claims(info.pod)
        if any(not is_fully_bound(each) and not self._waits(each) for each in found):
            problem = error(VolumeBindingReasons.immediate())
            return Verdict.of_all(len(nodes), problem)
        # A profile may leave out PreFilter. Then there is no state.
        return super().filter(state or self._volumes(found), info, nodes)


class FirstPluginsRules(ReleaseRules, plugins=f"{SELECTOR_SPREAD} {NODE_RESOURCE_LIMITS}"):
    notes = (
        Rule(
            "1.17",
            "message",
            f"The plugin has this name; before, it was the priority {RESOURCE_LIMITS_PRIORITY}.",
            plugins=NODE_RESOURCE_LIMITS,
        ),
        Rule(
            "1.19",
            "message",
            f"The plugin has this name; before, it was {DEFAULT_POD_TOPOLOGY_SPREAD}.",
            plugins=SELECTOR_SPREAD,
        ),
        Rule(
            "1.19",
            "score",
            "The plugin is gone; before, the gate ResourceLimitsPriorityFunction enabled it.",
            plugins=NODE_RESOURCE_LIMITS,
        ),
    )


class DefaultPodTopologySpread(SelectorSpread):
    name = DEFAULT_POD_TOPOLOGY_SPREAD
    since = "1.17"
    until = "1.18"


class NodeResourceLimits(PreScorePlugin[None, bool], ScorePlugin[bool]):
    name = NODE_RESOURCE_LIMITS
    since = "1.17"
    until = "1.18"
    summary = "Prefers nodes that are large enough for the pod's limits on cpu or memory."

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", info.template)

    def pre_score(self, state: None, info: PodInfo, nodes: NodeRows) -> bool:
        return True

    def score(self, state: bool | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """1 where one of the limits fits; an error where the profile leaves out PreScore."""
        if state is None:
            return error(f'Error reading "PreScore{self.name}" from cycleState: not found')
        return within_limits(info.pod, nodes)


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
