"""What documents and Views have about a run of a world: its timeline, its draws, and the final state of pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ksched_cli.controlplane.draws import Draw
from ksched_cli.errors import counted, named
from ksched_cli.report.view.documents import DocumentPart, OrdersPart, final_part, value_of
from ksched_cli.report.view.model import Line, Lines, Place, Section, Table, Timeline, Tone, columns
from ksched_cli.world.results import TimelineEvent, WorldResult

# Words of states for people.
STATE_WORDS = {"gone": "deleted", "gated": "held back"}
NO_REASONS: Mapping[str, str] = MappingProxyType({})
# A terminal shows so many pods without -o wide.
_MOST_PODS = 40
UNPLACED = ("unschedulable", "error", "pending", "nominated", "waiting")
_MOST_DRAWS = 5
# By what the label of an event of the cluster has, such as NodeAdd and NodeUpdateNodeTaint.
_HAPPENED = {"Add": "is created", "Delete": "is deleted", "Update": "changes"}


class SettledPart(DocumentPart, frozen=True, kw_only=True):
    """How the run ended. `period_seconds` is set if the same happens again and again."""

    ending: str
    seconds: float
    cycles: int
    faults: tuple[str, ...] = ()
    oscillating: tuple[str, ...] = ()
    period_seconds: float = 0.0

    @classmethod
    def of(cls, world: WorldResult) -> SettledPart:
        return cls.like(world, period_seconds=world.period if world.oscillating else 0.0)

    @property
    def text(self) -> str:
        return ending_text(self.ending, self.seconds, self.cycles, self.period_seconds, self.oscillating)


class WorldPart(DocumentPart, frozen=True, kw_only=True):
    """The keys of a document about a run. Without `timeline` and `settled` it is the end of a run alone."""

    timeline: tuple[TimelineEvent, ...] | None = None
    final: Any
    finished: Mapping[str, bool]
    draws: tuple[Draw, ...] = ()
    orders: OrdersPart | None = None
    settled: SettledPart | None = None

    @classmethod
    def of(cls, world: WorldResult, *, timeline: bool = True) -> WorldPart:
        return cls(
            timeline=world.timeline if timeline else None,
            final=final_part(world),
            finished=world.finished,
            draws=world.draws,
            orders=OrdersPart.of(world),
            settled=SettledPart.of(world) if timeline else None,
        )


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


def moved_pods(final: Any) -> list[Mapping[str, Any]]:
    """The entries of the pods to which something happened, those without a node first and those that are deleted last.
    `final` is the part of a document."""
    moved = [each for each in value_of(final) or () if each["state"] not in ("running", "ignored")]
    return sorted(moved, key=lambda each: (each["state"] not in UNPLACED, each["state"] == "gone", each["pod"]))


def final_pods_section(final: Any, place: Place = "page", reasons: Mapping[str, str] = NO_REASONS) -> Section:
    """The table of the pods that the run changed. `reasons` of pods without a node stand in place of their messages,
    except with -o wide and on a page. On a terminal, pods of one workload with one reason share a row."""

    def table() -> Table | None:
        moved = moved_pods(final)
        shown = columns(
            "Pod: same=pod; Workload: workload page filters; State: badge filters; Node: node same=node; "
            "Cycles: number wide; In place of: wide same=pod; Why: flows once brief"
        )
        brief = [_final_row(each, reasons.get(each["pod"], "")) for each in moved]
        whole = [_final_row(each) for each in moved]
        return Table(shown, brief, most=_MOST_PODS, whole=whole) if moved else None

    return Section("final", "Pods in the end", table, place=place)


def _final_row(pod: Mapping[str, Any], reasons: str = "") -> list[Any]:
    state = pod["state"]
    message = (reasons if state in UNPLACED else "") or pod.get("message", "")
    nominated = f"nominated to {pod['nominatedNode']}" if pod.get("nominatedNode") else ""
    why = ", ".join(filter(None, (nominated, message, pod.get("why", ""))))
    fixed = [pod["pod"], pod["workload"], STATE_WORDS.get(state, state), pod.get("node", "")]
    return [*fixed, pod.get("attempts", ""), pod.get("replaces", ""), why]


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


def ending_lines(settled: SettledPart) -> Lines:
    """How the run ended, and its faults."""
    first = Line(settled.text, "plain" if settled.ending == "settled" else "bad")
    return Lines([first, *(Line(fault, "warn") for fault in settled.faults)])


def span(seconds: float) -> str:
    """`45s`, `5m30s`, `1h0m10s`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{rest:.3f}".rstrip("0").rstrip(".") + "s"
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}" if minutes else text


# The lane of events that belong to no pod.
_CLUSTER = "cluster"
# The kinds of marks on a lane, each with a shape and a colour.
_LEGEND = [
    ["good", "scheduled"],
    ["bad", "finds no node"],
    ["warn", "nominated, waiting or held back"],
    ["out", "preempted, or left its node"],
    ["plain", "moved to a queue"],
]
# A terminal shows so many events without -o wide.
_MOST_EVENTS = 30


def timeline(events: Sequence[TimelineEvent], seconds: float, final: Any) -> Section:
    """The events of the run as a table, and with a lane for each pod on a page. Without -o wide, a terminal leaves out
    queues, and pods of one workload to which the same happens at the same time share a row. `final` is the part of a
    document with their workloads."""
    shown = columns(
        "Time: number terminal; Seconds: number page; Pod: same=pod; Workload: workload page; Event: filters wide; "
        "What: flows"
    )
    told = [each for each in events if not _is_implied(each)]
    brief = [each for each in told if not each.queue or each.queue == "unschedulable"]

    def made() -> Timeline | None:
        workloads = {each["pod"]: each["workload"] for each in value_of(final) or ()}
        rows = [_event_row(each, workloads) for each in brief]
        whole = [_event_row(each, workloads, message=True) for each in events]
        table = Table(shown, rows, most=_MOST_EVENTS, rows_are="event", whole=whole, few=0)
        return Timeline(table, _lanes(told, seconds)) if told else None

    intro = "Seconds on a virtual clock. A dotted line is a pod that waits, a solid line a pod that has its node."
    return Section("timeline", "Timeline", made, intro)


def _event_row(each: TimelineEvent, workloads: Mapping[str, str], *, message: bool = False) -> list[Any]:
    what = _what(each) if message else _sentence(each)
    return [span(each.time), each.time, each.pod, workloads.get(each.pod, ""), each.event, what]


def _is_implied(each: TimelineEvent) -> bool:
    """Whether other events imply it: a new pod is queued first; one that does not fit is unschedulable."""
    first = each.event in ("UnschedulablePodAdd", "UnscheduledPodAdd") and each.queue == "active" and each.time == 0
    return first or each.event == "ScheduleAttemptFailure"


def _leaves(each: TimelineEvent) -> bool:
    """Whether the pod leaves its node."""
    return bool(each.node) and not (each.decision or each.queue or each.event == "Preempted")


def _sentence(each: TimelineEvent) -> str:
    """`scheduled on node-1`, `to the active queue`, `left node-2`."""
    if each.decision:
        where = "on" if each.decision in ("scheduled", "waiting") else "and nominated to"
        return f"{each.decision} {where} {each.node}" if each.node else each.decision
    if each.queue:
        return f"to the {each.queue} queue{f': {each.message}' if each.message else ''}"
    if each.event == "Preempted":
        return f"evicted from {each.node}, {each.message}"
    if each.node:
        return f"left {each.node}"
    happened = next((words for action, words in _HAPPENED.items() if action in each.event), "")
    return f"{each.message} {happened}".strip()


def _what(each: TimelineEvent) -> str:
    """The sentence with the message of a decision."""
    text = _sentence(each)
    return f"{text}: {each.message}" if each.decision and each.message else text


def _lanes(events: Sequence[TimelineEvent], seconds: float) -> dict[str, Any]:
    lanes: dict[str, list[TimelineEvent]] = {}
    for each in events:
        lanes.setdefault(each.pod or _CLUSTER, []).append(each)
    return {"lanes": [_lane(pod, each) for pod, each in lanes.items()], "end": seconds, "legend": _LEGEND}


def _lane(pod: str, events: Sequence[TimelineEvent]) -> dict[str, Any]:
    marks = [[each.time, _mark(each), _what(each)] for each in events]
    return {"name": pod, "events": marks, "spans": [] if pod == _CLUSTER else list(_spans(events))}


def _mark(event: TimelineEvent) -> str:
    if event.decision == "scheduled":
        return "good"
    if event.queue:
        return "plain"
    if event.decision:
        return "bad" if event.decision in ("unschedulable", "error") and not event.node else "warn"
    return "out" if event.node else "plain"


def _spans(events: Sequence[TimelineEvent]) -> Iterator[tuple[float, float | None, str]]:
    """The times during which the pod waits or has a node."""
    moves = (each for each in events if _leaves(each) or each.event == "Preempted" or each.decision)
    first = next(moves, None)
    state, since = "run" if first is not None and not first.decision else "", 0.0
    for each in events:
        if not state:
            state, since = "wait", each.time
        if each.decision == "scheduled":
            yield since, each.time, state
            state, since = "run", each.time
        elif _leaves(each):
            yield since, each.time, state
            state = ""
    if state:
        yield since, None, state
