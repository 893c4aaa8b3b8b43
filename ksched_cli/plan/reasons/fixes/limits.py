"""Changes that no fix makes, whatever the result of a trial is: a person would regret them.

A taint that means "this node goes away" or "this node is not ready" is neither tolerated nor taken off. A label that a
cloud provider, an installer or a controller gives to a node is not given by hand, and no node gets another value of a
label that it has. A scheduling gate with a domain belongs to the controller of that domain. Pods that do not name an
operating system are for Linux. The lists are prefixes and words and never names of clusters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.api.selectors import RequiredNodeAffinity
from ksched_cli.plan.results.nodes import CONTROL_PLANE

OS, ARCH = "kubernetes.io/os", "kubernetes.io/arch"
HOSTNAME = "kubernetes.io/hostname"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
# The node controller puts this taint on a cordoned node.
CORDONED = "node.kubernetes.io/unschedulable"
_OF_A_STATE = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "ToBeDeletedBy", "DeletionCandidateOf")
_LEAVES = re.compile(
    r"disrupt|terminat|delet|not-?ready|unregistered|uninitialized|startup|shutdown|unreachable|out-of-service|drain"
    r"|maintenance|evict|unhealthy|repair|decommission|upgrad|interruption|preempted|remov",
    re.IGNORECASE,
)
# Labels without a domain that name the pool of a node, in words of providers and of people.
_POOLS = re.compile(r"^(agent|node)?-?_?(pool|group)s?(-?_?name)?$", re.IGNORECASE)
# Schedulers that decide more than a node, such as gangs and queues.
_OTHER_SCHEDULERS = ("volcano", "yunikorn", "apache-yunikorn", "koord-scheduler", "kai-scheduler", "runai-scheduler")


def is_of_a_state(taint: Taint) -> bool:
    """Whether a controller takes the taint off once the node is ready or away. A cordon is a decision of a person."""
    return taint.key.startswith(_OF_A_STATE) or bool(_LEAVES.search(taint.key))


def is_leaving(node: Node) -> bool:
    """Whether the node goes away, or takes no pods for a reason that is no decision about pods."""
    if node.metadata.deletion_timestamp is not None:
        return True
    return any(
        is_of_a_state(each) and each.key != CORDONED and each.effect != "PreferNoSchedule" for each in node.spec.taints
    )


def is_control_plane(node: Node) -> bool:
    """Whether the node is one for the control plane only: tainted as such."""
    return any(each.key in CONTROL_PLANE for each in node.spec.taints)


def points_at(pod: Pod, node: Node) -> bool:
    """Whether the pod chooses the node by one of its labels or by an extended resource, so that the node is meant."""
    chosen: list[tuple[str, tuple[str, ...]]] = [(key, (value,)) for key, value in pod.spec.node_selector.items()]
    for term in RequiredNodeAffinity.of(pod.spec).terms or ():
        chosen += [(each.key, each.values) for each in term.match_expressions if each.operator in ("In", "Exists")]
    labels = node.metadata.labels
    if any(key in labels and key not in (OS, ARCH) and (not values or labels[key] in values) for key, values in chosen):
        return True
    asked = {name for each in (*pod.spec.containers, *pod.spec.init_containers) for name in each.resources.requests}
    return any("/" in name and name in node.status.allocatable for name in asked)


def system_of(pod: Pod) -> str:
    """The operating system that the pod is for."""
    named = getattr(getattr(pod.spec, "os", None), "name", "") or pod.spec.node_selector.get(OS, "")
    if named:
        return str(named)
    for term in RequiredNodeAffinity.of(pod.spec).terms or ():
        for each in term.match_expressions:
            if each.key == OS and each.operator == "In" and each.values:
                return each.values[0]
    return "linux"


def is_of_another_system(node: Node, pod: Pod) -> bool:
    return node.metadata.labels.get(OS, "linux") != system_of(pod)


def may_label(key: str, value: str, labels: Mapping[str, str]) -> bool:
    """Whether a person gives a node with these labels that label."""
    return "/" not in key and not _POOLS.match(key) and labels.get(key, value) == value


def may_leave_out(key: str) -> bool:
    """Whether a pod can do without the label: not where its image decides."""
    return not key.endswith((OS, ARCH))


def is_of_a_controller(gate: str) -> bool:
    return "/" in gate


def schedules_otherwise(scheduler: str) -> bool:
    return scheduler in _OTHER_SCHEDULERS
