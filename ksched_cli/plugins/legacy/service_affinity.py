"""ServiceAffinity: keeps the pods of a service where some label has one value, or spreads them over its values. It went
away with 1.23."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ksched_cli.api.core import Service
from ksched_cli.api.selectors import Selector, selector_from_map
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.labels import ABSENT
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import ServiceAffinityArgs
from ksched_cli.framework.interfaces import FilterPlugin, PreFilterPlugin, PreFilterResult, ScorePlugin
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status, error, unschedulable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.arithmetic import spared_share

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
    scope = "cluster"
    summary = "Places the pods of a service on nodes with equal values of a label, or spreads them over its values."
    normalizes = True
    args: ServiceAffinityArgs

    def pre_filter(self, pod: PodInfo) -> PreFilterResult[Companions] | Status:
        cluster = self.handle.cluster
        wanted = selector_from_map(pod.labels)
        found = [
            other
            for row in range(len(cluster.nodes))
            for other in cluster.usage.pods[row]
            if cluster.pods.infos[other].namespace == pod.namespace and wanted.matches(cluster.pods.infos[other].labels)
        ]
        return PreFilterResult(Companions(found, bool(self._services(pod))))

    def clone_state(self, state: Companions) -> Companions:
        return Companions(list(state.pods), state.has_service)

    def add_pod(self, state: Companions, pod: PodInfo, other: int, row: int) -> None:
        info = self.handle.cluster.pods.infos[other]
        if info.namespace == pod.namespace and selector_from_map(pod.labels).matches(info.labels):
            state.pods.append(other)

    def remove_pod(self, state: Companions, pod: PodInfo, other: int, row: int) -> None:
        if other in state.pods:
            state.pods.remove(other)

    def filter(self, state: Companions | None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        keys = self.args.affinity_labels
        if not keys:
            return Verdict.passing(len(nodes))
        if state is None:
            return Verdict.of_all(
                len(nodes), error('error reading "PreFilterServiceAffinity" from cycleState: not found')
            )
        own = {key: pod.pod.spec.node_selector[key] for key in keys if key in pod.pod.spec.node_selector}
        fits = [self._fits(own, state, int(row)) for row in nodes.rows]
        return Verdict.rejecting(~np.array(fits, dtype=np.bool_), _MISMATCH)

    def _fits(self, own: dict[str, str], state: Companions, row: int) -> bool:
        """Labels that the pod leaves open are those of the node where its first companion is. A companion that is on
        the node in question counts only while it is not taken away from there (FilterOutPods)."""
        cluster = self.handle.cluster
        wanted = dict(own)
        if len(own) < len(self.args.affinity_labels) and state.has_service:
            here = set(cluster.usage.pods[row])
            placed = cluster.pods.node_row
            first = next((other for other in state.pods if placed[other] != row or other in here), None)
            if first is not None and placed[first] >= 0:
                labels = cluster.nodes.objects[int(placed[first])].metadata.labels
                wanted |= {key: labels[key] for key in self.args.affinity_labels if key not in own and key in labels}
        return wanted.items() <= cluster.nodes.objects[row].metadata.labels.items()

    def _services(self, pod: PodInfo) -> list[Service]:
        """Those that select the pod."""
        services = self.handle.cluster.catalog.in_namespace(Service, pod.namespace)
        return [each for each in services if each.spec.selector and each.spec.selector.items() <= pod.labels.items()]

    def score(self, state: None, pod: PodInfo, nodes: NodeRows) -> Int64Column:
        """How many pods of the first service are on the node."""
        services = self._services(pod)
        selector: Selector = selector_from_map(services[0].spec.selector if services else {})
        if selector.everything:
            return np.zeros(len(nodes), dtype=np.int64)
        return nodes.take(self.handle.cluster.counts.per_node(pod.namespace, selector))

    def normalize(self, state: None, pod: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        """For each label: the fewer of the service's pods are where it has the node's value, the better."""
        keys: Sequence[str] = self.args.anti_affinity_labels_preference
        total, result = int(scores.sum()), np.zeros(len(nodes), dtype=np.float64)
        best = self.handle.release.max_node_score
        for key in keys:
            ids = nodes.take(nodes.cluster.nodes.labels.column(key).ids)
            labelled = ids != ABSENT
            by_value = np.bincount(ids, weights=scores, minlength=int(ids.max(initial=0)) + 1)
            share = spared_share(total, by_value[ids], float(best))
            result += np.where(labelled, share / len(keys), 0.0)
        return result.astype(np.int64)
