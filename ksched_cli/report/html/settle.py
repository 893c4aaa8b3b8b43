"""The page of `simulate --settle`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ksched_cli.report.html.ends import UNPLACED, draws, ending, final_pods, rollouts, timeline
from ksched_cli.report.html.model import Figure, Page, Tone, counting
from ksched_cli.report.html.nodes import node_columns, node_map, zone_bars
from ksched_cli.report.html.simulate import MAP_INTRO, not_tried, placed_pods, pods, preemptions
from ksched_cli.report.html.words import capitalised, count


def page(document: Mapping[str, Any]) -> Page:
    tone, verdict = _verdict(document)
    sections = [
        *timeline(document),
        *node_map(document, intro=MAP_INTRO, placed=placed_pods(document)),
        *final_pods(document),
        pods(document, "Last cycle of each pod"),
        *preemptions(document["pods"]),
        *rollouts(document),
        *not_tried(document),
        *zone_bars(document),
    ]
    return Page(
        "simulate --settle", tone, verdict, list(_notes(document)), _figures(document), sections, node_columns(document)
    )


def _states(document: Mapping[str, Any]) -> Counter[str]:
    return Counter(each["state"] for each in document["final"])


def _verdict(document: Mapping[str, Any]) -> tuple[Tone, str]:
    settled, states = document["settled"], _states(document)
    unplaced, refused = sum(states[each] for each in UNPLACED), len(document.get("refused", []))
    if settled["ending"] != "settled":
        return "bad", f"The cluster does not come to rest: {ending(settled)}."
    if unplaced or refused:
        parts = [f"{count(unplaced, 'pod')} {'has' if unplaced == 1 else 'have'} no node"] if unplaced else []
        parts += [f"admission refuses {count(refused, 'pod')}"] if refused else []
        return "bad", f"{capitalised(' and '.join(parts))} in the end."
    return "good", "Every pod has a node in the end."


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"{capitalised(ending(document['settled']))}."
    if oscillating := document["settled"].get("oscillating"):
        yield f"It happens to {', '.join(oscillating)}."
    yield from document["settled"].get("faults", [])
    yield from draws(document)


def _figures(document: Mapping[str, Any]) -> list[Figure]:
    states = _states(document)
    unplaced = sum(states[each] for each in UNPLACED)
    return [
        Figure("scheduled", f"{states['scheduled']:,}", "good" if states["scheduled"] else "plain"),
        Figure("no node", f"{unplaced:,}", "bad" if unplaced else "plain"),
        Figure("gone", f"{states['gone']:,}"),
        Figure("running before", f"{states['running']:,}"),
        counting(document["stats"]["nodes"], "node"),
    ]
