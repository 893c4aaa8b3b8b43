"""How many more pods fit, where, and what runs out first (`CapacityResult`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from ksched_cli.errors import counted
from ksched_cli.plan.capacity import Capacity, CapacityEnd, CapacityResult, NodeRoom, PendingCounts
from ksched_cli.plan.results.nodes import Failure
from ksched_cli.report.amounts import amounts_of, exact_all, in_cores, short, short_all
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.autoscaling import sections_of
from ksched_cli.report.view.documents import DocumentPart, value_of
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


class CountedShapePart(DocumentPart, frozen=True, kw_only=True):
    name: str
    manifest: str
    per_set: int
    fits: int
    requests: Mapping[str, str]


class NodeRoomPart(DocumentPart, frozen=True, kw_only=True):
    """`runs_out`: the resources that one more lacks; it and the failure are there if the node takes no more."""

    node: str
    fits: Mapping[str, int]
    free: Mapping[str, str]
    runs_out: tuple[str, ...] | None = None
    plugin: str = ""
    code: str = ""
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, room: NodeRoom) -> NodeRoomPart:
        free = exact_all(room.free)
        if room.failure is None:
            return cls(node=room.node, fits=room.fits, free=free)
        return cls.like(room.failure, node=room.node, fits=room.fits, free=free, runs_out=room.runs_out)

    @property
    def count(self) -> int:
        return sum(self.fits.values())

    @property
    def closed(self) -> bool:
        """Whether something else than a shortage rejects the next replica."""
        return bool(self.reasons and not self.runs_out)

    @property
    def keeps_out(self) -> str:
        """`too little cpu and memory`, `too many pods`, or another reason; `-` if there is room."""
        if not self.plugin:
            return "-"
        if not self.runs_out:
            return ", ".join(
                each.removeprefix("node(s) ").replace("were unschedulable", "cordoned") for each in self.reasons
            )
        short = [each for each in self.runs_out if each != "pods"]
        found = [f"too little {' and '.join(short)}"] if short else []
        pods = zip(self.reasons, self.runs_out, strict=False)
        return ", ".join([*found, *(text.lower() for text, lacks in pods if lacks == "pods")])


class StrandedPart(DocumentPart, frozen=True, kw_only=True):
    nodes: int
    free: Mapping[str, str]
    allocatable: Mapping[str, str]


class CapacityPart(DocumentPart, frozen=True, kw_only=True):
    shapes: tuple[CountedShapePart, ...]
    sets: int
    end: CapacityEnd
    nodes: tuple[NodeRoomPart, ...]
    free: Mapping[str, str]
    stranded: StrandedPart | None = None
    pending: PendingCounts | None = None
    autoscaling: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, found: Capacity) -> CapacityPart:
        stranded = found.stranded
        return cls.like(
            found,
            shapes=tuple(
                CountedShapePart(
                    name=each.name,
                    manifest=each.label,
                    per_set=each.count,
                    fits=found.fits[each.name],
                    requests=exact_all(found.requests.get(each.name, {})),
                )
                for each in found.portions
            ),
            nodes=tuple(map(NodeRoomPart.of, found.nodes)),
            free=exact_all(found.free),
            stranded=StrandedPart(
                nodes=stranded.nodes, free=exact_all(stranded.free), allocatable=exact_all(stranded.allocatable)
            )
            if stranded
            else None,
        )

    @property
    def mixed(self) -> bool:
        return len(self.shapes) > 1 or self.shapes[0].per_set > 1

    @property
    def label(self) -> str:
        """`Deployment shop/web`, or `3 web + 1 batch` for a mix."""
        if not self.mixed:
            return self.shapes[0].manifest
        return " + ".join(f"{each.per_set:,} {each.name}" for each in self.shapes)


class CapacityDocument(DocumentPart, frozen=True, kw_only=True, tag_field="kind", tag="Capacity"):
    capacities: tuple[CapacityPart, ...]
    node_table: Any = None
    coverage: Mapping[str, Any]
    stats: Any = None


Document = CapacityDocument


def document(found: CapacityResult, options: RenderOptions) -> CapacityDocument:
    capacities = tuple(map(CapacityPart.of, found.capacities))
    return CapacityDocument.like(found, capacities=capacities, node_table=found.nodes)


# The view


def view(found: CapacityDocument) -> View:
    """`Deployment shop/web: 31 more pods fit, on 4 of 6 nodes`, or `3 manifests: 1 does not fit, 2 fit once more`."""
    capacities = found.capacities
    none = sum(not each.sets for each in capacities)
    tone: Tone = "bad" if none else "good"
    if len(capacities) == 1:
        (only,) = capacities
        subject, (verdict, *details) = only.label, _came_of(only)
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


def _came_of(found: CapacityPart) -> list[str]:
    used = sum(1 for room in found.nodes if room.count)
    where = [f"on {used:,} of {counted(len(found.nodes), 'node')}"] if used else []
    new = {each["name"] for each in (found.autoscaling or {}).get("newNodes", ())}
    on_new = [room.count for room in found.nodes if room.node in new and room.count]
    where += [f"{sum(on_new):,} on {counted(len(on_new), 'node')} that Karpenter adds"] if on_new else []
    least = "at least " if found.end.by == "max" else ""
    what = "set" if found.mixed else "pod"
    if not found.sets:
        return [f"no more {what} fits", *where, *_total(found)]
    fits = f"{least}{found.sets:,} more {what}{' fits' if found.sets == 1 else 's fit'}"
    return [fits, *where, *_total(found)]


def _total(found: CapacityPart) -> list[str]:
    if not found.mixed:
        return []
    return [f"{' + '.join(f'{each.fits:,} {each.name}' for each in found.shapes)} placed in all"]


def _about(found: CapacityPart) -> Iterator[Line]:
    for shape in found.shapes:
        who = f"{shape.manifest} requests" if found.mixed else "each requests"
        yield Line(f"{who} {short_all(amounts_of(shape.requests)) or 'nothing'}", aside=True)
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


def _end(found: CapacityPart) -> str:
    end = found.end
    if end.by == "max":
        return "stopped by --max: more may fit"
    who = f"one more {end.shape}" if found.mixed else "one more" if found.sets else "it"
    by = f"{end.plugin}: " if end.plugin else ""
    verdicts = {
        "refused": "would be refused",
        "gated": "would be held back",
        "ignored": "would wait for another scheduler",
        "rejected": "is turned down before any node is looked at",
        "error": "ends in an error",
    }
    return f"{who} {verdicts[end.by]}: {by}{end.message}"


def _stranded(stranded: StrandedPart, nodes: int) -> str:
    """The free amounts of nodes where nothing more fits, and their share."""
    where = f"{stranded.nodes:,} of {counted(nodes, 'node')}"
    free, whole = amounts_of(stranded.free), amounts_of(stranded.allocatable)
    parts = [
        f"{short_all({resource: amount})} ({amount * 100 // whole[resource]} %)"
        for resource, amount in free.items()
        if amount
    ]
    return f"stranded on {where}: {', '.join(parts)}" if parts else f"nothing is stranded on {where}"


def _step(found: CapacityPart) -> Step:
    verdict, *details = _came_of(found)
    tone: Tone = "good" if found.sets else "bad"
    blocks = [section.content for section in _nodes(found, "")]
    tables = [each for each in blocks if isinstance(each, Table | Lines)]
    return Step(found.label, list(_about(found)), ", ".join(details), verdict, tone, tables)


def _nodes(found: CapacityPart, name: str) -> list[Section]:
    """The nodes that take most first. Nodes that take none for one reason share a row, and in a large cluster all nodes
    with one reason."""
    if not any(room.count or room.plugin for room in found.nodes):
        return []
    by_name = len(found.nodes) <= _NODES_BY_NAME
    order = sorted(found.nodes, key=lambda room: (-room.count, room.closed, room.node))
    groups: dict[Any, list[NodeRoomPart]] = {}
    for room in order:
        # Few nodes stand alone; of more nodes those with the same room share a row.
        key: Any = (by_name and room.closed, room.keeps_out)
        if by_name and len(order) <= _FEW:
            key = room.node
        elif by_name and room.count:
            key = (room.keeps_out, tuple(room.fits.items()), tuple(sorted(room.free.items())))
        groups.setdefault(key, []).append(room)
    together = list(groups.values())
    if not by_name:
        together.sort(key=lambda rooms: -sum(room.count for room in rooms))
    rows = [_row(rooms, found) for rooms in together]
    keeps = f"Keeps out one more {found.end.shape}" if found.mixed else "Keeps out one more"
    shown = [*columns("Node: node optional; Fits: number"), Heading(keeps, flows=True, filters=True)]
    shown.append(Heading("Stays free", flows=True))
    table = Table(shown, rows, whole=[_row([room], found) for room in order])
    return [Section(name, "Node by node", table)]


def _row(rooms: Sequence[NodeRoomPart], found: CapacityPart) -> list[Any]:
    free: Counter[str] = Counter()
    for room in rooms:
        free.update(amounts_of(room.free))
    fits = {shape.name: sum(room.fits.get(shape.name, 0) for room in rooms) for shape in found.shapes}
    text = " + ".join(f"{count:,} {name}" for name, count in fits.items() if count) or "0"
    count: Any = text if found.mixed else sum(fits.values())
    names: Any = [room.node for room in rooms] if len(rooms) > 1 else rooms[0].node
    return [names, count, rooms[0].keeps_out, _free(free) or "nothing"]


def _free(amounts: Mapping[str, int]) -> str:
    """`cpu 0.9, memory 1.5Gi`."""
    texts = ((name, in_cores(amount) if name == "cpu" else short(name, amount)) for name, amount in amounts.items())
    return ", ".join(f"{name} {text}" for name, text in texts if amounts[name])


# More for pages


def _counted(found: CapacityDocument) -> Section:
    """The table of the counted manifests; the node map shows what keeps one more out."""

    def pods() -> Pods:
        rows, details, legend = [], [], NodeAnswers((value_of(found.node_table) or {}).get("names", ()))
        for number, each in enumerate(found.capacities):
            requests = "; ".join(short_all(amounts_of(shape.requests)) or "nothing" for shape in each.shapes)
            rows.append([each.label, _FITS if each.sets else _NONE, each.sets, requests])
            reasons = {room.node: Failure(room.plugin, "", room.reasons) for room in each.nodes if room.plugin}
            free = [room.node for room in each.nodes if not room.plugin]
            answers = legend.pack_named(number, reasons, free)
            details.append({"message": each.end.message, "answers": answers} if answers else {})
        failures = [(each.plugin, ", ".join(each.reasons)) for each in legend.kinds]
        data = {"failures": failures, "plugins": [], "room": "has room for one more"}
        shown = columns("Counted; Result: badge; Fit: number; Each requests: flows")
        return Pods(Table(shown, rows), details, data)

    return Section("counted", "What was counted", pods, place="page")


def _runs_out(capacities: Sequence[CapacityPart]) -> list[Section]:
    """The number of nodes that lack each resource for one more."""
    rows = []
    for each in capacities:
        reasons = Counter(room.keeps_out if room.plugin else "nothing" for room in each.nodes)
        who = f"{each.label}: " if len(capacities) > 1 else ""
        for reason, nodes in reasons.most_common(_MOST_BARS):
            rows.append(Bar(f"{who}{reason}", [("nodes", nodes)], counted(nodes, "node")))
    intro = "Nodes by what keeps one more out."
    return [Section("runs-out", "What runs out first", Bars(rows), intro, place="page")] if rows else []


def _every_node(capacities: Sequence[CapacityPart]) -> Section:
    shown = columns("Node; Counted: filters; Fit: number; Keeps out one more: filters flows; Stays free: flows")
    rows = [
        [room.node, each.label, room.count, room.keeps_out, _free(amounts_of(room.free))]
        for each in capacities
        for room in sorted(each.nodes, key=lambda room: -room.count)
    ]
    return Section("by-node", "Node by node", Table(shown, rows), place="page")
