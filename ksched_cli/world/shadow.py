"""Schedulers with other rules that follow a world: they see every change of the world and place no pod. `diff` asks
them what the other minor or configuration would decide at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.dynamic_resources import ResourceClaim
from ksched_cli.api.object_facts import uid_of_pod
from ksched_cli.api.storage import PersistentVolume, PersistentVolumeClaim
from ksched_cli.cluster.columns import RowColumn
from ksched_cli.engine.decision import Decision, ScoreTable
from ksched_cli.engine.loop import SchedulingLoop
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.world.world import World

if TYPE_CHECKING:
    from ksched_cli.engine.gang import GroupDecision

# Objects that a cycle changes in the catalog, without a write to the API server.
_CHANGED_BY_CYCLES = (PersistentVolume, PersistentVolumeClaim, ResourceClaim)


class ChangeLog:
    """All changes of pods and nodes in a world, from its beginning on. `sent` has new pods as their controllers sent
    them, by uid: the API server drops the fields that its minor lacks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.made: list[tuple[Any, Any]] = []
        self.sent: dict[str, Pod] = {}
        self._stored_form = world.api.stored_form
        world.api.stored_form = self._store
        world.api.watch(self._changed)

    def _store(self, pod: Pod) -> Any:
        self.sent[uid_of_pod(pod)] = pod
        return self._stored_form(pod)

    def _changed(self, old: Any, new: Any) -> None:
        if old is not new and isinstance(old if new is None else new, Pod | Node):
            self.made.append((old, new))


class ShadowScheduler:
    """`scheduler` is the world's own, or it is made of the same objects, so that pods have the same rows in both. Nodes
    have other rows where the minor has another order of nodes; decisions have the rows of the world. `stored` returns a
    new pod with the fields that the follower's minor has."""

    def __init__(self, changes: ChangeLog, scheduler: Scheduler, stored: Callable[[Pod], Pod]) -> None:
        self.scheduler, self._changes, self._stored = scheduler, changes, stored
        self._leads = scheduler is changes.world.scheduler
        self._handlers = changes.world.loop.handlers if self._leads else SchedulingLoop(scheduler).handlers
        self._seen = 0
        self._catalogs = (-1, -1)
        self._match_nodes()

    def _match_nodes(self) -> None:
        """Map the row of each node in one cluster to its row in the other."""
        theirs, mine = self._changes.world.cluster.nodes, self.scheduler.cluster.nodes
        self.row_of = np.array([mine.row_of.get(name, -1) for name in theirs.names], dtype=np.int64)
        self._row_there = np.array([theirs.row_of.get(name, -1) for name in mine.names], dtype=np.int64)

    def decide_dry(self, pod_row: int) -> Decision:
        """The decision of the follower about the pod now. The diagnosis has the follower's rows."""
        decision, there = self.catch_up().decide_dry(pod_row), self._row_there
        return replace(
            decision,
            row=None if decision.row is None else int(there[decision.row]),
            ties=there[decision.ties],
            feasible=np.sort(there[decision.feasible]),
            scores=self._there(decision.scores),
        )

    def ask_group(self, pod_rows: Sequence[int]) -> GroupDecision | None:
        """The decision of the follower about the group of these pods now, with the follower's rows of nodes. None if it
        has no cycle for groups, or lets none of the pods into its queue."""
        scheduler = self.catch_up()
        rows = scheduler.enqueue(pod_rows).active if scheduler.schedules_groups else ()
        return scheduler.ask_group(rows) if rows else None

    def scores_of(self, pod_row: int, rows: RowColumn) -> ScoreTable | None:
        return self._there(self.catch_up().scores_of(pod_row, np.sort(self.row_of[rows])))

    def _there(self, table: ScoreTable | None) -> ScoreTable | None:
        return None if table is None else table.with_rows(self._row_there[table.rows])

    def catch_up(self) -> Scheduler:
        """The scheduler in the present state of the world."""
        changes = self._changes.made[self._seen :]
        for old, new in () if self._leads else changes:
            if new is None:
                self._handlers.delete(old)
            else:
                self._handlers.put(self._own(new) if isinstance(new, Pod) else new)
        self._seen = len(self._changes.made)
        if any(isinstance(old or new, Node) for old, new in changes):
            self._match_nodes()
        leader, cluster = self._changes.world.scheduler, self.scheduler.cluster
        for row in leader.cluster.preempted - cluster.preempted:
            cluster.terminate(row)
            cluster.preempted.add(row)
        if (leader.cluster.catalog.version, cluster.catalog.version) != self._catalogs:
            cluster.catalog.copy_kinds(leader.cluster.catalog, _CHANGED_BY_CYCLES)
            self._catalogs = leader.cluster.catalog.version, cluster.catalog.version
        self.scheduler.cycle.next_start = leader.cycle.next_start
        return self.scheduler

    def _own(self, new: Pod) -> Pod:
        """The pod with the fields of the follower's minor."""
        row = self.scheduler.cluster.pods.row_of.get(uid_of_pod(new))
        if row is None:
            return self._stored(self._changes.sent.get(uid_of_pod(new), new))
        known = self.scheduler.cluster.pods.infos[row].pod
        status = replace(
            known.status,
            phase=new.status.phase,
            start_time=new.status.start_time,
            conditions=new.status.conditions,
            nominated_node_name=new.status.nominated_node_name,
        )
        return replace(
            known, metadata=new.metadata, spec=replace(known.spec, node_name=new.spec.node_name), status=status
        )
