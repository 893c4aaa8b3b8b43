"""The pods that wait for a node before nodes are drained."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import uid_of_pod
from ksched_cli.cluster.undo import LoggedIndex, LoggedSet
from ksched_cli.plan.drain.resting_pods import NOTHING_MOVES, RestingPods, resting_pods
from ksched_cli.world.results import Limits
from ksched_cli.world.world import World

# kubectl drain waits without end (--timeout=0). The cycles until rest are limited against what never rests.
MOST_CYCLES = 100_000


def run_until_rest(world: World) -> None:
    """Go on until nothing moves."""
    world.run(Limits(math.inf, world.cycles + MOST_CYCLES))


class PendingPods:
    """They get their nodes at once, before any pod is evicted. A trial only looks at those that it moves."""

    def __init__(self, world: World) -> None:
        self._world, self._store = world, world.plane.store
        self._waiting = {uid_of_pod(pod.info.pod): pod.info.pod for pod in world.loop.queue if not pod.gated}
        self._placed: LoggedSet[str] = LoggedSet(world.undo)
        self._on: LoggedIndex[str, str, None] = LoggedIndex(world.undo)

    @property
    def pods(self) -> int:
        return len(self._waiting)

    @property
    def placed(self) -> int:
        return len(self._placed)

    def place(self) -> None:
        """Give each of the pods its cycle."""
        world = self._world
        world.run(Limits(world.clock.now))
        for uid in world.recorder.moved_uids():
            if uid in self._waiting:
                self._note(uid)

    def resting(self, at_rest: Callable[[], None] = lambda: None) -> RestingPods:
        """Where the pods come to rest as the cluster is now. Everything is rolled back once `at_rest` has looked."""
        if not self._waiting:
            return NOTHING_MOVES
        world = self._world
        with world.trial():
            self.place()
            run_until_rest(world)
            at_rest()
            return resting_pods(world)

    def _note(self, uid: str) -> None:
        pod = self._current(self._waiting[uid])
        node = self._world.recorder.node_of(pod) if pod is not None else ""
        if node:
            self._placed.add(uid)
            self._on.put(node, uid, None)
        else:
            self._placed.discard(uid)

    def leave(self, nodes: Sequence[str]) -> None:
        """Pods that took a place on one of these nodes wait for a node again."""
        names = frozenset(nodes)
        for uid in [uid for node in nodes for uid in self._on.get(node, ())]:
            pod = self._waiting[uid]
            current = self._current(pod)
            if current is not None and current.spec.node_name in names:
                self._world.requeue(pod)

    def _current(self, pod: Pod) -> Pod | None:
        current = self._store.current(pod)
        return current if current is not None and uid_of_pod(current) == uid_of_pod(pod) else None
