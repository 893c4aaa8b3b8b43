"""Settling for people and for programs: the timeline, and where every pod is in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ksched_cli.controlplane.draws import Draw
from ksched_cli.report.console import make_console
from ksched_cli.report.entries import end_entries
from ksched_cli.report.omissions import print_omissions
from ksched_cli.report.registry import RenderOptions, documents, renders
from ksched_cli.report.rows import pod_and_node, write_row
from ksched_cli.report.simulate_document import simulation_document
from ksched_cli.report.simulate_table import print_groups, print_others, timings_table
from ksched_cli.report.visible import shows_visible
from ksched_cli.world.results import FinalPod, TimelineEvent, WorldResult

if TYPE_CHECKING:
    from ksched_cli.plan.settled import SettledSimulation

_COLOURS = {
    "scheduled": "green",
    "unschedulable": "red",
    "error": "red",
    "gated": "yellow",
    "waiting": "yellow",
    "nominated": "yellow",
    "leaving": "yellow",
    "gone": "dim",
}
_ENDINGS = {
    "settled": "settled after {time}, {cycles}",
    "max-time": "not settled: stopped after {time} (--max-time), {cycles}",
    "max-cycles": "not settled: stopped after {cycles} (--max-cycles), {time}",
    "oscillation": "not settled: the same happens again every {period}, stopped after {time}, {cycles}",
}
# More lines than this nobody reads; -o wide and json have all of them.
_MOST_LINES = 200


def settlement_entries(settlement: WorldResult) -> dict[str, Any]:
    """What the document has besides the keys of any simulation."""
    return {
        "timeline": [_event(each) for each in settlement.timeline],
        **end_entries(settlement),
        "settled": {
            "ending": settlement.ending,
            "seconds": settlement.seconds,
            "cycles": settlement.cycles,
            **({"faults": list(settlement.faults)} if settlement.faults else {}),
            **(
                {"oscillating": list(settlement.oscillating), "periodSeconds": settlement.period}
                if settlement.oscillating
                else {}
            ),
        },
    }


def _event(each: TimelineEvent) -> dict[str, Any]:
    entry = {
        "time": each.time,
        "event": each.event,
        "pod": each.pod,
        "queue": each.queue,
        "decision": each.decision,
        "node": each.node,
        "message": each.message,
    }
    return {key: value for key, value in entry.items() if value != ""}


@documents("SettledSimulation")
def settled_document(found: SettledSimulation, options: RenderOptions) -> dict[str, Any]:
    return {**simulation_document(found.simulation, options), **settlement_entries(found)}


@renders("SettledSimulation", "name")
def write_moved(found: SettledSimulation, out: TextIO, options: RenderOptions) -> None:
    for pod in found.moved:
        write_row(out, *pod_and_node(pod.pod, pod.node))


@renders("SettledSimulation", "table", "wide")
@shows_visible
def print_settled(found: SettledSimulation, out: TextIO, options: RenderOptions) -> None:
    console, simulation = make_console(options.width, out), found.simulation
    print_settlement(found, console, wide=options.wide, headers=options.headers)
    print_others(simulation, console)
    print_groups(simulation, console)
    print_omissions(simulation.coverage, console)
    if simulation.stats.timings:
        console.print()
        console.print(timings_table(simulation.stats.timings, options.headers))


@shows_visible
def print_settlement(settlement: WorldResult, console: Console, *, wide: bool = False, headers: bool = True) -> None:
    if settlement.timeline:
        told = [each for each in settlement.timeline if wide or _is_news(each)]
        shown = told if wide else told[:_MOST_LINES]
        console.print(_timeline(shown, headers, wide))
        if len(shown) < len(told):
            console.print(Text(f"… and {len(told) - len(shown)} more (-o wide shows all)", style="dim"))
        console.print()
    if settlement.moved:
        console.print(_final_table(settlement, headers))
        console.print()
    console.print(ending_line(settlement))
    if settlement.draws:
        console.print(Text(draws_line(settlement.draws), style="yellow"))


def _is_news(each: TimelineEvent) -> bool:
    """The line before says as much: that a new pod is tried first, and that one that does not fit is unschedulable."""
    first = each.event == "UnschedulablePodAdd" and each.queue == "active" and each.time == 0
    return not first and each.event not in ("ScheduleAttemptFailure",)


def _timeline(timeline: list[TimelineEvent], headers: bool, wide: bool) -> Table:
    table = Table(box=None, show_header=headers, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("TIME", justify="right", no_wrap=True)
    table.add_column("POD", overflow="fold")
    table.add_column("EVENT", overflow="fold")
    table.add_column("WHAT", overflow="fold")
    for each in timeline:
        table.add_row(span(each.time), each.pod, each.event, _what(each, wide))
    return table


def _what(each: TimelineEvent, wide: bool) -> Text:
    if each.decision:
        text = Text(each.decision, style=_COLOURS.get(each.decision, ""))
        if each.node:
            text.append(f" {'on' if each.decision in ('scheduled', 'waiting') else 'and nominated to'} {each.node}")
        if wide and each.message:
            text.append(f": {each.message}")
        return text
    if each.queue:
        return Text(f"to the {each.queue} queue" + (f": {each.message}" if each.message else ""))
    if each.event == "Preempted":
        return Text(f"told to leave {each.node}, {each.message}")
    return Text(f"left {each.node}" if each.node else each.message)


def _final_table(settlement: WorldResult, headers: bool) -> Table:
    table = Table(box=None, show_header=headers, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("POD", overflow="fold")
    table.add_column("STATE", no_wrap=True)
    table.add_column("CYCLES", justify="right", no_wrap=True)
    table.add_column("NODE AND REASON", overflow="fold")
    for pod in settlement.moved:
        state = Text(pod.state, style=_COLOURS.get(pod.state, ""))
        table.add_row(pod.pod, state, str(pod.attempts or ""), _reason(pod))
    return table


def _reason(pod: FinalPod) -> str:
    parts = [
        pod.node,
        f"nominated to {pod.nominated_node}" if pod.nominated_node else "",
        f"instead of {pod.replaces}" if pod.replaces else "",
        pod.message,
    ]
    return ", ".join(part for part in parts if part)


def ending_line(settlement: WorldResult) -> Text:
    cycles = f"{settlement.cycles} cycle{'' if settlement.cycles == 1 else 's'}"
    text = _ENDINGS[settlement.ending].format(
        time=span(settlement.seconds), cycles=cycles, period=span(settlement.period)
    )
    line = Text(text, style="" if settlement.settled else "bold red")
    if settlement.oscillating:
        line.append(f": {', '.join(settlement.oscillating)}")
    for fault in settlement.faults:
        line.append(f"\n{fault}", style="yellow")
    return line


def draws_line(draws: Sequence[Draw]) -> str:
    """`chance decides 3 times (deletion order of ReplicaSet/shop/web): other orders may end otherwise`."""
    times = "once" if len(draws) == 1 else f"{len(draws)} times"
    what = ", ".join(dict.fromkeys(f"{draw.what} of {draw.subject}" for draw in draws))
    return f"chance decides {times} ({what}): other orders may end otherwise"


def span(seconds: float) -> str:
    """45s, 5m30s, 1h0m10s."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    text = f"{rest:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{int(hours)}h{int(minutes)}m{text}"
    return f"{int(minutes)}m{text}" if minutes else text
