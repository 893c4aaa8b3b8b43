"""`ksched drain`: nodes of a world are cordoned, and their pods evicted through the eviction API."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.evictions import MOST_CYCLES, NodeEvictions
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.pending_pods import PendingPods
from ksched_cli.plan.drain.pod_fates import Fates
from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.drain.unplaced import UnplacedReasons
from ksched_cli.plan.node_columns import NodeChanges, NodeColumns
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.cordon import Cordon
from ksched_cli.whatif.edits.lib.editor import Editor
from ksched_cli.world.results import Limits
from ksched_cli.world.world import World, WorldChange


class DrainWorld:
    """A world whose nodes are drained: some nodes once, or many groups of nodes, each in a trial."""

    def __init__(self, scheduler: Scheduler, loaded: Loaded, flags: Flags, *, moved_only: bool = False) -> None:
        self._before = NodeColumns.of(scheduler.cluster)
        self._reasons = UnplacedReasons(scheduler.cluster.undo)
        self._world = World(scheduler, loaded, decided=self._reasons)
        self._flags, self._moved_only = flags, moved_only
        self._pending = PendingPods(self._world)

    # What a sequence of drains needs beside them.

    def trial(self) -> AbstractContextManager[None]:
        """Everything inside the block is rolled back."""
        return self._world.trial()

    def place_pending(self) -> None:
        """Give the pending pods their nodes, and record from there."""
        self._pending.place()
        self._world.begin_record()

    def apply(self, change: WorldChange) -> None:
        self._world.apply(change)

    def rest(self) -> None:
        """Go on until nothing moves."""
        self._world.run(Limits(math.inf, self._world.cycles + MOST_CYCLES))

    def begin_record(self) -> None:
        """The results of the next drains leave out what has happened so far."""
        self._world.begin_record()

    def waiting(self) -> list[str]:
        """The pods that have no node and are not held back."""
        return sorted(pod.info.key for pod in self._world.loop.queue if not pod.gated)

    def drain(self, nodes: Sequence[str]) -> DrainResult:
        """Cordon the nodes, place the pending pods, and drain one node after the other (RunDrain). Nodes with refused
        evictions are tried again after the others, whose new pods may have helped."""
        world = self._world
        for node in nodes:
            world.apply(partial(_cordon, node))
        draining = NodeEvictions(world, self._flags)
        self._pending.leave(nodes)
        self._pending.place()
        already = len(world.recorder.preempted)
        going = [draining.begin(node) for node in nodes]
        while sum(draining.evict(node) for node in going if node.left and not node.timed_out):
            pass
        fates = Fates(world, self._reasons)
        preempted = world.recorder.preempted[already:]
        return DrainResult(
            tuple(map(fates.node_drain, going)),
            draining.budgets.changes([*draining.asked, *(each.pod for each in preempted)]),
            tuple(map(fates.evicted, preempted)),
            self._pending.pods,
            self._pending.placed,
            world.result(draining.ending, moved_only=self._moved_only),
        )

    def node_changes(self) -> NodeChanges:
        """The nodes at the beginning and now."""
        return NodeChanges(self._before, NodeColumns.of(self._world.cluster))

    def drain_each(self, groups: Iterable[Sequence[str]]) -> Iterator[DrainResult]:
        """Place the pending pods once, and drain each group from there."""
        self.place_pending()
        for nodes in groups:
            with self._world.trial():
                result = self.drain(nodes)
            yield result


def _cordon(node: str, plane: ControlPlane) -> None:
    Cordon(node).apply(Editor(plane))
