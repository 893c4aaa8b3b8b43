"""The page of `capacity`: how many more pods fit, and which resource each node lacks first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.report.html.model import Bar, Figure, Page, PageSection, Tone, bars, headings, table
from ksched_cli.report.html.nodes import node_columns, node_map, zone_bars
from ksched_cli.report.html.pods import pods_section
from ksched_cli.report.html.words import count
from ksched_cli.report.view.pods import NodeResults

_FITS, _NONE = "fits", "none fits"
_TONES: Mapping[str, Tone] = {_FITS: "good", _NONE: "bad"}
_MOST_BARS = 20
_ROOM = "has room for one more"
_ENDS = {
    "max": "the count stopped at --max: more may fit",
    "refused": "admission refuses one more",
    "gated": "one more would be held back",
    "ignored": "one more would wait for another scheduler",
    "rejected": "one more is rejected before any node is looked at",
    "error": "one more ends in an error",
}


def page(document: Mapping[str, Any]) -> Page:
    capacities = document["capacities"]
    none = [each for each in capacities if not each["sets"]]
    sections = [
        *node_map(document, intro=_map_intro(capacities)),
        _shapes(document),
        *_runs_out(capacities),
        _nodes(capacities),
        *_stranded(capacities),
        *zone_bars(document),
    ]
    tone: Tone = "bad" if none else "good"
    return Page(
        "capacity",
        tone,
        _verdict(capacities),
        list(_notes(capacities)),
        _figures(capacities),
        sections,
        node_columns(document),
    )


def _map_intro(capacities: Sequence[Mapping[str, Any]]) -> str:
    """The text above the map. It shows the counted pods of a single manifest; several manifests are counted
    separately."""
    taken = "; the darker part is what the counted pods take" if len(capacities) == 1 else ""
    return f"A cell is a node, filled by what pods request of it{taken}. The colour is what keeps one more out."


def _label(capacity: Mapping[str, Any]) -> str:
    """`Deployment shop/web`, or `3 web + 1 batch` for a mix."""
    shapes = capacity["shapes"]
    if len(shapes) == 1 and shapes[0]["perSet"] == 1:
        return str(shapes[0]["manifest"])
    return " + ".join(f"{each['perSet']:,} {each['name']}" for each in shapes)


def _verdict(capacities: Sequence[Mapping[str, Any]]) -> str:
    if len(capacities) == 1:
        (only,) = capacities
        least = "at least " if only["end"]["by"] == "max" else ""
        used = sum(1 for node in only["nodes"] if sum(node["fits"].values()))
        where = f", on {used:,} of {count(len(only['nodes']), 'node')}" if used else ""
        sets = "more set" if _is_mix(only) else "more"
        if not only["sets"]:
            return f"No more of {_label(only)} fits."
        number = f"{only['sets']:,} {sets}{'s' if _is_mix(only) and only['sets'] > 1 else ''}"
        return (
            f"{least}{number} of {_label(only)} fit{'s' if only['sets'] == 1 else ''}{where}.".capitalize()
            if least
            else (f"{number} of {_label(only)} fit{'s' if only['sets'] == 1 else ''}{where}.")
        )
    fitting = sum(1 for each in capacities if each["sets"])
    have = "has" if fitting == 1 else "have"
    return f"{fitting:,} of {count(len(capacities), 'manifest')} {have} room for more, each counted by itself."


def _is_mix(capacity: Mapping[str, Any]) -> bool:
    return len(capacity["shapes"]) > 1 or capacity["shapes"][0]["perSet"] > 1


def _notes(capacities: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in capacities:
        end = each["end"]
        who = f"{_label(each)}: " if len(capacities) > 1 else ""
        if end["by"] != "full":
            yield f"{who}{_ENDS[end['by']]}{': ' + end['message'] if end.get('message') else ''}"
        elif len(capacities) == 1 and end.get("message"):
            yield f"One more {end['shape']}: {end['message']}"
    pending = next((each["pending"] for each in capacities if each.get("pending")), None)
    if pending and any(pending.values()):
        yield (
            f"{count(pending['placed'], 'pending pod')} placed first, {pending['unplaced']:,} without a node, "
            f"{pending['heldBack']:,} held back."
        )


def _figures(capacities: Sequence[Mapping[str, Any]]) -> list[Figure]:
    return [
        Figure(shape["name"], f"{shape['fits']:,}", "good" if shape["fits"] else "bad")
        for each in capacities[:6]
        for shape in each["shapes"]
    ]


def _shapes(document: Mapping[str, Any]) -> PageSection:
    """The table of the counted manifests; the node map shows what keeps one more out."""
    columns = headings("Counted; Result: badge; Fit: number; Each requests: wide")
    rows, details, legend = [], [], NodeResults(document)
    for number, each in enumerate(document["capacities"]):
        requests = "; ".join(
            ", ".join(f"{resource} {amount}" for resource, amount in shape["requests"].items()) or "nothing"
            for shape in each["shapes"]
        )
        rows.append([_label(each), _FITS if each["sets"] else _NONE, each["sets"], requests])
        reasons = {
            node["node"]: (node["plugin"], ", ".join(node["reasons"])) for node in each["nodes"] if "plugin" in node
        }
        free = [node["node"] for node in each["nodes"] if "plugin" not in node]
        answers = legend.pack(number, reasons, free)
        details.append({"message": each["end"].get("message", ""), "answers": answers} if answers else {})
    data = {"failures": legend.failures, "plugins": [], "room": _ROOM}
    return pods_section("counted", "What was counted", columns, rows, details, data, tones=_TONES)


def _runs_out(capacities: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    """The number of nodes that lack each resource for one more."""
    rows = []
    for each in capacities:
        reasons = Counter(_keeps_out(node) for node in each["nodes"])
        who = f"{_label(each)}: " if len(capacities) > 1 else ""
        for reason, nodes in reasons.most_common(_MOST_BARS):
            rows.append(Bar(f"{who}{reason}", [("nodes", nodes)], count(nodes, "node")))
    return [bars("runs-out", "What runs out first", rows, intro="Nodes by what keeps one more out.")] if rows else []


def _keeps_out(node: Mapping[str, Any]) -> str:
    """`too little cpu`, or another reason; `nothing` if there is room."""
    if node.get("runsOut"):
        return f"too little {' and '.join(node['runsOut'])}"
    return ", ".join(node["reasons"]) if "reasons" in node else "nothing"


def _nodes(capacities: Sequence[Mapping[str, Any]]) -> PageSection:
    many = len(capacities) > 1
    counted = "Counted: filters; " if many else ""
    columns = headings(f"Node; {counted}Fit: number; Keeps out one more: filters wide; Stays free: wide")
    rows = [
        [
            node["node"],
            *([_label(each)] if many else []),
            sum(node["fits"].values()),
            _keeps_out(node),
            _free(node["free"]),
        ]
        for each in capacities
        for node in sorted(each["nodes"], key=lambda node: -sum(node["fits"].values()))
    ]
    return table("by-node", "Node by node", columns, rows)


def _free(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{resource} {amount}" for resource, amount in amounts.items() if amount != "0")


def _stranded(capacities: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    columns = headings("Counted; Nodes: number; Stays free there: wide; Of: wide")
    rows = [
        [_label(each), found["nodes"], _free(found["free"]), _free(found["allocatable"])]
        for each in capacities
        if (found := each.get("stranded")) and found["nodes"]
    ]
    intro = "Free on nodes that took some or that are short of a resource: no further pod of this kind can use it."
    return [table("stranded", "Stranded", columns, rows, intro=intro)] if rows else []
