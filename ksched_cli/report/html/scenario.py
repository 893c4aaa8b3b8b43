"""The page of a scenario: step by step what was done, what came of it, and what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.report.html.ends import draws, final_pods, rollouts, timeline
from ksched_cli.report.html.model import Figure, Page, Step, Tone, steps
from ksched_cli.report.html.nodes import node_columns, node_map, zone_bars
from ksched_cli.report.html.simulate import pods, preemptions
from ksched_cli.report.html.words import count

_MOST_PODS = 6


def page(document: Mapping[str, Any]) -> Page:
    done = document["steps"]
    checks = [each for step in done for each in step["expectations"]]
    failed = [each for each in checks if not each["held"]]
    at_rest = document.get("settled", {}).get("ending", "settled") == "settled"
    tone: Tone = "bad" if failed or not at_rest else "good"
    if failed:
        verdict = f"{len(failed):,} of {count(len(checks), 'expectation')} failed."
    elif not at_rest:
        verdict = "The cluster does not come to rest."
    elif checks:
        verdict = "The expectation holds." if len(checks) == 1 else f"All {len(checks):,} expectations hold."
    else:
        verdict = f"{count(len(done), 'step')} done, nothing was expected."
    last = {entry["pod"]: entry for step in done for entry in step["pods"]}
    sections = [
        steps("steps", "Step by step", [_step(each) for each in done]),
        *timeline(document),
        *node_map(
            document,
            intro="A cell is a node before the first and after the last step, filled by what pods request of it.",
        ),
        pods({**document, "pods": list(last.values())}, "Last cycle of each pod"),
        *preemptions([entry for step in done for entry in step["preempting"]]),
        *final_pods(document),
        *rollouts(document),
        *zone_bars(document),
    ]
    figures = [
        Figure("steps", f"{len(done):,}"),
        Figure("expectations hold", f"{len(checks) - len(failed):,}", "good" if checks else "plain"),
        Figure("expectations failed", f"{len(failed):,}", "bad" if failed else "plain"),
    ]
    notes = [f"Scenario {document['name']}, {document['source']}.", *draws(document)]
    return Page("simulate --scenario", tone, verdict, notes, figures, sections, node_columns(document))


def _step(step: Mapping[str, Any]) -> Step:
    return Step(step["name"], list(_lines(step)), _came_of(step["pods"]))


def _came_of(entries: Sequence[Mapping[str, Any]]) -> str:
    """`3 pods placed, 1 without a node`."""
    placed = sum(1 for each in entries if each.get("node"))
    missing = len(entries) - placed
    parts = [f"{count(placed, 'pod')} placed"] if entries else ["no pending pods"]
    return ", ".join([*parts, *([f"{missing:,} without a node"] if missing else [])])


def _lines(step: Mapping[str, Any]) -> Iterator[tuple[Tone, str]]:
    for edit in step["edits"]:
        yield "plain", edit
    for warning in step["warnings"]:
        yield "warn", warning
    missing = [each for each in step["pods"] if not each.get("node")]
    for each in missing[:_MOST_PODS]:
        yield "bad", f"{each['pod']}: {each.get('message') or each['result']}"
    if len(missing) > _MOST_PODS:
        yield "bad", f"and {len(missing) - _MOST_PODS:,} more pods without a node"
    for each in step["expectations"]:
        yield ("good" if each["held"] else "bad"), f"expected: {each['text']} (line {each['line']})"
        if not each["held"]:
            yield from (("plain", text) for text in each["against"][:_MOST_PODS])
