"""Writes the news of a watched cluster, one line each."""

from __future__ import annotations

import datetime
from typing import TextIO

from ksched_cli.plan.watch import Kind, News
from ksched_cli.report.encoding import json_text
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.visible import visible

_PREPOSITIONS = {Kind.BOUND: "to", Kind.UNSCHEDULABLE: "but nominated for"}


def write_news_entry(news: News, out: TextIO, options: RenderOptions) -> None:
    entry = {"time": _now().isoformat(timespec="seconds"), "kind": news.kind.value, "pod": news.pod}
    entry |= {"node": news.node, "why": news.why}
    out.write(json_text({key: value for key, value in entry.items() if value}) + "\n")
    out.flush()


def write_news_line(news: News, out: TextIO, options: RenderOptions) -> None:
    out.write(f"{_now():%H:%M:%S}  {visible(sentence(news))}\n")
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
