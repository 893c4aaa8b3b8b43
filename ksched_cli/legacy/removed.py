"""Plugins that 1.23 removed, and those that 1.22 turned into strategies of NodeResourcesFit.

NodePreferAvoidPods: a node whose annotation names a controller gets its pods last. NodeLabel: nodes by labels that the
profile wants present or absent. ServiceAffinity: the pods of a service on nodes where a label has one value, or spread
over its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ksched_cli.api.avoided_pods import AVOID_PODS_ANNOTATION, avoided_controllers
from ksched_cli.api.core import Service
from ksched_cli.api.selectors import Selector, selector_from_map
from ksched_cli.cluster.columns import BoolColumn, Int64Column
from ksched_cli.cluster.nodes import ABSENT
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import (
    NodeLabelArgs,
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
    ServiceAffinityArgs,
)
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import FilterPlugin, PreFilterPlugin, PreFilterResult, ScorePlugin
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status, error, unresolvable, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.devices.inventory import DeviceTotals
from ksched_cli.plugins.lib.resource_scoring import (
    Allocation,
    least_requested,
    mean_over_all,
    measure,
    measure_before_1_22,
    measured,
    most_requested,
    requested_to_capacity_ratio,
    spared_share,
    weighted_mean,
)
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import (
    NODE_LABEL,
    NODE_RESOURCES_FIT,
    NODE_RESOURCES_LEAST_ALLOCATED,
    NODE_RESOURCES_MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    SERVICE_AFFINITY,
)

_KINDS = ("ReplicationController", "ReplicaSet")


class NodePreferAvoidPodsRules(ReleaseRules, plugins="NodePreferAvoidPods"):
    notes = (
        Rule(
            "1.22",
            "score",
            "No default plugin any more; before, nodes could ask in an annotation to be spared the pods of a "
            "controller.",
        ),
        Rule(
            "1.23",
            "filter score",
            "The plugin is gone; before, a configuration could enable it.",
            plugins=(
                f"NodePreferAvoidPods {NODE_LABEL} {SERVICE_AFFINITY} {NODE_RESOURCES_LEAST_ALLOCATED} "
                f"{NODE_RESOURCES_MOST_ALLOCATED} {REQUESTED_TO_CAPACITY_RATIO}"
            ),
        ),
    )


class NodePreferAvoidPods(ScorePlugin[None]):
    name = "NodePreferAvoidPods"
    column = "Avoid"
    until = "1.22"
    summary = "Keeps the pods of a controller away from nodes whose annotation names the controller."

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", info.pod.metadata.owner_references)

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        """Its weight is far above all others, so that a node with the annotation comes last."""
        scores = np.full(len(nodes), self.handle.release.max_node_score, dtype=np.int64)
        owner = next((each for each in info.pod.metadata.owner_references if each.controller), None)
        if owner is None or owner.kind not in _KINDS:
            return scores
        for index, row in enumerate(nodes.rows.tolist()):
            annotation = nodes.cluster.nodes.objects[row].metadata.annotations.get(AVOID_PODS_ANNOTATION)
            avoided = avoided_controllers(annotation) if annotation else ()
            if any((each.kind, each.uid) == (owner.kind, owner.uid) for each in avoided):
                scores[index] = 0
        return scores


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
    until = "1.22"
    summary = "Rejects nodes that lack a label, or have one that they should not have; prefers nodes likewise."
    args: NodeLabelArgs

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        right = np.ones(len(nodes), dtype=np.bool_)
        for satisfied in self._satisfied(self.args.present_labels, self.args.absent_labels, nodes):
            right &= satisfied
        return Verdict.rejecting(~right, unresolvable(NodeLabelReasons.labels_differ()))

    def depends(self, info: PodInfo) -> Depends:
        return NOTHING

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
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


_ELSEWHERE = ReasonCode(
    "KS163",
    "service-affinity",
    "pods of its service are elsewhere",
    "The ServiceAffinity plugin of older schedulers keeps the pods of a service on nodes with the same labels.",
    ("label the nodes alike", "correct the arguments of ServiceAffinity"),
)


class ServiceAffinityReasons(ReasonTable, plugins="ServiceAffinity"):
    service_elsewhere = ReasonKind("node(s) didn't match service affinity", _ELSEWHERE)


_MISMATCH = unschedulable(ServiceAffinityReasons.service_elsewhere())


@dataclass
class Companions:
    """Placed pods (rows) of the namespace that carry all labels of the pod, in the order of the nodes; and whether a
    service selects the pod."""

    pods: list[int]
    has_service: bool


class ServiceAffinity(PreFilterPlugin[Companions], FilterPlugin[Companions], ScorePlugin[None]):
    name = "ServiceAffinity"
    until = "1.22"
    summary = "Places the pods of a service on nodes with equal values of a label, or spreads them over its values."
    args: ServiceAffinityArgs

    def pre_filter(self, info: PodInfo) -> PreFilterResult[Companions] | Status:
        cluster = self.handle.cluster
        wanted = selector_from_map(info.labels)
        found = [
            other
            for row in range(len(cluster.nodes))
            for other in cluster.usage.pods[row]
            if cluster.pods.infos[other].namespace == info.namespace
            and wanted.matches(cluster.pods.infos[other].labels)
        ]
        return PreFilterResult(Companions(found, bool(self._services(info))))

    def clone_state(self, state: Companions) -> Companions:
        return Companions(list(state.pods), state.has_service)

    def add_pod(self, state: Companions, info: PodInfo, other: int, row: int) -> None:
        other_info = self.handle.cluster.pods.infos[other]
        if other_info.namespace == info.namespace and selector_from_map(info.labels).matches(other_info.labels):
            state.pods.append(other)

    def remove_pod(self, state: Companions, info: PodInfo, other: int, row: int) -> None:
        if other in state.pods:
            state.pods.remove(other)

    def filter(self, state: Companions | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        keys = self.args.affinity_labels
        if not keys:
            return Verdict.passing(len(nodes))
        if state is None:
            return Verdict.of_all(
                len(nodes), error('error reading "PreFilterServiceAffinity" from cycleState: not found')
            )
        own = {key: info.pod.spec.node_selector[key] for key in keys if key in info.pod.spec.node_selector}
        fits = [self._fits(own, state, int(row)) for row in nodes.rows]
        return Verdict.rejecting(~np.array(fits, dtype=np.bool_), _MISMATCH)

    def _fits(self, own: dict[str, str], state: Companions, row: int) -> bool:
        """Labels that the pod leaves open are those of the node where its first companion is. A companion that is on
        the node in question counts only while it is not taken away from there (FilterOutPods)."""
        cluster = self.handle.cluster
        wanted = dict(own)
        if state.has_service:
            here = set(cluster.usage.pods[row])
            placed = cluster.pods.node_row
            first = next((other for other in state.pods if placed[other] != row or other in here), None)
            if first is not None and placed[first] >= 0:
                labels = cluster.nodes.objects[int(placed[first])].metadata.labels
                wanted |= {key: labels[key] for key in self.args.affinity_labels if key not in own and key in labels}
        return wanted.items() <= cluster.nodes.objects[row].metadata.labels.items()

    def _services(self, info: PodInfo) -> list[Service]:
        """Those that select the pod."""
        services = self.handle.cluster.catalog.in_namespace(Service, info.namespace)
        return [each for each in services if each.spec.selector and each.spec.selector.items() <= info.labels.items()]

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        """How many pods of the first service are on the node."""
        services = self._services(info)
        selector: Selector = selector_from_map(services[0].spec.selector if services else {})
        if selector.everything:
            return np.zeros(len(nodes), dtype=np.int64)
        return nodes.take(self.handle.cluster.counts.current(info.namespace, selector).per_node)

    def normalize(self, state: None, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        """For each label: the fewer of the service's pods are where it has the node's value, the better."""
        keys: Sequence[str] = self.args.anti_affinity_labels_preference
        total, result = int(scores.sum()), np.zeros(len(nodes), dtype=np.float64)
        best = self.handle.release.max_node_score
        for key in keys:
            ids = nodes.take(nodes.cluster.nodes.labels.column(key).ids)
            labelled = ids != ABSENT
            by_value = np.bincount(ids, weights=scores)
            share = spared_share(total, by_value[ids], float(best))
            result += np.where(labelled, share / len(keys), 0.0)
        return result.astype(np.int64)


class RequestedResourcesRules(ReleaseRules, plugins=NODE_RESOURCES_FIT):
    measures_as_strategies = Rule("1.22", described_by=NODE_RESOURCES_FIT)


class MostAllocatedRules(ReleaseRules, plugins="NodeResourcesMostAllocated"):
    exceeded_resource_is_used_up = Rule(
        "1.20", "score", "A resource that is requested beyond what there is counts as used up; before, it scored 0."
    )


class _RequestedResources(ScorePlugin[None]):
    """A score of the shares of some resources in use. In 1.22 they are measured as by the strategies."""

    until = "1.22"
    args: NodeResourcesLeastAllocatedArgs | NodeResourcesMostAllocatedArgs | RequestedToCapacityRatioArgs

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._names = [each.name for each in self.args.resources]
        self._weights = [each.weight or 1 for each in self.args.resources]
        self._totals = DeviceTotals(handle)
        self._as_strategies = RequestedResourcesRules.of(handle.release).measures_as_strategies

    def depends(self, info: PodInfo) -> Depends:
        return Depends("usage", info.template)

    def _allocation(self, info: PodInfo, nodes: NodeRows) -> Allocation:
        if not self._as_strategies:
            return measure_before_1_22(info, self._names, nodes)
        resources = measured(info, self._names, nodes, use_requested=False)
        return measure(resources, nodes, self._totals, use_requested=False)

    def _mean(self, scores: Int64Column, allocation: Allocation) -> Int64Column:
        if not self._as_strategies:
            return mean_over_all(scores, self._weights)
        return weighted_mean(scores, allocation, self._weights)


class NodeResourcesLeastAllocated(_RequestedResources):
    name = "NodeResourcesLeastAllocated"
    column = "Least"
    summary = "Prefers nodes with the largest share of cpu, memory, ... left free."

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        allocation = self._allocation(info, nodes)
        return self._mean(least_requested(allocation, self.handle.release.max_node_score), allocation)


class NodeResourcesMostAllocated(_RequestedResources):
    name = "NodeResourcesMostAllocated"
    column = "Most"
    summary = "Prefers nodes with the largest share of cpu, memory, ... in use."

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        allocation, release = self._allocation(info, nodes), self.handle.release
        exceeding_is_nothing = not MostAllocatedRules.of(release).exceeded_resource_is_used_up
        scores = most_requested(allocation, release.max_node_score, exceeding_is_nothing=exceeding_is_nothing)
        return self._mean(scores, allocation)


class RequestedToCapacityRatio(_RequestedResources):
    name = "RequestedToCapacityRatio"
    summary = "Scores nodes by their use of cpu, memory, ..., along a line that the profile gives."
    args: RequestedToCapacityRatioArgs

    def score(self, state: None, info: PodInfo, nodes: NodeRows) -> Int64Column:
        allocation, best = self._allocation(info, nodes), self.handle.release.max_node_score
        points = [(point.utilization, point.score) for point in self.args.shape]
        old = not self._as_strategies
        return requested_to_capacity_ratio(allocation, points, self._weights, missing_is_full=old, best=best)
