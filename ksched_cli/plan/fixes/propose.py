"""Changes that may make a pod fit, the smallest first: for each node the remedies of its rejections, one more node like
one that is there, another priority."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from msgspec import Struct

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.json_patch import add
from ksched_cli.api.pod_facts import pod_priority
from ksched_cli.api.policy import PriorityClass
from ksched_cli.plan.explain.results import ExplainedNode, Explanation
from ksched_cli.plan.explain.subject import Subject
from ksched_cli.plan.explain.summary import by_distance
from ksched_cli.plan.fixes.nodes import NodeProposals
from ksched_cli.plan.fixes.occupants import Occupants
from ksched_cli.plan.fixes.remedies import RejectingNode, remedies
from ksched_cli.plan.fixes.values import FixChange, Proposal, patched
from ksched_cli.plan.rules import guide_of
from ksched_cli.sources.loaded import Loaded

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
