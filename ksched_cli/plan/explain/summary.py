"""The sentences that an explanation begins with, and the nodes that reject a pod for the same reasons, grouped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ksched_cli.api.listing import named
from ksched_cli.plan.explain.results import ExplainedNode, Explanation, Rejection


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
    if found.nodes and all(each.name != found.node for each in found.nodes):
        return f"It is bound to {found.node}, a node that the input does not have: no kubelet runs it"
    if found.waiting:
        return f"It is on {found.node} and does not run there: {'; '.join(found.waiting)}"
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
        return f"It goes to {outcome.node}{back}, {first}: the others of {nodes_text(fitting)} that fit are not asked."
    if outcome.feasible_nodes == 1:
        return f"It goes to {outcome.node}{back}, the only one of {nodes_text(total)} that fits."
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
    near = closest(found.nodes)
    if near is None or not near.rejections:
        fitting = sum(not each.rejections for each in found.nodes)
        return f"{text}; {nodes_text(fitting)} would take it, and yet: {outcome.message}."
    why = " and ".join(each.describe_briefly() for each in near.rejections)
    return f"{text}; closest is {near.name}, {why}."


def _problem_list(problems: Mapping[str, int], total: int) -> str:
    """`12 of 14 nodes lack cpu, 2 are cordoned`."""
    parts = []
    for index, (problem, count) in enumerate(problems.items()):
        verb = _singular(problem) if count == 1 else problem
        many = f"{count} of {total} nodes" if count < total else "The only node" if total == 1 else f"All {total} nodes"
        parts.append(f"{many} {verb}" if index == 0 else f"{count} {verb}")
    return ", ".join(parts)


_SINGULAR = {
    "lack": "lacks",
    "are": "is",
    "have": "has",
    "do": "does",
    "hold": "holds",
    "would": "would",
    "exceed": "exceeds",
}


def nodes_text(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


def _singular(problem: str) -> str:
    verb, space, rest = problem.partition(" ")
    return f"{_SINGULAR.get(verb, verb)}{space}{rest}"


def _problems(nodes: Sequence[ExplainedNode]) -> dict[str, int]:
    """How many nodes have each problem, by all plugins, the most frequent first."""
    counts: Counter[str] = Counter()
    for node in nodes:
        counts.update(set(_problems_of(node.rejections)))
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _problems_of(rejections: Sequence[Rejection]) -> Iterator[str]:
    cordoned = any(each.guide.cordons for each in rejections)
    for each in rejections:
        yield from each.guide.problems(each.reasons, each.detail, cordoned=cordoned)


def closest(nodes: Sequence[ExplainedNode]) -> ExplainedNode | None:
    """The node with the least in the way: fewest plugins, then the smallest shortage in proportion."""
    return min(nodes, key=_distance, default=None)


def by_distance(nodes: Sequence[ExplainedNode]) -> list[ExplainedNode]:
    """The closest first."""
    return sorted(nodes, key=_distance)


def _distance(node: ExplainedNode) -> tuple[int, int, float, str]:
    hopeless = sum(not each.guide.easily_mended for each in node.rejections)
    shortage = sum(each.guide.shortage(each.detail) for each in node.rejections)
    return len(node.rejections), hopeless, shortage, node.name


def explanation_notes(found: Explanation) -> tuple[str, ...]:
    """How the answer was come by."""
    notes = []
    place = found.queue
    if place is not None and place.pods > 1:
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


class RejectingNodes(Struct, frozen=True):
    """Nodes by their distance from taking the pod. `rejections`: plugin and what it finds on these nodes."""

    nodes: tuple[str, ...]
    rejections: tuple[tuple[str, str], ...]


def group_nodes(nodes: Sequence[ExplainedNode]) -> list[RejectingNodes]:
    """The nodes that are rejected, those with the same problems together, the group with the closest node first. Only a
    few nodes are described in full, each by itself."""
    rejected = [node for node in by_distance(nodes) if node.rejections]
    if len(rejected) <= _FEW:
        return [describe_node(node) for node in rejected]
    groups: dict[object, list[ExplainedNode]] = {}
    for node in rejected:
        key = tuple((each.plugin, each.part, each.code, problems) for each, problems in _rejection_problems(node))
        groups.setdefault(key, []).append(node)
    return [_group(members) for members in groups.values()]


def describe_node(node: ExplainedNode) -> RejectingNodes:
    """One node with all of its rejections in full."""
    return RejectingNodes((node.name,), tuple((each.plugin, each.describe()) for each in node.rejections))


def _rejection_problems(node: ExplainedNode) -> Iterator[tuple[Rejection, tuple[str, ...]]]:
    """Each rejection with its problems. The taint of a cordoned node is no problem of its own."""
    cordoned = any(each.guide.cordons for each in node.rejections)
    for each in node.rejections:
        if problems := tuple(each.guide.problems(each.reasons, each.detail, cordoned=cordoned)):
            yield each, problems


def _group(members: Sequence[ExplainedNode]) -> RejectingNodes:
    rejections = zip(*([*_rejection_problems(node)] for node in members), strict=True)
    return RejectingNodes(
        tuple(node.name for node in members),
        tuple((each[0][0].plugin, _describe([rejection for rejection, _ in each], each[0][1])) for each in rejections),
    )


def _describe(rejections: Sequence[Rejection], problems: Sequence[str]) -> str:
    """What one plugin finds on all nodes of a group."""
    first = rejections[0]
    figures = [each.detail for each in rejections]
    plain = {each.describe_briefly() for each in rejections}
    return (all(figures) and first.guide.describe_nodes(figures)) or (
        plain.pop() if len(plain) == 1 else "; ".join(problems)
    )
