"""Nodes that reject a pod for the same reasons, together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ksched_cli.plan.explain.results import ExplainedNode, Rejection
from ksched_cli.plan.explain.summary import by_distance

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
        key = tuple((each.plugin, each.part, each.code, problems) for each, problems in _problems(node))
        groups.setdefault(key, []).append(node)
    return [_group(members) for members in groups.values()]


def describe_node(node: ExplainedNode) -> RejectingNodes:
    """One node with all of its rejections in full."""
    return RejectingNodes((node.name,), tuple((each.plugin, each.describe()) for each in node.rejections))


def _problems(node: ExplainedNode) -> Iterator[tuple[Rejection, tuple[str, ...]]]:
    """Each rejection with its problems. The taint of a cordoned node is no problem of its own."""
    cordoned = any(each.guide.cordons for each in node.rejections)
    for each in node.rejections:
        if problems := tuple(each.guide.problems(each.reasons, each.detail, cordoned=cordoned)):
            yield each, problems


def _group(members: Sequence[ExplainedNode]) -> RejectingNodes:
    rejections = zip(*([*_problems(node)] for node in members), strict=True)
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
