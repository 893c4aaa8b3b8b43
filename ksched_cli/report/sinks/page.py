"""A View as the data of a page: what the template writes, and what the code of the page draws.

Names of nodes lose the suffix that they share, except in texts that people copy; all texts are made visible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from msgspec import Struct, field

from ksched_cli.api.quantity import is_bytes
from ksched_cli.errors import capitalised, counted
from ksched_cli.report.sinks.folding import all_rows, filled_columns, fold_with_members, shorten
from ksched_cli.report.sinks.svg import chart_data
from ksched_cli.report.view import model
from ksched_cli.report.visible import ShownNodes, visible

SectionKind = Literal["map", "pods", "pod", "table", "bars", "timeline", "steps", "facts", "chart"]
# A section of more steps is folded.
_MOST_STEPS = 10
# Up to so many rows that are alike stay apart.
_FEW = 2


class PageSection(Struct, frozen=True):
    """A part of the page. `kind` names the code of assets/ that draws `data`; `steps` and `facts` are drawn by the
    template. Sections of a page have different `name`s."""

    name: str
    title: str
    kind: SectionKind
    data: Mapping[str, Any]
    intro: str = ""
    folded: bool = False


class Page(Struct, frozen=True):
    """A page. `verdict` is one sentence. `nodes` are those of the node map. All texts are data and are never read as
    markup."""

    command: str
    tone: model.Tone
    verdict: str
    notes: Sequence[str] = ()
    figures: Sequence[model.Figure] = ()
    sections: Sequence[PageSection] = ()
    nodes: Mapping[str, Any] = field(default_factory=dict)


class _Copied(str):
    """A text that is never shortened."""

    __slots__ = ()


def page_of(view: model.View) -> Page:
    """The page of a View."""
    table = view.nodes() or {}
    names = table.get("names", [])
    shown = ShownNodes.shortened(dict.fromkeys(names, ""))
    nodes = _node_columns(table) if table and table["names"] else {}
    if shown.suffix:
        whole = [number for number, name in enumerate(names) if not name.endswith(shown.suffix)]
        nodes |= {"suffix": _Copied(shown.suffix), "whole": whole}
    details = [f"{capitalised(', '.join(view.details))}."] if view.details else []
    notes = [_line(note) for note in view.notes if _shows(note.place)]
    sections = [
        made
        for section in view.sections
        if _shows(section.place) and (block := section.content) is not None and not isinstance(block, model.Spark)
        for made in [_section(section, block)]
    ]
    verdict = f"{view.subject}: {view.verdict}."
    page = Page(view.command, view.tone, verdict, [*details, *notes], list(view.figures), sections, nodes)
    found: Page = converted(page, _text(shown))
    return found


def _shows(place: str) -> bool:
    return place in ("everywhere", "page", "wide", "paper")


def _line(line: model.Line) -> str:
    return _Copied(line.text) if line.copied else line.text


def _text(shown: ShownNodes) -> Callable[[str], str]:
    @cache
    def text(plain: str) -> str:
        return shown.text(visible(plain))

    return text


def converted(value: Any, convert: Callable[[str], str]) -> Any:
    """The value with all its texts converted, keys included."""
    kind = type(value)
    if kind is str:
        return convert(value)
    if kind is _Copied:
        return visible(value)
    if isinstance(value, str):
        return convert(str(value))
    if isinstance(value, list | tuple):
        return [converted(each, convert) for each in value]
    if isinstance(value, Mapping):
        return {convert(key) if isinstance(key, str) else key: converted(each, convert) for key, each in value.items()}
    if isinstance(value, Struct):
        return kind(*(converted(getattr(value, name), convert) for name in value.__struct_fields__))
    return value


def _section(section: model.Section, block: model.Block) -> PageSection:
    kind, data = _block(section.title, block)
    folded = section.folded or (isinstance(block, model.Steps) and len(block.steps) > _MOST_STEPS)
    return PageSection(section.name, section.title, kind, data, section.intro, folded)


def _block(title: str, block: model.Block) -> tuple[Any, dict[str, Any]]:
    if isinstance(block, model.Table):
        return "table", _table(title, block)[0]
    if isinstance(block, model.Pods):
        order = range(len(block.table.rows)) if block.order is None else block.order
        table, members = _table(title, block.table)
        firsts = [order[rows[0]] for rows in members]
        alike = {row: [order[number] for number in rows] for row, rows in enumerate(members) if len(rows) > 1}
        data = {"table": table, "pods": block.details, "order": firsts, "members": alike, **block.data}
        return ("pod" if block.alone else "pods"), data
    if isinstance(block, model.Timeline):
        return "timeline", {**block.data, "table": _table(title, block.table)[0]}
    if isinstance(block, model.Steps):
        return "steps", {"steps": [_step(each) for each in block.steps]}
    if isinstance(block, model.Lines):
        return "steps", {"steps": [_step(model.Step("", block.lines))]}
    if isinstance(block, model.Facts):
        pairs = [(name, text if isinstance(text, str) else ", ".join(text)) for name, text in block.pairs]
        return "facts", {"pairs": pairs}
    if isinstance(block, model.Chart):
        return "chart", chart_data(block)
    if isinstance(block, model.NodeMap):
        return "map", dict(block.data)
    assert isinstance(block, model.Bars)
    return _bars(title, block)


def _bars(title: str, block: model.Bars) -> tuple[Any, dict[str, Any]]:
    rows = [{"label": each.label, "segments": list(each.segments), "text": each.text} for each in block.rows]
    return "bars", {"caption": title, "rows": rows, "whole": block.whole, "colours": dict(block.colours)}


def _step(step: model.Step) -> dict[str, Any]:
    lines = [(line.tone, _line(line), line.copied) for line in step.lines if _shows(line.place)]
    return {"title": step.title, "result": step.result, "tone": step.tone, "about": step.about, "lines": lines}


def _table(caption: str, table: model.Table) -> tuple[dict[str, Any], list[list[int]]]:
    """A table for the code of the page, without columns that are empty in every row, and for each of its rows the
    numbers of the rows that it stands for. `names` has the first cells of these."""
    whole = shorten(all_rows(table))
    table, members = fold_with_members(whole, _FEW)
    shown = filled_columns(table, _shows)
    columns = [_heading(table.columns[at]) for at in shown]
    rows = [[_cell(row[at], table.columns[at]) for at in shown] for row in table.rows]
    names = {row: [_name(whole, number) for number in rows] for row, rows in enumerate(members) if len(rows) > 1}
    badges = [at for at in shown if table.columns[at].kind == "badge"]
    values = {str(row[at]) for row in table.rows for at in badges}
    tones = {value: tone for value, tone in table.tones.items() if value in values}
    data = {"caption": caption, "columns": columns, "rows": rows, "tones": tones}
    return (data | {"names": names} if names else data), members


def _cell(value: Any, column: model.Heading) -> Any:
    """Several nodes by their number: the list of names has each."""
    if column.kind == "node" and isinstance(value, list | tuple):
        return counted(len(value), "node") if len(value) > 1 else value[0] if value else ""
    return value


def _name(table: model.Table, number: int) -> str:
    """A row by its first cell, and its node: `shop/web-1 \N{RIGHTWARDS ARROW} node-3`."""
    row = table.rows[number]
    nodes = [row[at] for at, each in enumerate(table.columns) if at and each.kind == "node" and each.same and row[at]]
    return " \N{RIGHTWARDS ARROW} ".join([str(row[0]), *map(str, nodes)])


def _heading(column: model.Heading) -> dict[str, Any]:
    kind = "text" if column.kind in ("node", "workload") else column.kind
    flags = {"filters": column.filters, "wide": column.flows}
    return {"name": column.name, "kind": kind, **{name: True for name, holds in flags.items() if holds}}


def _node_columns(found: Mapping[str, Any]) -> dict[str, Any]:
    """The nodes of a `nodeTable` for the code of the page."""
    zones = sorted(set(found["zones"]))
    numbers = {zone: number for number, zone in enumerate(zones)}
    cordoned = set(found["cordoned"])
    pool_of = found.get("pools", ())
    pools = {pool: number for number, pool in enumerate(sorted(set(pool_of)))}
    return {
        "names": found["names"],
        "zones": zones,
        "zone": [numbers[zone] for zone in found["zones"]],
        **({"pools": list(pools), "pool": [pools[pool] for pool in pool_of]} if pools else {}),
        "cordoned": [number for number, name in enumerate(found["names"]) if name in cordoned],
        "resources": {name: {"unit": _unit(name), **amounts} for name, amounts in found["resources"].items()},
    }


def _unit(resource: str) -> str:
    return "milli" if resource == "cpu" else "bytes" if is_bytes(resource) else "count"


def first_rows(page: Page, most: int) -> tuple[Sequence[str], Sequence[Sequence[str]], int]:
    """The names of the columns of the first table, its first rows, and the number of other rows."""
    for section in page.sections:
        if section.kind in ("pods", "table"):
            table = section.data["table"] if section.kind == "pods" else section.data
            heads = [each["name"] for each in table["columns"]]
            rows = [list(map(_plain_text, row)) for row in table["rows"][:most]]
            return heads, rows, len(table["rows"]) - len(rows)
    return [], [], 0


def _plain_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
