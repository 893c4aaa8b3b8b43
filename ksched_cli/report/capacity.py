"""How many more fit: the document and the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ksched_cli.plan.capacity import Capacity, NodeRoom, PendingPods, Stranded
from ksched_cli.report.amounts import exact_all, short_all
from ksched_cli.report.console import make_console
from ksched_cli.report.entries import API_VERSION, stats_entry
from ksched_cli.report.omissions import print_omissions
from ksched_cli.report.registry import RenderOptions, documents, renders
from ksched_cli.report.rows import write_row
from ksched_cli.report.visible import shows_visible

if TYPE_CHECKING:
    from ksched_cli.plan.capacity import CapacityResult

# Above this many nodes they are summed up by what keeps the next replica out.
NODES_BY_NAME = 40


# The document


@documents("CapacityResult")
def capacity_document(found: CapacityResult, options: RenderOptions) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Capacity",
        "capacities": [_entry(each) for each in found.capacities],
        "coverage": dict(found.coverage),
        "stats": stats_entry(found.stats),
    }


@renders("CapacityResult", "name")
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
        "end": {"by": why.end, "shape": why.shape, "plugin": why.plugin, "message": why.message},
        "nodes": [_node(room) for room in capacity.nodes],
        "free": exact_all(capacity.free),
        "stranded": _stranded(capacity.stranded) if capacity.stranded else None,
        "pending": _pending(pending) if pending else None,
    }
    entry["end"] = {key: value for key, value in entry["end"].items() if value}
    return {key: value for key, value in entry.items() if value is not None}


def _node(room: NodeRoom) -> dict[str, Any]:
    entry: dict[str, Any] = {"node": room.node, "fits": dict(room.fits), "free": exact_all(room.free)}
    if room.failure:
        entry["runsOut"] = list(room.runs_out)
        entry |= {"plugin": room.failure.plugin, "code": room.failure.code, "reasons": list(room.failure.reasons)}
    return entry


def _stranded(stranded: Stranded) -> dict[str, Any]:
    return {
        "nodes": stranded.nodes,
        "free": exact_all(stranded.free),
        "allocatable": exact_all(stranded.allocatable),
    }


def _pending(pending: PendingPods) -> dict[str, Any]:
    return {"placed": pending.placed, "unplaced": pending.unplaced, "heldBack": pending.held_back}


# The table


@renders("CapacityResult", "table", "wide")
@shows_visible
def print_capacities(found: CapacityResult, out: TextIO, options: RenderOptions) -> None:
    console = make_console(options.width, out)
    for index, each in enumerate(found.capacities):
        if index:
            console.print()
        _print(each, console, options.wide, options.headers)
    print_omissions(found.coverage, console)


def _print(capacity: Capacity, console: Console, wide: bool, headers: bool) -> None:
    console.print(_headline(capacity))
    for portion in capacity.portions:
        asked = short_all(capacity.requests.get(portion.name, {})) or "nothing"
        who = f"{portion.label} asks" if capacity.mixed else "each asks"
        console.print(Padding(Text(f"{who} for {asked}", style="dim"), (0, 0, 0, 2)))
    if capacity.pending and capacity.pending != PendingPods():
        console.print(Padding(Text(_pending_line(capacity.pending), style="dim"), (0, 0, 0, 2)))
    if capacity.why.end != "full":
        console.print(Padding(Text(_end(capacity), style="yellow"), (0, 0, 0, 2)))
    by_name = wide or len(capacity.nodes) <= NODES_BY_NAME
    if capacity.nodes and (any(room.count or room.failure for room in capacity.nodes)):
        console.print()
        table = _by_node(capacity, headers) if by_name else _by_failure(capacity, headers)
        console.print(Padding(table, (0, 0, 0, 2)))
    if capacity.stranded and capacity.stranded.nodes:
        console.print()
        console.print(Padding(_stranded_line(capacity.stranded, len(capacity.nodes)), (0, 0, 0, 2)))


def _headline(capacity: Capacity) -> Text:
    """`Deployment shop/web: 31 more fit, on 4 of 6 nodes`."""
    used = sum(1 for room in capacity.nodes if room.count)
    where = f", on {used} of {_nodes(len(capacity.nodes))}" if used else ""
    least = "at least " if capacity.why.end == "max" else ""
    if not capacity.mixed:
        fits = capacity.sets
        verdict = f"{least}{fits:,} more fit{'s' if fits == 1 else ''}" if fits else "none fits"
        return Text.assemble((capacity.portions[0].label, "bold"), ": ", (verdict, _colour(fits)), where)
    one = " + ".join(_times(portion.count, portion.name) for portion in capacity.portions)
    sets = capacity.sets
    verdict = (
        f"{least}{sets:,} more set{'' if sets == 1 else 's'} fit{'s' if sets == 1 else ''}" if sets else "no set fits"
    )
    total = " + ".join(_times(capacity.fits[portion.name], portion.name) for portion in capacity.portions)
    return Text.assemble((one, "bold"), ": ", (verdict, _colour(sets)), where, f"; {total} placed in all")


def _colour(count: int) -> str:
    return "bold green" if count else "bold red"


def _times(count: int, name: str) -> str:
    return f"{count:,} {name}"


def _nodes(count: int) -> str:
    return f"{count:,} node{'' if count == 1 else 's'}"


def _pending_line(pending: PendingPods) -> str:
    parts = [f"{pending.placed:,} pending pod{'' if pending.placed == 1 else 's'} placed first"]
    parts += [f"{pending.unplaced:,} found no place"] if pending.unplaced else []
    parts += [f"{pending.held_back:,} held back"] if pending.held_back else []
    return ", ".join(parts)


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


def _by_node(capacity: Capacity, headers: bool) -> Table:
    """The roomiest first."""
    table = _table("NODE", "FITS", capacity, headers)
    for room in sorted(capacity.nodes, key=lambda room: (-room.count, _closed(room), room.node)):
        table.add_row(room.node, _fits(room.fits, capacity), *_ends(room), short_all(room.free) or "nothing")
    return table


def _closed(room: NodeRoom) -> bool:
    """Kept out by something else than a shortage."""
    return bool(room.failure and not room.runs_out)


def _by_failure(capacity: Capacity, headers: bool) -> Table:
    """The nodes by what keeps the next replica out, most replicas first."""
    groups: defaultdict[tuple[str, ...], list[NodeRoom]] = defaultdict(list)
    for room in capacity.nodes:
        groups[tuple(_ends(room))].append(room)
    table = _table("NODES", "FIT", capacity, headers)
    for ends, rooms in sorted(groups.items(), key=lambda group: -sum(room.count for room in group[1])):
        fits = {portion.name: sum(room.fits[portion.name] for room in rooms) for portion in capacity.portions}
        free = {resource: sum(room.free[resource] for room in rooms) for resource in rooms[0].free}
        table.add_row(f"{len(rooms):,}", _fits(fits, capacity), *ends, short_all(free) or "nothing")
    return table


def _table(first: str, second: str, capacity: Capacity, headers: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, show_header=headers)
    table.add_column(first, no_wrap=True, justify="right" if first == "NODES" else "left")
    table.add_column(second, no_wrap=not capacity.mixed, justify="right")
    table.add_column(f"KEEPS OUT ONE MORE {capacity.why.shape}" if capacity.mixed else "KEEPS OUT ONE MORE")
    table.add_column("STAYS FREE", ratio=1)
    return table


def _fits(fits: Mapping[str, int], capacity: Capacity) -> str:
    if not capacity.mixed:
        return f"{sum(fits.values()):,}"
    return " + ".join(_times(count, name) for name, count in fits.items() if count) or "0"


def _ends(room: NodeRoom) -> tuple[str]:
    if room.failure is None:
        return ("-",)
    short = [reason.lacks for reason in room.reasons if reason.lacks not in ("", "pods")]
    found = [f"too little {' and '.join(short)}"] if short else []
    found += [reason.text for reason in room.reasons if not reason.lacks]
    found += [reason.text.lower() for reason in room.reasons if reason.lacks == "pods"]
    return (", ".join(found),)


def _stranded_line(stranded: Stranded, nodes: int) -> Text:
    """What is free where nothing more fits, and its share."""
    where = f"{stranded.nodes:,} of {_nodes(nodes)}"
    left = {resource: amount for resource, amount in stranded.free.items() if amount}
    if not left:
        return Text(f"nothing is stranded on {where}")
    parts = [
        f"{short_all({resource: amount})} ({amount * 100 // stranded.allocatable[resource]} %)"
        for resource, amount in left.items()
    ]
    return Text.assemble(("stranded", "yellow"), f" on {where}: {', '.join(parts)}")
