"""`ksched drain`: nodes of a world are cordoned, and their pods evicted through the eviction API."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import pod_key, uid_of_pod
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.budget_watch import BudgetWatch
from ksched_cli.plan.drain.filters import Filters, Flags
from ksched_cli.plan.drain.pending_pods import PendingPods
from ksched_cli.plan.drain.pod_fates import Fates, SortedNode
from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.drain.unplaced import UnplacedReasons
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.edits.cordon import Cordon
from ksched_cli.whatif.edits.lib.editor import Editor
from ksched_cli.world.results import Ending, Limits
from ksched_cli.world.world import World

# kubectl drain waits without end (--timeout=0). The cycles until rest are limited against what never rests.
_MOST_CYCLES = 100_000


class DrainWorld:
    """A world whose nodes are drained: some nodes once, or many groups of nodes, each in a trial."""

    def __init__(self, scheduler: Scheduler, loaded: Loaded, flags: Flags, *, moved_only: bool = False) -> None:
        self._reasons = UnplacedReasons(scheduler.cluster.undo)
        self._world = World(scheduler, loaded, decided=self._reasons)
        self._flags, self._moved_only = flags, moved_only
        self._pending = PendingPods(self._world)

    def drain(self, nodes: Sequence[str]) -> DrainResult:
        """Cordon the nodes, place the pending pods, and drain one node after the other (RunDrain). Nodes with refused
        evictions are tried again after the others, whose new pods may have helped."""
        world = self._world
        for node in nodes:
            world.apply(partial(_cordon, node))
        draining = _Draining(world, self._flags)
        self._pending.leave(nodes)
        self._pending.place()
        already = len(world.recorder.preempted)
        going = [draining.begin(node) for node in nodes]
        while sum(draining.evict(node) for node in going if node.left):
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

    def drain_each(self, groups: Iterable[Sequence[str]]) -> Iterator[DrainResult]:
        """Place the pending pods once, and drain each group from there."""
        self._pending.place()
        self._world.begin_record()
        for nodes in groups:
            with self._world.trial():
                result = self.drain(nodes)
            yield result


def _cordon(node: str, plane: ControlPlane) -> None:
    Cordon(node).apply(Editor(plane))


class _Draining:
    """`asked` are the pods whose eviction was asked for. `ending` is the first one that is not rest."""

    def __init__(self, world: World, flags: Flags) -> None:
        self._world, self._drainer, self._store = world, world.plane.drainer, world.plane.store
        self._filters = Filters(flags, self._store.of(DaemonSet))
        self.budgets = BudgetWatch(world.api)
        self.asked: list[Pod] = []
        self.ending: Ending = "settled"

    def _run(self) -> None:
        ending = self._world.run(Limits(math.inf, self._world.cycles + _MOST_CYCLES))
        self.ending = ending if self.ending == "settled" else self.ending

    def begin(self, name: str) -> SortedNode:
        """List the pods of the node as kubectl does, and evict them unless it refuses one of them."""
        node = SortedNode(name)
        for pod in sorted(self._store.pods_on(name), key=pod_key):
            node.add(pod, self._filters.judge(pod))
        node.left = [] if node.refused else list(node.evict)
        self.asked += node.left
        if node.left:
            self.evict(node)
        return node

    def evict(self, node: SortedNode) -> bool:
        """Request all evictions, each again every 5 s, until nothing moves. Returns whether any was granted."""
        node.left = [pod for pod in node.left if self._is_there(pod)]
        self._drainer.evict(node.left)
        self._run()
        self._drainer.give_up()
        granted = [pod for pod in node.left if uid_of_pod(pod) in self._drainer.granted]
        node.left = [pod for pod in node.left if pod not in granted and self._is_there(pod)]
        return bool(granted)

    def _is_there(self, pod: Pod) -> bool:
        current = self._store.current(pod)
        return current is not None and uid_of_pod(current) == uid_of_pod(pod)
