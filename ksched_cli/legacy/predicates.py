"""Predicates, by which kube-scheduler 1.16 kept nodes apart until plugins took their place (algorithm/predicates).

Most are the filter of a plugin under another name, with the texts of the minor: these are the rows of `PREDICATES` that
`_renamed` makes. The others have a class: GeneralPredicates, those that read the conditions of a node, and those that
differ from the plugin.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.quantity import value
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import NodeAffinityArgs, NodeResourcesFitArgs, PodTopologySpreadArgs
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.events import ANYTHING, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Detail, FilterPlugin, Plugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.reasons import ReasonCode, ReasonKind, ReasonTable, RejectionGuide
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, SUCCESS, Status, unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.legacy.earlier import SpreadOfEveryPod, VolumeBindingOnEachNode
from ksched_cli.legacy.removed import NodeLabel, ServiceAffinity
from ksched_cli.plugins.in_tree_volume_limits import AzureDiskLimits, CinderLimits, EBSLimits, GCEPDLimits
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from ksched_cli.plugins.lib.volumes import WAIT_FOR_FIRST_CONSUMER, class_of_claim
from ksched_cli.plugins.node_affinity import NodeAffinity
from ksched_cli.plugins.node_name import NodeName
from ksched_cli.plugins.node_ports import NodePorts
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from ksched_cli.plugins.node_unschedulable import NodeUnschedulable, NodeUnschedulableReasons
from ksched_cli.plugins.node_volume_limits import NodeVolumeLimits
from ksched_cli.plugins.taint_toleration import TaintToleration
from ksched_cli.plugins.volume_restrictions import VolumeRestrictions
from ksched_cli.plugins.volume_zone import VolumeZone


class Predicate:
    """Mixin: list it before the plugin class whose filter it renames."""

    since: ClassVar[str] = ""
    until: ClassVar[str] = "1.16"
    only_at: ClassVar[tuple[str, ...]] = ("preFilter", "filter", "reserve", "preBind")

    def events_to_register(self) -> Sequence[ClusterEvent]:
        """Whatever happened, all pods that wait were tried again."""
        return (ANYTHING,)


def _renamed(name: str, plugin: type[Plugin], **own: Any) -> Any:
    """The filter of a plugin as the predicate of this name. `own`: attributes that differ from those of the plugin."""
    return type(name, (Predicate, plugin), {"__module__": __name__, "name": name, **own})


_FITS_RESOURCES = _renamed(
    "PodFitsResources", NodeResourcesFit, summary="Rejects nodes without room for the pod's requests."
)
_HOST_NAME = _renamed("HostName", NodeName)
_FITS_PORTS = _renamed("PodFitsHostPorts", NodePorts)
_MATCHES_SELECTOR = _renamed(
    "MatchNodeSelector",
    NodeAffinity,
    summary="Rejects nodes without the labels of nodeSelector and required node affinity.",
)


# What the PreFilter of each part found, by the plugin that it became. One that has nothing to look at is left out.
_States = dict[str, Any]


class GeneralPredicates(Predicate, PreFilterPlugin[_States], FilterPlugin[_States]):
    """All four are evaluated, and a node gets all reasons."""

    name = "GeneralPredicates"
    summary = "Rejects nodes without room, of another name, with ports that are taken, or without the required labels."
    args: NodeResourcesFitArgs

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._parts: dict[str, FilterPlugin[Any]] = {
            NodeResourcesFit.name: _FITS_RESOURCES(args, handle),
            NodeName.name: _HOST_NAME(None, handle),
            NodePorts.name: _FITS_PORTS(None, handle),
            NodeAffinity.name: _MATCHES_SELECTOR(NodeAffinityArgs(), handle),
        }

    def pre_filter(self, info: PodInfo) -> PreFilterResult[_States] | Status:
        states: _States = {}
        for name, part in self._parts.items():
            answer = part.pre_filter(info) if isinstance(part, PreFilterPlugin) else None
            if answer is None:
                states[name] = None
            elif isinstance(answer, PreFilterResult):
                states[name] = answer.state
        return PreFilterResult(states)

    def filter(self, state: _States, info: PodInfo, nodes: NodeRows) -> Verdict:
        return Verdict.together([self._parts[name].filter(own, info, nodes) for name, own in state.items()])

    def depends(self, info: PodInfo) -> Depends:
        found = [part.depends(info) for part in self._parts.values()]
        signatures = tuple(each.signature if each is not None else None for each in found)
        return Depends("pods on the node", None if None in signatures else signatures)

    def explain(self, state: _States, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The reasons of each part that rejects the node, by the plugin that it became."""
        one = NodeRows(nodes.cluster, nodes.rows[index : index + 1])
        return {
            name: self._parts[name].explain(own, info, nodes, index)
            for name, own in state.items()
            if not self._parts[name].filter(own, info, one).passed.all()
        }


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
    not_ready = ReasonKind("node(s) were not ready", _NOT_IN_ORDER, problem="are not ready")
    no_network = ReasonKind("node(s) had unavailable network", _NOT_IN_ORDER, problem="have no network")
    memory_pressure = ReasonKind("node(s) had memory pressure", _NOT_IN_ORDER, problem="have memory pressure")
    pid_pressure = ReasonKind("node(s) had pid pressure", _NOT_IN_ORDER, problem="have pid pressure")
    disk_pressure = ReasonKind("node(s) had disk pressure", _NOT_IN_ORDER, problem="have disk pressure")


class ConditionGuide(RejectionGuide):
    closes_node = True


class _ByConditions(Predicate, FilterPlugin[None]):
    """The scheduler read a node's conditions until taints stood for them (gate TaintNodesByCondition)."""

    @abstractmethod
    def judge(self, node: Node, pod: Pod) -> Status:
        """What the conditions of one node mean to the pod."""

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        objects = nodes.cluster.nodes.objects
        return Verdict.from_statuses([self.judge(objects[row], info.pod) for row in nodes.rows.tolist()])

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", has_best_effort_qos(info.pod))

    def explain(self, state: None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
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


class EvenPodsSpread(Predicate, SpreadOfEveryPod):
    name = "EvenPodsSpread"
    only_at = ("preFilter", "filter")
    summary = "Rejects nodes where a hard topology spread constraint of the pod would be broken."

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args or PodTopologySpreadArgs(defaulting_type="List"), handle)


class MaxCSIVolumeCountPred(Predicate, NodeVolumeLimits):
    name = "MaxCSIVolumeCountPred"

    def pre_filter(self, info: PodInfo) -> PreFilterResult[None] | Status:
        return super().pre_filter(info) if self.handle.gates.enabled("AttachVolumeLimit") else SKIP


class NoVolumeZoneConflict(Predicate, VolumeZone):
    """It read the beta labels only, and a claim without a readable volume ended the cycle."""

    name = "NoVolumeZoneConflict"
    only_at = ("filter",)

    def problem_of_unbound(self, claim: PersistentVolumeClaim, catalog: Catalog) -> str | None:
        """A claim without a volume was fine only while its class waits for a pod to be scheduled."""
        found = catalog.get(StorageClass, class_of_claim(claim))
        if found is not None and found.volume_binding_mode is None:
            return f'VolumeBindingMode not set for StorageClass "{found.metadata.name}"'
        waits = found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        return None if waits else f'PersistentVolumeClaim was not found: "{claim.metadata.name}"'


PREDICATES: tuple[type[Plugin], ...] = (
    CheckNodeCondition,
    _renamed("CheckNodeUnschedulable", NodeUnschedulable),
    GeneralPredicates,
    _HOST_NAME,
    _FITS_PORTS,
    _MATCHES_SELECTOR,
    _FITS_RESOURCES,
    _renamed(
        "NoDiskConflict", VolumeRestrictions, summary="Rejects nodes where a disk is mounted that cannot be shared."
    ),
    _renamed(
        "PodToleratesNodeTaints",
        TaintToleration,
        summary="Rejects nodes with NoSchedule or NoExecute taints that the pod does not tolerate.",
    ),
    _renamed(
        "CheckNodeLabelPresence",
        NodeLabel,
        summary="Rejects nodes that lack a label, or have one that they should not have.",
    ),
    _renamed(
        "CheckServiceAffinity",
        ServiceAffinity,
        summary="Places the pods of a service on nodes with equal values of a label.",
    ),
    _renamed("MaxEBSVolumeCount", EBSLimits),
    _renamed("MaxGCEPDVolumeCount", GCEPDLimits),
    MaxCSIVolumeCountPred,
    _renamed("MaxAzureDiskVolumeCount", AzureDiskLimits),
    _renamed("MaxCinderVolumeCount", CinderLimits),
    _renamed("CheckVolumeBinding", VolumeBindingOnEachNode),
    NoVolumeZoneConflict,
    CheckNodeMemoryPressure,
    CheckNodePIDPressure,
    CheckNodeDiskPressure,
    EvenPodsSpread,
    _renamed(
        "MatchInterPodAffinity",
        InterPodAffinity,
        summary="Rejects nodes that break required pod affinity or anti-affinity, the pod's own or that of running "
        "pods.",
    ),
)
