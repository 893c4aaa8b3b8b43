"""The page of a simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.listing import joined
from ksched_cli.report.html.model import Figure, Page, PageSection, Tone, counting, headings, table
from ksched_cli.report.html.nodes import node_columns, node_map, zone_bars
from ksched_cli.report.html.pods import pods_section
from ksched_cli.report.html.sweep import pod_odds
from ksched_cli.report.html.words import count
from ksched_cli.report.view.pods import PodDetails

_TONES: Mapping[str, Tone] = {
    "scheduled": "good",
    "preempts": "warn",
    "gated": "warn",
    "ignored": "plain",
    "skipped": "plain",
    "refused": "bad",
    "unschedulable": "bad",
    "error": "bad",
}
_MOST_REASONS = 3


def page(document: Mapping[str, Any]) -> Page:
    if "settled" in document:
        from ksched_cli.report.html.settle import page as settled_page

        return settled_page(document)
    sections = [
        *node_map(document, intro=MAP_INTRO, placed=placed_pods(document)),
        pods(document),
        *preemptions(document["pods"]),
        *pod_odds("odds", document.get("odds", {}).get("pods", [])),
        *not_tried(document),
        *zone_bars(document),
    ]
    tone, verdict = verdict_of(document)
    return Page(
        "simulate",
        tone,
        verdict,
        list(notes(document)),
        figures(document),
        sections,
        node_columns(document),
    )


MAP_INTRO = (
    "A cell is a node. The filled part is what pods request of it; the darker band on top is what this run adds. "
    "Choose a pod to see by colour which nodes have room for it and why the others have none."
)


def result_of(entry: Mapping[str, Any]) -> str:
    """The result of a pod; `preempts` for a pod that waits until its victims have left."""
    return "preempts" if entry.get("nominatedNode") and not entry.get("node") else str(entry["result"])


def verdict_of(document: Mapping[str, Any]) -> tuple[Tone, str]:
    """`3 of 12 pending pods find no node.`"""
    results = Counter(result_of(each) for each in document["pods"])
    tried, pending, refused = len(document["pods"]), pending_pods(document), len(document.get("refused", []))
    failing = results["unschedulable"] + results["error"]
    if not tried and not refused:
        held = len(document["gated"])
        return (
            ("warn", f"No pending pod was tried; {count(held, 'pod')} {'is' if held == 1 else 'are'} held back.")
            if held
            else (
                "plain",
                "There is no pending pod.",
            )
        )
    parts = (
        [f"{failing:,} of {count(pending, 'pending pod')} find{'s' if failing == 1 else ''} no node"] if failing else []
    )
    parts += [f"admission refuses {count(refused, 'pod')}"] if refused else []
    if parts:
        return "bad", f"{joined(parts)}."
    if preempting := results["preempts"]:
        victims = sum(len(each["preemption"]["victims"]) for each in document["pods"] if each.get("preemption"))
        who = "1 of them preempts" if preempting == 1 else f"{preempting:,} of them preempt"
        return "warn", f"{_all(tried, pending)}, but {who} {count(victims, 'running pod')}."
    return "good", f"{_all(tried, pending)}."


def pending_pods(document: Mapping[str, Any]) -> int:
    """The number of pods without a node, including those that were not tried."""
    return sum(len(document.get(key, ())) for key in ("pods", "gated", "ignored", "refused"))


def _all(tried: int, pending: int) -> str:
    if tried < pending:
        return f"{tried:,} of {pending:,} pending pods {'fits' if tried == 1 else 'fit'}"
    return "The pending pod fits" if tried == 1 else f"All {tried:,} pending pods fit"


def notes(document: Mapping[str, Any]) -> Iterator[str]:
    """The most frequent reasons of pods without a node, and the pods that were not tried."""
    reasons: Counter[str] = Counter()
    for each in document["pods"]:
        if result_of(each) in ("unschedulable", "error"):
            reasons.update(_main_reasons(each))
    if reasons:
        found = [f"{reason} ({count(pods, 'pod')})" for reason, pods in reasons.most_common(_MOST_REASONS)]
        yield f"What rejects most nodes: {joined(found)}."
    held = [(len(document["gated"]), "held back by a gate"), (len(document["ignored"]), "for another scheduler")]
    for number, why in held:
        if number:
            yield f"{count(number, 'pod')} {'is' if number == 1 else 'are'} {why}."


def _main_reasons(entry: Mapping[str, Any]) -> list[str]:
    """The reason of most nodes, or the reason of PreFilter."""
    if "preFilter" in entry:
        return list(entry["preFilter"]["reasons"][:1])
    if entry.get("failures"):
        return list(entry["failures"][0]["reasons"][:1])
    filters = Counter(reason for failure in entry.get("filters", {}).values() for reason in failure["reasons"])
    if filters:
        return [filters.most_common(1)[0][0]]
    return [entry["message"]] if entry.get("message") else []


def figures(document: Mapping[str, Any]) -> list[Figure]:
    results = Counter(result_of(each) for each in document["pods"])
    failing = results["unschedulable"] + results["error"]
    found = [
        counting(pending_pods(document), "pending pod"),
        Figure("scheduled", f"{results['scheduled']:,}", "good" if results["scheduled"] else "plain"),
        Figure("no node", f"{failing:,}", "bad" if failing else "plain"),
    ]
    if results["preempts"]:
        found.append(Figure("waiting for victims", f"{results['preempts']:,}", "warn"))
    for key, label in (("gated", "held back"), ("refused", "refused")):
        if document.get(key):
            found.append(Figure(label, f"{len(document[key]):,}", _TONES[key]))
    return [*found, counting(document["stats"]["nodes"], "node")]


def placed_pods(document: Mapping[str, Any]) -> dict[int, list[str]]:
    """The pods that the run placed, by the number of their node."""
    place = {name: number for number, name in enumerate(document.get("nodeTable", {}).get("names", []))}
    found: dict[int, list[str]] = {}
    for each in document["pods"]:
        if each.get("node") in place:
            found.setdefault(place[each["node"]], []).append(each["pod"])
    return found


def pods(document: Mapping[str, Any], title: str = "Pods") -> PageSection:
    """The table of all pods that were tried, pods without a node first."""
    entries = document["pods"]
    order = sorted(range(len(entries)), key=lambda number: bool(entries[number].get("node")))
    columns = headings("Pod; Result: badge filters; Node; Nodes that fit: number; Main reason: filters wide")
    rows = [pod_row(entries[number]) for number in order]
    # The details are in the order of the document: `like` of the answers is the number of a pod in it.
    found = PodDetails(document)
    details = [found.of(number, entry) for number, entry in enumerate(entries)]
    return pods_section("pods", title, columns, rows, details, found.legend, order, tones=_TONES)


def pod_row(entry: Mapping[str, Any]) -> list[Any]:
    result = result_of(entry)
    node = entry.get("node") or entry.get("nominatedNode", "")
    fits = len(entry["feasible"]) if "feasible" in entry else entry.get("nodes", {}).get("feasible", 0)
    why = _main_reasons(entry) if result not in ("scheduled", "skipped") else []
    return [entry["pod"], result, node, fits, why[0] if why else ""]


def preemptions(entries: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    """The table of preemptions, with a row for each victim."""
    rows = [
        [entry["pod"], found["node"], victim, found["pdbViolations"]]
        for entry in entries
        if (found := entry.get("preemption"))
        for victim in found["victims"] or [""]
    ]
    columns = headings("Pod; Node; Victim; Budgets violated: number")
    intro = "The victims leave the node, and the pod takes their place. One row for each victim."
    return [table("preemption", "Preemption", columns, rows, intro=intro)] if rows else []


def not_tried(document: Mapping[str, Any]) -> list[PageSection]:
    """The table of the pods that had no cycle."""
    messages = {each["pod"]: each.get("message", "") for each in document.get("final", []) if each["state"] == "gated"}
    rows: list[list[Any]] = [[pod, "gated", messages.get(pod, "")] for pod in document["gated"]]
    rows += [[pod, "ignored", "no profile has the name of its scheduler"] for pod in document["ignored"]]
    rows += [[each["pod"], "refused", f"{each['plugin']}: {each['message']}"] for each in document.get("refused", [])]
    columns = headings("Pod; Result: badge filters; Why: wide")
    return [table("not-tried", "Pods that were not tried", columns, rows, tones=_TONES)] if rows else []
