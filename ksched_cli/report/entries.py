"""Entries that the documents of several results have."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ksched_cli import __version__
from ksched_cli.controlplane.draws import Draw
from ksched_cli.plan.results import PluginTiming, Stats
from ksched_cli.world.results import FinalPod, Orders, WorldResult

if TYPE_CHECKING:
    from ksched_cli.report.registry import RenderOptions


def run_entry(options: RenderOptions) -> dict[str, Any]:
    """Which command line made the document, and when; empty for a document that Python code made."""
    if not options.command:
        return {}
    time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"run": {"command": options.command, "version": __version__, "time": time}}


def stats_entry(stats: Stats) -> dict[str, Any]:
    return {
        "nodes": stats.nodes,
        "pods": stats.pods,
        "loadSeconds": round(stats.load_seconds, 4),
        "scheduleSeconds": round(stats.schedule_seconds, 4),
        "podsPerSecond": round(stats.pods_per_second, 1),
        "peakMiB": round(stats.peak_mib, 1),
        **({"timings": [_timing(each) for each in stats.timings]} if stats.timings else {}),
    }


def _timing(timing: PluginTiming) -> dict[str, Any]:
    entry = {
        "point": timing.point,
        "plugin": timing.plugin,
        "calls": timing.calls,
        "seconds": round(timing.seconds, 6),
    }
    return {**entry, "origin": timing.origin} if timing.origin else entry


def end_entries(settlement: WorldResult) -> dict[str, Any]:
    """Where every pod is in the end: the same in every command that moves pods."""
    return {
        "final": [final_entry(each) for each in settlement.final],
        "finished": dict(settlement.finished),
        **orders_entries(settlement),
    }


def orders_entries(settlement: WorldResult) -> dict[str, Any]:
    """What chance decided, and in how many orders every pod has a node in the end."""
    return {
        **({"draws": [draw_entry(each) for each in settlement.draws]} if settlement.draws else {}),
        **({"orders": _orders_entry(settlement.orders, settlement.doubtful)} if settlement.orders else {}),
    }


def _orders_entry(orders: Orders, doubtful: Mapping[str, Orders]) -> dict[str, Any]:
    """`workloads` has those that do not end alike in all orders, with the number of orders in which they finish."""
    workloads = {name: each.finished for name, each in doubtful.items()}
    return {"tried": orders.tried, "finished": orders.finished, "workloads": workloads}


def final_entry(pod: FinalPod) -> dict[str, Any]:
    entry = {
        "pod": pod.pod,
        "workload": pod.workload,
        "state": pod.state,
        "node": pod.node,
        "queue": pod.queue,
        "attempts": pod.attempts,
        "nominatedNode": pod.nominated_node,
        "replaces": pod.replaces,
        "message": pod.message,
        "why": pod.why,
        "unschedulablePlugins": list(pod.unschedulable_plugins),
    }
    return {key: value for key, value in entry.items() if value not in ("", [], 0)}


def draw_entry(draw: Draw) -> dict[str, Any]:
    return {
        "what": draw.what,
        "subject": draw.subject,
        "options": list(draw.options),
        "taken": list(draw.taken),
    }
