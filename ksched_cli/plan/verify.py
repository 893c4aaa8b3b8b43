"""How far the modelled scheduler agrees with the one that runs: its placements tried again, and what it wrote down of
the pods that it could not place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ksched_cli.api.core import Pod, PodCondition
from ksched_cli.api.pod_facts import parse_time, pod_key
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.status import Status
from ksched_cli.plan.results import GatedPod, PodOutcome

SCHEDULED, UNSCHEDULABLE, GATED = "PodScheduled", "Unschedulable", "SchedulingGated"
MIRROR = "kubernetes.io/config.mirror"
# Clusters of more nodes are searched only in part by default (minFeasibleNodesToFind).
SAMPLED_FROM = 100
_COUNT = re.compile(r"\d+")


class Agreement(StrEnum):
    """How the answer compares with what happened."""

    SAME = "same"
    OTHER_NODE = "other node"
    REJECTED = "rejected"
    SAME_REASONS = "same reasons"
    OTHER_REASONS = "other reasons"
    FITS = "fits"
    ERROR = "error"

    @property
    def agrees(self) -> bool:
        return self is Agreement.SAME


@dataclass(frozen=True, slots=True)
class Checked:
    """One pod: where it is or what was written down (`actual`), the answer, and what the difference may come from."""

    pod: str
    agreement: Agreement
    actual: str
    answer: str = ""
    cause: str = ""


@dataclass(frozen=True)
class Verification:
    """`placements` in the order in which the pods were scheduled; `pending` those with a verdict of the scheduler on
    them; `left_out` pods that were not compared, counted by why."""

    placements: tuple[Checked, ...]
    pending: tuple[Checked, ...]
    left_out: Mapping[str, int]

    @property
    def agreeing(self) -> int:
        return sum(each.agreement.agrees for each in (*self.placements, *self.pending))

    @property
    def compared(self) -> int:
        return len(self.placements) + len(self.pending)


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


def condition_of(pod: Pod) -> PodCondition | None:
    return next((each for each in pod.status.conditions if each.type == SCHEDULED), None)


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
    return _LATER.get(plugin, "the cluster has changed since, or another scheduler placed it")


def pending_pods(
    pods: Iterable[Pod], outcomes: Mapping[str, PodOutcome], gated: Mapping[str, GatedPod]
) -> Iterator[Checked]:
    """Pods with a verdict of the scheduler in their conditions, beside the answer now."""
    for pod in pods:
        condition = condition_of(pod)
        if pod.spec.node_name or condition is None or condition.status != "False":
            continue
        key = pod_key(pod)
        if condition.reason == GATED:
            same = key in gated
            yield Checked(key, Agreement.SAME if same else Agreement.FITS, GATED, GATED if same else "is not held back")
        elif condition.reason == UNSCHEDULABLE and key in outcomes:
            yield _compare_messages(outcomes[key], condition)


def _compare_messages(outcome: PodOutcome, condition: PodCondition) -> Checked:
    said, answer = condition.message.strip(), outcome.message.strip()
    when = f" of {condition.last_transition_time}" if condition.last_transition_time else ""
    if outcome.node:
        cause = f"the verdict{when} is of a cluster that had less room"
        return Checked(outcome.pod, Agreement.FITS, said, f"fits on {outcome.node}", cause)
    if said == answer:
        return Checked(outcome.pod, Agreement.SAME, said, answer)
    if _without_numbers(said) == _without_numbers(answer):
        return Checked(
            outcome.pod, Agreement.SAME_REASONS, said, answer, f"nodes have come, gone or filled up since{when}"
        )
    cause = (
        "the cluster has changed since, a webhook or an extender decides too, or it is another minor (--kube-version)"
    )
    return Checked(outcome.pod, Agreement.OTHER_REASONS, said, answer, cause)


def _without_numbers(message: str) -> list[str]:
    """The reasons, in any order: they are sorted together with how many nodes have them."""
    return sorted(_COUNT.sub("", part).strip() for part in re.split(r"[,.:]\s", f"{message} "))
