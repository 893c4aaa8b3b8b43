"""The JSON document of a check (apiVersion ksched/v1, kind Check)."""

from __future__ import annotations

from typing import Any

from ksched_cli.plan.check.results import Check, Finding, IgnoredFinding, WorkloadCheck, WorkloadLoss
from ksched_cli.report.entries import draw_entry, entry_of, filled, final_entry
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.registry import RenderOptions
from ksched_cli.sources.own_documents import API_VERSION
from ksched_cli.sources.places import SourcePlace
from ksched_cli.world.results import WorldResult

KIND = "Check"


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
            **entry_of(check.stats, "nodes pods"),
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
    """The keys that all commands that move pods have."""
    return {
        "final": [final_entry(pod) for pod in world.final],
        "finished": dict(world.finished),
        **({"draws": [draw_entry(draw) for draw in world.draws]} if world.draws else {}),
    }


def _loss(loss: WorkloadLoss) -> dict[str, Any]:
    budgets = {"budgets": list(loss.budgets)} if loss.budgets else {}
    return {**entry_of(loss, "workload evicted pending"), **budgets}


def _workload(workload: WorkloadCheck) -> dict[str, Any]:
    return {
        **entry_of(workload, "workload result"),
        **_place(workload.place),
        **entry_of(workload, "pods running old rollout"),
        "steps": [
            {"seconds": each.seconds, **filled(entry_of(each, "made placed removed"))} for each in workload.steps
        ],
        **({"orders": {"tried": orders.tried, "finished": orders.finished}} if (orders := workload.orders) else {}),
        **({"missing": list(workload.missing)} if workload.missing else {}),
    }


def finding_entry(finding: Finding) -> dict[str, Any]:
    """The entry of a finding, without keys that are empty."""
    about, place = entry_of(finding, "code name level title workload message"), _place(finding.place)
    return filled({**about, **place, **entry_of(finding, "pods plugin reasons step")})


def _place(place: SourcePlace) -> dict[str, Any]:
    return filled({"file": place.source, "line": place.line, "path": place.path})
