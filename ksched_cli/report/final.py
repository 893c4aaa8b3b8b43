"""Where every pod is in the end: the same entries in the documents of all commands that move pods."""

from __future__ import annotations

from typing import Any

from ksched_cli.controlplane.draws import Draw
from ksched_cli.world.results import FinalPod, WorldResult


def end_entries(settlement: WorldResult) -> dict[str, Any]:
    """Where every pod is in the end: the same in every command that moves pods."""
    return {
        "final": [final_entry(each) for each in settlement.final],
        "finished": dict(settlement.finished),
        **({"draws": [draw_entry(each) for each in settlement.draws]} if settlement.draws else {}),
    }


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
