"""Facts about the past of a cluster. The causes of differences are such facts, or not known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.pod_facts import parse_time, pod_key
from ksched_cli.api.workloads import ReplicaSet
from ksched_cli.plan.verify.history import History, Placed
from ksched_cli.plan.verify.past_cluster import ReplayAnswer
from ksched_cli.plan.verify.results import NOT_KNOWN, Agreement
from ksched_cli.sources.events import ScheduledPod


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
    created: Mapping[str, str] = field(default_factory=dict)
    ready: Mapping[str, str] = field(default_factory=dict)
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
            others = f" and {len(there) - 1} more" if len(there) > 1 else ""
            yield f"ReplicaSet {there[0]}{others} of that time has no pods any more"

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
    known = {each.metadata.uid or pod_key(each) for each in pods} | {pod_key(each) for each in pods}
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
            if old.spec.replicas == 0 and _created(old) < _created(new):
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
