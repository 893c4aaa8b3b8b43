"""Nodes drained in a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from ksched_cli.errors import UsageError
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.in_turn import drain_in_turn
from ksched_cli.plan.drain.results import DrainTrial
from ksched_cli.plan.drain.targets import Each, find_nodes, in_turn
from ksched_cli.plan.results import Stats
from ksched_cli.wiring import Prepared, RunOptions, assemble, gather, read_query
from ksched_cli.wiring.reading import check_no_rollouts


class DrainTrials:
    """Each trial is run when it is asked for first."""

    def __init__(self, names: Sequence[str], run: Iterator[DrainTrial]) -> None:
        self.names = tuple(names)
        self._run = run
        self._done: list[DrainTrial] = []

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[DrainTrial]:
        for at in range(len(self)):
            if at == len(self._done):
                self._done.append(next(self._run))
            yield self._done[at]


@dataclass(frozen=True)
class Drained:
    """What comes of draining: all nodes together in a single trial, or each node or zone in one of its own."""

    trials: DrainTrials
    _prepared: Prepared
    _started: float

    @property
    def coverage(self) -> dict[str, Any]:
        return self._prepared.coverage

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._prepared.warnings

    @property
    def stats(self) -> Stats:
        """Up to now, with all trials run."""
        evicted = sum(len(node.of("moves", "unplaced")) for trial in self.trials for node in trial.drain.nodes)
        return self._prepared.stats(evicted, time.perf_counter() - self._started)


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
    """Every trial starts from the cluster as it was read, in which the pending pods get their nodes once: those that
    take a place on nodes of the trial look for another one. With `every_pod` the end of a single
    drain names all pods, not only those to which something happened."""
    gathered = gather(setup, stdin)
    nodes = find_nodes(gathered.loaded, names, read_query(selector) if selector else None)
    if not nodes:
        raise UsageError("there is no node to drain" + (f": none matches -l {selector}" if selector else ""))
    check_no_rollouts(gathered)
    if not pending_first:
        gathered = replace(gathered, loaded=gathered.loaded.without_pending())
    prepared = assemble(setup, gathered)
    started = time.perf_counter()
    groups = in_turn(gathered.loaded, nodes, each)
    run = drain_in_turn(prepared.scheduler, gathered.loaded, groups, flags, moved_only=not every_pod)
    return Drained(DrainTrials([name for name, _ in groups], run), prepared, started)
