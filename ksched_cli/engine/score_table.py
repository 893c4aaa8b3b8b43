"""The scores of one cycle: of every feasible node, by plugin."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.cluster.columns import Int64Column, RowColumn


@dataclass(frozen=True)
class ScoreTable:
    """Scores of the feasible rows, in their order; one entry per plugin that did not skip."""

    rows: RowColumn
    raw: dict[str, Int64Column]
    normalized: dict[str, Int64Column]
    weighted: dict[str, Int64Column]
    totals: Int64Column
