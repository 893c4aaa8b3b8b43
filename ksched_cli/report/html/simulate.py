"""The page of a simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.report.html.model import PageSection, Tone, headings, table
from ksched_cli.report.html.pods import pods_section
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


MAP_INTRO = (
    "A cell is a node. The filled part is what pods request of it; the darker band on top is what this run adds. "
    "Choose a pod to see by colour which nodes have room for it and why the others have none."
)


def result_of(entry: Mapping[str, Any]) -> str:
    """The result of a pod; `preempts` for a pod that waits until its victims have left."""
    return "preempts" if entry.get("nominatedNode") and not entry.get("node") else str(entry["result"])


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
