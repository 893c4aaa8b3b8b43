"""Nodes drained in a cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from ksched_cli.errors import UsageError
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.in_turn import drain_in_turn
from ksched_cli.plan.drain.results import DrainTrial
from ksched_cli.plan.drain.targets import Each, find_nodes, in_turn
from ksched_cli.plan.results import Stats
from ksched_cli.wiring import RunOptions, assemble, gather, read_query, scheduler_maker
from ksched_cli.wiring.reading import check_no_rollouts


@dataclass(frozen=True)
class Drained:
    """What came of draining: all nodes together in a single trial, or each node or zone in one of its own."""

    trials: tuple[DrainTrial, ...]
    coverage: dict[str, Any]
    warnings: tuple[str, ...]
    stats: Stats


def drain_nodes(
    setup: RunOptions,
    stdin: BinaryIO | None,
    names: Sequence[str],
    selector: str,
    flags: Flags,
    *,
    each: Each | None = None,
    pending_first: bool = True,
    every_pod: bool = False,
) -> Drained:
    """Every trial starts from the cluster as it was read, with its nodes cordoned. With `every_pod` the end of a single
    drain names all pods, not only those to which something happened."""
    gathered = gather(setup, stdin)
    nodes = find_nodes(gathered.loaded, names, read_query(selector) if selector else None)
    if not nodes:
        raise UsageError("there is no node to drain" + (f": none matches -l {selector}" if selector else ""))
    check_no_rollouts(gathered)
    prepared = assemble(setup, gathered)
    started = time.perf_counter()

    make = scheduler_maker(setup, gathered.setting)
    groups = in_turn(gathered.loaded, nodes, each)
    trials = tuple(
        drain_in_turn(gathered.loaded, make, groups, flags, pending_first=pending_first, moved_only=not every_pod)
    )
    evicted = sum(len(node.of("moves", "unplaced")) for trial in trials for node in trial.drain.nodes)
    stats = prepared.stats(evicted, time.perf_counter() - started)
    return Drained(trials, prepared.coverage, prepared.warnings, stats)
