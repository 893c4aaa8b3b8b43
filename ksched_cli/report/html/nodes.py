"""Node maps: the nodes of a document, and the result of each node for its pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.report.amounts import short
from ksched_cli.report.html.model import Bar, PageSection
from ksched_cli.report.html.model import bars as bars_section

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


def node_columns(document: Mapping[str, Any]) -> dict[str, Any]:
    """The nodes of the document for the code of the page; empty if the document has none."""
    found = document.get("nodeTable")
    if not found or not found["names"]:
        return {}
    zones = sorted(set(found["zones"]))
    numbers = {zone: number for number, zone in enumerate(zones)}
    cordoned, resources = set(found["cordoned"]), found["resources"]
    return {
        "names": found["names"],
        "zones": zones,
        "zone": [numbers[zone] for zone in found["zones"]],
        "cordoned": [number for number, name in enumerate(found["names"]) if name in cordoned],
        "resources": {name: {"unit": _unit(name), **amounts} for name, amounts in resources.items()},
        **({"suffix": found["suffix"], "whole": found["whole"]} if "suffix" in found else {}),
    }


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "milli"
    sizes = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return "bytes" if sizes else "count"


def node_map(document: Mapping[str, Any], *, intro: str = "", **data: Any) -> list[PageSection]:
    """The map of the nodes, or an empty list for a document without nodes. `data` is for the code of the map."""
    if not document.get("nodeTable", {}).get("names"):
        return []
    return [PageSection("nodes", "Nodes", "map", data, intro)]


def zone_bars(document: Mapping[str, Any]) -> list[PageSection]:
    """The share of cpu and memory of each zone that is requested, before and by the run."""
    found = document.get("nodeTable")
    zones = sorted(set(found["zones"])) if found else []
    if not found or not 1 < len(zones) <= _MOST_ZONES:
        return []
    rows = [_zone_bar(found, zone, resource) for zone in zones for resource in ("cpu", "memory")]
    intro = "Share of what the nodes of a zone have."
    return [bars_section("zones", "Use of zones", rows, whole=1.0, colours=_COLOURS, intro=intro)]


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


def node_groups(document: Mapping[str, Any], results: Mapping[str, str], best: str) -> dict[str, Any]:
    """The data of a map that is coloured by a result of each node. `best` has the first colour."""
    names = document.get("nodeTable", {}).get("names", [])
    texts = [best, *dict.fromkeys(result for result in results.values() if result != best)]
    answers = [texts.index(results[name]) if name in results else -1 for name in names]
    colours = {text: RESULT_COLOURS[text] for text in texts if text in RESULT_COLOURS}
    return {"groups": {"texts": texts, "answers": answers, "colours": colours}}
