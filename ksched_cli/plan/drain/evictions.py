"""The evictions of kubectl drain: list the pods of nodes, and request each eviction until it is granted."""

from __future__ import annotations

import math

from ksched_cli.api.core import Pod
from ksched_cli.api.pod_facts import pod_key, uid_of_pod
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.plan.drain.budget_watch import BudgetWatch
from ksched_cli.plan.drain.filters import DrainFilters, Flags
from ksched_cli.plan.drain.pending_pods import MOST_CYCLES
from ksched_cli.plan.drain.pod_fates import SortedNode
from ksched_cli.world.results import Ending, Limits
from ksched_cli.world.world import World


class NodeEvictions:
    """`requested` are the pods whose eviction was requested. `ending` is the first one that is not rest."""

    def __init__(self, world: World, flags: Flags) -> None:
        self._world, self._drainer, self._store = world, world.plane.drainer, world.plane.store
        self._flags = flags
        self._filters = DrainFilters(flags, self._store.of(DaemonSet))
        self.budgets = BudgetWatch(world.api)
        self.requested: list[Pod] = []
        self.ending: Ending = "settled"

    def run(self, seconds: float = math.inf) -> None:
        """Go on until nothing moves, or for so many seconds."""
        limit = self._world.clock.now + seconds
        ending = self._world.run(Limits(limit, self._world.cycles + MOST_CYCLES))
        if seconds < math.inf and ending == "max-time":
            return
        self.ending = ending if self.ending == "settled" else self.ending

    def begin(self, name: str) -> SortedNode:
        """List the pods of the node as kubectl does, and evict them unless it refuses one of them."""
        node = SortedNode(name)
        for pod in sorted(self._store.pods_on(name), key=pod_key):
            node.add(pod, self._filters.judge(pod))
        node.left = [] if node.refused else list(node.evict)
        self.requested += node.left
        if node.left:
            self._request(node)
        return node

    def evict(self, node: SortedNode) -> bool:
        """Request the evictions of the pods that are left. Returns whether any was granted."""
        node.left = [pod for pod in node.left if self._is_there(pod)]
        return self._request(node)

    def _request(self, node: SortedNode) -> bool:
        """Request all evictions, each again every 5 s, until nothing moves or kubectl's time is over. Returns whether
        any was granted."""
        flags, granted = self._flags, self._drainer.granted
        self._drainer.evict(node.left, deletes=flags.disable_eviction, grace=flags.grace_period)
        if flags.timeout is not None:
            self.run(flags.timeout)
            node.timed_out = any(map(self._is_there, node.left))
            self._drainer.give_up()
        self.run()
        self._drainer.give_up()
        left = [pod for pod in node.left if uid_of_pod(pod) not in granted]
        any_granted = len(left) < len(node.left)
        node.left = [pod for pod in left if self._is_there(pod)]
        return any_granted

    def _is_there(self, pod: Pod) -> bool:
        current = self._store.current(pod)
        return current is not None and uid_of_pod(current) == uid_of_pod(pod)
