"""Proposes changes that may make a pod fit, in the order in which a person would try them. All of them are tried
(`search.py`); none is certain.

First a typing error is corrected, then a missing claim or class is created, then come one more node of a pool that
exists, the pod's own requests and constraints, a PriorityClass that exists, and last other pods. `limits.py` has what
is never proposed. For each node the guides of the plugins that reject the pod give remedies, and `Occupants` the pods
that could leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Node, ObjectMeta, Pod, Taint, controller_of
from ksched_cli.api.json_patch import Operation, add, drop
from ksched_cli.api.object_facts import pod_key, pod_priority
from ksched_cli.api.quantity import amount_text
from ksched_cli.api.workloads import Deployment, PriorityClass, ReplicaSet, ReplicationController
from ksched_cli.cluster.catalog import mounted_claims
from ksched_cli.plan.explain.pods import Subject
from ksched_cli.plan.explain.results import ExplainedNode, Explanation, Rejection, by_distance
from ksched_cli.plan.reasons.fixes.limits import (
    is_control_plane,
    is_leaving,
    is_of_a_controller,
    is_of_a_state,
    is_of_another_system,
    may_label,
    may_leave_out,
    points_at,
    schedules_otherwise,
)
from ksched_cli.plan.reasons.fixes.nodes import NodeProposals
from ksched_cli.plan.reasons.fixes.storage import ClaimProposals, created
from ksched_cli.plan.reasons.fixes.values import AdvisedChange, FixChange, Proposal, edited, kubectl, patched
from ksched_cli.plan.reasons.pod_affinity import unmatched_terms
from ksched_cli.plan.reasons.rules import guide_of
from ksched_cli.plan.reasons.typos import Typo, selector_typos
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.lib.edit import Reference
from ksched_cli.whatif.edits.node_fields import LabelNode, TaintNode, Uncordon
from ksched_cli.whatif.edits.workloads import Delete, Scale

_SCALED = {each.__name__: each for each in (Deployment, ReplicaSet, ReplicationController)}
# So many pods of a node are thought of.
_MOST = 2
# The kind of a change that is tried if nothing else works.
LAST_RESORT = "scale"
# The rank of a change among others: `correct the typing error` before `uncordon`, and other people's pods last.
_TYPO, _TOLERATION, _UNCORDON, _LABEL, _UNTAINT, _PRIORITY, _FOREIGN_TAINT, _DELETION = 0.5, 0.8, 1, 2, 5, 6, 6.5, 8.5
# A replica fewer of another workload harms that workload: it is tried if nothing else works.
_FEWER_REPLICAS = 20


class Occupants:
    """Who is on which node when the pod is tried, those that were placed before it included."""

    def __init__(self, loaded: Loaded, pod: Pod, on: Mapping[str, Sequence[tuple[str, Mapping[str, int]]]]) -> None:
        self._loaded = loaded
        self._pod = pod
        self._on = on
        self._pods = {pod_key(pod): pod for pod in loaded.of(Pod)}
        self._autoscaled = {(each.target_kind, each.namespace, each.target_name) for each in loaded.autoscalers}

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
                changes.setdefault(str(change.edits[0]), change)
            if len(changes) == _MOST:
                break
        return list(changes.values())

    def _freed(self, key: str, node: str, short: Mapping[str, int]) -> str:
        held = next(held for each, held in self._on[node] if each == key)
        parts = [f"{amount_text(name, held[name])} {name}" for name in short if held.get(name)]
        return f" ({', '.join(parts)} on {node})" if parts else ""

    def remove(self, key: str, note: str = "") -> FixChange | None:
        """None for a pod that its controller creates again, is going already, or is of the same controller: it would be
        one replica for another."""
        pod = self._pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None or not self._may_leave(pod):
            return None
        owner = controller_of(pod.metadata)
        namespace = pod.metadata.namespace
        if owner is not None:
            scaled = self._scaled(pod)
            if scaled is None or scaled[2] < 2 or scaled == self._scaled(self._pod):
                return None
            kind, name, replicas = scaled
            if (kind.__name__, namespace, name) in self._autoscaled:
                return None
            reference = Reference(kind, name, namespace)
            return edited(
                f"one replica fewer of {reference}{note}",
                LAST_RESORT,
                _FEWER_REPLICAS,
                Scale(reference, replicas - 1),
                AdvisedChange("scale", kind.__name__, namespace, name, replicas=replicas - 1),
                command=kubectl(
                    "scale", f"{kind.__name__.lower()}/{name}", f"--replicas={replicas - 1}", namespace=namespace
                ),
            )
        reference = Reference(Pod, pod.metadata.name, namespace)
        command = kubectl("delete", "pod", pod.metadata.name, namespace=namespace)
        change = AdvisedChange("delete", "Pod", namespace, pod.metadata.name)
        return edited(f"delete {reference}{note}", "delete", _DELETION, Delete(reference), change, command=command)

    def _may_leave(self, pod: Pod) -> bool:
        """Only pods of the same namespace that are no more important: the pods of others are not ours to stop. Pods of
        a StatefulSet have data, as those of other workloads that mount claims."""
        owner = controller_of(pod.metadata)
        if owner is not None and (owner.kind == "StatefulSet" or any(mounted_claims(pod))):
            return False
        same = pod.metadata.namespace == self._pod.metadata.namespace
        return same and pod_priority(pod) <= pod_priority(self._pod)

    def _scaled(self, pod: Pod) -> tuple[type, str, int] | None:
        """The workload whose replicas a person sets, and their number: from a replica set to its deployment."""
        owner = controller_of(pod.metadata)
        if owner is None or (kind := _SCALED.get(owner.kind)) is None:
            return None
        item: Any = self._loaded.get(kind, owner.name, pod.metadata.namespace)
        if item is None:
            return None
        above = controller_of(item.metadata)
        if kind is ReplicaSet and above is not None and above.kind == "Deployment":
            deployment = self._loaded.get(Deployment, above.name, pod.metadata.namespace)
            if deployment is not None:
                kind, item = Deployment, deployment
        replicas = item.spec.replicas if item.spec.replicas is not None else 1
        return (kind, item.metadata.name, replicas) if item.spec.template is not None else None


def remedies(rejection: Rejection, place: RejectingNode) -> list[tuple[FixChange, ...]]:
    """Ways to do away with the rejection, each of one or more changes; none where nothing is known."""
    ways = rejection.guide.remedies(rejection.detail, place) if rejection.detail else ()
    found = [tuple(each for each in way if each is not None) for way in ways if way and None not in way]
    return [way for way in found if way]


class RejectingNode:
    """The pod, the node that rejects it, and the changes to both (RejectedPod). A change that no fix makes is None.
    `taints` counts the nodes with each taint."""

    def __init__(
        self,
        pod: Pod,
        node: Node,
        *,
        cordoned: bool,
        occupants: Occupants,
        taints: Mapping[str, int],
        typos: Sequence[Typo],
    ) -> None:
        self.pod, self.node, self.cordoned = pod, node, cordoned
        self._name, self._occupants, self._taints = node.metadata.name, occupants, taints
        self._mistaken = {each.key for each in typos}

    def patch(self, text: str, kind: str, cost: float, *operations: Operation) -> FixChange:
        return patched(text, kind, cost, *operations)

    def uncordon(self) -> FixChange:
        rows = [row for row, each in enumerate(self.node.spec.taints) if each.key == "node.kubernetes.io/unschedulable"]
        operations = [drop("spec", "taints", row) for row in reversed(rows)]
        operations += [drop("spec", "unschedulable")] if self.node.spec.unschedulable else []
        change = AdvisedChange("patch", "Node", "", self._name, tuple(operations))
        command = kubectl("uncordon", self._name)
        return edited(f"uncordon {self._name}", "uncordon", _UNCORDON, Uncordon(self._name), change, command=command)

    def untaint(self, taint: Taint) -> FixChange | None:
        """A taint that several nodes have is that of a pool, and no mistake of one node."""
        if is_of_a_state(taint) or is_control_plane(self.node) or self._taints[str(taint)] > 1:
            return None
        row = self.node.spec.taints.index(taint)
        change = AdvisedChange("patch", "Node", "", self._name, (drop("spec", "taints", row),))
        command = kubectl("taint", "nodes", self._name, f"{taint.key}:{taint.effect}-")
        text = f"take taint {taint} off {self._name}"
        return edited(text, "untaint", _UNTAINT, TaintNode(self._name, taint, removes=True), change, command=command)

    def tolerate(self, taint: Taint) -> FixChange | None:
        if is_of_a_state(taint):
            return None
        toleration = {"key": taint.key, "operator": "Equal" if taint.value else "Exists", "effect": taint.effect}
        if taint.value:
            toleration["value"] = taint.value
        meant = points_at(self.pod, self.node) or not self._taints[""]
        cost = _TOLERATION if meant else _FOREIGN_TAINT
        operation = add_to(toleration, self.pod.spec.tolerations, "tolerations")
        return patched(f"tolerate taint {taint}", "toleration", cost, operation)

    def label(self, key: str, value: str) -> FixChange | None:
        if key in self._mistaken or not may_label(key, value, self.node.metadata.labels):
            return None
        command = kubectl("label", "nodes", self._name, f"{key}={value}")
        labels = self.node.metadata.labels
        operation = add(value, "metadata", "labels", key) if labels else add({key: value}, "metadata", "labels")
        change = AdvisedChange("patch", "Node", "", self._name, (operation,))
        edit = LabelNode(self._name, key, value)
        return edited(f"label {self._name} {key}={value}", "label", _LABEL, edit, change, command=command)

    def may_leave_out(self, key: str) -> bool:
        return may_leave_out(key)

    def remove(self, pods: set[str]) -> Sequence[FixChange]:
        change = self._occupants.remove(*pods) if len(pods) == 1 else None
        return [] if change is None else [change]

    def make_room(self, short: Mapping[str, int]) -> Sequence[FixChange]:
        return self._occupants.lightest(self._name, short)


def add_to(item: Mapping[str, Any], present: Sequence[Any], name: str) -> Operation:
    """One more entry of a list of the pod's spec, which is there if it has entries."""
    return add(dict(item), "spec", name, "-") if present else add([dict(item)], "spec", name)


# In a large cluster the nodes that lack least are looked at, and of each the smallest ways.
_NODES = 50
_WAYS = 3
_PER_NODE = 6
_PRIORITIES = 3
_SYSTEM_PRIORITY = 10**9


class FixSituation(Struct, frozen=True):
    """The pod as it was explained, and who was on which node at that moment with how much of what. `node`: the only
    one that it is to fit on. `manifests` were applied to the cluster; a command with these `arguments` repeats that."""

    subject: Subject
    found: Explanation
    on: Mapping[str, Sequence[tuple[str, Mapping[str, int]]]]
    profiles: tuple[str, ...]
    node: str = ""
    manifests: Sequence[Loaded] = ()
    arguments: Sequence[str] = ()


def propose(situation: FixSituation, pod: Pod, waiting: int) -> list[Proposal]:
    """Sorted by cost. What is needed in any case is part of each. `pod` is the pod as its source has it, `waiting` the
    number of pods of the workload without a node."""
    base = _needed_anyway(situation)
    if base is None:
        return []
    found = [Proposal((*base, *each)) for each in _ways(situation, pod, waiting)]
    if base:
        found.append(Proposal(base))
    unique = {tuple(each.text for each in proposal.changes): proposal for proposal in found}
    return sorted(unique.values(), key=lambda proposal: (round(proposal.cost, 6), len(proposal.changes)))


def _needed_anyway(situation: FixSituation) -> tuple[FixChange, ...] | None:
    """None where the pod goes away, or is held back by something that no change of it or of nodes can end, or that
    another controller ends."""
    found, pod = situation.found, situation.subject.pod
    if pod.metadata.deletion_timestamp is not None or situation.subject.ends_with_namespace:
        return None
    if found.standing == "ignored":
        if schedules_otherwise(found.scheduler):
            return None
        name = situation.profiles[0]
        return (patched(f"let {name} schedule it", "scheduler", 1, add(name, "spec", "schedulerName")),)
    held_by = dict.fromkeys(each.plugin for each in found.pre_enqueue if each.rejects)
    if any(is_of_a_controller(each.name) for each in pod.spec.scheduling_gates) and held_by:
        return None
    patches = [guide_of(plugin).let_in(pod) for plugin in held_by]
    known = [each for each in patches if each is not None]
    if len(known) < len(patches):
        return None
    return tuple(patched(each.text, each.kind, each.cost, *each.operations) for each in known)


def _ways(situation: FixSituation, pod: Pod, waiting: int) -> Iterator[tuple[FixChange, ...]]:
    found, loaded = situation.found, situation.subject.loaded
    nodes = {node.metadata.name: node for node in loaded.of(Node)}
    typos = selector_typos(pod, [node.metadata.labels for node in nodes.values()])
    terms = unmatched_terms(pod, loaded.of(Pod), loaded.of(Namespace))
    mistakes = [*typos, *(each for term in terms for each in term.typos)]
    if mistakes and not situation.node:
        yield tuple(patched(each.correction, "typo", _TYPO, *each.operations) for each in mistakes)
    yield from ClaimProposals(loaded, pod).all()
    if any(each.rejects for each in found.pre_filter):
        return
    rejected = [node for node in by_distance(found.nodes) if node.rejections and node.name in nodes]
    occupants = Occupants(loaded, situation.subject.pod, situation.on)
    taints = _taints(nodes.values())
    wanted = [each for each in rejected if each.name == situation.node] if situation.node else rejected[:_NODES]
    for each in wanted:
        node = nodes[each.name]
        if not _is_out(each, node, pod, only=not taints[""]):
            place = RejectingNode(
                pod, node, cordoned=_is_cordoned(each), occupants=occupants, taints=taints, typos=typos
            )
            yield from _on_node(each, place)
    if situation.node:
        return
    owner = controller_of(situation.subject.pod.metadata)
    if owner is None or owner.kind != "DaemonSet":
        more = NodeProposals(loaded, pod, waiting, mounted_claims(situation.subject.pod))
        yield from ((each,) for each in more.of_makes(rejected))
        yield from ((each,) for each in more.in_another_zone(rejected))
    if any(all(each.code == "Unschedulable" for each in node.rejections) for node in rejected):
        yield from _priorities(situation)


def _taints(nodes: Any) -> Mapping[str, int]:
    """How many nodes have each taint; under the empty text, how many workers take pods without a toleration."""
    counts = Counter[str]()
    for node in nodes:
        hard = [each for each in node.spec.taints if each.effect != "PreferNoSchedule"]
        if all(is_of_a_state(each) for each in hard):
            counts[""] += 1
        for each in node.spec.taints:
            counts[str(each)] += 1
    return counts


def _is_cordoned(found: ExplainedNode) -> bool:
    return any(each.guide.cordons for each in found.rejections)


def _is_out(found: ExplainedNode, node: Node, pod: Pod, *, only: bool) -> bool:
    """Whether nothing is to be changed so that the pod goes to this node. `only`: all nodes are like it."""
    if is_leaving(node) or is_of_another_system(node, pod):
        return True
    tainted = any(each.guide.closes_node and not each.guide.cordons for each in found.rejections)
    return is_control_plane(node) and tainted and not only and not points_at(pod, node)


def _on_node(found: ExplainedNode, place: RejectingNode) -> Iterator[tuple[FixChange, ...]]:
    """A remedy for each rejection. The same change may help against several, and more than two are no small fix."""
    ways = [remedies(rejection, place)[:_WAYS] for rejection in found.rejections]
    together = [tuple({each.text: each for way in chosen for each in way}.values()) for chosen in product(*ways)]
    few = [changes for changes in together if len({each.kind.partition(" ")[0] for each in changes}) <= _MOST]
    yield from islice(sorted(few, key=lambda changes: sum(each.cost for each in changes)), _PER_NODE)


def _priorities(situation: FixSituation) -> Iterator[tuple[FixChange, ...]]:
    """Classes of the cluster with a higher priority: the lowest few. For a pod whose preemptionPolicy is Never those
    that let it preempt, also with its priority."""
    pod, loaded = situation.subject.pod, situation.subject.loaded
    own, may_preempt = pod_priority(pod), pod.spec.preemption_policy != "Never"
    known = [each for each in loaded.of(PriorityClass) if own <= each.value < _SYSTEM_PRIORITY]
    if may_preempt:
        better = [each for each in known if each.value > own]
    else:
        name = pod.spec.priority_class_name
        better = [each for each in known if each.preemption_policy != "Never" and each.metadata.name != name]
        yield from ((each,) for each in _policies(situation, known, make_class=not better))
    classes = sorted(better, key=lambda each: (each.value, each.metadata.name))
    for rank, each in enumerate(classes[:_PRIORITIES]):
        more = "" if may_preempt else ", which lets it preempt"
        text = f"give it priority class {each.metadata.name} ({each.value}){more}"
        yield (patched(text, "priority", _PRIORITY + rank / 10, *_of_class(each)),)


def _policies(situation: FixSituation, known: Sequence[PriorityClass], *, make_class: bool) -> Iterator[FixChange]:
    """Let a pod preempt whose preemptionPolicy is Never. The policy of a class cannot be changed, but another class may
    have the same priority."""
    study, pod = situation.found.preemption, situation.subject.pod
    if study is None or not study.if_allowed:
        return
    name = pod.spec.priority_class_name
    of_class = next((each for each in known if each.metadata.name == name), None)
    if of_class is None or of_class.preemption_policy != "Never":
        operation = add("PreemptLowerPriority", "spec", "preemptionPolicy")
        yield patched("let it preempt: do without preemptionPolicy Never", "policy", _PRIORITY - 0.1, operation)
    elif make_class:
        metadata = ObjectMeta(name=f"{name}-preempting")
        made = PriorityClass(metadata=metadata, value=of_class.value, preemption_policy="PreemptLowerPriority")
        text = f"create priority class {metadata.name} ({made.value}, which lets it preempt), and give it that class"
        change = created(text, "policy", _PRIORITY, made, "scheduling.k8s.io/v1")
        yield replace(change, operations=_of_class(made))


def _of_class(given: PriorityClass) -> tuple[Operation, ...]:
    """The operations that give the pod this class, and what admission sets by it."""
    return (
        add(given.metadata.name, "spec", "priorityClassName"),
        add(given.value, "spec", "priority"),
        add(given.preemption_policy or "PreemptLowerPriority", "spec", "preemptionPolicy"),
    )
