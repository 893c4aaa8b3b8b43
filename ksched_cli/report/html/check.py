"""The page of `check`: which manifests schedule and roll out, and their findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.listing import joined, named
from ksched_cli.report.html.ends import draws, final_pods, rollouts
from ksched_cli.report.html.model import Page, PageSection, PageStep, Tone, counting, headings, steps, table
from ksched_cli.report.html.nodes import node_columns, node_map, zone_bars
from ksched_cli.report.html.words import count

_LEVELS: Mapping[str, Tone] = {"error": "bad", "warning": "warn", "note": "plain"}
_RESULTS: Mapping[str, Tone] = {
    "fits": "good",
    "warns": "warn",
    "held back": "warn",
    "ignored": "plain",
    "fails": "bad",
}
_NOT_ALL = {"ignored": "with ignored errors", "held back": "held back"}
_MOST_PODS = 8
# The most steps of rollouts that are shown.
_MOST_STEPS = 60


def page(document: Mapping[str, Any]) -> Page:
    tone, verdict = _verdict(document)
    sections = [
        *_findings(document),
        _workloads(document["workloads"]),
        *node_map(
            document,
            intro="A cell is a node, filled by what pods request of it; the darker band is what the manifests add.",
        ),
        *_steps(document["workloads"]),
        *_losses(document.get("losses", [])),
        *rollouts(document),
        *final_pods(document),
        *_ignored(document.get("ignored", [])),
        *zone_bars(document),
    ]
    stats = document["stats"]
    figures = [counting(len(document["workloads"]), "workload")]
    for level, tone_of_level in _LEVELS.items():
        number = stats[f"{level}s"]
        figures.append(counting(number, level, tone=tone_of_level if number else "plain"))
    return Page("check", tone, verdict, list(_notes(document)), figures, sections, node_columns(document))


def _verdict(document: Mapping[str, Any]) -> tuple[Tone, str]:
    results = Counter(each["result"] for each in document["workloads"])
    wrong = [each for each in document["findings"] if not each.get("workload") and each["level"] == "error"]
    failing, whole = results["fails"], len(document["workloads"])
    parts = [f"{failing:,} of {count(whole, 'workload')} {'does' if failing == 1 else 'do'} not fit"] if failing else []
    parts += [f"the input has {count(len(wrong), 'mistake')}"] if wrong else []
    if parts:
        text = joined(parts)
        return "bad", f"{text[0].upper()}{text[1:]}."
    if not whole:
        return "warn", "Nothing was checked."
    warned = document["stats"]["warnings"] + len(document.get("warnings", []))
    if results["ignored"] or results["held back"]:
        parts = [f"{results[key]:,} {text}" for key, text in _NOT_ALL.items() if results[key]]
        some = whole - results["ignored"] - results["held back"]
        return "warn", f"{some:,} of {count(whole, 'workload')} {'fits' if some == 1 else 'fit'}: {joined(parts)}."
    fit = "The workload fits" if whole == 1 else f"All {whole:,} workloads fit"
    return ("warn", f"{fit}, with {count(warned, 'warning')}.") if warned else ("good", f"{fit}.")


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    for each in document["findings"][:2]:
        if each["level"] == "error":
            yield f"{each.get('workload') or each.get('file', 'input')}: {each['title']}."
    if document["evicted"]:
        yield f"{count(len(document['evicted']), 'running pod')} lose their node to the manifests."
    if anyway := document.get("evictedAnyway"):
        yield f"Pending pods of the cluster evict {count(len(anyway), 'pod')} with or without the manifests."
    yield from draws(document)


def _findings(document: Mapping[str, Any]) -> list[PageSection]:
    columns = headings("Code: filters; Level: badge filters; Workload: filters; What: wide; Where: wide")
    rows = [_finding(each) for each in document["findings"]]
    intro = "`ksched explain-code CODE` explains a code and lists what to do."
    return [table("findings", "Findings", columns, rows, intro=intro, tones=_LEVELS)] if rows else []


def _finding(finding: Mapping[str, Any]) -> list[Any]:
    place = ":".join(str(finding[key]) for key in ("file", "line") if key in finding)
    where = f"{place} {finding['path']}" if "path" in finding else place
    return [
        finding["code"],
        finding["level"],
        finding.get("workload", ""),
        f"{finding['title']}: {finding['message']}",
        where,
    ]


def _workloads(workloads: Sequence[Mapping[str, Any]]) -> PageSection:
    columns = headings(
        "Workload; Result: badge filters; Pods: number; With a node: number; Old pods left: number; Orders; File"
    )
    rows = [
        [
            each["workload"],
            each["result"],
            each["pods"],
            each["running"],
            each["old"],
            _orders(each),
            each.get("file", ""),
        ]
        for each in workloads
    ]
    return table("workloads", "Workloads", columns, rows, tones=_RESULTS)


def _orders(workload: Mapping[str, Any]) -> str:
    orders = workload.get("orders")
    return f"finishes in {orders['finished']} of {orders['tried']}" if orders else ""


def _steps(workloads: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    """The steps of the rollouts in order of time."""
    done = [
        PageStep(f"{each['workload']} at {step['seconds']:g}s", list(_step_lines(step)))
        for each in workloads
        if each["rollout"] or len(each["steps"]) > 1
        for step in each["steps"]
    ]
    left = len(done) - _MOST_STEPS
    intro = f"The first {_MOST_STEPS} of {len(done):,} steps; the JSON document has all of them." if left > 0 else ""
    return [steps("steps", "Rollouts step by step", done[:_MOST_STEPS], intro=intro)] if done else []


def _step_lines(step: Mapping[str, Any]) -> Iterator[tuple[Tone, str]]:
    if "made" in step:
        yield "plain", f"created: {named(step['made'], _MOST_PODS)}"
    if "placed" in step:
        places = [f"{pod} on {node}" for pod, node in step["placed"].items()]
        yield "good", f"placed: {named(places, _MOST_PODS)}"
    if "removed" in step:
        yield "plain", f"removed: {named(step['removed'], _MOST_PODS)}"


def _losses(losses: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    columns = headings("Workload; Evicted: list wide; Pending in the end: number; Budgets violated: list")
    rows = [[each["workload"], each["evicted"], each["pending"], each.get("budgets", [])] for each in losses]
    return [table("losses", "Workloads that lose running pods", columns, rows)] if rows else []


def _ignored(ignored: Sequence[Mapping[str, Any]]) -> list[PageSection]:
    columns = headings("Code; Level: badge; Workload; What: wide; Accepted by")
    rows = [[*_finding(each)[:4], f"{each['ignoredBy']} {each['reason']}".strip()] for each in ignored]
    return [table("ignored", "Accepted findings", columns, rows, tones=_LEVELS)] if rows else []
