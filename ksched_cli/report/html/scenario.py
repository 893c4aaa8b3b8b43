"""The page of a scenario: its steps, their results, and the expectations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.report.html.ends import draws, final_pods, rollouts, timeline
from ksched_cli.report.html.model import Page, PageStep, Tone, counting, steps
from ksched_cli.report.html.nodes import node_columns, node_map, zone_bars
from ksched_cli.report.html.simulate import pods, preemptions
from ksched_cli.report.html.words import count

# The most pods that are named for a message, and the most messages of a step.
_MOST_PODS, _MOST_MESSAGES = 6, 6


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
        steps("steps", "PageStep by step", [_step(each) for each in done]),
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
        counting(len(done), "step"),
        counting(len(checks) - len(failed), "expectation", "met", "good" if checks else "plain"),
        counting(len(failed), "expectation", "failed", "bad" if failed else "plain"),
    ]
    notes = [f"Scenario {document['name']}, {document['source']}.", *draws(document)]
    return Page("simulate --scenario", tone, verdict, notes, figures, sections, node_columns(document))


def _step(step: Mapping[str, Any]) -> PageStep:
    return PageStep(step["name"], list(_lines(step)), _came_of(step["pods"]))


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
    by_message: dict[str, list[str]] = {}
    for each in step["pods"]:
        if not each.get("node"):
            by_message.setdefault(each.get("message") or each["result"], []).append(each["pod"])
    groups = list(by_message.items())
    for message, names in groups[:_MOST_MESSAGES]:
        yield "bad", f"{_named(names)}: {message}"
    if left := sum(len(names) for _, names in groups[_MOST_MESSAGES:]):
        yield "bad", f"and {count(left, 'more pod')} without a node"
    for each in step["expectations"]:
        yield ("good" if each["held"] else "bad"), f"expected: {each['text']} (line {each['line']})"
        if not each["held"]:
            yield from (("plain", text) for text in _against(each["against"], by_message))


def _against(texts: Sequence[str], quoted: Collection[str]) -> Iterator[str]:
    """The facts that contradict an expectation. Pods whose messages are quoted already share one line."""
    by_quote = [text.partition(": ") for text in texts]
    unplaced = [pod for pod, _, message in by_quote if message in quoted]
    if unplaced:
        yield f"no node for the reasons above: {_named(unplaced)}"
    others = [text for text, (_, _, message) in zip(texts, by_quote, strict=True) if message not in quoted]
    yield from others[:_MOST_PODS]
    if len(others) > _MOST_PODS:
        yield f"and {len(others) - _MOST_PODS:,} more"


def _named(pods: Sequence[str]) -> str:
    """The names of some of the pods."""
    more = f" and {len(pods) - _MOST_PODS:,} more" if len(pods) > _MOST_PODS else ""
    return f"{', '.join(pods[:_MOST_PODS])}{more}"
