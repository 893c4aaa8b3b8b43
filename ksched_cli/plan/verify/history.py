"""The history of a cluster, read from its objects: the times of bindings, of new nodes and of deleted pods.

`PastCluster` is the cluster of a replay, in which pods are scheduled again and then put on their real nodes. `Evidence`
has facts about the past that may be the cause of a difference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct
from msgspec import field as struct_field

from ksched_cli.api.core import Node, ObjectMeta, Pod, PodCondition
from ksched_cli.api.object_facts import POD_SCHEDULED, is_terminal, parse_time, pod_key, pod_priority, version_number
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.errors import named
from ksched_cli.plan.verify.results import NOT_KNOWN, Agreement
from ksched_cli.sources.events import PreemptionEvent, ScheduledPod

# The kubelet sets these conditions, so that they are at least as late as the binding.
_BY_KUBELET = frozenset({"PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"})


class TimeSource(StrEnum):
    """Fields with the time of a pod's binding, the best first."""

    EVENT = "Scheduled event"
    CONDITION = "PodScheduled condition"
    KUBELET = "status set by the kubelet"
    CREATION = "creationTimestamp"
    NONE = "nothing"


class BindingTime(Struct, frozen=True):
    """`seconds` since the epoch. `exact` times have microseconds, all others are cut to the second."""

    seconds: float
    source: TimeSource
    stamp: str = ""
    exact: bool = False

    @property
    def second(self) -> int:
        return int(self.seconds)

    @property
    def known(self) -> bool:
        """Whether the time is that of the binding. A creation is not: the pod may have waited."""
        return self.source not in (TimeSource.CREATION, TimeSource.NONE)


def condition_of(pod: Pod) -> PodCondition | None:
    return next((each for each in pod.status.conditions if each.type == POD_SCHEDULED), None)


def newest_bindings(events: Iterable[ScheduledPod]) -> dict[str, ScheduledPod]:
    """The last Scheduled event of each pod, by uid, or by `namespace/name` if the event has no uid."""
    newest: dict[str, ScheduledPod] = {}
    for event in sorted(events, key=lambda each: each.at):
        newest[event.uid or event.key] = event
    return newest


def binding_time(pod: Pod, events: Mapping[str, ScheduledPod]) -> BindingTime:
    """The time of the pod's binding from the best source. Times before the pod's creation are left out."""
    metadata = pod.metadata
    created = parse_time(metadata.creation_timestamp) if metadata.creation_timestamp else 0.0
    event = events.get(metadata.uid) or events.get(f"{metadata.namespace}/{metadata.name}")
    if event is not None and event.node != pod.spec.node_name:
        event = None
    for found in _candidates(pod, event):
        if found.seconds >= created:
            return found
    source = TimeSource.CREATION if created else TimeSource.NONE
    return BindingTime(created, source, metadata.creation_timestamp or "")


def _candidates(pod: Pod, event: ScheduledPod | None) -> Iterator[BindingTime]:
    if event is not None and event.exact:
        yield BindingTime(event.at, TimeSource.EVENT, event.stamp, exact=True)
    condition = condition_of(pod)
    if condition is not None and condition.status == "True" and condition.last_transition_time:
        stamp = condition.last_transition_time
        yield BindingTime(parse_time(stamp), TimeSource.CONDITION, stamp)
    if event is not None:
        yield BindingTime(event.at, TimeSource.EVENT, event.stamp)
    stamps = [each.last_transition_time for each in pod.status.conditions if each.type in _BY_KUBELET]
    known = [(parse_time(stamp), stamp) for stamp in (pod.status.start_time, *stamps) if stamp]
    yield from (BindingTime(at, TimeSource.KUBELET, stamp) for at, stamp in sorted(known))


class ReplayAnswer(Struct, frozen=True):
    """The node that was chosen, or the reason why the pod's node was rejected. `unseen`: there were more feasible nodes
    than kube-scheduler looks for."""

    agreement: Agreement
    text: str
    unseen: bool = False


class PastCluster:
    """The scheduler's cluster has all pods as pending, and its profiles have no PostFilter: no pod is evicted for a
    pod that runs."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._cluster = scheduler.cluster
        self._row_of = {info.key: row for row, info in enumerate(self._cluster.pods.infos)}

    @property
    def repeatable(self) -> bool:
        """Whether a pod can be tried any number of times: sampling goes on from where it stopped, and extenders are
        other people's servers."""
        return not self._scheduler.handle.sampling and self._scheduler.extenders is None

    def advance(self, step: BindingSecond) -> None:
        """What happened up to the step's second, but for the pods that are tried in it."""
        self._cluster.add_nodes(step.arriving)
        for placed in step.others:
            self.put(placed)
        for key in step.terminating:
            self._cluster.terminate(self._row_of[key])
        for key in step.left:
            self._cluster.displace(self._row_of[key])
        self.hide(step.hidden)

    def hide(self, names: Collection[str]) -> None:
        """These nodes are no candidates, and all others are."""
        nodes = self._cluster.nodes
        hidden = [nodes.row_of[name] for name in names]
        self._scheduler.cycle.placement = np.delete(nodes.all_rows, hidden) if hidden else None

    def decide(self, placed: Placed) -> Decision:
        """What the pod's cycle comes to now."""
        row, nominator = self._row_of[placed.key], self._scheduler.nominator
        if placed.nominated:
            nominator.add(row, placed.node)
        if self.repeatable:
            decision = self._scheduler.decide_dry(row)
        else:
            decision = self._scheduler.schedule(row)
            self._cluster.displace(row)
        nominator.delete(row)
        return decision

    def answer(self, decision: Decision, placed: Placed) -> ReplayAnswer:
        """How the decision compares with the node that the pod is on."""
        if decision.result == "error":
            return ReplayAnswer(Agreement.ERROR, decision.message)
        there = self._cluster.nodes.row_of[placed.node]
        if decision.row is not None and (decision.row == there or _is_among(there, decision.ties)):
            return ReplayAnswer(Agreement.SAME, placed.node)
        if decision.row is not None and _is_among(there, decision.feasible):
            unseen = len(decision.feasible) > self._scheduler.sample_size(decision.pod_row)
            return ReplayAnswer(Agreement.OTHER_NODE, self._cluster.nodes.names[decision.row], unseen)
        assert decision.diagnosis is not None
        status = decision.diagnosis.pre_filter or decision.diagnosis.nodes.status(there)
        return ReplayAnswer(Agreement.REJECTED, f"{status.plugin}: {status.message}")

    def best_nodes(self, placed: Placed) -> frozenset[str]:
        """The node that the pod would go to now, and those as good."""
        decision = self.decide(placed)
        rows = decision.ties.tolist() or ([] if decision.row is None else [decision.row])
        return frozenset(self._cluster.nodes.names[row] for row in rows)

    def put(self, placed: Placed) -> None:
        """Count the pod on its node."""
        self._cluster.place(self._row_of[placed.key], self._cluster.nodes.row_of[placed.node])

    def take_back(self, placed: Placed) -> None:
        self._cluster.displace(self._row_of[placed.key])


def _is_among(row: int, rows: RowColumn) -> bool:
    return bool(np.count_nonzero(rows == row))


class ReplacedSet(Struct, frozen=True):
    """A ReplicaSet without pods, its creation (`since`) and that of the Deployment's next ReplicaSet (`until`)."""

    name: str
    since: float
    until: float


class Evidence(Struct, frozen=True):
    """`gone` are bindings of pods that are there no more, by events. `created` and `ready` have for each node since
    when, as the API server writes it; `bound` are the times of the bindings of pods that run."""

    gone: Sequence[ScheduledPod] = ()
    replaced: Sequence[ReplacedSet] = ()
    created: Mapping[str, str] = struct_field(default_factory=dict)
    ready: Mapping[str, str] = struct_field(default_factory=dict)
    bound: Sequence[float] = ()

    def of_placement(self, placed: Placed, answer: ReplayAnswer) -> str:
        """The facts about the time at which the pod was placed."""
        found = [*self._of_nodes(placed, answer), *self._of_pods(placed.bound.seconds)]
        if answer.unseen:
            found.append("kube-scheduler looks at a part of the nodes only (percentageOfNodesToScore)")
        return "; ".join(found) or NOT_KNOWN

    def _of_nodes(self, placed: Placed, answer: ReplayAnswer) -> Iterator[str]:
        ready = self.ready.get(answer.text) if answer.agreement is Agreement.OTHER_NODE else None
        if ready and parse_time(ready) > placed.bound.seconds:
            yield f"{answer.text} became ready later, at {ready}"

    def _of_pods(self, at: float) -> Iterator[str]:
        gone = [each for each in self.gone if each.at <= at]
        if gone:
            last = gone[-1]
            others = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
            yield f"pods that were bound before are gone: {last.key} on {last.node}{others}"
        there = [each.name for each in self.replaced if each.since < at < each.until]
        if there:
            yield f"ReplicaSet {named(there, 1)} of that time has no pods any more"

    def since(self, stamp: str) -> str:
        """The facts about the time since then."""
        if not stamp:
            return NOT_KNOWN
        at = parse_time(stamp)
        nodes = sum(parse_time(each) > at for each in self.created.values() if each)
        pods = sum(each > at for each in self.bound)
        found = (
            _counted(nodes, "node was created", "nodes were created"),
            _counted(pods, "pod was bound", "pods were bound"),
        )
        texts = " and ".join(filter(None, found))
        return f"since {stamp} {texts}" if texts else NOT_KNOWN


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}" if number else ""


def gather_evidence(
    nodes: Iterable[Node],
    pods: Collection[Pod],
    sets: Iterable[ReplicaSet],
    bindings: Iterable[ScheduledPod],
    history: History,
) -> Evidence:
    nodes = list(nodes)
    known = {each.metadata.uid for each in pods} | {pod_key(each) for each in pods}
    gone = (each for each in bindings if (each.uid or each.key) not in known)
    ready = {node.metadata.name: stamp for node in nodes if (stamp := _ready_since(node))}
    created = {node.metadata.name: node.metadata.creation_timestamp or "" for node in nodes}
    bound = [each.bound.seconds for each in (*history.tried, *history.others)]
    in_time = sorted(gone, key=lambda each: each.at)
    return Evidence(in_time, list(_replaced(sets)), created, ready, bound)


def _ready_since(node: Node) -> str:
    stamps = (
        each.last_transition_time for each in node.status.conditions if (each.type, each.status) == ("Ready", "True")
    )
    return next(filter(None, stamps), "")


def _replaced(sets: Iterable[ReplicaSet]) -> Iterator[ReplacedSet]:
    """ReplicaSets that their Deployments have scaled to 0, with the time of the next ReplicaSet."""
    of_deployment: defaultdict[str, list[ReplicaSet]] = defaultdict(list)
    for each in sets:
        owner = _deployment_of(each.metadata)
        if owner and each.metadata.creation_timestamp:
            of_deployment[owner].append(each)
    for members in of_deployment.values():
        members.sort(key=_created)
        for old, new in pairwise(members):
            if old.spec.replicas == 0:
                name = f"{old.metadata.namespace}/{old.metadata.name}"
                yield ReplacedSet(name, _created(old), _created(new))


def _created(item: ReplicaSet) -> float:
    return parse_time(item.metadata.creation_timestamp or "")


def _deployment_of(metadata: ObjectMeta) -> str:
    """`namespace/name` and uid of the Deployment that controls the ReplicaSet."""
    for owner in metadata.owner_references:
        if owner.controller and owner.kind == "Deployment":
            return f"{metadata.namespace}/{owner.name}/{owner.uid}"
    return ""


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
    changed = version_number(metadata.resource_version)
    return bound.second, within, -pod_priority(placed.pod), created, changed, placed.key


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
