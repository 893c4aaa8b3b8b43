"""Sections and sentences about a run of a world: its draws, and the final state of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.listing import named
from ksched_cli.controlplane.draws import Draw
from ksched_cli.report.view.documents import OrdersPart, value_of
from ksched_cli.report.view.model import Line, Section, Table, Tone, columns, counted

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
_MOST_DRAWS = 5


def draws_text(draws: Sequence[Draw], orders: OrdersPart | None) -> str:
    """`chance decides once (node of default/a): every pod has a node in 1 of 2 orders, DaemonSet/shop/logs in 1`."""
    times = "once" if len(draws) == 1 else f"{len(draws)} times"
    what = named(list(dict.fromkeys(f"{draw.what} of {draw.subject}" for draw in draws)), _MOST_DRAWS)
    begin = f"chance decides {times} ({what})"
    if orders is None or orders.finished is None:
        return f"{begin}: other orders may end otherwise"
    if not orders.workloads:
        return f"{begin}: {orders.tried} orders were tried and end alike"
    parts = [f"every pod has a node in {orders.finished} of {orders.tried} orders"]
    for name, finished in orders.workloads.items():
        parts.append(f"{name} in {finished}" if 0 < finished < orders.tried else f"{name} loses other pods")
    return f"{begin}: {', '.join(parts)}"


def draws_notes(draws: Sequence[Draw], orders: OrdersPart | None) -> Iterator[Line]:
    """A note about random choices of the run."""
    if draws:
        yield Line(draws_text(draws, orders), "warn")


def doubt(orders: OrdersPart | None) -> list[str]:
    """`fits in 2 of 3 orders`, if the orders that were tried do not end alike."""
    if orders is None or orders.finished in (None, 0, orders.tried):
        return []
    return [f"fits in {orders.finished} of {orders.tried} orders"]


def final_pods(final: Any) -> Section:
    """The table of the pods that the run changed. `final` is the part of a document."""

    def table() -> Table | None:
        moved = [each for each in value_of(final) or () if each["state"] != "running"]
        shown = columns("Pod; State: badge filters; Node: node; Workload: filters; In place of; Why: flows")
        order = sorted(moved, key=lambda each: (each["state"] not in UNPLACED, each["pod"]))
        return Table(shown, [_final_row(each) for each in order], STATE_TONES) if order else None

    return Section("final", "Pods in the end", table, place="page")


def _final_row(pod: Mapping[str, Any]) -> list[Any]:
    node = pod.get("node", "") or (f"nominated: {pod['nominatedNode']}" if "nominatedNode" in pod else "")
    why = pod.get("message", "") or pod.get("why", "")
    return [pod["pod"], pod["state"], node, pod["workload"], pod.get("replaces", ""), why]


def rollouts(finished: Mapping[str, bool]) -> list[Section]:
    """The table of the workloads whose template or scale the run changes."""
    rows = [[name, "complete" if done else "not complete"] for name, done in finished.items()]
    tones: Mapping[str, Tone] = {"complete": "good", "not complete": "bad"}
    table = Table(columns("Workload; Rollout: badge filters"), rows, tones)
    return [Section("rollouts", "Rollouts", table, place="page")] if rows else []


_ENDINGS = {
    "settled": "settled after {time}, {cycles}",
    "max-time": "not settled: stopped after {time} (--max-time), {cycles}",
    "max-cycles": "not settled: stopped after {cycles} (--max-cycles), {time}",
    "oscillation": "not settled: the same happens again every {period}, stopped after {time}, {cycles}",
}


def ending_text(ending: str, seconds: float, cycles: int, period: float = 0.0, oscillating: Sequence[str] = ()) -> str:
    """`settled after 31s, 12 cycles`."""
    text = _ENDINGS[ending].format(time=span(seconds), cycles=counted(cycles, "cycle"), period=span(period))
    return f"{text}: {', '.join(oscillating)}" if oscillating else text


def span(seconds: float) -> str:
    """`45s`, `5m30s`, `1h0m10s`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{rest:.3f}".rstrip("0").rstrip(".") + "s"
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}" if minutes else text
