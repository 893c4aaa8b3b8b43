"""`ksched drain`: nodes of a world are cordoned, and their pods evicted through the eviction API."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ksched_cli.controlplane.draws import Alternative, Choices
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.drain.filters import Flags
from ksched_cli.plan.drain.in_orders import drain_in_orders
from ksched_cli.plan.drain.pending_pods import PendingPods, run_until_rest
from ksched_cli.plan.drain.resting_pods import RestingPods
from ksched_cli.plan.drain.results import DrainResult
from ksched_cli.plan.drain.single import SingleDrain
from ksched_cli.plan.drain.spare_copies import SpareCopies
from ksched_cli.plan.drain.unplaced import UnplacedReasons
from ksched_cli.plan.node_columns import NodeChanges, NodeColumns
from ksched_cli.plan.orders.chance import MOST_RISKS, Chance
from ksched_cli.plan.orders.runs import FIRST_ORDER, Run, run_in_order, run_in_orders, try_order
from ksched_cli.sources.loaded import Loaded
from ksched_cli.world.world import World


class DrainWorld:
    """A world whose nodes are drained: some nodes once, or many groups of nodes, each in a trial."""

    def __init__(self, scheduler: Scheduler, loaded: Loaded, flags: Flags, *, moved_only: bool = False) -> None:
        self._before = NodeColumns.of(scheduler.cluster)
        self._reasons = UnplacedReasons(scheduler.cluster.undo)
        self._chance = Chance()
        self.world = World(scheduler, loaded, keeps_timeline=False, trying=self._chance.trying, decided=self._decided)
        self._pending = PendingPods(self.world)
        self._single = SingleDrain(self.world, flags, self._pending, self._reasons, moved_only=moved_only)
        self.spares = SpareCopies(self.world)
        self._resting: RestingPods | None = None

    def _decided(self, decision: Decision) -> None:
        self._reasons(decision)
        self._chance.decided(decision)

    def place_pending(self) -> None:
        """Give the pending pods their nodes, and record from there."""
        self._pending.place()
        with self.world.trial():
            self.spares.set_aside()
            resting = self._pending.resting(self.spares.notice)
        self._resting = self._pending.resting() if self.spares.were_needed else resting
        self.spares.put_back()
        self.world.begin_record()

    def rest(self) -> None:
        """Go on until nothing moves."""
        run_until_rest(self.world)

    def waiting(self) -> list[str]:
        """The pods that have no node and are not held back."""
        return sorted(pod.info.key for pod in self.world.loop.queue if not pod.gated)

    def drain(self, nodes: Sequence[str], choices: Choices = FIRST_ORDER) -> DrainResult:
        """Drain the nodes while chance decides so."""
        return run_in_order(self.world, self._chance, self._run_of(nodes), choices)

    def drain_in_orders(self, nodes: Sequence[str]) -> DrainResult:
        """Drain the nodes in all orders that chance may take. The world is at the end of the first order then."""
        return run_in_orders(self.world, self._chance, self._run_of(nodes), drain_in_orders)

    def _run_of(self, nodes: Sequence[str]) -> Run[DrainResult]:
        """A drain of the nodes, after the pending pods have their nodes."""
        resting = self._resting
        if resting is None:
            self._pending.place()
            resting = self._pending.resting()

        def run(choices: Choices) -> DrainResult:
            result = self._single.run(nodes, resting)
            self.spares.notice()
            return replace(result, left_out=self.spares.count)

        return run

    def others(self, risks: int = MOST_RISKS) -> list[Alternative]:
        """Other outcomes of what chance decided in the last drain."""
        return self._chance.others(self.world, risks)

    def node_changes(self) -> NodeChanges:
        """The nodes at the beginning and now."""
        return NodeChanges(self._before, NodeColumns.of(self.world.cluster))

    def again(self, nodes: Sequence[str], choices: Choices) -> DrainResult:
        """The same drain in which chance decides so. It is rolled back."""
        return try_order(self.world, self._chance, self._run_of(nodes), choices)
