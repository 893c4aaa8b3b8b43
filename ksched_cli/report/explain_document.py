"""An explanation as a document (apiVersion ksched/v1, kind Explanation)."""

from __future__ import annotations

from typing import Any

from ksched_cli.plan.explain import results
from ksched_cli.plan.reasons.fixes.values import Fix, ManifestChange
from ksched_cli.report.entries import entry_of
from ksched_cli.report.money import plain_money
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.odds import odds_entry
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.simulate_document import pod_entry
from ksched_cli.sources.own_documents import API_VERSION

KIND = "Explanation"


def explanation_document(result: results.ExplainResult, options: RenderOptions) -> dict[str, Any]:
    """The entry of the pod as in `simulate`, with its explanation. Amounts of cpu are in thousandths."""
    found = result.explanation
    outcome = pod_entry(found.outcome) if found.outcome else {"pod": found.pod, "result": found.standing}
    document: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        **outcome,
        "standing": found.standing,
        "runsOn": found.node,
        **entry_of(found, "asks priority scheduler summary notes"),
        "queue": _queue(found),
        "preEnqueueAnswers": [_answer(each) for each in found.pre_enqueue],
        "preFilterAnswers": [_answer(each) for each in found.pre_filter],
        "rejections": {
            node.name: [_rejection(each) for each in node.rejections] for node in found.nodes if node.rejections
        },
        "problems": dict(found.problems),
        "runnerUp": _margin(found.runner_up) if found.runner_up else None,
        "whyNot": _focus(found.focus) if found.focus else None,
        "preemptionStudy": _study(found.preemption) if found.preemption else None,
        "fixes": [_fix(each) for each in found.fixes.found] if found.fixes else None,
        "fixesOn": found.fixes.on if found.fixes else "",
        "fixesTried": found.fixes.tried if found.fixes else None,
        "helpingNode": _helping_node(result),
        "retriedOn": {each.plugin: list(each.events) for each in found.retries},
    }
    document = {key: value for key, value in document.items() if value not in ("", None, [], {})}
    columns, odds = node_table_entry(found.columns), odds_entry(result.odds)
    return {**document, **columns, **odds, "coverage": dict(result.coverage)}


def _helping_node(result: results.ExplainResult) -> dict[str, Any] | None:
    """The entry of the cheapest node that helps. `shape` is absent if no single node helps."""
    node = result.helping_node
    if node is None:
        return None
    found = {"shape": node.shape, "price": plain_money(node.price), "unit": node.unit} if node.shape else {}
    return {**found, "reasons": dict(node.reasons)}


def _queue(found: results.Explanation) -> dict[str, Any] | None:
    place = found.queue
    return {**entry_of(place, "position pods"), "placedBefore": place.placed} if place else None


def _answer(answer: results.PluginAnswer) -> dict[str, Any]:
    entry = entry_of(answer, "plugin code")
    if answer.reasons:
        entry["reasons"] = list(answer.reasons)
    if answer.nodes is not None:
        entry["nodes"] = list(answer.nodes)
    return entry


def _rejection(rejection: results.Rejection) -> dict[str, Any]:
    why = {"reasons": list(rejection.texts), "detail": rejection.detail, "text": rejection.describe()}
    beside = {"besideNominated": True} if rejection.beside else {}
    return {**entry_of(rejection, "plugin code"), **why, **beside}


def _focus(focus: results.NodeFocus) -> dict[str, Any]:
    entry = entry_of(focus, "node chosen text")
    if focus.behind:
        entry |= {"rank": focus.rank, "behind": focus.behind.total, "byPlugin": dict(focus.behind.by_plugin)}
        entry["weights"] = [entry_of(each, "plugin weight newWeight") for each in focus.weights]
    return entry


def _study(study: results.PreemptionStudy) -> dict[str, Any]:
    if study.ineligible:
        return {"ineligible": study.ineligible}
    candidates = [entry_of(each, "node victims pdbViolations highestPriority why") for each in study.candidates]
    return {"candidates": candidates, **entry_of(study, "others beyondHelp")}


def _fix(fix: Fix) -> dict[str, Any]:
    """The entry of a fix: flags of ksched, a JSON patch of the pod or its template, changes of the manifest,
    commands."""
    entry = entry_of(fix, "text cost flags patch commands node victims leftOut lost manifest workloads")
    entry["manifest"] = [_manifest_change(each) for each in fix.manifest]
    return {key: value for key, value in entry.items() if value not in ([], {})}


def _manifest_change(change: ManifestChange) -> dict[str, Any]:
    place = change.place
    entry = {"file": place.source, "line": place.line, "field": place.path, "action": change.action}
    entry |= {"value": change.value} if change.action != "delete" else {}
    return {key: value for key, value in entry.items() if value is not None}


def _margin(margin: results.Margin) -> dict[str, Any]:
    return {"node": margin.node, "behind": margin.total, "byPlugin": dict(margin.by_plugin)}
