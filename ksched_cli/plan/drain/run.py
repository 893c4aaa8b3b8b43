"""`ksched drain`: nodes of a world are cordoned, and their pods evicted through the eviction API."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial

from ksched_cli.api.pod_facts import uid_of_pod
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.evictions import NodeEvictions
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.pending_pods import MOST_CYCLES, PendingPods
from ksched_cli.plan.drain.pod_fates import Fates
from ksched_cli.plan.drain.resting_pods import NOTHING_MOVES, RestingPods, moved_forerunners
from ksched_cli.plan.drain.results import DrainResult, PodFate
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
        self._resting: RestingPods | None = None

    # What a sequence of drains needs beside them.

    def trial(self) -> AbstractContextManager[None]:
        """Everything inside the block is rolled back."""
        return self._world.trial()

    def place_pending(self) -> None:
        """Give the pending pods their nodes, and record from there."""
        self._pending.place()
        self._resting = self._pending.resting()
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
        world, resting = self._world, self._without_drain()
        for node in nodes:
            world.apply(partial(_cordon, node))
        draining = NodeEvictions(world, self._flags)
        self._pending.leave(nodes)
        self._pending.place()
        going = [draining.begin(node) for node in nodes]
        while sum(draining.evict(node) for node in going if node.left and not node.timed_out):
            pass
        draining.run()
        fates = Fates(world, self._reasons, resting.preempted)
        preempted = [each for each in world.recorder.preempted if uid_of_pod(each.pod) not in resting.preempted]
        counted = {uid_of_pod(pod) for node in going for pod in node.evict} - resting.preempted
        counted |= {uid_of_pod(each.pod) for each in preempted}
        return DrainResult(
            tuple(map(fates.node_drain, going)),
            draining.budgets.changes([*draining.asked, *(each.pod for each in preempted)]),
            tuple(map(fates.evicted, preempted)),
            self._pending.pods,
            self._pending.placed,
            tuple(self._displaced(fates, resting.placed, counted)),
            world.result(draining.ending, moved_only=self._moved_only),
        )

    def _without_drain(self) -> RestingPods:
        """Place the pending pods unless that is done. Returns where they come to rest without the drain."""
        if self._resting is not None:
            return self._resting
        self._pending.place()
        return self._pending.resting() if self._pending.pods else NOTHING_MOVES

    def _displaced(self, fates: Fates, placed: Collection[str], counted: Collection[str]) -> Iterator[PodFate]:
        """The pods of `placed`, which have a node without the drain, that have none with it. Pods of `counted` are part
        of the result already."""
        for pod in moved_forerunners(self._world):
            uid = uid_of_pod(pod)
            if uid in placed and uid not in counted and (fate := fates.waits(pod)) is not None:
                yield fate

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
