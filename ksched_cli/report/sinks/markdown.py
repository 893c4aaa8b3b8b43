"""Writes a View as Markdown, for a comment on a pull request or the summary of a CI step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from ksched_cli.errors import plural
from ksched_cli.report.sinks.folding import filled_columns, fold, shorten
from ksched_cli.report.sinks.terminal import cell_text
from ksched_cli.report.view import model
from ksched_cli.report.visible import escape_markdown, visible, visible_lines

# GitHub accepts 1 MiB from a step, including the text of earlier commands.
MAX_BYTES = 900_000
# A table that a terminal cuts has so many rows.
_MOST_ROWS = 300
_SIGNS: Mapping[model.Tone, str] = {"good": "✅", "warn": "⚠️", "bad": "❌"}


def write_view(view: model.View, out: TextIO) -> None:
    """Write as many lines as fit, and a note if some are left out."""
    size = 0
    for line in _lines(view):
        size += len(line.encode()) + 1
        if size > MAX_BYTES:
            out.write("\n… and more than fits here: see the log.\n")
            break
        out.write(f"{line}\n")


def _lines(view: model.View) -> Iterator[str]:
    first = f": {_text(view.subject)}: {', '.join(map(_text, (view.verdict, *view.details)))}" if view.subject else ""
    context = f" ({_text(view.context)})" if view.context else ""
    yield f"### ksched {view.command}{first}{context}"
    notes = [note for note in view.notes if _shows(note.place)]
    if notes:
        yield ""
        yield from _list(notes)
    for section in view.sections:
        block = section.content if _shows(section.place) else None
        if block is None or isinstance(block, model.NodeMap | model.Bars | model.Spark | model.Chart):
            continue
        yield ""
        if section.title:
            title = _text(section.title)
            yield f"<details><summary>{title}</summary>" if section.folded else f"**{title}**"
            yield ""
        yield from _block(block)
        if section.folded:
            yield ""
            yield "</details>"
    if view.omitted:
        yield ""
        yield f"Not taken into account: {_text('; '.join(view.omitted))}"


def _shows(place: str) -> bool:
    return place in ("everywhere", "terminal", "narrow", "paper")


def _text(text: str) -> str:
    return escape_markdown(visible_lines(text))


def _list(lines: Iterable[model.Line]) -> Iterator[str]:
    for line in lines:
        if _shows(line.place):
            yield f"- {_code(line.text) if line.copied else _text(line.text)}"


def _code(text: str) -> str:
    """The text between more backticks than it has in a row."""
    text = visible(text)
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _block(block: model.Block) -> Iterator[str]:
    if isinstance(block, model.Table):
        yield from _table(block)
    elif isinstance(block, model.Pods | model.Timeline):
        yield from _table(block.table)
    elif isinstance(block, model.Steps):
        yield from _steps(block)
    elif isinstance(block, model.Lines):
        yield from _list(block.lines)
    elif isinstance(block, model.Facts):
        for name, texts in block.pairs:
            yield f"- {_text(name)}: {_text(texts if isinstance(texts, str) else ', '.join(texts))}"


def _steps(block: model.Steps) -> Iterator[str]:
    for number, step in enumerate(block.steps, start=1):
        result = f" {_text(step.result)}" if step.result else ""
        about = f" {_text(step.about)}" if step.about else ""
        yield f"{f'{number}.' if block.numbered else '-'} **{_text(step.title)}**{result}{about}"
        yield from (f"  {line}" for line in _list(step.lines))
        for each in step.blocks:
            yield ""
            yield from _table(each) if isinstance(each, model.Table) else _list(each.lines)
            yield ""


def _table(table: model.Table) -> Iterator[str]:
    table = fold(shorten(table))
    shown = filled_columns(table, _shows)
    columns = [table.columns[number] for number in shown]
    yield _row([_text(column.name) for column in columns])
    yield "|" + "|".join("--:" if column.kind in ("number", "share") else "---" for column in columns) + "|"
    most = len(table.rows) if table.most is None else _MOST_ROWS
    for row in table.rows[:most]:
        yield _row([_cell(row[number], table.columns[number], table.tones) for number in shown])
    if (left := len(table.rows) - most) and left > 0:
        yield ""
        yield f"and {left:,} more {plural(left, table.rows_are)}"


def _cell(value: Any, column: model.Heading, tones: Mapping[str, model.Tone]) -> str:
    sign = _SIGNS.get(tones.get(str(value), "plain"), "") if column.kind == "badge" else ""
    return f"{sign} {_text(cell_text(value, column))}".strip()


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
