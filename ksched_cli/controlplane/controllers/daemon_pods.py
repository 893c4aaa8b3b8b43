"""The pods of a DaemonSet: the nodes that run one, and what the controller writes into it (pkg/controller/daemon/util
and NodeShouldRunDaemonPod). `daemonset.py` creates and deletes them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ksched_cli.api.core import (
    Affinity,
    Node,
    NodeAffinityTerms,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    Toleration,
)
from ksched_cli.api.selectors import RequiredNodeAffinity, SelectorError, find_untolerated
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.sources.templates import stamp

_NODE_NAME = "metadata.name"
_KEEPS_OUT = ("NoSchedule", "NoExecute")
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_TOLERATED_ON_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def daemon_spec(item: DaemonSet) -> PodSpec:
    """The spec of its pods before they are bound to a node."""
    assert item.spec.template is not None
    spec = stamp(item.spec.template, item.metadata.namespace, "", None).spec
    spec.tolerations = daemon_tolerations(spec)
    return spec


def should_run(spec: PodSpec, node: Node, keeps_out: Sequence[str] = _KEEPS_OUT) -> bool:
    """NodeShouldRunDaemonPod: the name, the labels and the taints of the node, and nothing else about it."""
    if spec.node_name not in ("", node.metadata.name):
        return False
    return selects(spec, node) and find_untolerated(node.spec.taints, spec.tolerations, keeps_out) is None


def selects(spec: PodSpec, node: Node) -> bool:
    """nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); the controller takes an error for a no."""
    try:
        return RequiredNodeAffinity.of(spec).selects(node)
    except SelectorError:
        return False


def daemon_tolerations(spec: PodSpec) -> tuple[Toleration, ...]:
    """AddOrUpdateDaemonPodTolerations."""
    wanted = [*_TOLERATED, *([_TOLERATED_ON_HOST_NETWORK] if spec.host_network else [])]
    tolerations = list(spec.tolerations)
    for key, effect in wanted:
        new = Toleration(key=key, operator="Exists", effect=effect)
        # Toleration.MatchToleration compares all but the seconds.
        same = [at for at, old in enumerate(tolerations) if replace(old, toleration_seconds=None) == new]
        for at in same:
            tolerations[at] = new
        if not same:
            tolerations.append(new)
    return tuple(tolerations)


def bound_to(affinity: Affinity | None, node: str) -> Affinity:
    """ReplaceDaemonSetPodNodeNameNodeAffinity: what was required is replaced, what was preferred stays."""
    by_name = NodeSelectorRequirement(_NODE_NAME, "In", (node,))
    required = NodeSelector((NodeSelectorTerm(match_fields=(by_name,)),))
    affinity = affinity or Affinity()
    node_affinity = affinity.node_affinity or NodeAffinityTerms()
    return replace(
        affinity,
        node_affinity=replace(node_affinity, required_during_scheduling_ignored_during_execution=required),
    )


def daemon_node_of(pod: Pod) -> str:
    """util.GetTargetNodeName: where the pod is, or where it is meant to go."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    for term in required.node_selector_terms if required else ():
        for field in term.match_fields:
            if field.key == _NODE_NAME and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""
