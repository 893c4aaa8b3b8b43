"""Changes that may make a pod fit, the smallest first: for each node what its rejections ask for, one more node like
one that is there, another priority."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from ksched_cli.api.amounts import quantity_text
from ksched_cli.api.core import Node, Pod
from ksched_cli.api.json_patch import add
from ksched_cli.api.pod_facts import pod_priority
from ksched_cli.api.pod_resources import requests_of
from ksched_cli.api.policy import PriorityClass
from ksched_cli.api.quantity import approximate, parse_quantity
from ksched_cli.plan.explain.results import ExplainedNode, Explanation
from ksched_cli.plan.explain.subject import Subject
from ksched_cli.plan.explain.summary import by_distance
from ksched_cli.plan.fixes.occupants import Occupants
from ksched_cli.plan.fixes.remedies import RejectingNode, label_node, remedies
from ksched_cli.plan.fixes.values import FixChange, Proposal, edited, patched
from ksched_cli.plan.rules import guide_of
from ksched_cli.whatif.edits.add_node import AddNode
from ksched_cli.whatif.edits.clone_node import CloneNode
from ksched_cli.whatif.edits.lib.mistake import EditMistake
from ksched_cli.whatif.edits.lib.node_templates import read_template

# In a large cluster the nodes that lack least are looked at, and of each the smallest ways.
_NODES = 50
_WAYS = 3
_PER_NODE = 6
_CLONES = 2
_PRIORITIES = 3
_SYSTEM_PRIORITY = 10**9

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


@dataclass(frozen=True)
class FixSituation:
    """The pod as it was explained, and who was on which node at that moment with how much of what. `node`: the only
    one that it is to fit on."""

    subject: Subject
    found: Explanation
    on: Mapping[str, Sequence[tuple[str, Mapping[str, int]]]]
    profiles: tuple[str, ...]
    node: str = ""


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
    yield from _one_more_node(rejected, nodes)
    yield from _node_of_its_own(situation.subject.pod, nodes)
    if any(all(each.code == "Unschedulable" for each in node.rejections) for node in rejected):
        yield from _priorities(situation)


def _on_node(found: ExplainedNode, node: Node, pod: Pod, occupants: Occupants) -> Iterator[tuple[FixChange, ...]]:
    """A remedy for each rejection. The same change may help against several."""
    cordoned = any(each.guide.cordons for each in found.rejections)
    place = RejectingNode(pod, node, cordoned=cordoned, occupants=occupants)
    ways = [remedies(rejection, place)[:_WAYS] for rejection in found.rejections]
    together = [tuple({each.text: each for way in chosen for each in way}.values()) for chosen in product(*ways)]
    yield from islice(sorted(together, key=lambda changes: sum(each.cost for each in changes)), _PER_NODE)


def _one_more_node(rejected: Sequence[ExplainedNode], nodes: Mapping[str, Node]) -> Iterator[tuple[FixChange, ...]]:
    """One of each make that would do if it were empty, the smallest first."""
    makes: dict[object, Node] = {}
    for each in rejected:
        node = nodes[each.name]
        if all(rejection.guide.ends_on_empty_node(rejection.detail) for rejection in each.rejections):
            makes.setdefault(_make(node), node)
    sized = sorted(makes.values(), key=lambda node: (_size(node), node.metadata.name))
    for rank, node in enumerate(sized[:_CLONES]):
        name = node.metadata.name
        yield (edited(f"one more node like {name}", "node", 4 + rank / 10, CloneNode(name)),)


def _node_of_its_own(pod: Pod, nodes: Mapping[str, Node]) -> Iterator[tuple[FixChange, ...]]:
    """A node as large as the pod, or twice that where DaemonSets come to it too, with the labels that it selects."""
    asked = {name: amount for name, amount in requests_of(pod, use_status=False).items() if amount} or {"cpu": 1000}
    labels = _selected_labels(pod)
    if labels is None:
        return
    name = next(each for each in ("new-node", "ksched-new-node", "node-of-its-own") if each not in nodes)
    where = "".join(
        f",{word}={labels.pop(key)}" for word, key in (("zone", _ZONE), ("region", _REGION)) if key in labels
    )
    for times in (1, 2):
        amounts = ",".join(f"{each}={quantity_text(each, amount * times)}" for each, amount in asked.items())
        words = f"name={name},{amounts}{where}"
        try:
            template = read_template(words)
        except EditMistake:
            # A resource that words do not know.
            return
        node = edited(f"a new node with {amounts}", "node", 6 + times, AddNode(template, text=words))
        yield (node, *(label_node(name, key, value) for key, value in labels.items()))


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
    labels = {key: value for key, value in node.metadata.labels.items() if key != "kubernetes.io/hostname"}
    amounts = {name: str(amount) for name, amount in node.status.allocatable.items()}
    return frozenset(amounts.items()), frozenset(labels.items()), tuple(node.spec.taints)


def _size(node: Node) -> tuple[float, ...]:
    return tuple(approximate(parse_quantity(node.status.allocatable.get(name, 0))) for name in ("cpu", "memory"))


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
