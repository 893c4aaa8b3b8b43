"""Scheduler.Run on a virtual clock: the next pod, its cycle, and what follows from that for queue and cache
(scheduleOnePod and handleSchedulingFailure). Cycles are serial, and a binding is done when it begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.cluster.pod_groups import group_of
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.undo import LoggedDict
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.handlers import EventHandlers, OnEvent, assigned
from ksched_cli.engine.hints import Hints, QueuedPod, VirtualClock
from ksched_cli.engine.pending import pending
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.engine.scheduling_queue import LEFTOVER_INTERVAL, Moved, QueueSettings, SchedulingQueue
from ksched_cli.framework.events import ASSIGNED_POD_DELETE
from ksched_cli.releases.engine_rules import EngineRules


class LoopStep(Struct, frozen=True):
    """What one turn came to: a pod's cycle, or that of its group. `concludes`: the pods had been held by Permit."""

    decisions: Sequence[Decision]
    concludes: bool = False


def _ignored(*_: object) -> None:
    return


def queue_settings(scheduler: Scheduler) -> QueueSettings:
    configuration, rules = scheduler.configuration, EngineRules.of(scheduler.cluster.release)
    return QueueSettings(
        initial_backoff=configuration.pod_initial_backoff_seconds,
        max_backoff=configuration.pod_max_backoff_seconds,
        pop_from_backoff=scheduler.handle.gates.enabled("SchedulerPopFromBackoffQ"),
        pod_groups=scheduler.schedules_groups,
        # unschedulableQTimeInterval.
        most_in_unschedulable=rules.seconds_in_unschedulable,
        updates_at_once=rules.updates_end_backoff,
        counts_attempts=rules.backoff_counts_attempts,
        gated_nominations=rules.gated_pods_keep_nominations,
        flushes_gated=rules.gated_pods_are_flushed,
    )


class SchedulingLoop:
    """Serial: a cycle takes no time, and binding is done when it is. Events come in through `handlers`."""

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        clock: VirtualClock | None = None,
        moved: Moved = _ignored,
        on_event: OnEvent = _ignored,
        trying: Callable[[Sequence[int]], None] = _ignored,
        decided: Callable[[Decision], None] = _ignored,
        write: Callable[[Pod], object] | None = None,
        settings: QueueSettings | None = None,
    ) -> None:
        """`write` stores pods that the scheduler has bound or nominated; without it the handlers get them at once.
        `settings`: those of the queue, without them those of the configuration and the minor."""
        self.scheduler = scheduler
        self.cluster = scheduler.cluster
        undo = self.cluster.undo
        self.clock = clock or VirtualClock(undo=undo)
        plugins = {name: runtime.profile.plugins for name, runtime in scheduler.runtimes.items()}
        self.hints = Hints(plugins, scheduler.handle)
        settings = settings or queue_settings(scheduler)
        self.queue = SchedulingQueue(
            scheduler.runtimes,
            scheduler.nominator,
            self.hints,
            self.clock,
            settings,
            moved=moved,
            groups=scheduler.groups if scheduler.holds_back_groups else None,
        )
        self.waiting = scheduler.let_permit_wait()
        self.handlers = EventHandlers(
            self.cluster, self.queue, self.waiting, scheduler.handle.gates, scheduler.runtimes.keys(), on_event
        )
        self._trying, self._decided = trying, decided
        self._write = write or self.handlers.put
        # Whether pods that find no place are tried again without a wait, because their group has found its places.
        self._at_once = False
        self._held: dict[int, QueuedPod] = LoggedDict(undo)
        self._tried_at: dict[int, int] = LoggedDict(undo)
        infos = self.cluster.pods.infos
        for row in sorted(
            pending(self.cluster), key=lambda row: (infos[row].created, infos[row].namespace, infos[row].name)
        ):
            info = infos[row]
            if info.pod.spec.scheduler_name in scheduler.runtimes:
                self.queue.add(row, info)

    # Cycles

    def has_work(self) -> bool:
        """Whether there is something to do before time passes."""
        return bool(self.waiting.decided()) or self._has_turn()

    def _has_turn(self) -> bool:
        """Whether a pod can have its cycle before time passes."""
        return len(self.queue.active) > 0 or any(map(self.is_worth_trying, self.queue.backoff.early()))

    def step(self) -> LoopStep | None:
        """The next turn; None if there is nothing to do before time passes."""
        decided = self.waiting.decided()
        if decided:
            return self._conclude([held.pod for held in decided])
        pod = self.queue.pop() if self._has_turn() else None
        return None if pod is None else self._run(pod)

    def is_worth_trying(self, pod: QueuedPod) -> bool:
        """Whether anything has happened since the pod was tried. If not, another cycle would end as the last one."""
        return self._tried_at.get(pod.row, -1) != self.handlers.changes

    def _run(self, pod: QueuedPod) -> LoopStep:
        nominated = self.scheduler.nominator.known()
        has_group = self.scheduler.schedules_groups and group_of(pod.info) is not None
        pods = self._group(pod) if has_group else [pod]
        for each in pods:
            self._tried_at[each.row] = self.handlers.changes
        self._trying([each.row for each in pods])
        if has_group:
            decisions = self.scheduler.schedule_group([each.row for each in pods])
        else:
            decisions = [self.scheduler.schedule(pod.row)]
        by_row = {each.row: each for each in pods}
        self._at_once = has_group and self.scheduler.tries_rest_at_once(pod.row)
        for decision in decisions:
            self._decided(decision)
            self._finish(by_row[decision.pod_row], decision)
        self._at_once = False
        self._publish_nominations(nominated)
        return LoopStep(decisions)

    def _group(self, pod: QueuedPod) -> list[QueuedPod]:
        """podGroupInfoForPod: all of the group's pods that wait in a queue."""
        key = group_of(pod.info)
        if key is None:
            return [pod]
        found = [pod]
        for row in self.scheduler.groups.members(key):
            other = self.queue.pop_specific(row) if row != pod.row else None
            if other is not None:
                found.append(other)
        # PodGroupMemberPodsOrderingFunc; where `completing_pod_is_first` holds, the scheduler orders them anew.
        return sorted(found, key=lambda each: (-each.attempts, each.timestamp, each.turn))

    def _conclude(self, infos: Iterable[PodInfo]) -> LoopStep:
        """WaitOnPermit is over for these pods."""
        decisions: list[Decision] = []
        nominated = self.scheduler.nominator.known()
        for info in infos:
            held = self.waiting.get(info.uid)
            if held is None:
                continue
            self.waiting.remove(held)
            queued = self._held.pop(held.decision.pod_row)
            decision = self.scheduler.cycle.conclude(held)
            self._decided(decision)
            self.handlers.changes += 1
            self._finish(queued, decision)
            decisions.append(decision)
        self._publish_nominations(nominated)
        return LoopStep(decisions, concludes=True)

    def _finish(self, pod: QueuedPod, decision: Decision) -> None:
        """The rest of scheduleOnePod."""
        row = pod.row
        is_gone = row in self.cluster.pods.gone
        if is_gone or decision.result == "skipped" or self.cluster.pods.infos[row].pod.spec.node_name:
            # Also a pod that another scheduler has bound while it waited.
            self.queue.done(row)
        elif decision.result == "scheduled" and decision.row is not None:
            self.queue.done(row)
            if pod.rejectors:
                pod.unschedulable_plugins = pod.pending_plugins = frozenset()
            name = self.cluster.nodes.names[decision.row]
            self._write(assigned(self.cluster.pods.infos[row].pod, name))
        elif decision.result == "waiting" and decision.row is not None:
            self._held[row] = pod
            held = self.waiting.get(pod.info.uid)
            if held is not None:
                held.since = self.clock.now
            self.handlers.changes += 1
        else:
            self._fail(pod, decision)

    def _fail(self, pod: QueuedPod, decision: Decision) -> None:
        """handleSchedulingFailure, and handleBindingCycleError for a pod that has lost the node it had."""
        rejected = decision.result == "unschedulable" and decision.diagnosis is not None
        diagnosis = decision.diagnosis if rejected else None
        pod.unschedulable_plugins = diagnosis.unschedulable_plugins if diagnosis else frozenset()
        pod.pending_plugins = frozenset(diagnosis.pending_plugins) if diagnosis else frozenset()
        pod.info = self.cluster.pods.infos[pod.row]
        if not decision.let_go:
            add = self.queue.add_rest if self._at_once else self.queue.add_unschedulable
            add(pod)
            return
        if not EngineRules.of(self.scheduler.handle.release).failed_binding_wakes_pods:
            # No event has reported that the node has room again.
            self.queue.add_unschedulable(pod)
            return
        gone = assigned(pod.info.pod, decision.let_go)
        if not rejected:
            self.queue.move_all(ASSIGNED_POD_DELETE, gone, None)
        self.queue.add_unschedulable(pod)
        if rejected:
            self.queue.move_all(ASSIGNED_POD_DELETE, gone, None, lambda info: info.uid != pod.info.uid)

    def _publish_nominations(self, before: dict[int, str]) -> None:
        """status.nominatedNodeName as the API server has it after a cycle: the preemptor's, and no longer that of the
        weaker pods which were nominated to its node."""
        after = self.scheduler.nominator.known()
        if after == before:
            return
        for row in sorted(row for row in before.keys() | after.keys() if before.get(row) != after.get(row)):
            info = self.cluster.pods.infos[row]
            if row not in self.cluster.pods.gone and not info.pod.spec.node_name and row not in self._held:
                self._write(_nominated(info.pod, after.get(row, "")))

    # The passing of time

    def advance_to(self, moment: float, arrives: Callable[[], None] = _ignored) -> None:
        """Let time pass, with all that kube-scheduler does by the clock; `arrives` is what else happens then."""
        before = self.clock.now
        self.clock.advance_to(moment)
        arrives()
        self.waiting.expire(self.clock.now)
        self.queue.flush_backoff()
        if self.clock.now // LEFTOVER_INTERVAL > before // LEFTOVER_INTERVAL:
            self.queue.flush_leftovers()

    def next_moment(self) -> float | None:
        """When something is due that could make a difference; None if nothing is."""
        moments = [self.queue.backoff.due(pod) for pod in self.queue.backoff if self.is_worth_trying(pod)]
        moments += [
            self.queue.leftover_due(pod)
            for pod in self.queue.unschedulable.values()
            if self.is_worth_trying(pod) and self.queue.flush_helps(pod)
        ]
        deadline = self.waiting.next_deadline()
        if deadline is not None:
            moments.append(deadline)
        return min(moments, default=None)


def _nominated(pod: Pod, node: str) -> Pod:
    return replace(pod, status=replace(pod.status, nominated_node_name=node))
