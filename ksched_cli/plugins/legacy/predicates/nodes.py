"""Predicates about a node itself: its cordon, taints, labels and conditions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import ClassVar

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.quantity import value
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import Detail, FilterPlugin
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable
from ksched_cli.framework.rejections import RejectionGuide
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SUCCESS, Status, unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.legacy.node_label import NodeLabel
from ksched_cli.plugins.legacy.predicates import Predicate
from ksched_cli.plugins.legacy.successors import NodeUnschedulablePlugin, TaintTolerationPlugin
from ksched_cli.plugins.node_unschedulable import NodeUnschedulableReasons

_NOT_IN_ORDER = ReasonCode(
    "KS164",
    "node-condition",
    "the nodes are not in order",
    "A node that is not ready, has no network or is short of memory, disk space or process ids takes no pods. With "
    "the gate TaintNodesByCondition off kube-scheduler went by such conditions themselves; since 1.17 the node has a "
    "taint for them.",
    ("look at kubectl describe node", "repair the node, or add nodes"),
)


class ConditionReasons(ReasonTable):
    not_ready = ReasonKind("node(s) were not ready", _NOT_IN_ORDER)
    no_network = ReasonKind("node(s) had unavailable network", _NOT_IN_ORDER)
    memory_pressure = ReasonKind("node(s) had memory pressure", _NOT_IN_ORDER)
    pid_pressure = ReasonKind("node(s) had pid pressure", _NOT_IN_ORDER)
    disk_pressure = ReasonKind("node(s) had disk pressure", _NOT_IN_ORDER)


class ConditionGuide(RejectionGuide):
    closes_node = True


class CheckNodeUnschedulable(Predicate, NodeUnschedulablePlugin):
    name = "CheckNodeUnschedulable"


class PodToleratesNodeTaints(Predicate, TaintTolerationPlugin):
    name = "PodToleratesNodeTaints"
    summary = "Rejects nodes with NoSchedule or NoExecute taints that the pod does not tolerate."


class CheckNodeLabelPresence(Predicate, NodeLabel):
    name = "CheckNodeLabelPresence"
    summary = "Rejects nodes that lack a label, or have one that they should not have."


class _ByConditions(Predicate, FilterPlugin[None]):
    """The scheduler read a node's conditions until taints stood for them (gate TaintNodesByCondition)."""

    follows_pods = False

    @abstractmethod
    def judge(self, node: Node, pod: Pod) -> Status:
        """What the conditions of one node mean to the pod."""

    def filter(self, state: None, pod: PodInfo, nodes: NodeRows) -> Verdict:
        objects = nodes.cluster.nodes.objects
        return Verdict.from_statuses([self.judge(objects[row], pod.pod) for row in nodes.rows.tolist()])

    def sign(self, pod: PodInfo) -> Hashable:
        return has_best_effort_qos(pod.pod)

    def explain(self, state: None, pod: PodInfo, nodes: NodeRows, index: int) -> Detail:
        return {each.type: each.status for each in nodes.cluster.nodes.objects[nodes.rows[index]].status.conditions}


class CheckNodeCondition(_ByConditions):
    name = "CheckNodeCondition"
    summary = "Rejects nodes that are not ready, have no network or are cordoned."

    def judge(self, node: Node, pod: Pod) -> Status:
        reasons = []
        for condition in node.status.conditions:
            if condition.type == "Ready" and condition.status != "True":
                reasons.append(ConditionReasons.not_ready())
            elif condition.type == "NetworkUnavailable" and condition.status != "False":
                reasons.append(ConditionReasons.no_network())
        if node.spec.unschedulable:
            reasons.append(NodeUnschedulableReasons.cordoned())
        return unresolvable(*reasons) if reasons else SUCCESS


class _UnderPressure(_ByConditions):
    """`condition` is the condition that the node must not have."""

    condition: ClassVar[str]
    refusal: ClassVar[Status]

    def judge(self, node: Node, pod: Pod) -> Status:
        under = any(each.type == self.condition and each.status == "True" for each in node.status.conditions)
        return self.refusal if under else SUCCESS


class CheckNodeMemoryPressure(_UnderPressure):
    name = "CheckNodeMemoryPressure"
    summary = "Rejects nodes that are short of memory, for pods without requests."
    condition = "MemoryPressure"
    refusal = unresolvable(ConditionReasons.memory_pressure())

    def judge(self, node: Node, pod: Pod) -> Status:
        return super().judge(node, pod) if has_best_effort_qos(pod) else SUCCESS


class CheckNodePIDPressure(_UnderPressure):
    name = "CheckNodePIDPressure"
    summary = "Rejects nodes that are short of process ids."
    condition = "PIDPressure"
    refusal = unresolvable(ConditionReasons.pid_pressure())


class CheckNodeDiskPressure(_UnderPressure):
    name = "CheckNodeDiskPressure"
    summary = "Rejects nodes that are short of disk space."
    condition = "DiskPressure"
    refusal = unresolvable(ConditionReasons.disk_pressure())


def has_best_effort_qos(pod: Pod) -> bool:
    """v1qos.GetPodQOS: no container has a request or a limit of cpu or memory."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    lists = (quantities for each in containers for quantities in (each.resources.requests, each.resources.limits))
    return not any(value(quantities.get(name, 0)) > 0 for quantities in lists for name in ("cpu", "memory"))
