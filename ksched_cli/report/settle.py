"""Renders a settled run: the timeline, and the final state of every pod."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.text import Text

from ksched_cli.api.listing import named
from ksched_cli.report.console import Column, Grid, make_console, print_hanging
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.rows import pod_and_node, write_row
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.simulate_document import simulation_document
from ksched_cli.report.simulate_table import print_autoscaling, print_groups, print_others, timings_table
from ksched_cli.report.summary_line import BAD, FAIR, GOOD, counted, summary_line
from ksched_cli.report.view.documents import end_entries, entry_of
from ksched_cli.report.view.omissions import print_omissions
from ksched_cli.report.visible import shows_visible
from ksched_cli.world.results import FinalPod, TimelineEvent, WorldResult

if TYPE_CHECKING:
    from ksched_cli.plan.settle import SettledSimulation

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
_FAILED = ("unschedulable", "error")
# Words for states in the summary line.
_STATES = {"gone": "deleted", "gated": "held back"}
# The most lines of the table. -o wide and json have all of them.
_MOST_LINES = 200
_MOST_DRAWS = 5


def settlement_entries(settlement: WorldResult) -> dict[str, Any]:
    """The keys of the document that a simulation without --settle does not have."""
    oscillating = settlement.oscillating
    return {
        "timeline": [_event(each) for each in settlement.timeline],
        **end_entries(settlement),
        "settled": {
            **entry_of(settlement, "ending seconds cycles"),
            **({"faults": list(settlement.faults)} if settlement.faults else {}),
            **({"oscillating": list(oscillating), "periodSeconds": settlement.period} if oscillating else {}),
        },
    }


def _event(each: TimelineEvent) -> dict[str, Any]:
    entry = entry_of(each, "time event pod queue decision node message")
    return {key: value for key, value in entry.items() if value != ""}


def settled_document(found: SettledSimulation, options: RenderOptions) -> dict[str, Any]:
    return {**simulation_document(found.simulation, options), **settlement_entries(found)}


def write_moved(found: SettledSimulation, out: TextIO, options: RenderOptions) -> None:
    for pod in found.moved:
        write_row(out, *pod_and_node(pod.pod, pod.node))


@shows_nodes
@shows_visible
def print_settled(found: SettledSimulation, out: TextIO, options: RenderOptions) -> None:
    console, simulation = make_console(options.width, out), found.simulation
    print_hanging(console, _summary(found))
    for fault in found.faults:
        print_hanging(console, Text(fault, style="yellow"))
    console.print()
    print_settlement(found, console, wide=options.wide, headers=options.headers)
    print_others(simulation, console)
    print_groups(simulation, console)
    print_autoscaling(simulation, out, options)
    print_omissions(simulation.coverage, console)
    if simulation.stats.timings:
        console.print()
        console.print(timings_table(simulation.stats.timings, options.headers))


def _summary(found: SettledSimulation) -> Text:
    """`8 pods: 3 unschedulable, 4 scheduled, 1 deleted, settled after 31s, 12 cycles (12 nodes)`."""
    states = Counter(pod.state for pod in found.moved)
    refused = [f"{len(found.simulation.refused)} refused"] if found.simulation.refused else []
    bad = [f"{states[state]} {state}" for state in _FAILED if states[state]]
    other = [f"{count} {_STATES.get(state, state)}" for state, count in states.items() if state not in _FAILED]
    verdict, *details = [*bad, *refused, *other] or ["none moves"]
    ending = _ending(found)
    fair = states["gone"] or states["gated"] or doubt(found)
    style = BAD if bad or refused or not found.settled else FAIR if fair else GOOD
    total = states.total() + len(found.simulation.refused)
    context = counted(found.simulation.stats.nodes, "node")
    return summary_line(counted(total, "pod"), verdict, style, [*details, *doubt(found), ending], context)


@shows_visible
def print_settlement(settlement: WorldResult, console: Console, *, wide: bool = False, headers: bool = True) -> None:
    """Print the final state of the pods, and the timeline."""
    if settlement.moved:
        console.print(_final_table(settlement, headers))
    if settlement.timeline:
        if settlement.moved:
            console.print()
        shown = [each for each in settlement.timeline if wide or _is_news(each)]
        most = len(shown) if wide else _MOST_LINES
        console.print(_timeline(shown[:most], headers, wide))
        if most < len(shown):
            console.print(Text(f"… and {len(shown) - most} more (-o wide shows all)", style="dim"))
    if settlement.draws:
        print_hanging(console, Text(draws_line(settlement), style="yellow"))


def _is_news(each: TimelineEvent) -> bool:
    """Whether other lines imply the event: a new pod is queued first; one that does not fit is unschedulable."""
    first = each.event in ("UnschedulablePodAdd", "UnscheduledPodAdd") and each.queue == "active" and each.time == 0
    return not first and each.event not in ("ScheduleAttemptFailure",)


def _timeline(timeline: list[TimelineEvent], headers: bool, wide: bool) -> Grid:
    event = Column("EVENT", optional=not wide)
    table = Grid(Column("TIME", right=True), Column("POD"), event, Column("WHAT", flows=True), headers=headers)
    for each in timeline:
        table.add(span(each.time), each.pod, each.event, _what(each, wide))
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
        return Text(f"evicted from {each.node}, {each.message}")
    return Text(f"left {each.node}" if each.node else each.message)


def _final_table(settlement: WorldResult, headers: bool) -> Grid:
    """The table of the pods, those without a node first. A message of an earlier row is not repeated."""
    fixed = (Column("POD"), Column("STATE"), Column("CYCLES", right=True), Column("NODE", hides_zeros=True))
    table = Grid(*fixed, Column("WHY", flows=True), headers=headers)
    first: dict[str, str] = {}
    for pod in sorted(settlement.moved, key=lambda pod: pod.state not in _FAILED):
        state = Text(_STATES.get(pod.state, pod.state), style=_COLOURS.get(pod.state, ""))
        quoted_at = first.setdefault(pod.message, pod.pod) if pod.message else pod.pod
        message = pod.message if quoted_at == pod.pod else f"for the same reasons as {quoted_at}"
        table.add(pod.pod, state, str(pod.attempts or ""), pod.node, _reason(pod, message))
    return table


def _reason(pod: FinalPod, message: str) -> str:
    nominated = f"nominated to {pod.nominated_node}" if pod.nominated_node else ""
    replaced = f"instead of {pod.replaces}" if pod.replaces else ""
    return ", ".join(filter(None, (nominated, replaced, message)))


def ending_line(settlement: WorldResult) -> Text:
    """The line with how the run ended, and its faults."""
    line = Text(_ending(settlement), style="" if settlement.settled else "bold red")
    for fault in settlement.faults:
        line.append(f"\n{fault}", style="yellow")
    return line


def _ending(settlement: WorldResult) -> str:
    """`settled after 31s, 12 cycles`."""
    time, period = span(settlement.seconds), span(settlement.period)
    text = _ENDINGS[settlement.ending].format(time=time, cycles=counted(settlement.cycles, "cycle"), period=period)
    return f"{text}: {', '.join(settlement.oscillating)}" if settlement.oscillating else text


def draws_line(settlement: WorldResult) -> str:
    """`chance decides once (node of default/a): every pod has a node in 1 of 2 orders, DaemonSet/shop/logs in 1`."""
    draws, orders = settlement.draws, settlement.orders
    times = "once" if len(draws) == 1 else f"{len(draws)} times"
    what = named(list(dict.fromkeys(f"{draw.what} of {draw.subject}" for draw in draws)), _MOST_DRAWS)
    if orders is None:
        return f"chance decides {times} ({what}): other orders may end otherwise"
    if not settlement.doubtful:
        return f"chance decides {times} ({what}): {orders.tried} orders were tried and end alike"
    parts = [f"every pod has a node in {orders.finished} of {orders.tried} orders"]
    for name, each in settlement.doubtful.items():
        parts.append(f"{name} in {each.finished}" if 0 < each.finished < each.tried else f"{name} loses other pods")
    return f"chance decides {times} ({what}): {', '.join(parts)}"


def doubt(settlement: WorldResult) -> list[str]:
    """`fits in 2 of 3 orders`, if the orders that were tried do not end alike."""
    orders = settlement.orders
    if orders is None or orders.finished in (0, orders.tried):
        return []
    return [f"fits in {orders.finished} of {orders.tried} orders"]


def span(seconds: float) -> str:
    """`45s`, `5m30s`, `1h0m10s`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{rest:.3f}".rstrip("0").rstrip(".") + "s"
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}" if minutes else text
