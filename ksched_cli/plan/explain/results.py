"""The result of `explain`, by name: no rows, no columns, nothing that changes any more.

It has the sentences that an explanation begins with, and the nodes that reject a pod for the same reasons. Its fixes
are in `plan/reasons/fixes/values.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from ksched_cli.errors import counted, named, predicate
from ksched_cli.framework.reasons import Reason, RejectionGuide
from ksched_cli.plan.reasons.fixes.values import Fix, Fixes
from ksched_cli.plan.reasons.rules import guide_of
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.results.outcomes import Displayed, DrawOdds, PodOutcome

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning
    from ksched_cli.plan.size.results import HelpingNode


# How the pod stands before anything is worked out. "running": it has a node already and is looked at as if it had none.
Standing = Literal["pending", "running", "gated", "ignored", "refused"]


class Rejection(Struct, frozen=True):
    """One plugin's rejection of one node, and the numbers behind it. `part`: the plugin whose rule it is, for a
    predicate that has the rules of several. `beside`: only for pods nominated to the node."""

    plugin: str
    code: str
    reasons: tuple[Reason, ...]
    detail: Mapping[str, Any]
    beside: bool = False
    part: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(reason.text for reason in self.reasons)

    @property
    def guide(self) -> RejectionGuide:
        return guide_of(self.part or self.plugin)

    def describe(self) -> str:
        """One line with the numbers; the plugin's own reasons where nothing better is known."""
        text = (self.detail and self.guide.describe(self.detail)) or self._plain()
        return f"{text}, with the pods nominated there" if self.beside else text

    def describe_briefly(self) -> str:
        """The same to go on from "closest is node-7, ": shorter where many pods are named."""
        return (self.detail and self.guide.describe_briefly(self.detail)) or self._plain()

    def _plain(self) -> str:
        return "; ".join(reason.plain for reason in self.reasons)


class ExplainedNode(Struct, frozen=True):
    """Every plugin that rejects the node, in the order of the profile."""

    name: str
    rejections: tuple[Rejection, ...]


class PluginAnswer(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The result of a plugin for the pod as a whole; `nodes` are the only ones it leaves where it narrows them."""

    plugin: str
    code: str
    reasons: tuple[str, ...] = ()
    nodes: tuple[str, ...] | None = None

    @property
    def rejects(self) -> bool:
        return self.code not in ("Success", "Skip")


class QueuePlace(Struct, frozen=True):
    """The pod's turn, counted from 1. `placed` of those before it found a place."""

    position: int
    pods: int
    placed: int = msgspec.field(name="placedBefore")


class Margin(Struct, frozen=True, rename="camel"):
    """What puts the chosen node ahead of another one, or behind it: the difference of the weighted scores."""

    node: str
    total: int = msgspec.field(name="behind")
    by_plugin: Mapping[str, int]


class PreemptionCandidate(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A node that the pod would fit on if the victims left it; `why` it was chosen or was not."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int
    highest_priority: int
    why: str


class PreemptionStudy(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What preemption looked at: why the pod may not preempt, or the candidates from the best to the worst, the nodes
    that were tried in vain, and how many have a problem that no eviction solves; these three are None for a pod that
    may not preempt. `if_allowed`: its candidates if its preemptionPolicy were not Never, None without any."""

    ineligible: str = ""
    if_allowed: tuple[PreemptionCandidate, ...] | None = None
    candidates: tuple[PreemptionCandidate, ...] | None = None
    others: Mapping[str, str] | None = None
    beyond_help: int | None = None


class WeightChange(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Another weight of one score plugin with which the pod goes to the node: tried, pods before it included."""

    plugin: str
    weight: int
    new_weight: int


class NodeFocus(Struct, frozen=True):
    """Why not this node. `behind` the chosen one where it fits, with its rank and the difference by plugin."""

    node: str
    rejections: tuple[Rejection, ...] = ()
    chosen: bool = False
    rank: int = 0
    behind: Margin | None = None
    weights: tuple[WeightChange, ...] = ()
    text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """`outcome` is the pod's entry in `simulate`; for a pod that is held back or runs already it is what would
    happen if it were tried. `nodes` are in name order."""

    pod: str
    standing: Standing
    asks: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0
    scheduler: str = ""
    node: str = ""
    # Why containers of a pod that has a node do not run there.
    waiting: tuple[str, ...] = ()
    nominated: str = ""
    outcome: PodOutcome | None = None
    summary: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    queue: QueuePlace | None = None
    pre_enqueue: tuple[PluginAnswer, ...] = ()
    pre_filter: tuple[PluginAnswer, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[ExplainedNode, ...] = ()
    runner_up: Margin | None = None
    # By plugin, the events of the cluster that it waits for.
    retries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    preemption: PreemptionStudy | None = None
    focus: NodeFocus | None = None
    fixes: Fixes | None = None
    # The nodes when the pod is tried, with the pods before it in place, and after its cycle.
    columns: NodeChanges | None = field(default=None, compare=False, repr=False)

    @property
    def unplaced(self) -> bool:
        """Whether the pod has no place and none is being made for it."""
        if self.standing in ("ignored", "refused", "gated"):
            return True
        return self.standing == "pending" and (self.outcome is None or self.outcome.unplaced)


class ExplainResult(Displayed, Struct, frozen=True):
    """`helping_node`: the cheapest node of the catalog that helps, if a catalog is given and the pod waits."""

    explanation: Explanation
    coverage: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    # Results of the pod under random orders and tie-breaks, with --orders or --ties.
    odds: DrawOdds | None = None
    helping_node: HelpingNode | None = None
    # What the autoscaler of the cluster does for the pod, if the pod waits.
    autoscaling: Provisioning | None = None
    # Fixes on its NodePools, if none of them takes the pod.
    pool_fixes: tuple[Fix, ...] = ()


def summarise(found: Explanation, profiles: Sequence[str]) -> tuple[str, ...]:
    """What came of the pod and why, the most important first."""
    if found.standing == "ignored":
        known = f"profiles are {', '.join(profiles)}" if len(profiles) > 1 else f"the profile is {profiles[0]}"
        return (f'No profile is named "{found.scheduler}", so this scheduler leaves the pod alone; {known}.',)
    lines = list(_standing(found))
    lines.append(_outcome(found))
    return tuple(line for line in lines if line)


def _standing(found: Explanation) -> Iterator[str]:
    if found.standing == "running":
        yield f"{_runs(found)}. Were it pending now, alone and with its place given back:"
    elif found.standing == "gated":
        held = "; ".join(f"{each.plugin}: {', '.join(each.reasons)}" for each in found.pre_enqueue if each.rejects)
        yield f"Held back and not tried ({held}). Were it let in:"


def _runs(found: Explanation) -> str:
    if found.waiting:
        return f"It is bound to {found.node} and does not run there: {'; '.join(found.waiting)}"
    return f"It runs on {found.node}"


def _outcome(found: Explanation) -> str:
    outcome = found.outcome
    assert outcome is not None
    if outcome.result == "scheduled":
        return _scheduled(found)
    if outcome.result == "skipped":
        return "It is being deleted, so it is not tried."
    if outcome.result == "error":
        return f"Its cycle ends in an error: {outcome.message}"
    if outcome.preemption and outcome.nominated_node:
        count = len(outcome.preemption.victims)
        leave = "leaves" if count == 1 else "leave"
        return (
            f"No node fits as things are. On {outcome.nominated_node} it fits when "
            f"{named(outcome.preemption.victims, 5)} {leave}: it preempts {'that pod' if count == 1 else 'those pods'} "
            f"and waits. {_why_nowhere(found)}"
        )
    if outcome.nominated_node:
        return f"It waits for {outcome.nominated_node} until other pods of its group have a place."
    return _why_nowhere(found)


def _scheduled(found: Explanation) -> str:
    outcome = found.outcome
    assert outcome is not None
    total = outcome.total_nodes
    back = " again" if found.node == outcome.node else ""
    fitting = sum(not each.rejections for each in found.nodes)
    if outcome.feasible_nodes == 1 and fitting > 1:
        first = (
            "which an earlier preemption nominated it to" if outcome.node == found.nominated else "the first that fits"
        )
        not_asked = f"the others of {counted(fitting, 'node')} that fit are not asked"
        return f"It goes to {outcome.node}{back}, {first}: {not_asked}."
    if outcome.feasible_nodes == 1:
        return f"It goes to {outcome.node}{back}, the only one of {counted(total, 'node')} that fits."
    text = f"It goes to {outcome.node}{back}, the best of the {outcome.feasible_nodes} nodes that fit"
    text += f" (of {total})" if total != outcome.feasible_nodes else ""
    margin = found.runner_up
    if margin is None:
        return f"{text}."
    chosen = next(each.total for each in outcome.top if each.node == outcome.node)
    if margin.total == 0:
        others = [name for name in outcome.ties if name != outcome.node]
        return f"{text}: its score of {chosen} is also that of {named(others)}."
    by, most = max(margin.by_plugin.items(), key=lambda each: each[1])
    text += f": its score of {chosen} is {margin.total} more than that of {margin.node}"
    return f"{text}, most of it by {by} (+{most})."


def _why_nowhere(found: Explanation) -> str:
    outcome = found.outcome
    assert outcome is not None
    if outcome.pre_filter is not None:
        by_reason: dict[str, list[str]] = {}
        for each in found.pre_filter:
            if each.rejects:
                by_reason.setdefault(", ".join(each.reasons), []).append(each.plugin)
        texts = [f"{reason} ({', '.join(plugins)})" for reason, plugins in by_reason.items()]
        return f"No node is even looked at: {'; '.join(texts) or ', '.join(outcome.pre_filter.reasons)}."
    if not found.nodes:
        return "There are no nodes."
    problems = _problems(found.nodes)
    if not problems:
        return f"{outcome.message}"
    text = _problem_list(problems, len(found.nodes))
    if main := _what_must_change(found.nodes):
        text = f"{main} All problems: {text[0].lower()}{text[1:]}"
    near = closest(found.nodes)
    if near is None or not near.rejections:
        fitting = sum(not each.rejections for each in found.nodes)
        return f"{text}; {counted(fitting, 'node')} would take it, and yet: {outcome.message}."
    why = " and ".join(each.describe_briefly() for each in near.rejections)
    return f"{text}; closest is {near.name}, {why}."


def _what_must_change(nodes: Sequence[ExplainedNode]) -> str:
    """The constraints each of which alone excludes nodes: all other constraints allow these nodes. Where every node has
    several problems, those of the nodes with the fewest. Empty if no node has more than one problem."""
    found = [(node, tuple(" and ".join(texts) for _, texts in _rejection_problems(node))) for node in nodes]
    named_nodes = [node for node, way in found if way]
    ways = [way for _, way in found if way]
    fewest = min(map(len, ways), default=0)
    if not ways or len(set(ways)) == 1 or max(map(len, ways)) == 1:
        return ""
    counts = Counter(way for way in ways if len(way) == fewest)
    # A person changes what fills the right nodes before the choice of nodes.
    of_other_nodes = {way for way, node in zip(ways, named_nodes, strict=True) if _is_chosen_against(node)}
    order = sorted(counts, key=lambda way: (way in of_other_nodes, -counts[way]))
    parts = [_with_verb(" and ".join(way), counts[way]) for way in order[:_MOST_CAUSES]]
    left = len(counts) - len(parts)
    more = f" and {left} more" if left > 0 else ""
    which = "Nodes with a single problem" if fewest == 1 else f"Every node has {fewest} problems or more. The fewest"
    return f"{which}: {', '.join(parts)}{more}."


# So many causes are named before the list of all problems.
_MOST_CAUSES = 4


def _is_chosen_against(node: ExplainedNode) -> bool:
    """Whether the pod wants other nodes, or the node is closed to it."""
    return any(
        each.guide.is_about_the_place or each.guide.closes_node or each.guide.cordons or _is_too_small(each)
        for each in node.rejections
    )


def _with_verb(problem: str, count: int) -> str:
    return f"{count} {' and '.join(predicate(each, count) for each in problem.split(' and '))}"


def _problem_list(problems: Mapping[str, int], total: int) -> str:
    """`12 of 14 nodes lack cpu, 2 are cordoned`, `No node matches its node affinity, 2 lack cpu`."""
    parts = []
    for index, (problem, count) in enumerate(problems.items()):
        verb = predicate(problem, count)
        many = f"{count} of {total} nodes" if count < total else "The only node" if total == 1 else f"All {total} nodes"
        if index == 0 and count == total > 1 and problem.startswith(_NOT):
            parts.append(f"No node {predicate(problem.removeprefix(_NOT), 1)}")
        else:
            parts.append(f"{many} {verb}" if index == 0 else f"{count} {verb}")
    return ", ".join(parts)


_NOT = "do not "


def _problems(nodes: Sequence[ExplainedNode]) -> dict[str, int]:
    """How many nodes have each problem, by all plugins, the most frequent first."""
    counts: Counter[str] = Counter()
    for node in nodes:
        counts.update({problem for _, problems in _rejection_problems(node) for problem in problems})
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def closest(nodes: Sequence[ExplainedNode]) -> ExplainedNode | None:
    """The node with the least in the way: fewest plugins, then the smallest shortage in proportion."""
    return min(nodes, key=_distance, default=None)


def by_distance(nodes: Sequence[ExplainedNode]) -> list[ExplainedNode]:
    """The closest first."""
    return sorted(nodes, key=_distance)


def _distance(node: ExplainedNode) -> tuple[int, int, float, str]:
    hopeless = sum(not each.guide.easily_mended or _is_too_small(each) for each in node.rejections)
    shortage = sum(each.guide.shortage(each.detail) for each in node.rejections)
    return len(node.rejections), hopeless, shortage, node.name


def _is_too_small(found: Rejection) -> bool:
    """Whether the node could not take the pod even if it were empty."""
    return bool(found.detail and found.guide.describe_limits(found.detail))


def explanation_notes(found: Explanation) -> tuple[str, ...]:
    """How the answer was come by."""
    notes = []
    place = found.queue
    is_skipped = found.outcome is not None and found.outcome.result == "skipped"
    if place is not None and place.pods > 1 and not is_skipped:
        before = place.position - 1
        if before:
            ones = "one before it was" if before == 1 else f"{before} before it were"
            notes.append(
                f"Tried as number {place.position} of {place.pods} pods in the queue; the {ones} tried "
                f"first, as `ksched simulate` does, and {place.placed} found a place."
            )
        else:
            notes.append(f"Tried first of {place.pods} pods in the queue.")
    if found.standing == "running":
        notes.append("Pending pods were not placed first: this is the cluster as it is, without the pod.")
    if found.outcome is not None and found.outcome.pod_group:
        notes.append(
            f"It belongs to group {found.outcome.pod_group}, which has one cycle: what is said of the nodes is how "
            "they were before any pod of the group."
        )
    if any(each.beside for node in found.nodes for each in node.rejections):
        notes.append("Pods that wait for a node which preemption clears for them count there.")
    return tuple(notes)


# So few nodes are described one by one.
_FEW = 3


class SharedRejection(Struct, frozen=True):
    """What a plugin finds on several nodes."""

    plugin: str
    text: str


class RejectingNodes(Struct, frozen=True):
    """Nodes that reject the pod for the same reasons, by their distance from taking it."""

    nodes: tuple[str, ...]
    rejections: tuple[SharedRejection, ...]


def group_nodes(nodes: Sequence[ExplainedNode]) -> list[RejectingNodes]:
    """The nodes that are rejected, those with the same problems together, the group with the closest node first. Only a
    few nodes are described in full, each by itself."""
    rejected = [node for node in by_distance(nodes) if node.rejections]
    if len(rejected) <= _FEW:
        in_full = [[SharedRejection(each.plugin, each.describe()) for each in node.rejections] for node in rejected]
        return [RejectingNodes((node.name,), tuple(found)) for node, found in zip(rejected, in_full, strict=True)]
    groups: dict[object, list[ExplainedNode]] = {}
    for node in rejected:
        key = tuple((each.plugin, each.part, each.code, problems) for each, problems in _rejection_problems(node))
        groups.setdefault(key, []).append(node)
    return [_group(members) for members in groups.values()]


def _rejection_problems(node: ExplainedNode) -> Iterator[tuple[Rejection, tuple[str, ...]]]:
    """Each rejection with its problems. The taint of a cordoned node is no problem of its own."""
    cordoned = any(each.guide.cordons for each in node.rejections)
    for each in node.rejections:
        if problems := tuple(each.guide.problems(each.reasons, each.detail, cordoned=cordoned)):
            yield each, problems


def _group(members: Sequence[ExplainedNode]) -> RejectingNodes:
    rejections = zip(*([*_rejection_problems(node)] for node in members), strict=True)
    described = ((each[0], [rejection for rejection, _ in each]) for each in rejections)
    return RejectingNodes(
        tuple(node.name for node in members),
        tuple(SharedRejection(first.plugin, _describe(found, problems)) for (first, problems), found in described),
    )


def _describe(rejections: Sequence[Rejection], problems: Sequence[str]) -> str:
    """What one plugin finds on all nodes of a group."""
    first = rejections[0]
    figures = [each.detail for each in rejections]
    plain = {each.describe_briefly() for each in rejections}
    return (all(figures) and first.guide.describe_nodes(figures)) or (
        plain.pop() if len(plain) == 1 else "; ".join(problems)
    )
