"""Nodes that a world loses all at once."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ksched_cli.plan.results import PodOutcome
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.remove_node import RemoveNode
from ksched_cli.world.results import DEFAULT_LIMITS, Limits, WorldResult
from ksched_cli.world.world import World


class EndWithoutNodes(Struct, frozen=True):
    """What a world comes to without some nodes, and the cycles after their loss that preempt."""

    world: WorldResult
    preempting: tuple[PodOutcome, ...]


def remove_nodes(world: World, names: Sequence[str]) -> None:
    """Remove the nodes. What follows from it happens as the world runs."""
    with world.cluster.leaving_together():
        world.apply(Changes(edits=[RemoveNode(name) for name in names]))


def end_without(world: World, preempting: Sequence[PodOutcome], names: Sequence[str]) -> EndWithoutNodes:
    """Try the loss of the nodes in the world. Cycles of the world that preempt are added to `preempting`, which is
    rolled back with it."""
    before = len(preempting)
    with world.trial():
        remove_nodes(world, names)
        now, cycles = world.clock.now, world.cycles
        ending = world.run(Limits(now + DEFAULT_LIMITS.max_time, cycles + DEFAULT_LIMITS.max_cycles))
        return EndWithoutNodes(world.result(ending), tuple(preempting[before:]))
