"""The history of a cluster, read from its objects: the times of bindings, of new nodes and of deleted pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Generic, TypeVar

from msgspec import Struct

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.pod_facts import is_terminal, parse_time, pod_key, pod_priority
from ksched_cli.plan.verify.binding_times import BindingTime, binding_time, newest_bindings
from ksched_cli.sources.events import PreemptionEvent, ScheduledPod

_MIRROR = "kubernetes.io/config.mirror"
# New nodes invalidate everything that is computed of nodes. If nodes come at more times than these, they come in larger
# batches, and nodes that are too young for a placement are no candidates for it.
MOST_ARRIVALS = 100

T = TypeVar("T")


class Placed(Struct, frozen=True):
    """A pod on its node, and when it was bound there. `nominated`: the node had been cleared for it by preemption.
    `reported`: whether the result lists it; others are only tried to find the order of a second."""

    pod: Pod
    node: str
    bound: BindingTime
    nominated: bool = False
    reported: bool = True

    @property
    def key(self) -> str:
        return pod_key(self.pod)


@dataclass
class BindingSecond:
    """One second in which pods were bound, and the changes since the step before."""

    second: int
    tried: list[Placed]
    arriving: list[Node] = field(default_factory=list)
    # Nodes of the cluster that are younger than this second.
    hidden: frozenset[str] = frozenset()
    others: list[Placed] = field(default_factory=list)
    terminating: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """Whether nothing happened since the step before."""
        return not (self.arriving or self.others or self.terminating or self.left)


@dataclass
class History:
    """`tried` are the pods to schedule again, `others` only use resources; both are in the order of their bindings."""

    tried: list[Placed] = field(default_factory=list)
    others: list[Placed] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def read_history(
    pods: Iterable[Pod],
    wanted: Collection[int],
    schedulers: Collection[str],
    nodes: Collection[str],
    bindings: Iterable[ScheduledPod] = (),
    preemptions: Iterable[PreemptionEvent] = (),
) -> History:
    """The history of all pods with a node. Those that are `wanted`, by id, and that one of the schedulers placed, are
    tried, together with those that were bound in the same seconds."""
    events = newest_bindings(bindings)
    cleared = {name: each.node for each in preemptions for name in (each.preemptor_uid, each.preemptor) if name}
    history = History()
    beside: list[Placed] = []
    for pod in pods:
        if not pod.spec.node_name:
            continue
        reported = id(pod) in wanted
        why = _not_scheduled_here(pod, schedulers, nodes)
        if why and reported:
            history.left_out[why] += 1
        if pod.spec.node_name in nodes:
            nominated = _is_nominated(pod, cleared)
            placed = Placed(pod, pod.spec.node_name, binding_time(pod, events), nominated, reported)
            (history.others if why else history.tried if reported else beside).append(placed)
    seconds = {each.bound.second for each in history.tried}
    for placed in beside:
        (history.tried if placed.bound.second in seconds else history.others).append(placed)
    history.tried.sort(key=_likely_order)
    history.others.sort(key=_likely_order)
    return history


def _not_scheduled_here(pod: Pod, schedulers: Collection[str], nodes: Collection[str]) -> str:
    if _MIRROR in pod.metadata.annotations:
        return "static pods of a kubelet"
    if pod.spec.scheduler_name not in schedulers:
        return f"pods of the scheduler {pod.spec.scheduler_name}"
    if pod.spec.node_name not in nodes:
        return "pods on nodes that are gone"
    if pod.metadata.deletion_timestamp:
        return "pods that are being deleted"
    return ""


def _is_nominated(pod: Pod, cleared: Mapping[str, str]) -> bool:
    """Whether preemption had nominated the pod to its node. Newer API servers clear the nomination of a bound pod;
    events of its victims may be left."""
    node = cleared.get(pod.metadata.uid) or cleared.get(pod_key(pod)) or pod.status.nominated_node_name
    return node == pod.spec.node_name


def _likely_order(placed: Placed) -> tuple[int, float, int, float, int, str]:
    """The sort key of a pod: the second of its binding, the exact time, the order of the queue, the last change. Pods
    that were bound first tend to run first."""
    bound, metadata = placed.bound, placed.pod.metadata
    within = bound.seconds if bound.exact else float("inf")
    created = parse_time(metadata.creation_timestamp) if metadata.creation_timestamp else 0.0
    changed = version_of(metadata)
    return bound.second, within, -pod_priority(placed.pod), created, changed, placed.key


def version_of(metadata: ObjectMeta) -> int:
    """The resource version as a number; 0 without one. Versions of one cluster count up."""
    return int(metadata.resource_version) if metadata.resource_version.isdecimal() else 0


def first_nodes(history: History, nodes: Sequence[Node]) -> list[Node]:
    """The nodes that existed when the first tried pod was bound."""
    births = _births(history, nodes)
    start = history.tried[0].bound.second if history.tried else float("inf")
    return [node for node in nodes if births[node.metadata.name] <= start]


def _births(history: History, nodes: Iterable[Node]) -> dict[str, float]:
    """The creation time of each node by name. A node that registered again is younger than its pods; the time is then
    that of its first pod."""
    births = {}
    for node in nodes:
        stamp = node.metadata.creation_timestamp
        births[node.metadata.name] = parse_time(stamp) if stamp else 0.0
    for placed in (*history.tried, *history.others):
        births[placed.node] = min(births[placed.node], placed.bound.second)
    return births


def binding_seconds(history: History, nodes: Sequence[Node]) -> Iterator[BindingSecond]:
    """The seconds in which tried pods were bound, with the changes until then."""
    steps = [
        BindingSecond(second, list(group))
        for second, group in groupby(history.tried, key=lambda each: each.bound.second)
    ]
    _let_nodes_come(steps, _births(history, nodes), nodes)
    others = _Upcoming((each.bound.second, each) for each in history.others)
    everyone = [*history.tried, *history.others]
    terminating = _Upcoming((at, each.key) for each in everyone for at in _deletion_times(each.pod))
    left = _Upcoming((_finished(each), each.key) for each in everyone if is_terminal(each.pod))
    for step in steps:
        step.others = others.until(step.second)
        step.terminating = terminating.until(step.second)
        step.left = left.until(step.second)
        yield step


class _Upcoming(Generic[T]):
    """Values with a time, returned in the order of their times."""

    def __init__(self, timed: Iterable[tuple[float, T]]) -> None:
        self._timed = sorted(timed, key=lambda each: each[0], reverse=True)

    def until(self, second: float) -> list[T]:
        found = []
        while self._timed and self._timed[-1][0] <= second:
            found.append(self._timed.pop()[1])
        return found


def _deletion_times(pod: Pod) -> Iterator[float]:
    """The time of the pod's deletion, if any. The deletion timestamp is the end of the grace period."""
    if pod.metadata.deletion_timestamp:
        yield parse_time(pod.metadata.deletion_timestamp) - (pod.spec.termination_grace_period_seconds or 0)


def _finished(placed: Placed) -> float:
    """The time at which a finished pod freed its node; without such a condition the second after its binding."""
    ended = (each for each in placed.pod.status.conditions if each.type == "Ready" and each.status == "False")
    stamps = [parse_time(each.last_transition_time) for each in ended if each.last_transition_time]
    return max([placed.bound.second + 1.0, *stamps])


def _let_nodes_come(steps: Sequence[BindingSecond], births: Mapping[str, float], nodes: Sequence[Node]) -> None:
    """Let each node come with the first step that is not before its creation, or with an earlier step of its batch."""
    if not steps:
        return
    upcoming = _Upcoming((births[node.metadata.name], node) for node in nodes)
    upcoming.until(steps[0].second)
    arrivals = [(step, arriving) for step in steps if (arriving := upcoming.until(step.second))]
    size = -(-len(arrivals) // MOST_ARRIVALS) or 1
    for start in range(0, len(arrivals), size):
        batch = arrivals[start : start + size]
        batch[0][0].arriving = [node for _, arriving in batch for node in arriving]
    young: list[Node] = []
    for step in steps:
        young = [node for node in (*young, *step.arriving) if births[node.metadata.name] > step.second]
        step.hidden = frozenset(node.metadata.name for node in young)
