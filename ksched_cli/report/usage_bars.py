"""Bars and lines of characters on a terminal with colours: use of nodes and zones, and a row of values.

Without colours nothing is shown: a log or a pipe has the numbers. A terminal without UTF-8 gets ASCII.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.report.console import Column, Grid
from ksched_cli.report.shown_nodes import ShownNodes
from ksched_cli.report.visible import visible

_WIDTH = 16
_MOST_NODES, _MOST_ZONES = 12, 12
_RESOURCES = ("cpu", "memory")
_BLOCKS, _ASCII = "\u2588\u2593\u2591", "#+."
_LINE, _ASCII_LINE = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588", "_.-=+*#@"


class _Use(Struct, frozen=True):
    """The amount that is requested on a node or in a zone before and after the run, and the whole amount."""

    before: int
    after: int
    whole: int


def print_usage(
    console: Console, nodes: Callable[[], Mapping[str, Any] | None], shown: ShownNodes, *, headers: bool = True
) -> None:
    """Print a line for each zone, and for the nodes that the run changes most. `nodes` returns a `nodeTable`."""
    found = nodes() if console.color_system is not None else None
    if not found:
        return
    uses = _uses(found)
    rows = [*_zones(uses, found), *_nodes(uses, shown)]
    if not rows:
        return
    grid = Grid(Column("USE"), *(Column(each.upper()) for each in _RESOURCES), headers=headers)
    for name, each in rows:
        grid.add(visible(name), *(_bar(use, console) for use in each))
    console.print()
    console.print(Padding(grid, (0, 0, 0, 2)))


def sparkline(values: Sequence[float], console: Console) -> str:
    """A character for each value, whose height is its share of the highest value; empty without colours."""
    if console.color_system is None or not values:
        return ""
    steps = _LINE if _is_unicode(console) else _ASCII_LINE
    top = max(values) or 1
    return "".join(steps[round(max(0.0, value) / top * (len(steps) - 1))] for value in values)


def _bar(use: _Use, console: Console) -> Text:
    """`████▓▓░░░░ 40 % -> 60 %`."""
    blocks = _BLOCKS if _is_unicode(console) else _ASCII
    before, after = (min(1.0, amount / use.whole) if use.whole else 0.0 for amount in (use.before, use.after))
    kept, top = round(_WIDTH * min(before, after)), round(_WIDTH * max(before, after))
    shares = list(dict.fromkeys(f"{100 * amount / (use.whole or 1):.0f} %" for amount in (use.before, use.after)))
    return Text.assemble(
        (blocks[0] * kept, "blue"),
        (blocks[1] * (top - kept), "green" if after >= before else "dim"),
        (blocks[2] * (_WIDTH - top), "dim"),
        f" {' -> '.join(shares)}",
    )


def _is_unicode(console: Console) -> bool:
    return console.encoding.lower().replace("-", "").startswith("utf")


def _nodes(uses: Mapping[str, Sequence[_Use]], shown: ShownNodes) -> Iterator[tuple[str, Sequence[_Use]]]:
    """The nodes whose use changes most; all nodes of a small cluster."""
    names = list(uses)
    if len(names) > _MOST_NODES:
        changed = [name for name in names if any(use.before != use.after for use in uses[name])]
        names = sorted(changed, key=lambda name: -max(_change(use) for use in uses[name]))[:_MOST_NODES]
    return ((shown.text(name), uses[name]) for name in sorted(names))


def _change(use: _Use) -> float:
    return abs(use.after - use.before) / use.whole if use.whole else 0.0


def _zones(uses: Mapping[str, Sequence[_Use]], found: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[_Use]]]:
    zone_of = dict(zip(found["names"], found["zones"], strict=True))
    zones = sorted(set(zone_of.values()))
    if 1 < len(zones) <= _MOST_ZONES:
        for zone in zones:
            members = [uses[name] for name in uses if zone_of[name] == zone]
            yield zone or "no zone", [_sum(each) for each in zip(*members, strict=True)]


def _sum(uses: Iterable[_Use]) -> _Use:
    found = list(uses)
    return _Use(*(sum(getattr(use, name) for use in found) for name in _Use.__struct_fields__))


def _uses(found: Mapping[str, Any]) -> dict[str, list[_Use]]:
    """The use of each node by resource. A node that is added or removed has requests on one side only."""
    columns = [found["resources"][resource] for resource in _RESOURCES]
    return {
        name: [_Use(each["before"][at] or 0, each["after"][at] or 0, each["allocatable"][at]) for each in columns]
        for at, name in enumerate(found["names"])
    }
