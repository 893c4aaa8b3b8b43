"""Nodes drained together, or each node or zone by itself, always from the same beginning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.results import DrainTrial
from ksched_cli.plan.drain.run import DrainWorld
from ksched_cli.progress import steps
from ksched_cli.sources.loaded import Loaded


def drain_in_turn(
    scheduler: Scheduler,
    loaded: Loaded,
    groups: Sequence[tuple[str, Sequence[str]]],
    flags: Flags,
    *,
    moved_only: bool = True,
) -> Iterator[DrainTrial]:
    """Drain each group from the same beginning. With `moved_only`, `final` has only the pods to which something
    happened."""
    world = DrainWorld(scheduler, loaded, flags, moved_only=moved_only)
    members = [nodes for _, nodes in groups]
    results = world.drain_each(members) if len(groups) > 1 else map(world.drain, members)
    trials = steps(zip(groups, results, strict=True), "drains are done", len(groups))
    for (name, nodes), result in trials:
        changes = world.node_changes() if len(groups) == 1 else None
        yield DrainTrial(name, tuple(nodes), result, changes)
