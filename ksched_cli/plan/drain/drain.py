"""`drain`: nodes drained in a loaded cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.selectors import read_query
from ksched_cli.errors import UsageError
from ksched_cli.plan.displayed import Displayed
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.in_turn import drain_in_turn
from ksched_cli.plan.drain.results import DrainTrial
from ksched_cli.plan.drain.targets import Each, find_nodes, in_turn
from ksched_cli.plan.loaded_input import LoadedInput
from ksched_cli.plan.node_columns import NodeChanges
from ksched_cli.plan.prepared import PreparedRun
from ksched_cli.plan.results import Stats


class TrialSequence:
    """Each trial runs when it is read for the first time."""

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
        # The loop of the run is over, and its progress bar goes away.
        next(self._run, None)


class DrainTrials(Displayed, Struct, frozen=True):
    """All nodes drained together in a single trial, or each node or zone (`each`) in a trial of its own."""

    trials: TrialSequence
    each: Each | None
    _prepared: PreparedRun
    _started: float

    @property
    def coverage(self) -> Mapping[str, Any]:
        return self._prepared.coverage

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._prepared.source.warnings

    @property
    def nodes(self) -> NodeChanges:
        """All nodes before the drain and after it; only before where each has a trial of its own."""
        changes = None if self.each else next(iter(self.trials)).changes
        return changes or NodeChanges(self._prepared.nodes, self._prepared.nodes)

    @property
    def stats(self) -> Stats:
        """Up to now, with all trials run."""
        evicted = sum(len(node.of("moves", "unplaced")) for trial in self.trials for node in trial.drain.nodes)
        return self._prepared.stats(evicted, time.perf_counter() - self._started)


def drain_nodes(
    source: LoadedInput,
    names: Sequence[str],
    selector: str,
    flags: Flags,
    *,
    each: Each | None = None,
    pending_first: bool = True,
    every_pod: bool = False,
) -> DrainTrials:
    """Every trial starts from the loaded cluster, in which the pending pods get their nodes once: those that take a
    place on nodes of the trial look for another one. With `every_pod` the end of a single drain has all pods, not only
    those to which something happened."""
    nodes = find_nodes(source.loaded, names, read_query(selector) if selector else None)
    if not nodes:
        raise UsageError("there is no node to drain" + (f": none matches -l {selector}" if selector else ""))
    source = source.without_rollouts()
    if not pending_first:
        source = replace(source, loaded=source.loaded.without_pending())
    prepared = PreparedRun.of(source)
    started = time.perf_counter()
    groups = in_turn(source.loaded, nodes, each)
    run = drain_in_turn(
        prepared.scheduler,
        source.loaded,
        groups,
        flags,
        moved_only=not every_pod,
    )
    return DrainTrials(TrialSequence([name for name, _ in groups], run), each, prepared, started)
