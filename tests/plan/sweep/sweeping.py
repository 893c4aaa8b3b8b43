"""Sweeps to run, and their rows as bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ksched_cli.plan.sweep.run import SweepRun
from ksched_cli.plan.sweep.statistics import encode_rows
from ksched_cli.simulator import Simulator
from tests.plan.sweep.clusters import cluster


def simulator(seed: int = 3, *, pending: int = 2) -> Simulator:
    return Simulator.load(cluster(seed, pending=pending))


def sorted_lines(run: SweepRun) -> list[bytes]:
    """The rows as they are stored, in the order of their variants."""
    return [encode_rows([row]) for row in sorted(run, key=lambda row: row.variant)]


def stored_lines(folder: Path) -> list[bytes]:
    lines = (folder / "rows.jsonl").read_bytes().splitlines(keepends=True)
    return sorted(lines, key=lambda line: int(json.loads(line)["variant"]))


# Every dimension at once: 2 * 2 * 2 * 2 * 5 variants or more.
MANY: dict[str, Any] = {
    "fail": "node",
    "orders": 2,
    "ties": 2,
    "scale": "replicaset/app-0=1..2",
    "add_node": "cpu=4,memory=8Gi=0..1",
    "seed": 5,
}
