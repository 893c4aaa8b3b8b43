"""NodeUnschedulable: rejects cordoned nodes (nodeunschedulable/node_unschedulable.go). It reads spec.unschedulable. The
taint that the node lifecycle controller adds to a cordoned node is for another plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ksched_cli.api.core import Pod, Taint
from ksched_cli.api.object_facts import is_same_pod
from ksched_cli.api.selectors import tolerates
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.interfaces import Detail, FilterPlugin
from ksched_cli.framework.reasons import (
    C,
    Figures,
    ReasonCode,
    ReasonKind,
    ReasonTable,
    RejectedPod,
    RejectionGuide,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import TAINT_TOLERATION

_CORDONED = ReasonCode(
    "KS108",
    "node-unschedulable",
    "the nodes are cordoned",
    "spec.unschedulable of the node is set, as `kubectl cordon` and `kubectl drain` do.",
    ("kubectl uncordon NODE", "add nodes"),
)
# A pod that tolerates the taint that the node controller puts on a cordoned node tolerates the field too.
_UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulableRules(ReleaseRules, plugins="NodeUnschedulable"):
    notes = (
        Rule(
            "TaintNodesByCondition",
            "filter",
            "Conditions of a node keep pods away by its taints; without the gate, by themselves.",
            plugins=f"NodeUnschedulable {TAINT_TOLERATION}",
        ),
    )


class NodeUnschedulableReasons(ReasonTable, plugins="NodeUnschedulable"):
    cordoned = ReasonKind("node(s) were unschedulable", _CORDONED, problem="are cordoned")


class CordonGuide(RejectionGuide):
    ends_without_pods = True
    easily_mended = True
    cordons = True
    closes_node = True

    def describe(self, figures: Figures) -> str:
        return "cordoned"

    describe_briefly = describe

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C | None]]:
        yield [place.uncordon()]
        yield [place.tolerate(_UNSCHEDULABLE)]


class NodeUnschedulable(FilterPlugin[None]):
    name = "NodeUnschedulable"
    summary = "Rejects cordoned nodes (spec.unschedulable) unless the pod tolerates the unschedulable taint."
    events = (
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_TAINT),
        ClusterEvent("Pod", Action.UPDATE_POD_TOLERATION),
    )

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        if event.resource == "Pod":
            return is_same_pod(new, info.pod) and self._tolerated(new)
        return not new.spec.unschedulable and (old is None or old.spec.unschedulable)

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        cordoned = nodes.take(nodes.cluster.nodes.unschedulable)
        if not cordoned.any() or self._tolerated(info.pod):
            cordoned = np.zeros(len(nodes), dtype=np.bool_)
        return Verdict.rejecting(cordoned, unresolvable(NodeUnschedulableReasons.cordoned()))

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", info.pod.spec.tolerations)

    def _tolerated(self, pod: Pod) -> bool:
        comparison = self.handle.gates.enabled("TaintTolerationComparisonOperators")
        return any(tolerates(each, _UNSCHEDULABLE, comparison=comparison) for each in pod.spec.tolerations)

    def explain(self, state: None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        return {"unschedulable": bool(nodes.cluster.nodes.unschedulable[nodes.rows[index]])}


SPEC = Spec(plugins=(NodeUnschedulable,), reasons=(NodeUnschedulableReasons,), guide=CordonGuide())
