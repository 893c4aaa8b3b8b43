"""The page of `size`: the nodes to add, the proven bound of their cost, and the node of each pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from ksched_cli.report.html.model import (
    Bar,
    Figure,
    Page,
    PageHeading,
    PageSection,
    Tone,
    bars,
    counting,
    headings,
    table,
)
from ksched_cli.report.html.nodes import node_columns, node_map
from ksched_cli.report.html.words import count

_MOST_REASONS = 3


def page(document: Mapping[str, Any]) -> Page:
    placed, unplaced = len(document["pods"]), len(document["unplaced"])
    tone: Tone = "bad" if unplaced else "good"
    sections = [
        *node_map(document, intro=_MAP),
        *_nodes(document),
        *_costs(document),
        *_unplaced(document),
        *_pods(document),
        *_left_out(document),
    ]
    figures = [
        counting(sum(each["count"] for each in document["nodes"]), "node", "to add"),
        Figure(f"cost, {document['unit']}".rstrip(", "), document["cost"]),
        counting(placed, "pod", "with a node", "good" if placed else "plain"),
        Figure("no node", f"{unplaced:,}", "bad" if unplaced else "plain"),
    ]
    notes = list(_notes(document))
    return Page("size", tone, _verdict(document), notes, figures, sections, node_columns(document))


_MAP = "A cell is a node, those to add among them. The darker part is what the pending pods take."


def _verdict(document: Mapping[str, Any]) -> str:
    placed, unplaced = len(document["pods"]), len(document["unplaced"])
    if not placed and not unplaced:
        return "No pod is pending: there is no node to add."
    nodes = sum(each["count"] for each in document["nodes"])
    pods = f"{count(unplaced, 'pod')} cannot be placed" if unplaced else "every pending pod has a node"
    if not nodes:
        return f"There is no node to add: {pods}."
    return f"Add {count(nodes, 'node')} for {_price(document, document['cost'])}: {pods}."


def _price(document: Mapping[str, Any], amount: str) -> str:
    return f"{amount} {document['unit']}".rstrip()


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    search = document["search"]
    if document["nodes"] and document["lowerBound"] is None:
        yield "A greedy method chose the nodes: nothing is proven about the cost."
    elif document["nodes"] and search["ended"] == "optimal":
        yield "Proven: no set of nodes of the catalog is cheaper."
    elif document["nodes"]:
        yield f"Proven lower bound {_price(document, document['lowerBound'])}, gap {document['gap']:g} %."
    if cheaper := document.get("cheaper"):
        nodes = ", ".join(f"{number} {name}" for name, number in cheaper["nodes"].items()) or "no new node"
        price = _price(document, cheaper["cost"])
        yield f"Why not {price} ({nodes}): {cheaper['pod']} has no node: {cheaper['message']}"


def _nodes(document: Mapping[str, Any]) -> list[PageSection]:
    names = ("Shape", "Zone", "Nodes", "Price", "Cost", "Pods", "Spot")
    kinds = {"Nodes": "number", "Price": "number", "Cost": "number", "Pods": "number"}
    columns = [PageHeading(name, "number" if name in kinds else "text") for name in names]
    on = Counter(each["node"] for each in document["pods"])
    rows = [
        [
            each["shape"],
            each.get("zone", ""),
            each["count"],
            float(each["price"]),
            float(each["cost"]),
            sum(on[name] for name in each["names"]),
            "spot" if each.get("spot") else "",
        ]
        for each in document["nodes"]
    ]
    return [table("to-add", "Nodes to add", columns, rows)] if rows else []


def _costs(document: Mapping[str, Any]) -> list[PageSection]:
    rows = [
        Bar(
            f"{each['shape']} {each.get('zone', '')}".rstrip(),
            [("cost", float(Decimal(each["cost"])))],
            f"{count(each['count'], 'node')}, {_price(document, each['cost'])}",
        )
        for each in document["nodes"]
    ]
    return [bars("costs", "What they cost", rows)] if rows else []


def _unplaced(document: Mapping[str, Any]) -> list[PageSection]:
    columns = headings("Pod; Workload: filters; Why: wide")
    rows = [[each["pod"], each.get("workload", ""), _why(each)] for each in document["unplaced"]]
    return [table("unplaced", "Pods that cannot be placed", columns, rows)] if rows else []


def _why(pod: Mapping[str, Any]) -> str:
    if pod.get("message"):
        return str(pod["message"])
    reasons = [f"{shape}: {reason or 'other pods keep it out'}" for shape, reason in pod.get("reasons", {}).items()]
    more = f" and {count(len(reasons) - _MOST_REASONS, 'more shape')}" if len(reasons) > _MOST_REASONS else ""
    return "; ".join(reasons[:_MOST_REASONS]) + more


def _pods(document: Mapping[str, Any]) -> list[PageSection]:
    columns = headings("Pod; Workload: filters; Node; Shape: filters")
    rows = [
        [each["pod"], each.get("workload", ""), each["node"], each.get("shape", "a node of the cluster")]
        for each in document["pods"]
    ]
    return [table("pods", "Where each pod goes", columns, rows)] if rows else []


def _left_out(document: Mapping[str, Any]) -> list[PageSection]:
    rows = [["shape", name, why] for name, why in document["unusableShapes"].items()]
    rows += [["pod", name, why] for name, why in document["heldBack"].items()]
    columns = headings("Name; What: filters; Why: wide")
    return [table("left-out", "Left out", columns, [[name, what, why] for what, name, why in rows])] if rows else []
