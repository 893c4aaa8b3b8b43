"""Writes results as lines of cells, for scripts."""

from __future__ import annotations

from typing import TextIO

from ksched_cli.report.visible import visible


def write_row(out: TextIO, *cells: str) -> None:
    """Write one line with cells separated by tabs."""
    out.write("\t".join(map(visible, cells)) + "\n")


def pod_and_node(pod: str, node: str) -> tuple[str, str]:
    return f"pod/{pod}", f"node/{node}" if node else "-"
