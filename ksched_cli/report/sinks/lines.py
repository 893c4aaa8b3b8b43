"""Writes lines as they come: rows of cells for scripts, a line of JSON for each result of a stream, and the variants of
a sweep as JSON, CSV and Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from ksched_cli.errors import UsageError
from ksched_cli.report.encoding import compact_json, json_text
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.visible import visible

if TYPE_CHECKING:
    from ksched_cli.plan.sweep.run import SweepRun


def write_row(out: TextIO, *cells: str) -> None:
    """Write one line with cells separated by tabs."""
    out.write("\t".join(map(visible, cells)) + "\n")


def write_rows(rows: Iterable[Sequence[str]] | Callable[[], Iterable[Sequence[str]]], out: TextIO) -> None:
    for row in rows() if callable(rows) else rows:
        write_row(out, *row)


def write_json_line(document: Any, out: TextIO) -> None:
    out.write(json_text(document) + "\n")
    out.flush()


def write_lines(run: SweepRun, out: TextIO, options: RenderOptions) -> None:
    for row in run:
        out.write(compact_json(row) + "\n")
        out.flush()


def write_csv(run: SweepRun, out: TextIO, options: RenderOptions) -> None:
    # Imported here: rows of names need none of it.
    import csv

    from ksched_cli.plan.sweep.statistics import COLUMNS

    writer = csv.writer(out, lineterminator="\n")
    if options.headers:
        writer.writerow(COLUMNS)
    for row in run:
        found = row.columns
        cells = ("; ".join(found[name]) if name == "failed" else found.get(name, "") for name in COLUMNS)
        writer.writerow([visible(each) if isinstance(each, str) else each for each in cells])


def write_parquet(run: SweepRun, out: TextIO, options: RenderOptions) -> None:
    from ksched_cli.plan.results.arrow import write_variants

    if out.isatty():
        raise UsageError("parquet is no text for a terminal: write it to a file, as in -o parquet > rows.parquet")
    out.flush()
    write_variants(run, out.buffer)
    out.buffer.flush()
