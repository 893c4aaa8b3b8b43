"""News of a watched cluster (`News`): a line for each."""

from __future__ import annotations

import datetime
from typing import TextIO

from ksched_cli.plan.watch import Kind, News
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.sinks.lines import write_json_line, write_row

_PREPOSITIONS = {Kind.BOUND: "to", Kind.UNSCHEDULABLE: "but nominated for"}


def write_entry(news: News, out: TextIO, options: RenderOptions) -> None:
    entry = {"time": _now().isoformat(timespec="seconds"), "kind": news.kind.value, "pod": news.pod}
    entry |= {"node": news.node, "why": news.why}
    write_json_line({key: value for key, value in entry.items() if value}, out)


def write_line(news: News, out: TextIO, options: RenderOptions) -> None:
    """`10:02:11  shop/web-1  fits on node-2  (3 of 5 nodes fit)`."""
    write_row(out, f"{_now():%H:%M:%S}  {sentence(news)}")
    out.flush()


def _now() -> datetime.datetime:
    return datetime.datetime.now().astimezone()


def sentence(news: News) -> str:
    """`shop/web-1  fits on node-2  (3 of 5 nodes fit)`."""
    if news.kind is Kind.LOST:
        return f"the API server does not answer, trying again: {news.why}"
    if news.kind is Kind.BACK:
        return "the API server answers again"
    where = f" {_PREPOSITIONS.get(news.kind, 'on')} {news.node}" if news.node else ""
    return f"{news.pod}  {news.kind.value}{where}" + (f"  {news.why}" if news.why else "")
