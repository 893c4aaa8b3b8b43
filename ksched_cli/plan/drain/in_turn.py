"""Nodes drained together, or each node or zone by itself, always from the same beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.results import DrainTrial
from ksched_cli.plan.drain.run import drain
from ksched_cli.sources.loaded import Loaded


def drain_in_turn(
    loaded: Loaded,
    make: Callable[[Loaded], Scheduler],
    groups: Sequence[tuple[str, Sequence[str]]],
    flags: Flags,
    *,
    pending_first: bool = True,
    moved_only: bool = True,
) -> Iterator[DrainTrial]:
    """`make` gives a scheduler of its own for every trial. With `moved_only`, `final` has only the pods to which
    something happened."""
    if not pending_first:
        loaded = loaded.without_pending()
    for name, nodes in groups:
        yield DrainTrial(name, tuple(nodes), drain(make(loaded), loaded, nodes, flags, moved_only=moved_only))
