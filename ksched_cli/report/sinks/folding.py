"""Rows that differ in one column only, together: 12 copies of a pod that fail for one reason are one row. Long messages
in short."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from ksched_cli.errors import counted
from ksched_cli.report.view.model import Cell, Heading, Place, Table, Tone, short_reasons


def fold(table: Table) -> Table:
    """The table in which rows are one row if they differ only in columns with `same`. A column of nodes has the
    nodes of such a row, any other column their number: `12 pods of Deployment/web`, or `web-1 and 11 more`."""
    return fold_with_members(table, table.few, copies=table.copies)[0]


def fold_with_members(table: Table, few: int, *, copies: bool = False) -> tuple[Table, list[list[int]]]:
    """The table as `fold` makes it, and for each of its rows the numbers of the rows that it stands for. A table of up
    to `few` rows stays as it is; with `copies`, rows of one workload share a row in it, too."""
    places = [number for number, column in enumerate(table.columns) if column.same]
    if not places or (len(table.rows) <= few and not copies):
        return table, _alone(table)
    groups: dict[Any, list[int]] = {}
    owners = [number for number, column in enumerate(table.columns) if column.kind == "workload"]
    are_few = len(table.rows) <= few
    others = [place for place in range(len(table.columns)) if place not in places]
    pick, before, members = itemgetter(*others, others[0]), None, []
    for number, row in enumerate(table.rows):
        # A row after one that it is a copy of is the common case in very long tables.
        picked = pick(row)
        if are_few and not any(row[place] for place in owners):
            picked = (*picked, number)
        if before is None or table.row_tones or picked != before:
            members = groups.setdefault((tuple(map(_hashable, picked)), table.row_tones.get(number)), [])
        members.append(number)
        before = picked
    if len(groups) == len(table.rows):
        return table, _alone(table)
    rows: list[list[Any]] = []
    tones: dict[int, Tone] = {}
    for (_, tone), members in groups.items():
        if tone:
            tones[len(rows)] = tone
        rows.append(_together(table, members, places))
    return replace(table, rows=rows, row_tones=tones), list(groups.values())


def _alone(table: Table) -> list[list[int]]:
    return [[number] for number in range(len(table.rows))]


def _together(table: Table, members: list[int], places: list[int]) -> list[Any]:
    """The row that stands for these rows."""
    first = list(table.rows[members[0]])
    for place in places if len(members) > 1 else ():
        column = table.columns[place]
        values = list(dict.fromkeys(_hashable(table.rows[number][place]) for number in members))
        if column.kind == "node":
            first[place] = [str(each) for each in values]
        elif len(values) > 1:
            owners = [first[at] for at, each in enumerate(table.columns) if each.kind == "workload" and first[at]]
            count, more = counted(len(values), column.same), f"{values[0]} and {len(values) - 1:,} more"
            first[place] = (
                count + "".join(f" of {each}" for each in owners) if owners and column.same == "pod" else more
            )
    return first


def shorten(table: Table) -> Table:
    """The table with short messages of kube-scheduler in columns with `brief`."""
    places = [number for number, column in enumerate(table.columns) if column.brief]
    if not places or not table.rows:
        return table
    rows = []
    for row in table.rows:
        cells = list(row)
        for place in places:
            cells[place] = brief_message(cells[place])
        rows.append(cells)
    return replace(table, rows=rows)


@lru_cache(maxsize=1024)
def brief_message(text: str) -> str:
    """`shop/db-0: 2 Insufficient cpu` for `shop/db-0: 0/2 nodes are available: 2 Insufficient cpu. preemption: ...`."""
    head, found, rest = text.partition(" nodes are available: ")
    if not found:
        return text
    reasons, _, more = rest.partition("; ")
    kept = reasons.partition(". ")[0].rstrip(".")
    counted_reasons = [each.partition(" ") for each in _split(kept)]
    if all(count.isdecimal() for count, _, _ in counted_reasons):
        kept = short_reasons((int(count), reason) for count, _, reason in counted_reasons)
    where = head.rpartition(" ")[0]
    return "; ".join(filter(None, (f"{where} {kept}".strip(), more)))


def _split(reasons: str) -> list[str]:
    """The reasons of a message. Each begins with the number of its nodes, and a reason may have commas."""
    found: list[str] = []
    for part in reasons.split(", "):
        if found and not part.partition(" ")[0].isdecimal():
            found[-1] += f", {part}"
        else:
            found.append(part)
    return found


# A text of so many characters is repeated.
_SHORT = 60


def quote_once(table: Table) -> Table:
    """The table in which a long text stands once in columns with `once`; later rows refer to the first cell of the row
    that has it."""
    places = [number for number, column in enumerate(table.columns) if column.once]
    if not places:
        return table
    first: dict[str, Any] = {}
    rows = []
    for row in table.rows:
        cells = list(row)
        for place in places:
            text = cells[place]
            if isinstance(text, str) and len(text) > _SHORT and (known := first.setdefault(text, row[0])) != row[0]:
                cells[place] = f"for the same reasons as {known}"
        rows.append(cells)
    return replace(table, rows=rows)


def all_rows(table: Table) -> Table:
    """The table with every row."""
    return table if table.whole is None else replace(table, rows=table.whole, whole=None, row_tones={})


def filled_columns(table: Table, shows: Callable[[Place], bool]) -> list[int]:
    """The numbers of the columns whose place a sink shows, without columns that are empty in every row; the first one
    always."""
    return [
        at
        for at, each in enumerate(table.columns)
        if shows(each.place) and (not at or not table.rows or any(_fills(row[at], each) for row in table.rows))
    ]


def _fills(value: Cell, column: Heading) -> bool:
    return bool(value) if column.hides_zeros else value not in ("", None, [], ())


def _hashable(cell: Cell) -> Any:
    return tuple(cell) if isinstance(cell, list) else cell
