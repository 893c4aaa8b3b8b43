"""What the cluster's autoscaler does with pods that have no place: nodes that it adds, and pods that it cannot help.

Karpenter's own message is shown behind a plain sentence. A price is that of the cheapest offering of the cheapest
instance type, an hour; the cloud may launch another type of the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from ksched_cli.errors import counted, named
from ksched_cli.report.view.model import Line, Lines, Section, Step, Steps, Table, columns

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import NewNode, PodWithoutNode, Provisioning

_SHOWN_PODS = 3
_SHOWN_NODES = 20
_SHOWN_UNPLACED = 10
_SHOWN_ELSEWHERE = 5
_SENTENCES = {
    "validate": "Karpenter does not try to place it",
    "nodepools": "no NodePool is ready",
    "sync": "Karpenter makes no decision now",
    "solve": "no NodePool takes it",
}


def price_text(price: float | None) -> str:
    return "price unknown" if price is None else f"${price:.4f}".rstrip("0").rstrip(".") + "/h"


def new_node_text(node: NewNode) -> str:
    """`new m6i.xlarge (pool general, $0.192/h)`."""
    return f"new {node.cheapest.instance_type} (pool {node.node_pool}, {price_text(node.cheapest.price)})"


def place_texts(found: Provisioning) -> dict[str, str]:
    """Where the autoscaler has a place for each pod."""
    texts = {pod: new_node_text(node) for node in found.new_nodes for pod in node.pods}
    return texts | {pod: f"{node} (Karpenter)" for node, pods in found.existing.items() for pod in pods}


def cost_text(nodes: Sequence[NewNode]) -> str:
    """The cost of all nodes, `at least` if a price is not known."""
    known = [node.cheapest.price for node in nodes if node.cheapest.price is not None]
    return ("at least " if len(known) < len(nodes) else "") + price_text(sum(known))


def autoscaling_sections(found: Provisioning, assumed: Sequence[str] = ()) -> Iterator[Section]:
    if found.new_nodes:
        title = f"{counted(len(found.new_nodes), 'node')} that Karpenter adds: {cost_text(found.new_nodes)}"
        yield Section("newNodes", title, _nodes(found.new_nodes), titled=True)
    if found.elsewhere:
        moved = [
            Line(f"kube-scheduler bound {pod} to {node}", "warn")
            for pod, node in islice(found.elsewhere.items(), _SHOWN_ELSEWHERE)
        ]
        if len(found.elsewhere) > len(moved):
            moved.append(Line(f"and {counted(len(found.elsewhere) - len(moved), 'pod')} more", aside=True))
        title = "pods that kube-scheduler bound to another node than Karpenter planned"
        yield Section("elsewhere", title, Lines(moved), titled=True, folded=True)
    if found.unplaced:
        alike: dict[tuple[str, str], list[PodWithoutNode]] = {}
        for each in found.unplaced:
            alike.setdefault((each.stage, each.message), []).append(each)
        steps = Steps(list(map(_unplaced, alike.values())), most=_SHOWN_UNPLACED, steps_are="reason")
        yield Section("notProvisioned", "pods for which Karpenter adds no node", steps, titled=True)
    without = [
        Line(f"NodePool {pool} has no instance type that meets its requirements{_too_few(keys)}", "warn")
        for pool, keys in found.pools_without_types.items()
    ]
    if without:
        yield Section("poolsWithoutTypes", "NodePools without instance types", Lines(without))
    if found.new_nodes:
        yield from assumed_section(assumed)


def assumed_section(assumed: Sequence[str]) -> Iterator[Section]:
    """What instance types and prices assume."""
    if assumed:
        lines = [Line(f"assumed: {text}", aside=True) for text in assumed]
        yield Section("assumed", "Assumed", Lines(lines), folded=True)


def sections_of(
    document: Mapping[str, Any] | None, coverage: Mapping[str, Any], before: Mapping[str, Any] | None = None
) -> list[Section]:
    """The sections of the key `autoscaling` of a document. `before`: the same without the change that is looked at."""
    if document is None:
        return []
    from ksched_cli.autoscale.karpenter.decision import Provisioning

    found = msgspec.convert(document, Provisioning)
    sections = list(autoscaling_sections(found, coverage.get("autoscalerAssumed", ())))
    if before is not None and before["newNodes"]:
        nodes = msgspec.convert(before, Provisioning).new_nodes
        text = f"without the change Karpenter adds {counted(len(nodes), 'node')}: {cost_text(nodes)}"
        if before["newNodes"] == document["newNodes"]:
            text = "without the change Karpenter adds the same nodes"
        sections.append(Section("newNodesBefore", "Without the change", Lines([Line(text)])))
    return sections


def _too_few(keys: Sequence[str]) -> str:
    return f" with minValues of {', '.join(keys)}" if keys else ""


def _nodes(nodes: Sequence[NewNode]) -> Table:
    rows = [
        (
            node.name if isinstance(node.name, str) else "",
            node.node_pool,
            node.cheapest.instance_type,
            "drawn" if _is_zone_drawn(node) else node.cheapest.zone or "any",
            node.cheapest.capacity_type or "any",
            price_text(node.cheapest.price),
            len(node.instance_types),
            named(node.pods, _SHOWN_PODS),
        )
        for node in nodes
    ]
    heads = columns("Node: hides_zeros; Pool; Cheapest type; Zone; Capacity; Price; Types: number; Pods: flows")
    return Table(heads, rows, most=_SHOWN_NODES, rows_are="node")


def _is_zone_drawn(node: NewNode) -> bool:
    return isinstance(node.requirements_vary, list) and "topology.kubernetes.io/zone" in node.requirements_vary


def _unplaced(pods: Sequence[PodWithoutNode]) -> Step:
    """Pods for which the reasons are equal."""
    pod = pods[0]
    title = named([each.pod for each in pods], _SHOWN_PODS)
    if not pod.by_pool:
        return Step(title, [Line(pod.message)], _SENTENCES[pod.stage], "no new node", "bad")
    reasons = ((pool, pod.reason(pool), message) for pool, message in pod.by_pool.items())
    lines = [
        Line(f"NodePool {pool}: {reason}: {message}" if reason else f"NodePool {pool}: {message}")
        for pool, reason, message in reasons
    ]
    return Step(title, lines, _SENTENCES[pod.stage], "no new node", "bad")
