"""Writes tables of many rows as plain lines. rich measures and wraps each cell: a second for thousands of rows."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Column, Table
from rich.text import Text

from ksched_cli.report.grid import width_of

# Tables with at least this many rows are written without rich.
_LONG = 50


def long_table_lines(shown: object, width: int) -> Iterator[str] | None:
    """`plain_lines` of a long table, None for everything else."""
    return plain_lines(shown, width) if isinstance(shown, Table) and shown.row_count >= _LONG else None


def plain_lines(table: Table, width: int) -> Iterator[str] | None:
    """The lines that rich would write without colours. None unless all rows have one line and fit into the width."""
    if table.box is not None or table.title or table.caption or table.expand or table.show_footer or table.pad_edge:
        return None
    columns = [_texts(column, table) for column in table.columns]
    if any(column is None for column in columns) or any(each.width or each.max_width for each in table.columns):
        return None
    texts = [column for column in columns if column is not None]
    widths = [
        max(max((width_of(text) for text in column), default=0), each.min_width or 0)
        for column, each in zip(texts, table.columns, strict=True)
    ]
    _, right, _, left = table.padding
    gap = " " * (right + left)
    if table.collapse_padding or sum(widths) + len(gap) * (len(widths) - 1) > width:
        return None
    right_aligned = [column.justify == "right" for column in table.columns]
    return _lines(list(zip(*texts, strict=True)), widths, right_aligned, gap)


def _lines(rows: list[tuple[str, ...]], widths: list[int], right_aligned: list[bool], gap: str) -> Iterator[str]:
    layout = list(zip(widths, right_aligned, strict=True))
    for row in rows:
        cells = (_aligned(text, width, at_right) for text, (width, at_right) in zip(row, layout, strict=True))
        yield gap.join(cells)


def _aligned(text: str, width: int, at_right: bool) -> str:
    padding = " " * (width - width_of(text))
    return padding + text if at_right else text + padding


def _texts(column: Column, table: Table) -> list[str] | None:
    """The header and the cells; None if a cell has several lines or spaces around it."""
    if column.justify not in ("left", "right"):
        return None
    cells = [*([column.header] if table.show_header else []), *column.cells]
    texts = [cell.plain if isinstance(cell, Text) and not cell.justify else cell for cell in cells]
    if all(isinstance(text, str) and text == text.strip() and text.isprintable() for text in texts):
        return [str(text) for text in texts]
    return None
