"""Why not this node: what rejects it, or how far it lags behind and which weight would have to change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace as replace_fields

from msgspec.structs import replace

from ksched_cli.api.node_facts import full_node_name
from ksched_cli.errors import UsageError
from ksched_cli.plan.explain.results import Explanation, Margin, NodeFocus, WeightChange
from ksched_cli.plan.explain.subject import closest_names
from ksched_cli.plan.node_values import ScoredNode
from ksched_cli.plan.results import PodOutcome

# Where the pod goes when a plugin has that weight: (plugin, weight) to the node's name, or to nothing.
Placed = Callable[[str, int], str]


def focus_on(found: Explanation, name: str, weights: Mapping[str, int], placed: Placed) -> Explanation:
    name = full_node_name(name, [each.name for each in found.nodes])
    node = next((each for each in found.nodes if each.name == name), None)
    if node is None:
        known = [each.name for each in found.nodes]
        near = closest_names(name, known) or sorted(known)[:5]
        raise UsageError(
            f"--node {name}: there is no such node; {'there is ' + ', '.join(near) if near else 'none is'}"
        )
    outcome = found.outcome
    assert outcome is not None
    focus = NodeFocus(name, node.rejections, chosen=outcome.node == name)
    if not focus.rejections and not focus.chosen and outcome.top:
        focus = _lagging(focus, outcome, weights, placed)
    return replace_fields(found, focus=replace(focus, text=tuple(_text(focus, outcome))))


def _lagging(focus: NodeFocus, outcome: PodOutcome, weights: Mapping[str, int], placed: Placed) -> NodeFocus:
    own = next(each for each in outcome.top if each.node == focus.node)
    chosen = next(each for each in outcome.top if each.node == outcome.node)
    by = {plugin: score.weighted - own.scores[plugin].weighted for plugin, score in chosen.scores.items()}
    margin = Margin(chosen.node, chosen.total - own.total, {plugin: each for plugin, each in by.items() if each})
    rank = 1 + sum(each.total > own.total for each in outcome.top)
    return replace(focus, rank=rank, behind=margin, weights=tuple(_weights(own, outcome.top, weights, placed)))


def _weights(
    own: ScoredNode, scored: Sequence[ScoredNode], weights: Mapping[str, int], placed: Placed
) -> Iterator[WeightChange]:
    """By plugin the weight nearest to the present one with which the node comes out first, the smallest change first.
    Other pods are weighed differently too, so each is tried."""
    changes = []
    for plugin in own.scores:
        weight = weights.get(plugin, 1)
        needed = _needed(own, scored, plugin, weight)
        if needed is not None:
            changes.append(WeightChange(plugin, weight, needed))
    for change in sorted(changes, key=lambda each: (abs(each.new_weight - each.weight), each.plugin)):
        if placed(change.plugin, change.new_weight) == own.node:
            yield change


def _needed(own: ScoredNode, scored: Sequence[ScoredNode], plugin: str, weight: int) -> int | None:
    """total + change * normalised must be more than that of every other node, or as much with the lower name."""
    least, most = 1 - weight, 10**6
    for other in scored:
        if other.node == own.node:
            continue
        gap = other.total - own.total + (0 if own.node < other.node else 1)
        lead = own.scores[plugin].normalized - other.scores[plugin].normalized
        # The change has to be such that gap <= change * lead.
        if lead > 0:
            least = max(least, -(-gap // lead))
        elif lead < 0:
            most = min(most, -gap // -lead)
        elif gap > 0:
            return None
    return weight + min(max(least, 0), most) if least <= most else None


def _text(focus: NodeFocus, outcome: PodOutcome) -> Iterator[str]:
    if focus.rejections:
        yield f"Not on {focus.node}: {'; '.join(each.describe() for each in focus.rejections)}."
        return
    if focus.chosen:
        yield f"{focus.node} is where it goes."
        return
    if focus.behind is None:
        yield f"{focus.node} fits, and was not asked: nothing is scored."
        return
    if focus.behind.total == 0:
        yield f"{focus.node} fits and has the same score as {focus.behind.node}: of equals the lowest name is taken."
    else:
        by = ", ".join(f"{plugin} {-each:+d}" for plugin, each in focus.behind.by_plugin.items())
        yield (
            f"{focus.node} fits and is number {focus.rank} of {len(outcome.top)}, {focus.behind.total} behind "
            f"{focus.behind.node} ({by})."
        )
    for change in focus.weights:
        yield f"With weight {change.new_weight} instead of {change.weight} for {change.plugin} it goes to {focus.node}."
    if not focus.weights:
        yield f"No other weight of a single plugin takes it to {focus.node}."
