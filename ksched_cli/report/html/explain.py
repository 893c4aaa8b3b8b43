"""The page of `explain`: why a pod is where it is, and which changes would move it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ksched_cli.api.listing import joined
from ksched_cli.report.html.model import (
    Figure,
    Page,
    PageSection,
    PageStep,
    Tone,
    counting,
    facts,
    headings,
    steps,
    table,
)
from ksched_cli.report.html.nodes import node_columns, node_map
from ksched_cli.report.html.pods import PodDetails, pod_section
from ksched_cli.report.html.simulate import result_of
from ksched_cli.report.html.sweep import pod_odds
from ksched_cli.report.html.words import count
from ksched_cli.report.workload_counts import by_workload

_TONES: Mapping[str, Tone] = {
    "scheduled": "good",
    "running": "good",
    "preempts": "warn",
    "gated": "warn",
    "ignored": "plain",
    "unschedulable": "bad",
    "refused": "bad",
    "error": "bad",
}


def page(document: Mapping[str, Any]) -> Page:
    result = result_of(document) if document.get("result") else document["standing"]
    tone = _TONES.get(result, "bad")
    summary = document.get("summary", [])
    sections = [
        *_fixes(document),
        *node_map(
            document, intro="The colour of a node is its answer to the pod. The darker band is what the pod would take."
        ),
        _pod(document, result),
        *pod_odds(
            "odds", [each for each in document.get("odds", {}).get("pods", []) if each["pod"] == document["pod"]]
        ),
        *_why_not(document),
        *_rejections(document),
        *_preemption(document),
        *_retries(document),
        *_facts(document),
    ]
    notes = [*summary, *document.get("notes", [])]
    return Page(
        "explain", tone, _verdict(document, result), notes, _figures(document), sections, node_columns(document)
    )


def _verdict(document: Mapping[str, Any], result: str) -> str:
    pod, standing = document["pod"], document["standing"]
    if standing == "running":
        again = f", and would go to {document['node']} now" if document.get("node") else ""
        return f"{pod} runs on {document['runsOn']}{again}."
    sentences = {
        "scheduled": f"{pod} goes to {document.get('node', '')}.",
        "preempts": f"{pod} waits for room on {document.get('nominatedNode', '')}, which preemption makes.",
        "gated": f"{pod} is held back before scheduling.",
        "ignored": f"{pod} waits for another scheduler.",
        "refused": f"{pod} is refused by admission.",
    }
    return sentences.get(standing if standing in sentences else result, f"{pod} finds no node.")


def _figures(document: Mapping[str, Any]) -> list[Figure]:
    feasible, whole = len(document.get("feasible", [])), len(document.get("nodeTable", {}).get("names", []))
    found = [Figure(f"of {count(whole, 'node')} fit", f"{feasible:,}", "good" if feasible else "bad")] if whole else []
    if "queue" in document:
        found.append(
            Figure(
                f"of {count(document['queue']['pods'], 'pod')} in the queue",
                f"{document['queue']['position']:,}",
            )
        )
    if document.get("fixes"):
        found.append(counting(len(document["fixes"]), "possible change", tone="good"))
    return found


def _pod(document: Mapping[str, Any], result: str) -> PageSection:
    details = PodDetails(document)
    detail = details.of(0, document)
    return pod_section("pod", "The pod", document["pod"], result, detail, details.legend, _TONES)


def _fixes(document: Mapping[str, Any]) -> list[PageSection]:
    found = document.get("fixes")
    if not found:
        return []
    done = [
        PageStep(
            each["text"], list(_fix_lines(each)), f"\N{RIGHTWARDS ARROW} {each['node']}" if each.get("node") else ""
        )
        for each in found
    ]
    on = f" on {document['fixesOn']}" if document.get("fixesOn") else ""
    return [
        steps(
            "fixes",
            f"Changes that make it fit{on}",
            done,
            intro="The smallest first. Each was tried in a run of its own.",
        )
    ]


def _fix_lines(fix: Mapping[str, Any]) -> Iterator[tuple[Tone, str]]:
    for command in fix.get("commands", []):
        yield "plain", command
    if fix.get("flags"):
        yield "plain", f"ksched {' '.join(fix['flags'])}"
    if fix.get("patch"):
        yield "plain", f"JSON patch of the pod: {json.dumps(fix['patch'])}"
    if fix.get("victims"):
        yield "warn", f"evicts {by_workload(fix['victims'], fix.get('workloads', {}))}"
    if fix.get("lost"):
        yield "bad", f"no controller recreates {', '.join(fix['lost'])}"
    if fix.get("leftOut"):
        yield "bad", f"without a node then: {by_workload(fix['leftOut'], fix.get('workloads', {}))}"


def _why_not(document: Mapping[str, Any]) -> list[PageSection]:
    focus = document.get("whyNot")
    if not focus:
        return []
    lines: list[tuple[Tone, str]] = [("plain", each) for each in focus["text"]]
    lines += [
        ("plain", f"{each['plugin']} with weight {each['newWeight']} instead of {each['weight']} would choose it")
        for each in focus.get("weights", [])
    ]
    return [steps("why-not", f"Why not {focus['node']}", [PageStep(focus["node"], lines)])]


def _rejections(document: Mapping[str, Any]) -> list[PageSection]:
    columns = headings("Node; Plugin: filters; Why: wide; Reason: filters wide")
    rows = [
        [node, each["plugin"], each.get("text", ""), ", ".join(each["reasons"])]
        for node, rejections in document.get("rejections", {}).items()
        for each in rejections
    ]
    intro = "All plugins that reject a node, not the first one only."
    return [table("rejections", "Node by node", columns, rows, intro=intro)] if rows else []


def _preemption(document: Mapping[str, Any]) -> list[PageSection]:
    study = document.get("preemptionStudy")
    if not study:
        return []
    if "ineligible" in study:
        return [facts("preemption", "Preemption", [("The pod may not preempt", study["ineligible"])])]
    columns = headings("Node; Victims: list wide; Budgets violated: number; Highest priority: number; Why: wide")
    rows: list[list[Any]] = [
        [each["node"], each["victims"], each["pdbViolations"], each["highestPriority"], each["why"]]
        for each in study["candidates"]
    ]
    rows += [[node, [], "", "", why] for node, why in study["others"].items()]
    intro = f"No eviction solves the problem of {count(study['beyondHelp'], 'node')}." if study["beyondHelp"] else ""
    if not rows:
        return [facts("preemption", "Preemption", [("Candidates", "none")], intro=intro)]
    return [table("preemption", "Preemption", columns, rows, intro=intro)]


def _retries(document: Mapping[str, Any]) -> list[PageSection]:
    rows = [[plugin, ", ".join(events) or "nothing"] for plugin, events in document.get("retriedOn", {}).items()]
    columns = headings("Plugin; Events: wide")
    return [table("retries", "What makes the scheduler try again", columns, rows)] if rows else []


def _facts(document: Mapping[str, Any]) -> list[PageSection]:
    pairs = [
        ("Requests", ", ".join(f"{name} {amount}" for name, amount in document.get("asks", {}).items()) or "nothing")
    ]
    pairs += [("Priority", f"{document.get('priority', 0):,}"), ("Scheduler", document.get("scheduler", ""))]
    if "runnerUp" in document:
        margin = document["runnerUp"]
        by = joined([f"{plugin} {amount:+,}" for plugin, amount in margin["byPlugin"].items()] or ["nothing"])
        pairs.append(("Next best node", f"{margin['node']}, behind by {margin['behind']:,}: {by}"))
    answers = [*document.get("preEnqueueAnswers", []), *document.get("preFilterAnswers", [])]
    pairs += [
        (each["plugin"], f"{each['code']}: {', '.join(each['reasons'])}")
        for each in answers
        if each["code"] not in ("Success", "Skip") and "reasons" in each
    ]
    return [facts("facts", "What the pod requests", [pair for pair in pairs if pair[1]])]
