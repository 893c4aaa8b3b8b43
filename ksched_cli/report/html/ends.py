"""Sections about a settled run: the timeline, and the final state of every pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.report.html.model import PageSection, Tone, headings, table, table_data
from ksched_cli.report.html.words import count
from ksched_cli.report.settle import span

# The tones of the final states of pods.
STATE_TONES: Mapping[str, Tone] = {
    "scheduled": "good",
    "running": "good",
    "nominated": "warn",
    "waiting": "warn",
    "gated": "warn",
    "leaving": "warn",
    "pending": "warn",
    "ignored": "plain",
    "gone": "plain",
    "unschedulable": "bad",
    "error": "bad",
}
UNPLACED = ("unschedulable", "error", "pending", "nominated", "waiting")
# The lane of events that belong to no pod.
_CLUSTER = "cluster"
# The kinds of marks, each with a shape and a colour.
_LEGEND = [
    ["good", "scheduled"],
    ["bad", "finds no node"],
    ["warn", "nominated, waiting or held back"],
    ["out", "preempted, or left its node"],
    ["plain", "moved to a queue"],
]


def timeline(document: Mapping[str, Any]) -> list[PageSection]:
    """The events of the run, with a lane for each pod."""
    events = [each for each in document.get("timeline", []) if not _is_noise(each)]
    if not events:
        return []
    lanes: dict[str, list[Mapping[str, Any]]] = {}
    for each in events:
        lanes.setdefault(each.get("pod") or _CLUSTER, []).append(each)
    end = document.get("settled", {}).get("seconds", 0)
    columns = headings("Time: number; Pod; Event: filters; What: wide")
    rows = [[each["time"], each.get("pod", ""), each["event"], _what(each)] for each in events]
    data = {
        "lanes": [_lane(pod, each) for pod, each in lanes.items()],
        "end": end,
        "legend": _LEGEND,
        "table": table_data("Events", columns, rows),
    }
    intro = "Seconds on a virtual clock. A dotted line is a pod that waits, a solid line a pod that has its node."
    return [PageSection("timeline", "Timeline", "timeline", data, intro)]


def _is_noise(event: Mapping[str, Any]) -> bool:
    """Whether other lines imply the event: a new pod is queued first; one that does not fit is unschedulable."""
    name = event["event"]
    first = (
        name in ("UnschedulablePodAdd", "UnscheduledPodAdd") and event.get("queue") == "active" and event["time"] == 0
    )
    return bool(first or name == "ScheduleAttemptFailure")


def _lane(pod: str, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "name": pod,
        "events": [[each["time"], _kind(each), _what(each)] for each in events],
        "spans": [] if pod == _CLUSTER else list(_spans(events)),
    }


def _kind(event: Mapping[str, Any]) -> str:
    decision = event.get("decision", "")
    if decision == "scheduled":
        return "good"
    if event.get("queue"):
        return "plain"
    if decision:
        return "bad" if decision in ("unschedulable", "error") and not event.get("node") else "warn"
    return "out" if event.get("node") else "plain"


def _what(event: Mapping[str, Any]) -> str:
    """`scheduled on node-1`, `to the active queue`, `left node-2`."""
    decision, node, message = (event.get(key, "") for key in ("decision", "node", "message"))
    if decision:
        where = f" {'on' if decision in ('scheduled', 'waiting') else 'and nominated to'} {node}" if node else ""
        text = f"{decision}{where}"
    elif event.get("queue"):
        text = f"to the {event['queue']} queue ({event['event']})"
    elif event["event"] == "Preempted":
        text = f"preempted on {node}"
    else:
        text = f"left {node}" if node else event["event"]
    return f"{text}: {message}" if message else text


def _spans(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[float, float | None, str]]:
    """The times during which the pod waits or has a node."""
    state, since = "", 0.0
    if _leaves_first(events):
        state = "run"
    for each in events:
        if state == "" and each["event"] != "PageStep":
            state, since = "wait", each["time"]
        if each.get("decision") == "scheduled":
            yield since, each["time"], state
            state, since = "run", each["time"]
        elif _leaves(each):
            yield since, each["time"], state
            state = ""
    if state:
        yield since, None, state


def _leaves(event: Mapping[str, Any]) -> bool:
    has_more = event.get("decision") or event.get("queue") or event["event"] == "Preempted"
    return bool(event.get("node")) and not has_more


def _leaves_first(events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the pod had a node when the run began."""
    moves = (each for each in events if _leaves(each) or each["event"] == "Preempted" or each.get("decision"))
    first = next(moves, None)
    return first is not None and "decision" not in first


def final_pods(document: Mapping[str, Any]) -> list[PageSection]:
    """The table of the pods that the run changed."""
    moved = [each for each in document.get("final", []) if each["state"] != "running"]
    columns = headings("Pod; State: badge filters; Node; Workload: filters; In place of; Why: wide")
    order = sorted(moved, key=lambda each: (each["state"] not in UNPLACED, each["pod"]))
    rows = [_final_row(each) for each in order]
    return [table("final", "Pods in the end", columns, rows, tones=STATE_TONES)] if rows else []


def _final_row(pod: Mapping[str, Any]) -> list[Any]:
    node = pod.get("node", "") or (f"nominated: {pod['nominatedNode']}" if "nominatedNode" in pod else "")
    why = pod.get("message", "") or pod.get("why", "")
    return [pod["pod"], pod["state"], node, pod["workload"], pod.get("replaces", ""), why]


def rollouts(document: Mapping[str, Any]) -> list[PageSection]:
    """The table of the workloads whose template or scale the run changes."""
    rows = [[name, "complete" if done else "not complete"] for name, done in document.get("finished", {}).items()]
    tones: Mapping[str, Tone] = {"complete": "good", "not complete": "bad"}
    columns = headings("Workload; Rollout: badge filters")
    return [table("rollouts", "Rollouts", columns, rows, tones=tones)] if rows else []


def draws(document: Mapping[str, Any]) -> Iterator[str]:
    """A note about random choices of the run."""
    found = document.get("draws", [])
    if found:
        what = ", ".join(dict.fromkeys(f"{each['what']} of {each['subject']}" for each in found))
        times = "once" if len(found) == 1 else f"{len(found)} times"
        orders = document.get("orders")
        if not orders:
            end = "other orders may end otherwise"
        elif not orders["workloads"]:
            end = f"{orders['tried']} orders were tried and end alike"
        else:
            names = ", ".join(orders["workloads"])
            end = f"every pod has a node in {orders['finished']} of {orders['tried']} orders; {names} may end otherwise"
        yield f"Chance decides {times} ({what}): {end}."


def ending(settled: Mapping[str, Any]) -> str:
    """`settled after 30s, 6 cycles`."""
    time, cycles = span(settled["seconds"]), count(settled["cycles"], "cycle")
    words = {
        "settled": f"nothing moves after {time} and {cycles}",
        "max-time": f"the run stopped after {time} (--max-time) and is not at rest",
        "max-cycles": f"the run stopped after {cycles} (--max-cycles) and is not at rest",
        "oscillation": f"the same happens again every {span(settled.get('periodSeconds', 0))}",
    }
    return words[settled["ending"]]
