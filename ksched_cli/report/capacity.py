"""Renders how many more pods fit: as a document and as a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.plan.capacity import Capacity, CapacityResult, NodeRoom, PendingCounts, Stranded
from ksched_cli.report.amounts import exact_all, short_all
from ksched_cli.report.console import make_console, print_hanging
from ksched_cli.report.entries import entry_of, filled, stats_entry
from ksched_cli.report.grid import Column, Grid
from ksched_cli.report.node_table import node_table_entry
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.rows import write_row
from ksched_cli.report.short_names import shows_nodes
from ksched_cli.report.summary_line import BAD, GOOD, counted, summary_line
from ksched_cli.report.usage_bars import print_usage
from ksched_cli.report.view.omissions import print_omissions
from ksched_cli.report.visible import shows_visible
from ksched_cli.sources.own_documents import API_VERSION

# Above this many nodes, the table has a row for each reason that keeps the next replica out.
NODES_BY_NAME = 40
# Up to this many nodes have a row each.
_FEW = 6


# The document


def capacity_document(found: CapacityResult, options: RenderOptions) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Capacity",
        "capacities": [_entry(each) for each in found.capacities],
        **node_table_entry(found.nodes),
        "coverage": dict(found.coverage),
        "stats": stats_entry(found.stats),
    }


def write_fits(found: CapacityResult, out: TextIO, options: RenderOptions) -> None:
    for each in found.capacities:
        for name, fits in each.fits.items():
            write_row(out, name, str(fits))


def _entry(capacity: Capacity) -> dict[str, Any]:
    why, pending = capacity.why, capacity.pending
    entry: dict[str, Any] = {
        "shapes": [
            {
                "name": portion.name,
                "manifest": portion.label,
                "perSet": portion.count,
                "fits": capacity.fits[portion.name],
                "requests": exact_all(capacity.requests.get(portion.name, {})),
            }
            for portion in capacity.portions
        ],
        "sets": capacity.sets,
        "end": filled({"by": why.end, **entry_of(why, "shape plugin message")}),
        "nodes": [_node(room) for room in capacity.nodes],
        "free": exact_all(capacity.free),
        "stranded": _stranded(capacity.stranded) if capacity.stranded else None,
        "pending": entry_of(pending, "placed unplaced heldBack") if pending else None,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _node(room: NodeRoom) -> dict[str, Any]:
    entry: dict[str, Any] = {"node": room.node, "fits": dict(room.fits), "free": exact_all(room.free)}
    if room.failure:
        entry["runsOut"] = list(room.runs_out)
        entry |= entry_of(room.failure, "plugin code reasons")
    return entry


def _stranded(stranded: Stranded) -> dict[str, Any]:
    amounts = {"free": exact_all(stranded.free), "allocatable": exact_all(stranded.allocatable)}
    return {"nodes": stranded.nodes, **amounts}


# The table


@shows_nodes
@shows_visible
def print_capacities(found: CapacityResult, out: TextIO, options: RenderOptions) -> None:
    console = make_console(options.width, out)
    if len(found.capacities) > 1:
        print_hanging(console, _summary(found.capacities))
        console.print()
    for index, each in enumerate(found.capacities):
        if index:
            console.print()
        _print(each, console, options)
    print_usage(console, lambda: node_table_entry(found.nodes).get("nodeTable"), options.nodes, headers=options.headers)
    print_omissions(found.coverage, console)


def _summary(capacities: Sequence[Capacity]) -> Text:
    """`3 manifests: 2 fit once more, 1 does not fit`."""
    none = sum(not each.sets for each in capacities)
    fit = f"{len(capacities) - none} {'fits' if len(capacities) - none == 1 else 'fit'} once more"
    subject = counted(len(capacities), "manifest")
    if not none:
        return summary_line(subject, fit, GOOD)
    return summary_line(subject, f"{none} {'does' if none == 1 else 'do'} not fit", BAD, [fit])


def _print(capacity: Capacity, console: Console, options: RenderOptions) -> None:
    wide = options.wide
    print_hanging(console, _headline(capacity))
    for portion in capacity.portions:
        requests = short_all(capacity.requests.get(portion.name, {})) or "nothing"
        who = f"{portion.label} requests" if capacity.mixed else "each requests"
        console.print(Padding(Text(f"{who} {requests}", style="dim"), (0, 0, 0, 2)))
    if capacity.pending and capacity.pending != PendingCounts():
        console.print(Padding(Text(_pending_line(capacity.pending), style="dim"), (0, 0, 0, 2)))
    if capacity.why.end != "full":
        console.print(Padding(Text(_end(capacity), style="yellow"), (0, 0, 0, 2)))
    by_name = wide or len(capacity.nodes) <= NODES_BY_NAME
    if capacity.nodes and (any(room.count or room.failure for room in capacity.nodes)):
        console.print()
        table = _by_node(capacity, options) if by_name else _by_failure(capacity, options)
        console.print(Padding(table, (0, 0, 0, 2)))
    if capacity.stranded and capacity.stranded.nodes:
        console.print()
        console.print(Padding(_stranded_line(capacity.stranded, len(capacity.nodes)), (0, 0, 0, 2)))


def _headline(capacity: Capacity) -> Text:
    """`Deployment shop/web: 31 more pods fit, on 4 of 6 nodes`."""
    used = sum(1 for room in capacity.nodes if room.count)
    where = [f"on {used} of {counted(len(capacity.nodes), 'node')}"] if used else []
    least = "at least " if capacity.why.end == "max" else ""
    sets = capacity.sets
    what = "set" if capacity.mixed else "pod"
    fits = f"{least}{sets:,} more {what}{' fits' if sets == 1 else 's fit'}" if sets else f"no more {what} fits"
    style = GOOD if sets else BAD
    if not capacity.mixed:
        return summary_line(capacity.portions[0].label, fits, style, where)
    one = " + ".join(f"{portion.count:,} {portion.name}" for portion in capacity.portions)
    total = " + ".join(f"{capacity.fits[portion.name]:,} {portion.name}" for portion in capacity.portions)
    return summary_line(one, fits, style, [*where, f"{total} placed in all"])


def _pending_line(pending: PendingCounts) -> str:
    """`3 pending pods were placed first, 2 are unschedulable, 1 is held back`."""
    parts = [f"{counted(pending.placed, 'pending pod')} {_be(pending.placed, 'was', 'were')} placed first"]
    parts += [f"{pending.unplaced:,} {_be(pending.unplaced)} unschedulable"] if pending.unplaced else []
    parts += [f"{pending.held_back:,} {_be(pending.held_back)} held back"] if pending.held_back else []
    return ", ".join(parts)


def _be(count: int, one: str = "is", more: str = "are") -> str:
    return one if count == 1 else more


def _end(capacity: Capacity) -> str:
    why = capacity.why
    if why.end == "max":
        return "stopped by --max: more may fit"
    who = f"one more {why.shape}" if capacity.mixed else "one more" if capacity.sets else "it"
    by = f"{why.plugin}: " if why.plugin else ""
    verdicts = {
        "refused": "would be refused",
        "gated": "would be held back",
        "ignored": "would wait for another scheduler",
        "rejected": "is turned down before any node is looked at",
        "error": "ends in an error",
    }
    return f"{who} {verdicts[why.end]}: {by}{why.message}"


def _by_node(capacity: Capacity, options: RenderOptions) -> Grid:
    """The table with the nodes that take most replicas first. Nodes that take none for one reason share a row, unless
    -o wide is given."""
    table = _table("NODE", "FITS", capacity, options)
    order = sorted(capacity.nodes, key=lambda room: (-room.count, _closed(room), room.node))
    for rooms in _rows(order, options.wide):
        fits = _fits(rooms[0].fits, capacity)
        ends, free = _ends(rooms[0]), _free(rooms)
        zones = sorted({options.nodes.zone(room.node) for room in rooms})
        where = zones[0] if len(zones) == 1 else f"{len(zones)} zones"
        name = rooms[0].node if len(rooms) == 1 else counted(len(rooms), "node")
        table.add(name, where, fits, *ends, short_all(free) or "nothing")
    return table


def _rows(order: Sequence[NodeRoom], wide: bool) -> list[list[NodeRoom]]:
    groups: dict[object, list[NodeRoom]] = {}
    for room in order:
        alone = wide or room.count or len(order) <= _FEW
        groups.setdefault(room.node if alone else (_closed(room), *_ends(room)), []).append(room)
    return list(groups.values())


def _free(rooms: Sequence[NodeRoom]) -> dict[str, int]:
    """The free amounts of these nodes together."""
    return {resource: sum(room.free[resource] for room in rooms) for resource in rooms[0].free}


def _closed(room: NodeRoom) -> bool:
    """Whether something else than a shortage rejects the next replica."""
    return bool(room.failure and not room.runs_out)


def _by_failure(capacity: Capacity, options: RenderOptions) -> Grid:
    """The table of the reasons that keep the next replica out, those of nodes with most replicas first."""
    groups: defaultdict[tuple[str, ...], list[NodeRoom]] = defaultdict(list)
    for room in capacity.nodes:
        groups[tuple(_ends(room))].append(room)
    table = _table("NODES", "FIT", capacity, options)
    for ends, rooms in sorted(groups.items(), key=lambda group: -sum(room.count for room in group[1])):
        fits = {portion.name: sum(room.fits[portion.name] for room in rooms) for portion in capacity.portions}
        table.add(f"{len(rooms):,}", "", _fits(fits, capacity), *ends, short_all(_free(rooms)) or "nothing")
    return table


def _table(first: str, second: str, capacity: Capacity, options: RenderOptions) -> Grid:
    keeps = f"KEEPS OUT ONE MORE {capacity.why.shape}" if capacity.mixed else "KEEPS OUT ONE MORE"
    return Grid(
        Column(first, right=first == "NODES"),
        Column("ZONE", hides_zeros=True, optional=True),
        Column(second, right=True),
        Column(keeps, flows=True),
        Column("STAYS FREE", flows=True),
        headers=options.headers,
    )


def _fits(fits: Mapping[str, int], capacity: Capacity) -> str:
    if not capacity.mixed:
        return f"{sum(fits.values()):,}"
    return " + ".join(f"{count:,} {name}" for name, count in fits.items() if count) or "0"


def _ends(room: NodeRoom) -> tuple[str]:
    if room.failure is None:
        return ("-",)
    short = [reason.lacks for reason in room.reasons if reason.lacks not in ("", "pods")]
    found = [f"too little {' and '.join(short)}"] if short else []
    found += [reason.text for reason in room.reasons if not reason.lacks]
    found += [reason.text.lower() for reason in room.reasons if reason.lacks == "pods"]
    return (", ".join(found),)


def _stranded_line(stranded: Stranded, nodes: int) -> Text:
    """The free amounts of nodes where nothing more fits, and their share."""
    where = f"{stranded.nodes:,} of {counted(nodes, 'node')}"
    left = {resource: amount for resource, amount in stranded.free.items() if amount}
    if not left:
        return Text(f"nothing is stranded on {where}")
    parts = [
        f"{short_all({resource: amount})} ({amount * 100 // stranded.allocatable[resource]} %)"
        for resource, amount in left.items()
    ]
    return Text.assemble(("stranded", "yellow"), f" on {where}: {', '.join(parts)}")
