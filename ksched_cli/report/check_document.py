"""The JSON document of a check (apiVersion ksched/v1, kind Check)."""

from __future__ import annotations

from typing import Any

from ksched_cli.plan.check.results import Check, Finding, IgnoredFinding, RolloutStep, WorkloadCheck
from ksched_cli.plan.evicted import WorkloadLoss
from ksched_cli.report.entries import draw_entry, final_entry
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.registry import RenderOptions, documents
from ksched_cli.sources.own_documents import API_VERSION
from ksched_cli.sources.places import SourcePlace
from ksched_cli.world.results import WorldResult

KIND = "Check"


@documents("Check", "html")
def check_document(check: Check, options: RenderOptions) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "workloads": [_workload(workload) for workload in check.workloads],
        "findings": [finding_entry(finding) for finding in check.findings],
        **({"ignored": [_ignored(each) for each in check.ignored]} if check.ignored else {}),
        "evicted": list(check.evicted),
        **({"evictedAnyway": list(check.evicted_anyway)} if check.evicted_anyway else {}),
        **({"losses": [_loss(loss) for loss in check.losses]} if check.losses else {}),
        **(_world(check.world) if check.world is not None else {}),
        "warnings": list(check.warnings),
        **node_table_entry(check.nodes),
        "coverage": dict(check.coverage),
        "stats": {
            "nodes": check.stats.nodes,
            "pods": check.stats.pods,
            "errors": check.count("error"),
            "warnings": check.count("warning"),
            "notes": check.count("note"),
            **({"ignored": len(check.ignored)} if check.ignored else {}),
            "loadSeconds": round(check.stats.load_seconds, 4),
            "scheduleSeconds": round(check.stats.schedule_seconds, 4),
            "peakMiB": round(check.stats.peak_mib, 1),
        },
    }


def _ignored(ignored: IgnoredFinding) -> dict[str, Any]:
    return {**finding_entry(ignored.finding), "ignoredBy": ignored.by, "reason": ignored.reason}


def _world(world: WorldResult) -> dict[str, Any]:
    """The keys that every command that moves pods has."""
    return {
        "final": [final_entry(pod) for pod in world.final],
        "finished": dict(world.finished),
        **({"draws": [draw_entry(draw) for draw in world.draws]} if world.draws else {}),
    }


def _loss(loss: WorkloadLoss) -> dict[str, Any]:
    budgets = {"budgets": list(loss.budgets)} if loss.budgets else {}
    return {"workload": loss.workload, "evicted": list(loss.evicted), "pending": loss.pending, **budgets}


def _workload(workload: WorkloadCheck) -> dict[str, Any]:
    return {
        "workload": workload.workload,
        "result": workload.result,
        **_place(workload.place),
        "pods": workload.pods,
        "running": workload.running,
        "old": workload.old,
        "rollout": workload.rollout,
        "steps": [_step(step) for step in workload.steps],
        **({"orders": {"tried": orders.tried, "finished": orders.finished}} if (orders := workload.orders) else {}),
        **({"missing": list(workload.missing)} if workload.missing else {}),
    }


def _step(step: RolloutStep) -> dict[str, Any]:
    entry = {"made": list(step.made), "placed": dict(step.placed), "removed": list(step.removed)}
    return {"seconds": step.seconds, **{key: value for key, value in entry.items() if value}}


def finding_entry(finding: Finding) -> dict[str, Any]:
    """Keys are absent when empty."""
    entry = {
        "code": finding.code,
        "name": finding.name,
        "level": finding.level,
        "title": finding.title,
        "workload": finding.workload,
        "message": finding.message,
        **_place(finding.place),
        "pods": list(finding.pods),
        "plugin": finding.plugin,
        "reasons": list(finding.reasons),
        "step": finding.step,
    }
    return {key: value for key, value in entry.items() if value not in ("", None, 0) and value != []}


def _place(place: SourcePlace) -> dict[str, Any]:
    entry = {"file": place.source, "line": place.line, "path": place.path}
    return {key: value for key, value in entry.items() if value not in ("", None)}
