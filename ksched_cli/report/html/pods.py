"""Sections about pods: a table, and the details of the pod that the reader chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.report.html.model import PageHeading, PageSection, Tone, table_data


def pods_section(
    name: str,
    title: str,
    columns: Sequence[PageHeading],
    rows: Sequence[Sequence[Any]],
    details: Sequence[Mapping[str, Any]],
    legend: Mapping[str, Any] | None = None,
    order: Sequence[int] | None = None,
    *,
    tones: Mapping[str, Tone] | None = None,
) -> PageSection:
    """The section of a table of pods. `details` come from `PodDetails`; `order` has the number of the details of each
    row."""
    data = table_data(title, columns, rows, tones)
    order = range(len(rows)) if order is None else order
    data = {"table": data, "pods": list(details), "order": list(order), **(legend or {})}
    return PageSection(name, title, "pods", data)
