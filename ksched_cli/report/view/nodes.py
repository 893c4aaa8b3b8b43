"""Sections about nodes: their map, and the use of zones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ksched_cli.report.amounts import short
from ksched_cli.report.view.documents import value_of
from ksched_cli.report.view.model import Bar, Bars, NodeMap, Section

# Above this many zones no bars are drawn.
_MOST_ZONES = 40
_BEFORE, _ADDED, _FREED = "requested before", "added by the run", "freed by the run"
_COLOURS = {_BEFORE: 7, _ADDED: 0, _FREED: 6}

# The colours of results on every page, as numbers of the colours of style.css.
RESULT_COLOURS = {
    "safe": 0,
    "evicts others": 2,
    "loses pods": 3,
    "no place": 1,
    "blocked": 5,
    "error": 5,
    "failed expectation": 6,
}


def nodes_of(part: Any) -> Callable[[], dict[str, Any] | None]:
    """The nodes of a View from the `nodeTable` of its document."""
    return lambda: value_of(part)


def node_map(part: Any, intro: str, data: Callable[[list[str]], dict[str, Any]] | None = None) -> Section:
    """The map of the nodes. `data` returns what the code of the map needs, from the names of the nodes."""

    def made() -> NodeMap | None:
        found = value_of(part)
        if not found or not found["names"]:
            return None
        return NodeMap(data(found["names"]) if data is not None else {})

    return Section("nodes", "Nodes", made, intro, place="page")


def node_groups(names: list[str], results: Mapping[str, str], best: str) -> dict[str, Any]:
    """The data of a map that is coloured by a result of each node. `best` has the first colour."""
    texts = [best, *dict.fromkeys(result for result in results.values() if result != best)]
    answers = [texts.index(results[name]) if name in results else -1 for name in names]
    colours = {text: RESULT_COLOURS[text] for text in texts if text in RESULT_COLOURS}
    return {"groups": {"texts": texts, "answers": answers, "colours": colours}}


def zone_bars(part: Any) -> Section:
    """The share of cpu and memory of each zone that is requested, before and by the run."""

    def bars() -> Bars | None:
        found = value_of(part)
        zones = sorted(set(found["zones"])) if found else []
        if not found or not 1 < len(zones) <= _MOST_ZONES:
            return None
        return Bars([_zone_bar(found, zone, each) for zone in zones for each in ("cpu", "memory")], 1.0, _COLOURS)

    intro = "Share of what the nodes of a zone have."
    return Section("zones", "Use of zones", bars, intro, place="page")


def _zone_bar(found: Mapping[str, Any], zone: str, resource: str) -> Bar:
    amounts = found["resources"][resource]
    rows = [number for number, each in enumerate(found["zones"]) if each == zone]
    before, after = (sum(amounts[side][row] or 0 for row in rows) for side in ("before", "after"))
    whole = sum(amounts["allocatable"][row] for row in rows) or 1
    segments = [(_BEFORE, min(before, after) / whole)]
    if after > before:
        segments.append((_ADDED, (after - before) / whole))
    elif before > after:
        segments.append((_FREED, (before - after) / whole))
    text = f"{100 * after / whole:.0f} % of {short(resource, whole)}"
    return Bar(f"{zone or 'no zone'}: {resource}", segments, text)
