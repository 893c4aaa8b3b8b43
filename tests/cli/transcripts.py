"""Golden transcripts, and the clusters that they are made with. UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
FLEET = str(ROOT / "fixtures" / "clusters" / "fleet.yaml")
DEMO = str(ROOT / "ksched_cli" / "cli" / "demo_cluster.yaml")
CASE = ROOT / "fixtures" / "conformance" / "1.36" / "basic-00" / "cluster.json"


def without_stats(text: str) -> str:
    """Times and memory differ from run to run."""
    head, found, _ = text.partition("stats:\n")
    return head + found


def same_as_golden(name: str, shown: str, *, columns: int | None = 80) -> None:
    """None for what is not laid out in columns."""
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown)
    assert shown == golden.read_text()
    if columns is not None:
        assert [line for line in shown.splitlines() if len(line) > columns] == []
        assert [line for line in shown.splitlines() if line != line.rstrip()] == []
