"""The page of `consolidate`: the nodes that can be removed, in their order, and the saving."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ksched_cli.api.listing import joined
from ksched_cli.report.html.model import (
    Bar,
    Figure,
    Page,
    PageSection,
    PageStep,
    Tone,
    bars,
    counting,
    headings,
    steps,
    table,
)
from ksched_cli.report.html.nodes import node_columns, node_map
from ksched_cli.report.html.words import count, noun

_MOST_MOVES = 12
_TONES: Mapping[str, Tone] = {"remove": "good", "replace": "warn"}


def page(document: Mapping[str, Any]) -> Page:
    done = document["steps"]
    sections = [
        *node_map(document, intro=_MAP),
        *_costs(document),
        *_plan(document),
        *_moves(document),
        *_kept(document),
    ]
    figures = [
        counting(document["nodesBefore"], "node", "before"),
        counting(document["nodesAfter"], "node", "after", "good" if done else "plain"),
        Figure(_saved(document), document["saving"], "good" if done else "plain"),
    ]
    return Page(
        "consolidate",
        "good" if done else "plain",
        _verdict(document),
        list(_notes(document)),
        figures,
        sections,
        node_columns(document),
    )


_MAP = "A cell is a node, filled by what pods request of it before the first step and after the last."


def _verdict(document: Mapping[str, Any]) -> str:
    counts = Counter(each["action"] for each in document["steps"])
    parts = [f"{count(counts['remove'], 'node')} can go"] if counts["remove"] else []
    parts += [f"{count(counts['replace'], 'node')} can be replaced"] if counts["replace"] else []
    if not parts:
        return f"No node can go: the cluster costs {_price(document, 'costBefore')}."
    return f"{joined(parts)}: {_price(document, 'costBefore')} now, {_price(document, 'costAfter')} after."


def _price(document: Mapping[str, Any], key: str) -> str:
    return _amount(document[key], document["unit"])


def _amount(cost: str, unit: str) -> str:
    """`1 node`, `2 nodes`, `0.5 USD/h`. Without prices the unit is a node."""
    return count(int(cost), "node") if unit == "nodes" else f"{cost} {unit}".rstrip()


def _saved(document: Mapping[str, Any]) -> str:
    """The label of the saving: `node saved`, or `saved, USD/h`."""
    if document["unit"] == "nodes":
        return f"{noun(int(document['saving']), 'node')} saved"
    return f"saved, {document['unit']}".rstrip(", ")


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    gap = document["gap"]
    yield (
        f"Proven lower bound {_price(document, 'lowerBound')}, gap {gap:g} %."
        if gap
        else "Proven: no cheaper cluster is possible."
    )
    for condition in document["conditions"]:
        yield f"Kept to: {condition}."


def _costs(document: Mapping[str, Any]) -> list[PageSection]:
    series = "nodes" if document["unit"] == "nodes" else "cost"
    names = {"costBefore": "now", "costAfter": "after", "lowerBound": "proven lower bound"}
    rows = [Bar(text, [(series, float(document[key]))], _price(document, key)) for key, text in names.items()]
    title = "How many nodes there are" if document["unit"] == "nodes" else "What the nodes cost"
    return [bars("costs", title, rows)]


def _plan(document: Mapping[str, Any]) -> list[PageSection]:
    """The commands in the order in which they are run."""
    done = [
        PageStep(_title(each), list(_lines(each)), f"saves {_amount(each['saving'], document['unit'])}")
        for each in document["steps"]
    ]
    cordon = (
        [PageStep("Cordon first", [("plain", f"kubectl cordon {' '.join(document['cordon'])}")])]
        if document["cordon"]
        else []
    )
    last: list[tuple[Tone, str]] = [("plain", f"kubectl uncordon {' '.join(document['uncordon'])}")]
    uncordon = [PageStep("Uncordon in the end", last)] if document["uncordon"] else []
    return [steps("plan", "PageStep by step", [*cordon, *done, *uncordon])] if done else []


def _title(step: Mapping[str, Any]) -> str:
    if step["action"] == "replace":
        return f"Replace {step['node']} by {step['newNode']} ({step['shape']})"
    return f"Remove {step['node']}"


def _lines(step: Mapping[str, Any]) -> Iterator[tuple[Tone, str]]:
    for command in step["commands"]:
        yield "plain", command
    for move in step["moves"][:_MOST_MOVES]:
        yield "good", f"{move['pod']} moves to {move['to']}"
    left = len(step["moves"]) - _MOST_MOVES
    if left > 0:
        yield "good", f"and {count(left, 'more pod')}"


def _moves(document: Mapping[str, Any]) -> list[PageSection]:
    columns = headings("Pod; PageStep: badge filters; From: filters; To: filters")
    rows = [
        [move["pod"], step["action"], step["node"], move["to"]] for step in document["steps"] for move in step["moves"]
    ]
    return [table("moves", "Where pods go", columns, rows, tones=_TONES)] if rows else []


def _kept(document: Mapping[str, Any]) -> list[PageSection]:
    columns = headings("Node; Why it stays: filters wide")
    rows = [[each["node"], each["why"]] for each in document["kept"]]
    return [table("kept", "Nodes that stay", columns, rows)] if rows else []
