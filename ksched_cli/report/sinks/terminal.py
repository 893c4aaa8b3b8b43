"""Writes a View as lines and tables: for terminals with colours, for pipes and logs without.

The first line is `SUBJECT: VERDICT, DETAIL, DETAIL (CONTEXT)`. Sections follow, each after an empty line. Without
-o wide a table has `most` of its rows, and rows that differ in one column only share a line. Texts are made visible
here, and the names of nodes lose the suffix that they share. Bars of the use of nodes and zones, and rows of values,
are drawn with colours only: a log or a pipe has the numbers. A terminal without UTF-8 gets ASCII.

The line of a shell command is folded so that it can be copied: it breaks between the words of the command, with a
backslash, and inside a quoted JSON document between its tokens, where white space has no meaning. A word that is too
long by itself stays whole: the terminal wraps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from msgspec import Struct
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ksched_cli.errors import counted, plural
from ksched_cli.report.console import Column, Grid, make_console, print_hanging
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.sinks.folding import all_rows, filled_columns, fold, quote_once, shorten
from ksched_cli.report.view import model
from ksched_cli.report.visible import ShownNodes, visible

_COLOURS: dict[model.Tone, str] = {"good": "green", "warn": "yellow", "bad": "red", "plain": ""}
_INDENT, _HANGING = 2, 2
# The number of a step and the space around it.
_BESIDE = 6
# Names of several nodes are written in so many characters; otherwise their number is.
_NAMES = 20
# Longer titles of numbers are broken.
_TITLE = 12


def write_view(view: model.View, out: TextIO, options: RenderOptions) -> None:
    """Write the View as a table."""
    _Writer(out, options).write(view)


def write_sections(sections: Iterable[model.Section], out: TextIO, options: RenderOptions) -> None:
    """Write sections of a View by themselves."""
    _Writer(out, options).sections(sections)


class _Writer:
    def __init__(self, out: TextIO, options: RenderOptions) -> None:
        self._console = make_console(options.width, out)
        self._colours = _COLOURS if self._console.color_system is not None else dict.fromkeys(_COLOURS, "")
        self._nodes = options.nodes
        self._wide, self._headers = options.wide, options.headers
        self._any_is_short = False

    def write(self, view: model.View) -> None:
        if view.subject:
            self._hanging(self._first_line(view))
        for note in view.notes:
            if self._shows(note.place):
                self._print(self._line(note))
        self.sections(view.sections)
        if view.shows_use:
            changed = view.shows_use == "changed nodes"
            print_usage(self._console, view.nodes, self._nodes, headers=self._headers, changed=changed)
        if view.omitted:
            self._print(Text(f"not taken into account: {'; '.join(map(visible, view.omitted))}", style="yellow"))
        if self._any_is_short:
            suffix = f"node names without {self._nodes.suffix} (-o wide shows them in full)"
            self._print(Text(suffix, style="dim"))

    def sections(self, sections: Iterable[model.Section]) -> None:
        for section in sections:
            if self._shows(section.place) and (block := section.content) is not None:
                self._section(section, block)

    def _text(self, text: str) -> str:
        """The text with escapes and with short names of nodes."""
        shown = visible(text)
        if not self._nodes.suffix or (short := self._nodes.text(shown)) == shown:
            return shown
        self._any_is_short = True
        return short

    def _shows(self, place: model.Place) -> bool:
        return place in ("everywhere", "terminal", "screen") or place in (
            ("wide", "deep") if self._wide else ("narrow",)
        )

    def _first_line(self, view: model.View) -> Text:
        name = self._text(view.subject)
        subject = self._nodes.with_zone(name) if isinstance(view.subject, model.NodeTitle) else name
        style = f"bold {_COLOURS[view.tone]}".rstrip()
        zone = self._nodes.zone(view.node) if view.node else ""
        verdict = f"{self._text(view.verdict)}{f' ({visible(zone)})' if zone else ''}"
        line = Text.assemble((subject, "bold"), ": ", (verdict, style))
        for detail in view.details:
            line.append(f", {self._text(detail)}")
        if view.context:
            line.append(f" ({self._text(view.context)})", style="dim")
        return line

    def _section(self, section: model.Section, block: model.Block) -> None:
        if isinstance(block, model.NodeMap | model.Bars | model.Chart):
            return
        if not section.joined:
            self._print()
        if section.titled and (not isinstance(block, model.Steps) or block.steps):
            self._print(Text(self._text(section.title), style="bold"))
        if isinstance(block, model.Table):
            self._table(block)
        elif isinstance(block, model.Pods | model.Timeline):
            self._table(block.table)
        elif isinstance(block, model.Steps):
            self._steps(block)
        elif isinstance(block, model.Lines):
            self._lines(block.lines, 0)
        elif isinstance(block, model.Facts):
            grid = Grid(Column(style="dim"), Column(flows=True))
            for name, texts in block.pairs:
                lines = [texts] if isinstance(texts, str) else texts
                grid.add(self._text(name), "\n".join(map(self._text, lines)))
            self._print(grid)
        elif line := sparkline(block.values, self._console):
            self._print(Text.assemble(f"{block.label} ", (line, "red"), f" {block.about}"))

    def _line(self, line: model.Line) -> Text:
        text = self._text(line.text)
        if line.copied:
            folded = fold_command(line.text, self._console.width - _BESIDE)
            text = "\n".join(map(visible, folded.split("\n")))
        return Text(text, style=_COLOURS[line.tone] or ("dim" if line.aside or line.copied else ""))

    def _lines(self, lines: Sequence[model.Line], indent: int) -> None:
        for line in lines:
            if self._shows(line.place) and (indent or line.indent):
                self._hanging(self._line(line), indent + _INDENT * line.indent)
            elif self._shows(line.place):
                self._print(self._line(line))

    # Tables

    def _table(self, table: model.Table, indent: int = 0) -> None:
        table = quote_once(all_rows(table) if self._wide else fold(shorten(table)))
        rows = table.rows if self._wide or table.most is None else table.rows[: table.most]
        shown = filled_columns(table, self._shows)
        grid = Grid(*self._grid_columns([table.columns[number] for number in shown]), headers=self._headers)
        for place, row in enumerate(rows):
            style = self._colours[table.row_tones.get(place, "plain")]
            grid.add(*self._cells([(table.columns[number], row[number]) for number in shown], table), style=style)
        self._print(grid, indent)
        if left := len(table.rows) - len(rows):
            what = f"and {left:,} more {plural(left, table.rows_are)} (-o wide shows all)"
            self._print(Text(what, style="dim"), indent)

    def _grid_columns(self, columns: Sequence[model.Heading]) -> Iterator[Column]:
        for number, column in enumerate(columns):
            right = column.kind in ("number", "share")
            hides = column.hides_zeros
            optional = column.optional and column.kind != "node" and not self._wide
            title = visible(column.name).upper()
            if right and len(title) > _TITLE:
                title = title.replace("-", "-\n").replace("/", "/\n")
            yield Column(title, right, column.flows, hides, optional)
            if column.kind == "node":
                yield Column("ZONE", hides_zeros=True, optional=number > 0 or column.optional)

    def _cells(self, cells: Sequence[tuple[model.Heading, model.Cell]], table: model.Table) -> Iterator[str | Text]:
        for column, value in cells:
            text = self._cell(value, column)
            style = self._colours[table.tones.get(str(value), "plain")] if column.kind == "badge" else ""
            yield Text(text, style=style) if style else text
            if column.kind == "node":
                yield visible(self._zone(value))

    def _zone(self, value: model.Cell) -> str:
        if isinstance(value, str):
            return self._nodes.zone(value)
        if not isinstance(value, list | tuple):
            return ""
        zones = sorted({self._nodes.zone(each) for each in value})
        return zones[0] if len(zones) == 1 else f"{len(zones)} zones"

    def _cell(self, value: model.Cell, column: model.Heading) -> str:
        if isinstance(value, str):
            return self._text(value)
        if value is None:
            return ""
        if column.kind == "node" and not isinstance(value, int | float):
            names = ", ".join(map(self._text, value))
            return names if len(value) == 1 or len(names) <= _NAMES else counted(len(value), "node")
        return self._text(cell_text(value, column))

    # Steps

    def _steps(self, block: model.Steps) -> None:
        steps = block.steps if self._wide or block.most is None else block.steps[: block.most]
        if block.numbered:
            grid = Grid(Column(right=True), Column(flows=True))
            for number, step in enumerate(steps, start=1):
                grid.add(f" {number}", self._step_line(step))
                for line in step.lines:
                    if self._shows(line.place):
                        grid.add("", self._line(line))
            self._print(grid)
        for step in () if block.numbered else steps:
            if step is not steps[0] and not block.dense and (step.lines or step.blocks):
                self._print()
            self._hanging(self._step_line(step))
            self._lines(step.lines, _INDENT)
            for each in step.blocks:
                if isinstance(each, model.Table):
                    self._table(each, _INDENT)
                else:
                    self._lines(each.lines, _INDENT)
        if left := len(block.steps) - len(steps):
            self._print(Text(f"and {left:,} more {plural(left, block.steps_are)} (-o wide shows all)", style="dim"))

    def _step_line(self, step: model.Step) -> Text:
        """`node-1 (zone-a): drained in 1 round, 3 pods move`, or `lower the cpu request  -> node-1`."""
        title = self._text(step.title)
        line = Text(self._nodes.with_zone(title) if isinstance(step.title, model.NodeTitle) else title, style="bold")
        if step.result:
            line = Text.assemble(line, ": ", (self._text(step.result), f"bold {_COLOURS[step.tone]}".rstrip()))
        if step.about:
            line = Text.assemble(line, f"{', ' if step.result else '  '}{self._text(step.about)}")
        return line

    # Output

    def _hanging(self, text: Text, indent: int = 0) -> None:
        """Print the text. If it takes several lines, all lines except the first are indented further."""
        width = self._console.width - indent
        for number, line in enumerate(text.split("\n") if indent else [text]):
            if not indent:
                print_hanging(self._console, line)
            elif line.cell_len <= width:
                self._console.print(Padding(line, (0, 0, 0, indent)))
            else:
                for place, part in enumerate(line.wrap(self._console, width - _HANGING)):
                    part.rstrip()
                    self._console.print(Padding(part, (0, 0, 0, indent + (_HANGING if place or number else 0))))

    def _print(self, shown: Grid | Text | None = None, indent: int = 0) -> None:
        if shown is None:
            self._console.print()
        else:
            self._console.print(Padding(shown, (0, 0, 0, indent)) if indent else shown)


def cell_text(value: model.Cell, column: model.Heading) -> str:
    """A value as text: `1,200`, `12.5 %`, `a, b`."""
    if value is None:
        return ""
    if column.kind == "share" and isinstance(value, int | float):
        return f"{100 * value:.1f} %"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 10 else f"{value:,.2f}".rstrip("0").rstrip(".")
    return value if isinstance(value, str) else ", ".join(map(str, value))


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
    console: Console,
    nodes: Callable[[], Mapping[str, Any] | None],
    shown: ShownNodes,
    *,
    headers: bool = True,
    changed: bool = False,
) -> None:
    """Print a line for each zone, and for the nodes that the run changes most. `nodes` returns a `nodeTable`;
    `changed`: of a small cluster, too, only the nodes that the run changes."""
    found = nodes() if console.color_system is not None else None
    if not found:
        return
    uses = _uses(found)
    rows = [*_zones(uses, found), *_nodes(uses, shown, changed=changed)]
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


def _nodes(
    uses: Mapping[str, Sequence[_Use]], shown: ShownNodes, *, changed: bool
) -> Iterator[tuple[str, Sequence[_Use]]]:
    """The nodes whose use changes most; all nodes of a small cluster, unless `changed` nodes are wanted and there are
    some."""
    moved = [name for name in uses if any(use.before != use.after for use in uses[name])]
    names = list(uses)
    if len(names) > _MOST_NODES or (changed and moved):
        names = sorted(moved, key=lambda name: -max(_change(use) for use in uses[name]))[:_MOST_NODES]
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


_PROGRAMS = ("kubectl ", "ksched ", "echo '")
_CONTINUED = "  "


def fold_command(line: str, width: int) -> str:
    """The line if it fits or is no command, else several lines that a shell reads as the same command."""
    if len(line) <= width or not line.startswith(_PROGRAMS):
        return line
    lines: list[str] = []
    current = mark = ""
    for piece, ends in _pieces(line):
        room = width - len(ends)
        if current and len(current) + 1 + len(piece) > room:
            lines.append(current + mark)
            current = _CONTINUED + piece
        else:
            current = f"{current} {piece}" if current else piece
        mark = ends
    return "\n".join([*lines, current])


def _pieces(line: str) -> Iterator[tuple[str, str]]:
    """The parts between which the line may break, each with what a break after it needs. In single quotes, only JSON
    may break: there it is a space like any other."""
    start, quoted, is_json, text = 0, False, False, False
    for at, letter in enumerate(line):
        if letter == "'" and not (text and not quoted):
            quoted, text = not quoted, False
            is_json = line[at + 1 : at + 2] in ("{", "[")
        elif letter == '"' and line[at - 1] != "\\":
            text = not text
        elif letter == " " and not text and (is_json or not quoted):
            yield line[start:at], "" if quoted else " \\"
            start = at + 1
    yield line[start:], ""
