"""What the cluster's scheduler placed, tried again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import parse_time, pod_key
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.status import Status
from ksched_cli.plan.rules import rule_of
from ksched_cli.plan.verdicts import condition_of
from ksched_cli.plan.verify_results import Agreement, Checked

MIRROR = "kubernetes.io/config.mirror"
# Clusters of more nodes are searched only in part by default (minFeasibleNodesToFind).
SAMPLED_FROM = 100


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod that was scheduled: where to, and when as far as it is known."""

    pod: Pod
    node: str
    when: float


def placed_pods(
    pods: Iterable[Pod], schedulers: frozenset[str], nodes: frozenset[str]
) -> tuple[list[Placed], dict[str, int]]:
    """Those to try again, in the order in which they were scheduled, and how many others there are, by why."""
    found: list[Placed] = []
    left_out: dict[str, int] = {}
    for pod in pods:
        if not pod.spec.node_name:
            continue
        why = _not_scheduled_here(pod, schedulers, nodes)
        if why:
            left_out[why] = left_out.get(why, 0) + 1
        else:
            found.append(Placed(pod, pod.spec.node_name, _when(pod)))
    return sorted(found, key=lambda each: (each.when, pod_key(each.pod))), left_out


def _not_scheduled_here(pod: Pod, schedulers: frozenset[str], nodes: frozenset[str]) -> str:
    if MIRROR in pod.metadata.annotations:
        return "static pods of a kubelet"
    if pod.spec.scheduler_name not in schedulers:
        return f"pods of the scheduler {pod.spec.scheduler_name}"
    if pod.spec.node_name not in nodes:
        return "pods on nodes that are gone"
    if pod.metadata.deletion_timestamp:
        return "pods that are being deleted"
    return ""


def _when(pod: Pod) -> float:
    """When it was bound; without a condition that says so, when it was made."""
    condition = condition_of(pod)
    bound = condition.last_transition_time if condition is not None and condition.status == "True" else None
    stamp = bound or pod.status.start_time or pod.metadata.creation_timestamp
    return parse_time(stamp) if stamp else 0.0


def replay(scheduler: Scheduler, placed: Sequence[Placed]) -> Iterator[Checked]:
    """One cycle for each, with those before it where they are in truth. The scheduler's cluster knows the pods as
    pending, and its profiles have no PostFilter: nobody is evicted for a pod that runs."""
    cluster = scheduler.cluster
    row_of = {info.key: row for row, info in enumerate(cluster.pods.infos)}
    born = {node.metadata.name: _seconds(node.metadata.creation_timestamp) for node in cluster.nodes.arrival}
    for each in placed:
        row, there = row_of[pod_key(each.pod)], cluster.nodes.row_of[each.node]
        decision = scheduler.schedule(row)
        yield _compare(scheduler, each, there, decision, born)
        if decision.row != there:
            cluster.displace(row)
            cluster.place(row, there)


def _compare(
    scheduler: Scheduler, placed: Placed, there: int, decision: Decision, born: Mapping[str, float]
) -> Checked:
    key, names = pod_key(placed.pod), scheduler.cluster.nodes.names
    if decision.result == "error":
        return Checked(key, Agreement.ERROR, placed.node, decision.message)
    if decision.row == there or there in decision.ties.tolist():
        return Checked(key, Agreement.SAME, placed.node, placed.node)
    if there in decision.feasible.tolist():
        assert decision.row is not None
        best = names[decision.row]
        return Checked(key, Agreement.OTHER_NODE, placed.node, best, _why_other(placed, best, born, len(names)))
    status = _status_of(decision, there)
    return Checked(
        key, Agreement.REJECTED, placed.node, f"{status.plugin}: {status.message}", _why_rejected(status.plugin)
    )


def _status_of(decision: Decision, row: int) -> Status:
    assert decision.diagnosis is not None
    return decision.diagnosis.pre_filter or decision.diagnosis.nodes.status(row)


def _seconds(stamp: str | None) -> float:
    return parse_time(stamp) if stamp else 0.0


def _why_other(placed: Placed, best: str, born: Mapping[str, float], nodes: int) -> str:
    if placed.when and born[best] > placed.when:
        return f"{best} is younger than the pod's placement"
    if nodes > SAMPLED_FROM:
        return "kube-scheduler looks at a part of the nodes only, unless percentageOfNodesToScore says otherwise"
    return "pods that were there then are gone, or the nodes have changed"


_LATER: Mapping[str, str] = {
    "NodeUnschedulable": "the node was cordoned later",
    "TaintToleration": "the taint was put later",
    "NodeAffinity": "the node's labels were changed later, or the node was set by other means",
    "NodeName": "the node was set by other means",
    "NodeResourcesFit": "requests or allocatable changed later, or the pods of the node came in another order",
    "PodTopologySpread": "pods that were there then are gone",
    "InterPodAffinity": "pods that were there then are gone",
    "VolumeBinding": "volumes or claims have changed since",
    "NodeVolumeLimits": "what the node's driver allows has changed since",
    "DynamicResources": "devices or claims have changed since",
}


def _why_rejected(plugin: str) -> str:
    return _LATER.get(rule_of(plugin), "the cluster has changed since, or another scheduler placed it")
