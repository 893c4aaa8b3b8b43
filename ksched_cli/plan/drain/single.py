"""One drain of some nodes of a world."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from ksched_cli.api.pod_facts import uid_of_pod
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.plan.drain.evictions import NodeEvictions
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.pending_pods import PendingPods
from ksched_cli.plan.drain.pod_fates import Fates
from ksched_cli.plan.drain.resting_pods import RestingPods, moved_forerunners
from ksched_cli.plan.drain.results import DrainResult, PodFate
from ksched_cli.plan.drain.unplaced import UnplacedReasons
from ksched_cli.whatif.edits.cordon import Cordon
from ksched_cli.whatif.edits.lib.editor import Editor
from ksched_cli.world.world import World


class SingleDrain:
    """Drains nodes of the world as it is now."""

    def __init__(
        self, world: World, flags: Flags, pending: PendingPods, reasons: UnplacedReasons, *, moved_only: bool
    ) -> None:
        self._world, self._flags, self._moved_only = world, flags, moved_only
        self._pending, self._reasons = pending, reasons

    def run(self, nodes: Sequence[str], resting: RestingPods) -> DrainResult:
        """Cordon the nodes, place the pending pods, and drain one node after the other (RunDrain). Nodes with refused
        evictions are tried again after the others, whose new pods may have helped."""
        world = self._world
        with world.cluster.specs_change_together():
            world.apply(partial(_cordon, nodes))
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
            draining.budgets.changes([*draining.requested, *(each.pod for each in preempted)]),
            tuple(map(fates.evicted, preempted)),
            self._pending.pods,
            self._pending.placed,
            tuple(self._displaced(fates, resting.placed, counted)),
            world.result(draining.ending, moved_only=self._moved_only),
        )

    def _displaced(self, fates: Fates, placed: Collection[str], counted: Collection[str]) -> Iterator[PodFate]:
        """The pods of `placed`, which have a node without the drain, that have none with it. Pods of `counted` are part
        of the result already."""
        for uid, pod in moved_forerunners(self._world):
            if uid in placed and uid not in counted and (fate := fates.waits(pod)) is not None:
                yield fate


def _cordon(nodes: Iterable[str], plane: ControlPlane) -> None:
    editor = Editor(plane)
    for node in nodes:
        Cordon(node).apply(editor)
