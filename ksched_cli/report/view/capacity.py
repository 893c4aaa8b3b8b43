"""How many more pods fit, where, and what runs out first (`CapacityResult` of `plan/capacity.py`). The table is shorter
than the document, which has every node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from ksched_cli.errors import counted
from ksched_cli.plan.capacity import Capacity, CapacityResult, NodeRoom, PendingCounts, Stranded
from ksched_cli.plan.results.nodes import Failure
from ksched_cli.report.amounts import in_cores, short, short_all
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.autoscaling import sections_of
from ksched_cli.report.view.documents import value_of
from ksched_cli.report.view.model import (
    Bar,
    Bars,
    Figure,
    Heading,
    Line,
    Lines,
    Pods,
    Section,
    Step,
    Steps,
    Table,
    Tone,
    View,
    columns,
)
from ksched_cli.report.view.pods import NodeAnswers
from ksched_cli.report.view.shared import node_map, zone_bars

# Above this many nodes, the table has a row for each reason that keeps the next replica out; up to _FEW nodes have a
# row each.
_NODES_BY_NAME, _FEW = 40, 6
_MOST_BARS = 20
_FITS, _NONE = "fits", "none fits"


Document = CapacityResult


def document(found: CapacityResult, options: RenderOptions) -> CapacityResult:
    capacities = [structs.replace(each, autoscaling=value_of(each.autoscaling)) for each in found.capacities]
    return structs.replace(found, capacities=tuple(capacities))


# The view


def view(found: CapacityResult) -> View:
    """`Deployment shop/web: 31 more pods fit, on 4 of 6 nodes`, or `3 manifests: 1 does not fit, 2 fit once more`."""
    capacities = found.capacities
    none = sum(not each.sets for each in capacities)
    tone: Tone = "bad" if none else "good"
    if len(capacities) == 1:
        (only,) = capacities
        subject, (verdict, *details) = _label(only), _came_of(only)
        notes = list(_about(only))
        sections = [*_nodes(only, "by-node"), *sections_of(only.autoscaling, found.coverage)]
    else:
        subject = counted(len(capacities), "manifest")
        fitting = len(capacities) - none
        fit = f"{fitting} {'fits' if fitting == 1 else 'fit'} once more"
        verdict = f"{none} {'does' if none == 1 else 'do'} not fit" if none else fit
        details, notes = [fit] if none else [], []
        sections = [Section("each", "Each manifest by itself", Steps([_step(each) for each in capacities]))]
    taken = "; the darker part is what the counted pods take" if len(capacities) == 1 else ""
    intro = f"A cell is a node, filled by what pods request of it{taken}. The colour is what keeps one more out."
    return View(
        "capacity",
        subject,
        verdict,
        tone,
        details,
        notes=notes,
        figures=[
            Figure(shape.name, f"{shape.fits:,}", "good" if shape.fits else "bad")
            for each in capacities[:6]
            for shape in each.shapes
        ],
        sections=[
            *sections,
            node_map(found.node_table, intro),
            _counted(found),
            *_runs_out(capacities),
            *([_every_node(capacities)] if len(capacities) > 1 else []),
            zone_bars(found.node_table),
        ],
        rows=[(shape.name, str(shape.fits)) for each in capacities for shape in each.shapes],
        shows_use="every node",
    )


def _came_of(found: Capacity) -> list[str]:
    used = sum(1 for room in found.nodes if room.count)
    where = [f"on {used:,} of {counted(len(found.nodes), 'node')}"] if used else []
    new = {each["name"] for each in (found.autoscaling or {}).get("newNodes", ())}
    on_new = [room.count for room in found.nodes if room.node in new and room.count]
    where += [f"{sum(on_new):,} on {counted(len(on_new), 'node')} that Karpenter adds"] if on_new else []
    least = "at least " if found.end.by == "max" else ""
    what = "set" if found.is_mixed else "pod"
    if not found.sets:
        return [f"no more {what} fits", *where, *_total(found)]
    fits = f"{least}{found.sets:,} more {what}{' fits' if found.sets == 1 else 's fit'}"
    return [fits, *where, *_total(found)]


def _total(found: Capacity) -> list[str]:
    if not found.is_mixed:
        return []
    return [f"{' + '.join(f'{each.fits:,} {each.name}' for each in found.shapes)} placed in all"]


def _label(found: Capacity) -> str:
    """`Deployment shop/web`, or `3 web + 1 batch` for a mix."""
    if not found.is_mixed:
        return found.shapes[0].label
    return " + ".join(f"{each.count:,} {each.name}" for each in found.shapes)


def _about(found: Capacity) -> Iterator[Line]:
    for shape in found.shapes:
        who = f"{shape.label} requests" if found.is_mixed else "each requests"
        yield Line(f"{who} {short_all(shape.requests) or 'nothing'}", aside=True)
    pending = found.pending
    if pending and any(structs.astuple(pending)):
        yield Line(_pending(pending), aside=True)
    if found.end.by != "full":
        yield Line(_end(found), "warn")
    if found.stranded and found.stranded.nodes:
        yield Line(_stranded(found.stranded, len(found.nodes)))


def _pending(pending: PendingCounts) -> str:
    """`3 pending pods were placed first, 2 are unschedulable, 1 is held back`."""
    parts = [f"{counted(pending.placed, 'pending pod')} {'was' if pending.placed == 1 else 'were'} placed first"]
    counts = (pending.preempting, "preempting"), (pending.unplaced, "unschedulable"), (pending.held_back, "held back")
    parts += [f"{number:,} {'is' if number == 1 else 'are'} {what}" for number, what in counts if number]
    return ", ".join(parts)


def _end(found: Capacity) -> str:
    end = found.end
    if end.by == "max":
        return "stopped by --max: more may fit"
    who = f"one more {end.shape}" if found.is_mixed else "one more" if found.sets else "it"
    by = f"{end.plugin}: " if end.plugin else ""
    verdicts = {
        "refused": "would be refused",
        "gated": "would be held back",
        "ignored": "would wait for another scheduler",
        "rejected": "is turned down before any node is looked at",
        "error": "ends in an error",
    }
    return f"{who} {verdicts[end.by]}: {by}{end.message}"


def _stranded(stranded: Stranded, nodes: int) -> str:
    """The free amounts of nodes where nothing more fits, and their share."""
    where = f"{stranded.nodes:,} of {counted(nodes, 'node')}"
    parts = [
        f"{short_all({resource: amount})} ({amount * 100 // stranded.allocatable[resource]} %)"
        for resource, amount in stranded.free.items()
        if amount
    ]
    return f"stranded on {where}: {', '.join(parts)}" if parts else f"nothing is stranded on {where}"


def _step(found: Capacity) -> Step:
    verdict, *details = _came_of(found)
    tone: Tone = "good" if found.sets else "bad"
    blocks = [section.content for section in _nodes(found, "")]
    tables = [each for each in blocks if isinstance(each, Table | Lines)]
    return Step(_label(found), list(_about(found)), ", ".join(details), verdict, tone, tables)


def _nodes(found: Capacity, name: str) -> list[Section]:
    """The nodes that take most first. Nodes that take none for one reason share a row, and in a large cluster all nodes
    with one reason."""
    if not any(room.count or room.plugin for room in found.nodes):
        return []
    by_name = len(found.nodes) <= _NODES_BY_NAME
    order = sorted(found.nodes, key=lambda room: (-room.count, _is_closed(room), room.node))
    groups: dict[Any, list[NodeRoom]] = {}
    for room in order:
        # Few nodes stand alone; of more nodes those with the same room share a row.
        key: Any = (by_name and _is_closed(room), _keeps_out(room))
        if by_name and len(order) <= _FEW:
            key = room.node
        elif by_name and room.count:
            key = (_keeps_out(room), tuple(room.fits.items()), tuple(sorted(room.free.items())))
        groups.setdefault(key, []).append(room)
    together = list(groups.values())
    if not by_name:
        together.sort(key=lambda rooms: -sum(room.count for room in rooms))
    rows = [_row(rooms, found) for rooms in together]
    keeps = f"Keeps out one more {found.end.shape}" if found.is_mixed else "Keeps out one more"
    shown = [*columns("Node: node optional; Fits: number"), Heading(keeps, flows=True, filters=True)]
    shown.append(Heading("Stays free", flows=True))
    table = Table(shown, rows, whole=[_row([room], found) for room in order])
    return [Section(name, "Node by node", table)]


def _row(rooms: Sequence[NodeRoom], found: Capacity) -> list[Any]:
    free: Counter[str] = Counter()
    for room in rooms:
        free.update(room.free)
    fits = {shape.name: sum(room.fits.get(shape.name, 0) for room in rooms) for shape in found.shapes}
    text = " + ".join(f"{count:,} {name}" for name, count in fits.items() if count) or "0"
    count: Any = text if found.is_mixed else sum(fits.values())
    names: Any = [room.node for room in rooms] if len(rooms) > 1 else rooms[0].node
    return [names, count, _keeps_out(rooms[0]), _free(free) or "nothing"]


def _is_closed(room: NodeRoom) -> bool:
    """Whether something else than a shortage rejects the next replica."""
    return bool(room.reasons and not room.runs_out)


def _keeps_out(room: NodeRoom) -> str:
    """`too little cpu and memory`, `too many pods`, or another reason; `-` if there is room."""
    if not room.plugin:
        return "-"
    if not room.runs_out:
        return ", ".join(
            each.removeprefix("node(s) ").replace("were unschedulable", "cordoned") for each in room.reasons
        )
    short = [each for each in room.runs_out if each != "pods"]
    found = [f"too little {' and '.join(short)}"] if short else []
    pods = zip(room.reasons, room.runs_out, strict=False)
    return ", ".join([*found, *(text.lower() for text, lacks in pods if lacks == "pods")])


def _free(amounts: Mapping[str, int]) -> str:
    """`cpu 0.9, memory 1.5Gi`."""
    texts = ((name, in_cores(amount) if name == "cpu" else short(name, amount)) for name, amount in amounts.items())
    return ", ".join(f"{name} {text}" for name, text in texts if amounts[name])


# More for pages


def _counted(found: CapacityResult) -> Section:
    """The table of the counted manifests; the node map shows what keeps one more out."""

    def pods() -> Pods:
        rows, details, legend = [], [], NodeAnswers((value_of(found.node_table) or {}).get("names", ()))
        for number, each in enumerate(found.capacities):
            requests = "; ".join(short_all(shape.requests) or "nothing" for shape in each.shapes)
            rows.append([_label(each), _FITS if each.sets else _NONE, each.sets, requests])
            reasons = {room.node: Failure(room.plugin, "", room.reasons) for room in each.nodes if room.plugin}
            free = [room.node for room in each.nodes if not room.plugin]
            answers = legend.pack_named(number, reasons, free)
            details.append({"message": each.end.message, "answers": answers} if answers else {})
        failures = [(each.plugin, ", ".join(each.reasons)) for each in legend.kinds]
        data = {"failures": failures, "plugins": [], "room": "has room for one more"}
        shown = columns("Counted; Result: badge; Fit: number; Each requests: flows")
        return Pods(Table(shown, rows), details, data)

    return Section("counted", "What was counted", pods, place="page")


def _runs_out(capacities: Sequence[Capacity]) -> list[Section]:
    """The number of nodes that lack each resource for one more."""
    rows = []
    for each in capacities:
        reasons = Counter(_keeps_out(room) if room.plugin else "nothing" for room in each.nodes)
        who = f"{_label(each)}: " if len(capacities) > 1 else ""
        for reason, nodes in reasons.most_common(_MOST_BARS):
            rows.append(Bar(f"{who}{reason}", [("nodes", nodes)], counted(nodes, "node")))
    intro = "Nodes by what keeps one more out."
    return [Section("runs-out", "What runs out first", Bars(rows), intro, place="page")] if rows else []


def _every_node(capacities: Sequence[Capacity]) -> Section:
    shown = columns("Node; Counted: filters; Fit: number; Keeps out one more: filters flows; Stays free: flows")
    rows = [
        [room.node, _label(each), room.count, _keeps_out(room), _free(room.free)]
        for each in capacities
        for room in sorted(each.nodes, key=lambda room: -room.count)
    ]
    return Section("by-node", "Node by node", Table(shown, rows), place="page")
