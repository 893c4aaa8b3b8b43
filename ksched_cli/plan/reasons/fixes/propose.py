"""Proposes changes that may make a pod fit, the smallest first. All of them are tried (`search.py`); none is certain.

For each node: the remedies of its rejections and pods that could go (`Occupants`). Beside these: one more
node like one that is there or a new one as small as helps, and another priority."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from msgspec import Struct

from ksched_cli.api.core import Node, OwnerReference, Pod, Taint, controller_of
from ksched_cli.api.json_patch import Operation, add
from ksched_cli.api.object_facts import pod_key, pod_priority
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.quantity import amount_text, approximate, milli_value, parse_quantity, quantity_text, value
from ksched_cli.api.workloads import (
    DaemonSet,
    Deployment,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from ksched_cli.controlplane.controllers.daemon_pods import daemon_spec, should_run
from ksched_cli.controlplane.store import owner_identity
from ksched_cli.plan.explain.pods import Subject
from ksched_cli.plan.explain.results import (
    ExplainedNode,
    Explanation,
    FixChange,
    Proposal,
    Rejection,
    by_distance,
    edited,
    kubectl,
    patched,
)
from ksched_cli.plan.reasons.rules import guide_of
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.add_node import AddNode
from ksched_cli.whatif.edits.clone_node import CloneNode
from ksched_cli.whatif.edits.delete import Delete
from ksched_cli.whatif.edits.label import LabelNode
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.lib.node_templates import read_template
from ksched_cli.whatif.edits.scale import Scale
from ksched_cli.whatif.edits.taint import TaintNode
from ksched_cli.whatif.edits.uncordon import Uncordon

_SCALED = {each.__name__: each for each in (Deployment, ReplicaSet, StatefulSet, ReplicationController)}
# So many pods of a node are thought of.
_MOST = 2


class Occupants:
    """Who is on which node when the pod is tried, those that were placed before it included."""

    def __init__(self, loaded: Loaded, pod: Pod, on: Mapping[str, Sequence[tuple[str, Mapping[str, int]]]]) -> None:
        self._loaded = loaded
        self._pod = pod
        self._on = on
        self._pods = {pod_key(pod): pod for pod in loaded.of(Pod)}

    def lightest(self, node: str, short: Mapping[str, int]) -> list[FixChange]:
        """The smallest pods of the node each of which would leave enough, one of each owner."""
        enough = [
            (sum(held.get(name, 0) / amount for name, amount in short.items()), key)
            for key, held in self._on.get(node, ())
            if all(name == "pods" or held.get(name, 0) >= amount for name, amount in short.items())
        ]
        changes: dict[str, FixChange] = {}
        for _, key in sorted(enough):
            change = self.remove(key, self._freed(key, node, short))
            if change is not None:
                changes.setdefault(str(change.edit), change)
            if len(changes) == _MOST:
                break
        return list(changes.values())

    def _freed(self, key: str, node: str, short: Mapping[str, int]) -> str:
        held = next(held for each, held in self._on[node] if each == key)
        parts = [f"{amount_text(name, held[name])} {name}" for name in short if held.get(name)]
        return f" ({', '.join(parts)} on {node})" if parts else ""

    def remove(self, key: str, note: str = "") -> FixChange | None:
        """None for a pod that comes back on the same node, is going already, or is of the same controller: it would
        be one replica for another."""
        pod = self._pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return None
        owner = controller_of(pod.metadata)
        if owner is not None and (owner.kind in ("DaemonSet", "Node") or self._is_own(owner, pod)):
            return None
        scaled = self._scaled(pod, owner) if owner else None
        namespace = pod.metadata.namespace
        if scaled is not None:
            kind, name, replicas = scaled
            reference = Reference(kind, name, namespace)
            return edited(
                f"one replica fewer of {reference}{note}",
                "scale",
                3,
                Scale(reference, replicas - 1),
                kubectl("-n", namespace, "scale", f"{kind.__name__.lower()}/{name}", f"--replicas={replicas - 1}"),
            )
        reference = Reference(Pod, pod.metadata.name, namespace)
        command = kubectl("-n", namespace, "delete", "pod", pod.metadata.name)
        return edited(f"delete {reference}{note}", "delete", 3.5, Delete(reference), command)

    def _is_own(self, owner: OwnerReference, pod: Pod) -> bool:
        mine = controller_of(self._pod.metadata)
        return (
            mine is not None
            and (mine.kind, mine.name) == (owner.kind, owner.name)
            and pod.metadata.namespace == self._pod.metadata.namespace
        )

    def _scaled(self, pod: Pod, owner: OwnerReference) -> tuple[type, str, int] | None:
        """The workload that can be scaled to one pod fewer: from a replica set to its deployment."""
        kind = _SCALED.get(owner.kind)
        if kind is None:
            return None
        item: Any = self._loaded.named(kind, owner.name, pod.metadata.namespace)
        if item is None:
            return None
        above = controller_of(item.metadata)
        if kind is ReplicaSet and above is not None and above.kind == "Deployment":
            deployment = self._loaded.named(Deployment, above.name, pod.metadata.namespace)
            if deployment is not None:
                kind, item = Deployment, deployment
        replicas = item.spec.replicas if item.spec.replicas is not None else 1
        return (kind, item.metadata.name, replicas) if replicas > 0 and item.spec.template is not None else None


_OF_A_STATE = "node.kubernetes.io/"


def remedies(rejection: Rejection, place: RejectingNode) -> list[tuple[FixChange, ...]]:
    """Ways to do away with the rejection, each of one or more changes; none where nothing is known."""
    ways = rejection.guide.remedies(rejection.detail, place) if rejection.detail else ()
    return [tuple(way) for way in ways if way]


class RejectingNode:
    """The pod, the node that rejects it, and the changes to both (RejectedPod)."""

    def __init__(self, pod: Pod, node: Node, *, cordoned: bool, occupants: Occupants) -> None:
        self.pod, self.node, self.cordoned = pod, node, cordoned
        self._name, self._occupants = node.metadata.name, occupants

    def patch(self, text: str, kind: str, cost: float, *operations: Operation) -> FixChange:
        return patched(text, kind, cost, *operations)

    def uncordon(self) -> FixChange:
        return edited(f"uncordon {self._name}", "uncordon", 1, Uncordon(self._name), kubectl("uncordon", self._name))

    def untaint(self, taint: Taint) -> FixChange:
        command = kubectl("taint", "nodes", self._name, f"{taint.key}:{taint.effect}-")
        text = f"take taint {taint} off {self._name}"
        return edited(text, "untaint", 2, TaintNode(self._name, taint, removes=True), command)

    def tolerate(self, taint: Taint) -> FixChange:
        toleration = {"key": taint.key, "operator": "Equal" if taint.value else "Exists", "effect": taint.effect}
        if taint.value:
            toleration["value"] = taint.value
        # What the node controller taints is not meant to be used.
        cost = 4 if taint.key.startswith(_OF_A_STATE) else 1
        kind = "toleration of a state" if cost > 1 else "toleration"
        return patched(
            f"tolerate taint {taint}", kind, cost, add_to(toleration, self.pod.spec.tolerations, "tolerations")
        )

    def label(self, key: str, value: str) -> FixChange:
        return label_node(self._name, key, value)

    def remove(self, pods: set[str]) -> Sequence[FixChange]:
        change = self._occupants.remove(*pods) if len(pods) == 1 else None
        return [] if change is None else [change]

    def make_room(self, short: Mapping[str, int]) -> Sequence[FixChange]:
        return self._occupants.lightest(self._name, short)


def add_to(item: Mapping[str, Any], present: Sequence[Any], name: str) -> Operation:
    """One more entry of a list of the pod's spec, which is there if it has entries."""
    return add(dict(item), "spec", name, "-") if present else add([dict(item)], "spec", name)


def label_node(node: str, key: str, value: str) -> FixChange:
    command = kubectl("label", "nodes", node, f"{key}={value}", "--overwrite")
    return edited(f"label {node} {key}={value}", "label", 2, LabelNode(node, key, value), command)


_CLONES = 2
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_NAMES = ("new-node", "ksched-new-node", "node-of-its-own")

Amounts = dict[str, int]


class NodeProposals:
    """`placed` are the keys of the pods that had a node when the pod was tried."""

    def __init__(self, loaded: Loaded, pod: Pod, placed: set[str]) -> None:
        self._pod = pod
        self._nodes = {node.metadata.name: node for node in loaded.of(Node)}
        self._requests = {name: amount for name, amount in requests_of(pod, use_status=False).items() if amount}
        self._daemons = [daemon_spec(each) for each in loaded.of(DaemonSet) if each.spec.template is not None]
        self._waiting = _waiting(loaded, pod, placed)
        self._others = [each for each in loaded.of(Pod) if each is not pod and _is_without_a_node(each, placed)]

    def of_makes(self, rejected: Sequence[ExplainedNode]) -> Iterator[tuple[FixChange, ...]]:
        """Of each make that would do if it were empty, the smallest first: one node, and enough for all replicas."""
        makes: dict[object, Node] = {}
        for each in rejected:
            node = self._nodes[each.name]
            if all(rejection.guide.ends_on_empty_node(rejection.detail) for rejection in each.rejections):
                makes.setdefault(_make(node), node)
        sized = sorted(makes.values(), key=lambda node: (_size(node), node.metadata.name))
        fitting = [(node, count) for node in sized if (count := self._fit_on(node))]
        for rank, (node, count) in enumerate(fitting[:_CLONES]):
            for many in dict.fromkeys((1, -(-self._waiting // count))):
                name, cost = node.metadata.name, 4 + rank / 10 + min(many - 1, 50) / 100
                text = f"one more node like {name}" if many == 1 else f"{many} more nodes like {name}"
                yield (edited(text, "node", cost, CloneNode(name, many)),)

    def new(self) -> Iterator[tuple[FixChange, ...]]:
        """A node with the labels that the pod selects, as large as the pod, or all replicas that wait, or all pods that
        wait and may go there, and the pods of DaemonSets on it need."""
        labels = _selected_labels(self._pod)
        if labels is None:
            return
        name = next(each for each in _NAMES if each not in self._nodes)
        where = "".join(
            f",{word}={labels.pop(key)}" for word, key in (("zone", _ZONE), ("region", _REGION)) if key in labels
        )
        alone = self._requests or {"cpu": 1000}
        waiting = {each: amount * self._waiting for each, amount in alone.items()}
        tried: list[str] = []
        for rank, needed in enumerate((alone, waiting, _sum([alone, *self._requests_of_others()]))):
            amounts = self._amounts(name, where, labels, needed)
            if amounts is None:
                return
            if amounts in tried:
                continue
            tried.append(amounts)
            words = f"name={name},{amounts}{where}"
            node = edited(f"a new node with {amounts}", "node", 6 + rank, AddNode(read_template(words), text=words))
            yield (node, *(label_node(name, key, value) for key, value in labels.items()))

    def _requests_of_others(self) -> Iterator[Amounts]:
        """Of the other pods without a node that the new node would take, too."""
        labels = dict(_selected_labels(self._pod) or {})
        for each in self._others:
            selected = _selected_labels(each)
            if selected is not None and selected.items() <= labels.items():
                yield requests_of(each, use_status=False)

    def _amounts(self, name: str, where: str, labels: Mapping[str, str], needed: Amounts) -> str | None:
        """`cpu=2,memory=4Gi` for what is needed and the pods of DaemonSets; None for a resource that the words of
        --add-node do not have."""
        try:
            empty = read_template(f"name={name}{where}")
            empty.metadata.labels = {**empty.metadata.labels, **labels}
            daemons, _ = self._daemon_requests(empty)
            needed = _sum([needed, daemons])
            amounts = ",".join(f"{each}={quantity_text(each, amount)}" for each, amount in needed.items() if amount)
            read_template(f"name={name},{amounts}{where}")
        except EditMistake:
            return None
        return amounts

    def _fit_on(self, node: Node) -> int:
        """How many of the pod an empty node of this make takes beside the pods of DaemonSets."""
        daemons, count = self._daemon_requests(node)
        has = {name: _amount(node, name) for name in self._requests}
        room = [(has[name] - daemons.get(name, 0)) // amount for name, amount in self._requests.items()]
        return max(min(*room, _amount(node, "pods") - count), 0) if room else max(_amount(node, "pods") - count, 0)

    def _daemon_requests(self, node: Node) -> tuple[Amounts, int]:
        """The requests of the DaemonSets' pods on the node, and how many pods there are."""
        running = [spec for spec in self._daemons if should_run(spec, node)]
        return _sum(requests_of(Pod(spec=spec), use_status=False) for spec in running), len(running)


def _sum(every: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for amounts in every:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def _is_without_a_node(pod: Pod, placed: set[str]) -> bool:
    return not pod.spec.node_name and f"{pod.metadata.namespace}/{pod.metadata.name}" not in placed


def _waiting(loaded: Loaded, pod: Pod, placed: set[str]) -> int:
    """The pod and the other pods of its controller that have no node."""
    owner = owner_identity(pod)
    if owner is None:
        return 1
    replicas = (each for each in loaded.of(Pod) if owner_identity(each) == owner)
    return max(sum(_is_without_a_node(each, placed) for each in replicas), 1)


def _amount(node: Node, name: str) -> int:
    quantity = node.status.allocatable.get(name, 0)
    return milli_value(quantity) if name == "cpu" else value(quantity)


def _selected_labels(pod: Pod) -> dict[str, str] | None:
    """Labels that a node needs for the pod's selector and the first of its required terms; None where labels will
    not do."""
    labels = dict(pod.spec.node_selector)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    for each in required.node_selector_terms[0].match_expressions if required and required.node_selector_terms else ():
        if each.operator in ("In", "Exists"):
            labels.setdefault(each.key, each.values[0] if each.values else "true")
    return None if any(key == "kubernetes.io/hostname" for key in labels) else labels


def _make(node: Node) -> object:
    labels = {key: text for key, text in node.metadata.labels.items() if key != "kubernetes.io/hostname"}
    amounts = {name: str(amount) for name, amount in node.status.allocatable.items()}
    return frozenset(amounts.items()), frozenset(labels.items()), tuple(node.spec.taints)


def _size(node: Node) -> tuple[float, ...]:
    return tuple(approximate(parse_quantity(node.status.allocatable.get(name, 0))) for name in ("cpu", "memory"))


# In a large cluster the nodes that lack least are looked at, and of each the smallest ways.
_NODES = 50
_WAYS = 3
_PER_NODE = 6
_PRIORITIES = 3
_SYSTEM_PRIORITY = 10**9


class FixSituation(Struct, frozen=True):
    """The pod as it was explained, and who was on which node at that moment with how much of what. `node`: the only
    one that it is to fit on. `manifests` were applied to the cluster."""

    subject: Subject
    found: Explanation
    on: Mapping[str, Sequence[tuple[str, Mapping[str, int]]]]
    profiles: tuple[str, ...]
    node: str = ""
    manifests: Sequence[Loaded] = ()


def propose(situation: FixSituation) -> list[Proposal]:
    """Sorted by cost. What is needed in any case, such as leaving out gates, is part of each."""
    base = _needed_anyway(situation)
    if base is None:
        return []
    found = [Proposal((*base, *each)) for each in _ways(situation)]
    if base:
        found.append(Proposal(base))
    unique = {tuple(each.text for each in proposal.changes): proposal for proposal in found}
    return sorted(unique.values(), key=lambda proposal: (round(proposal.cost, 6), len(proposal.changes)))


def _needed_anyway(situation: FixSituation) -> tuple[FixChange, ...] | None:
    """None where the pod is held back by something that no change of it or of nodes can end."""
    found, pod = situation.found, situation.subject.pod
    if pod.metadata.deletion_timestamp is not None:
        return None
    if found.standing == "ignored":
        name = situation.profiles[0]
        return (patched(f"let {name} schedule it", "scheduler", 1, add(name, "spec", "schedulerName")),)
    held_by = dict.fromkeys(each.plugin for each in found.pre_enqueue if each.rejects)
    patches = [guide_of(plugin).let_in(pod) for plugin in held_by]
    known = [each for each in patches if each is not None]
    if len(known) < len(patches):
        return None
    return tuple(patched(each.text, each.kind, each.cost, *each.operations) for each in known)


def _ways(situation: FixSituation) -> Iterator[tuple[FixChange, ...]]:
    found = situation.found
    if any(each.rejects for each in found.pre_filter):
        return
    nodes = {node.metadata.name: node for node in situation.subject.loaded.of(Node)}
    rejected = [node for node in by_distance(found.nodes) if node.rejections and node.name in nodes]
    occupants = Occupants(situation.subject.loaded, situation.subject.pod, situation.on)
    wanted = [each for each in rejected if each.name == situation.node] if situation.node else rejected[:_NODES]
    for each in wanted:
        yield from _on_node(each, nodes[each.name], situation.subject.pod, occupants)
    if situation.node:
        return
    placed = {key for held in situation.on.values() for key, _ in held}
    more = NodeProposals(situation.subject.loaded, situation.subject.pod, placed)
    yield from more.of_makes(rejected)
    yield from more.new()
    if any(all(each.code == "Unschedulable" for each in node.rejections) for node in rejected):
        yield from _priorities(situation)


def _on_node(found: ExplainedNode, node: Node, pod: Pod, occupants: Occupants) -> Iterator[tuple[FixChange, ...]]:
    """A remedy for each rejection. The same change may help against several."""
    cordoned = any(each.guide.cordons for each in found.rejections)
    place = RejectingNode(pod, node, cordoned=cordoned, occupants=occupants)
    ways = [remedies(rejection, place)[:_WAYS] for rejection in found.rejections]
    together = [tuple({each.text: each for way in chosen for each in way}.values()) for chosen in product(*ways)]
    yield from islice(sorted(together, key=lambda changes: sum(each.cost for each in changes)), _PER_NODE)


def _priorities(situation: FixSituation) -> Iterator[tuple[FixChange, ...]]:
    """A class of a higher priority, or a number higher than that of pods that run: the lowest few."""
    pod, loaded = situation.subject.pod, situation.subject.loaded
    own = pod_priority(pod)
    if pod.spec.preemption_policy == "Never":
        yield (patched("let it preempt", "preemption", 3, _may_preempt()),)
    known = [each for each in loaded.of(PriorityClass) if own < each.value < _SYSTEM_PRIORITY]
    classes = sorted(known, key=lambda each: (each.value, each.metadata.name))
    for rank, each in enumerate(classes[:_PRIORITIES]):
        name, policy = each.metadata.name, each.preemption_policy or "PreemptLowerPriority"
        yield (
            patched(
                f"give it priority class {name} ({each.value})",
                "priority",
                3 + rank / 10,
                add(name, "spec", "priorityClassName"),
                add(each.value, "spec", "priority"),
                add(policy, "spec", "preemptionPolicy"),
            ),
        )
    for rank, priority in enumerate(islice(_above_others(loaded.of(Pod), own), _PRIORITIES)):
        text = f"give it a priority of {priority} (by a priority class that is yet to be made)"
        yield (patched(text, "priority", 3.5 + rank / 10, add(priority, "spec", "priority"), _may_preempt()),)


def _may_preempt() -> dict[str, str]:
    return dict(add("PreemptLowerPriority", "spec", "preemptionPolicy"))


def _above_others(pods: Iterable[Pod], own: int) -> Iterator[int]:
    others = {pod_priority(pod) for pod in pods if own <= pod_priority(pod) < _SYSTEM_PRIORITY}
    return (priority + 1 for priority in sorted(others))
