"""The scheduling queue (backend/queue.PriorityQueue): which pod is next, and which pods an event brings back.

Its parts come first: a heap that pods can be taken out of by their row (backend/heap), the pods that wait for their
backoff (backoffQueue), and the pods whose cycle is under way (activeQueue.inFlightPods, inFlightEvents).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.cluster.pod_groups import GroupKey, PodGroups, group_of
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.undo import Logged, LoggedDict, LoggedList, UndoLog
from ksched_cli.engine.cycle.runtime import Runtime
from ksched_cli.engine.faults import PluginFault
from ksched_cli.engine.hints import Hints, QueuedPod, Strategy, VirtualClock
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.pending import held_with
from ksched_cli.framework.events import (
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_UPDATE,
    WILDCARD,
    Action,
    ClusterEvent,
    matches_any,
)
from ksched_cli.framework.status import Status, error

if TYPE_CHECKING:
    from random import Random


Order = Callable[[QueuedPod], tuple[Any, ...]]
# Of an entry of `_pods`.
_POD: Callable[[tuple[int, QueuedPod]], QueuedPod] = itemgetter(1)


class PodHeap:
    """Lowest key first. What was taken out or replaced stays in the heap until it comes up, and is passed over."""

    def __init__(self, order: Order, undo: UndoLog) -> None:
        self._order = order
        self._undo = undo
        self._pods: dict[int, tuple[int, QueuedPod]] = LoggedDict(self._undo)
        self._heap: list[tuple[tuple[Any, ...], int, int]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, row: int) -> bool:
        return row in self._pods

    def __iter__(self) -> Iterator[QueuedPod]:
        return map(_POD, self._pods.values())

    def turns_of(self, rows: Collection[int | None]) -> int:
        """How many pods come up until all of these have."""
        last = max((self._order(pod) for pod in self if pod.row in rows), default=None)
        return 0 if last is None else sum(self._order(pod) <= last for pod in self)

    def put(self, pod: QueuedPod) -> None:
        """Add the pod, or put it where it belongs by now."""
        self._count += 1
        self._undo.save_copy(self._heap)
        self._pods[pod.row] = self._count, pod
        heapq.heappush(self._heap, (self._order(pod), self._count, pod.row))

    def get(self, row: int) -> QueuedPod | None:
        found = self._pods.get(row)
        return found[1] if found else None

    def remove(self, row: int) -> QueuedPod | None:
        found = self._pods.pop(row, None)
        return found[1] if found else None

    def peek(self) -> QueuedPod | None:
        while self._heap:
            _, count, row = self._heap[0]
            current = self._pods.get(row)
            if current is not None and current[0] == count:
                return current[1]
            self._undo.save_copy(self._heap)
            heapq.heappop(self._heap)
        return None

    def pop(self) -> QueuedPod | None:
        self._undo.save_copy(self._heap)
        while self._heap:
            _, count, row = heapq.heappop(self._heap)
            current = self._pods.get(row)
            if current is not None and current[0] == count:
                del self._pods[row]
                return current[1]
        return None


# Within a second pods are in the order of the active queue, and each second is flushed as a whole.
ORDERING_WINDOW = 1.0

NEVER_TRIED = -math.inf


class BackoffQueue:
    """Pods that plugins rejected, and, apart, pods that met an error: those are never taken early."""

    def __init__(self, clock: VirtualClock, order: Order, *, initial: float, most: float, pop_early: bool) -> None:
        self._clock = clock
        self._initial, self._most = initial, most
        self._aligned = pop_early

        def by_window(pod: QueuedPod) -> tuple[object, ...]:
            return (self.expiration(pod), *order(pod)) if pop_early else (self.expiration(pod),)

        self._rejected = PodHeap(by_window, clock.undo)
        self._failed = PodHeap(lambda pod: (self.expiration(pod),), clock.undo)

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def __contains__(self, row: int) -> bool:
        return row in self._rejected or row in self._failed

    def __iter__(self) -> Iterator[QueuedPod]:
        return chain(self._rejected, self._failed)

    def _window(self, moment: float) -> float:
        return math.floor(moment / ORDERING_WINDOW) * ORDERING_WINDOW if self._aligned else moment

    def expiration(self, pod: QueuedPod) -> float:
        """getBackoffTime: worked out once and kept until the next attempt is over."""
        if not self._most or not pod.backoff_count:
            return NEVER_TRIED
        if pod.backoff_expiration is None:
            pod.backoff_expiration = self._window(pod.timestamp + self.duration(pod.backoff_count))
        return pod.backoff_expiration

    def duration(self, count: int) -> float:
        """calculateBackoffDuration: doubled with every attempt, up to the maximum."""
        if not count:
            return 0.0
        # Beyond any sensible maximum; 2.0**1024 is not a number any more.
        doubled = self._initial * 2.0 ** min(count - 1, 512)
        return min(doubled, self._most)

    def waits(self, pod: QueuedPod) -> bool:
        """isPodBackingoff: also for as long as the second in which its time is up has not passed."""
        return self.expiration(pod) >= self._window(self._clock.now)

    def due(self, pod: QueuedPod) -> float:
        """The first flush that takes the pod."""
        expiration = self.expiration(pod)
        if expiration == NEVER_TRIED:
            return math.floor(self._clock.now) + ORDERING_WINDOW
        return (math.floor(expiration / ORDERING_WINDOW) + 1) * ORDERING_WINDOW

    def put(self, pod: QueuedPod) -> None:
        (self._rejected if pod.rejectors else self._failed).put(pod)

    def update(self, pod: QueuedPod) -> None:
        """The pod's object has changed."""
        (self._rejected if pod.row in self._rejected else self._failed).put(pod)

    def get(self, row: int) -> QueuedPod | None:
        return self._rejected.get(row) or self._failed.get(row)

    def remove(self, row: int) -> QueuedPod | None:
        return self._rejected.remove(row) or self._failed.remove(row)

    def early(self) -> Iterator[QueuedPod]:
        """The pods that may be taken before their time."""
        return iter(self._rejected if self._aligned else ())

    def pop_early(self) -> QueuedPod | None:
        """popBackoff: before its time, because there is nothing else to do."""
        return self._rejected.pop() if self._aligned else None

    def pop_completed(self) -> list[QueuedPod]:
        """popAllBackoffCompleted."""
        done: list[QueuedPod] = []
        for heap in (self._rejected, self._failed):
            while (first := heap.peek()) is not None and not self.waits(first):
                heap.remove(first.row)
                done.append(first)
        return done


class QueueEvent(NamedTuple):
    """An event with the objects that it is about: None for `old` where something was added, for `new` where it went."""

    event: ClusterEvent
    old: Any
    new: Any


class InFlight(Logged):
    """Events are kept for as long as a pod is in flight that was there when they happened."""

    def __init__(self, undo: UndoLog | None = None) -> None:
        self.undo = undo or UndoLog()
        self._since: dict[int, int] = LoggedDict(self.undo)
        self._events: list[tuple[int, QueueEvent]] = LoggedList(self.undo)
        self._count = 0

    def __len__(self) -> int:
        return len(self._since)

    def __contains__(self, row: int) -> bool:
        return row in self._since

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    @property
    def events(self) -> list[QueueEvent]:
        return [queue_event for _, queue_event in self._events]

    def start(self, row: int) -> None:
        self._count += 1
        self._since[row] = self._count

    def note(self, *queue_events: QueueEvent) -> bool:
        """Remember these if any pod is in flight."""
        if not self._since:
            return False
        for queue_event in queue_events:
            self._count += 1
            self._events.append((self._count, queue_event))
        return True

    def note_for(self, row: int, queue_events: Iterable[QueueEvent]) -> bool:
        """addEventsIfPodInFlight: remember these if this pod is."""
        return row in self._since and self.note(*queue_events)

    def meanwhile(self, row: int) -> list[QueueEvent]:
        """clusterEventsForPod."""
        since = self._since[row]
        return [queue_event for count, queue_event in self._events if count > since]

    def done(self, row: int) -> None:
        if self._since.pop(row, None) is None or not self._events:
            return
        oldest = min(self._since.values(), default=None)
        left = () if oldest is None else (each for each in self._events if each[0] > oldest)
        self._events = LoggedList(self.undo, left)


# Why a pod moves where no event of the cluster is the reason.
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF_QUEUE = "PopFromBackoffQ"
UNSCHEDULABLE_TIMEOUT = ClusterEvent(WILDCARD, Action.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(WILDCARD, Action.ALL, "ForceActivate")

ACTIVE: Literal["active"] = "active"
BACKOFF: Literal["backoff"] = "backoff"
UNSCHEDULABLE: Literal["unschedulable"] = "unschedulable"
QueueName = Literal["active", "backoff", "unschedulable"]

# Why a pod comes to a queue as the API server has it.
_FROM_INFORMER = (UNSCHEDULED_POD_ADD.label, UNSCHEDULED_POD_UPDATE.label)

# How often kube-scheduler looks for pods that have been unschedulable for too long, in seconds.
LEFTOVER_INTERVAL = 30.0


class QueueSettings(Struct, frozen=True):
    """Times are in seconds. `most_in_unschedulable` is podMaxInUnschedulablePodsDuration; `pod_groups` is for the gate
    that gives a group one cycle; with `updates_at_once` a pod whose object changes need not wait any longer; with
    `counts_attempts` the backoff grows with every attempt, whatever came of it; with `gated_nominations` pods that
    PreEnqueue holds back are nominated, and with `flushes_gated` they are flushed as well."""

    initial_backoff: float = 1.0
    max_backoff: float = 10.0
    most_in_unschedulable: float = 300.0
    pop_from_backoff: bool = True
    pod_groups: bool = False
    updates_at_once: bool = False
    counts_attempts: bool = False
    gated_nominations: bool = False
    flushes_gated: bool = False


DEFAULT_SETTINGS = QueueSettings()

Moved = Callable[[QueuedPod, QueueName, str], None]
PreCheck = Callable[[PodInfo], bool]


class SchedulingQueue:
    """Every pending pod is in one of three places, or in flight. `moved` is called for each pod that comes to a
    queue. With `groups`, a pod that PreEnqueue holds back holds back all of its group."""

    def __init__(
        self,
        runtimes: Mapping[str, Runtime],
        nominator: NominatedPods,
        hints: Hints,
        clock: VirtualClock,
        settings: QueueSettings,
        moved: Moved = lambda pod, queue, event: None,
        groups: PodGroups | None = None,
    ) -> None:
        self.clock = clock
        self.settings = settings
        self.hints = hints
        self.active = PodHeap(self._order, clock.undo)
        self.backoff = BackoffQueue(
            clock,
            self._order,
            initial=settings.initial_backoff,
            most=settings.max_backoff,
            pop_early=settings.pop_from_backoff,
        )
        self.unschedulable: dict[int, QueuedPod] = LoggedDict(clock.undo)
        self.in_flight = InFlight(clock.undo)
        self._runtimes = runtimes
        self._nominator = nominator
        self._moved = moved
        self._turns = count()
        self._groups = groups
        # The pods of each group that PreEnqueue holds back.
        self._holding: dict[GroupKey, tuple[int, ...]] = LoggedDict(clock.undo)

    def _order(self, pod: QueuedPod) -> tuple[Any, ...]:
        """The profile's QueueSort; then who has waited longest in the queue."""
        sort = self._runtimes[pod.info.pod.spec.scheduler_name].profile.queue_sort
        return (*sort.sort_key(pod.info), pod.timestamp, pod.turn)

    def _queued(self, row: int, info: PodInfo) -> QueuedPod:
        return QueuedPod(row, info, self.clock.now, turn=next(self._turns), undo=self.clock.undo)

    def __iter__(self) -> Iterator[QueuedPod]:
        """All pods but those in flight."""
        yield from self.active
        yield from self.backoff
        yield from self.unschedulable.values()

    def find(self, row: int) -> tuple[QueueName, QueuedPod] | None:
        """Where the pod is; None if it is in flight or unknown."""
        if (pod := self.active.get(row)) is not None:
            return ACTIVE, pod
        if (pod := self.backoff.get(row)) is not None:
            return BACKOFF, pod
        pod = self.unschedulable.get(row)
        return None if pod is None else (UNSCHEDULABLE, pod)

    def shuffle(self, random: Random) -> None:
        """Let the pods of the active queue have come in a random order. Pods that QueueSort orders keep theirs."""
        pods = sorted(self.active, key=lambda pod: pod.turn)
        turns = [pod.turn for pod in pods]
        random.shuffle(pods)
        for pod, turn in zip(pods, turns, strict=True):
            pod.turn = turn
            self.active.put(pod)

    # Coming and going

    def add(self, row: int, info: PodInfo) -> None:
        """A new pod. A group that waits as a whole has it wait along (addToPodGroupIfExists)."""
        pod = self._queued(row, info)
        key = group_of(info) if self._groups is not None else None
        found = None if key is None else next(self._waiting(key, row), None)
        if key is None or found is None or found[0] == ACTIVE:
            self._to_active(pod, UNSCHEDULED_POD_ADD.label)
        else:
            self._nominator.follow_status(row, info.pod.status.nominated_node_name)
            self._join(key, pod, *found)

    def add_again(self, row: int, info: PodInfo) -> None:
        """Another version of a pod, which is tried at once whatever has changed; in its turn, if it waits."""
        found = self.find(row)
        if found is None:
            self.add(row, info)
            return
        found[1].info = info
        self._to_active(found[1], UNSCHEDULED_POD_ADD.label)

    def update(self, row: int, info: PodInfo, old: Pod, events: Sequence[ClusterEvent]) -> None:
        """Update: the object of a pending pod has changed, and these are the changes."""
        new = info.pod
        if self.in_flight.note_for(row, [QueueEvent(event, old, new) for event in events]):
            return
        found = self.find(row)
        if found is None:
            self._to_active(self._queued(row, info), UNSCHEDULED_POD_UPDATE.label)
            return
        where, pod = found
        pod.info = info
        self._nominator.update(row, old.status.nominated_node_name, new.status.nominated_node_name)
        changed = (old.metadata, old.spec) != (new.metadata, new.spec)
        if where == ACTIVE:
            self.active.put(pod)
        elif self.settings.updates_at_once and (where == BACKOFF or changed):
            self._to_active(pod, UNSCHEDULED_POD_UPDATE.label)
        elif where == BACKOFF:
            self.backoff.update(pod)
        elif not self.hints.enabled:
            if changed:
                self._requeue(pod, Strategy.AFTER_BACKOFF, UNSCHEDULED_POD_UPDATE.label)
        else:
            for event in events:
                strategy = self.hints.worth_requeuing(pod, event, old, new)
                if self._requeue(pod, strategy, event.label) != UNSCHEDULABLE:
                    break

    def delete(self, row: int) -> None:
        """The pod is deleted, or another scheduler has bound it."""
        self._nominator.delete(row)
        found = self.find(row) if self._groups is not None else None
        key = group_of(found[1].info) if found is not None else None
        if key is not None and row in self._holding.get(key, ()):
            # The others are held back until they are looked at again.
            self._holding[key] = tuple(each for each in self._holding[key] if each != row)
        if self.active.remove(row) is None and self.backoff.remove(row) is None:
            self.unschedulable.pop(row, None)

    def pop(self) -> QueuedPod | None:
        """The next pod, now in flight; where the active queue is empty, a pod that should still wait."""
        pod = self.active.pop()
        if pod is None:
            pod = self.backoff.pop_early()
            if pod is None:
                return None
            self._moved(pod, ACTIVE, POP_FROM_BACKOFF_QUEUE)
        self._take_off(pod)
        return pod

    def pop_specific(self, row: int) -> QueuedPod | None:
        """PopSpecificPod: this pod, wherever it waits, unless PreEnqueue holds it back."""
        self._activate(row)
        pod = self.active.remove(row)
        if pod is not None:
            self._take_off(pod)
        return pod

    def _take_off(self, pod: QueuedPod) -> None:
        pod.attempts += 1
        self.in_flight.start(pod.row)

    def done(self, row: int) -> None:
        """The pod's cycle is over."""
        self.in_flight.done(row)

    def add_unschedulable(self, pod: QueuedPod) -> None:
        """AddUnschedulableIfNotPresent: the pod's cycle failed. It goes where what happened meanwhile sends it."""
        if self.settings.counts_attempts:
            pod.unschedulable_count = pod.attempts
        elif pod.rejectors:
            pod.unschedulable_count += 1
            pod.consecutive_errors = 0
        else:
            pod.consecutive_errors += 1
        pod.timestamp = self.clock.now
        pod.turn = next(self._turns)
        pod.backoff_expiration = None
        self._requeue(pod, self._strategy_after_cycle(pod), SCHEDULE_ATTEMPT_FAILURE)
        self.done(pod.row)

    def add_rest(self, pod: QueuedPod) -> None:
        """AddAttemptedPodGroupIfNeeded, for a pod that found no place when its group did: it keeps its turn."""
        pod.unschedulable_count = pod.consecutive_errors = 0
        self._to_active(pod, SCHEDULE_ATTEMPT_FAILURE)
        self.done(pod.row)

    def _strategy_after_cycle(self, pod: QueuedPod) -> Strategy:
        """determineSchedulingHintForInFlightPod. A pod of a group comes back by backoff alone. Without hints any event
        will do (addUnschedulableWithoutQueueingHint)."""
        meanwhile = self.in_flight.meanwhile(pod.row)
        if not pod.rejectors or (self.settings.pod_groups and pod.info.pod.spec.scheduling_group is not None):
            waits = pod.rejectors or self.hints.errors_back_off or meanwhile
            return Strategy.AFTER_BACKOFF if waits else Strategy.SKIP
        if not self.hints.enabled:
            return Strategy.AFTER_BACKOFF if meanwhile else Strategy.SKIP
        strategies = (self.hints.worth_requeuing(pod, event, old, new) for event, old, new in meanwhile)
        return max(strategies, default=Strategy.SKIP)

    # Events

    def move_all(self, event: ClusterEvent, old: Any, new: Any, pre_check: PreCheck | None = None) -> None:
        """MoveAllToActiveOrBackoffQueue: an event may help any of the unschedulable pods."""
        if not (self.unschedulable or self.in_flight) or not self.hints.of_interest(event):
            return
        pods = self.unschedulable.values()
        self._move([pod for pod in pods if pre_check is None or pre_check(pod.info)], event, old, new)

    def _move(self, pods: Iterable[QueuedPod], event: ClusterEvent, old: Any, new: Any) -> None:
        for pod in pods:
            if pod.row not in self.unschedulable:
                # It left with its group.
                continue
            flushed = event.wildcard and self.settings.flushes_gated
            if pod.gated and not flushed and not matches_any(event, pod.gating_events):
                continue
            if not self.hints.reaches(pod, event, new):
                continue
            strategy = self.hints.worth_requeuing(pod, event, old, new)
            if strategy is not Strategy.SKIP:
                self._requeue(pod, strategy, event.label)
        self.in_flight.note(QueueEvent(event, old, new))

    def _activate(self, row: int) -> bool:
        pod, waited = self.unschedulable.get(row), False
        if pod is None:
            pod, waited = self.backoff.remove(row), True
        return pod is not None and self._to_active(pod, FORCE_ACTIVATE.label, from_backoff=waited)

    # The passing of time

    def flush_backoff(self) -> None:
        """flushBackoffQCompleted, once a second."""
        for pod in self.backoff.pop_completed():
            self._to_active(pod, BACKOFF_COMPLETE, from_backoff=True)

    def flush_leftovers(self) -> None:
        """flushUnschedulablePodsLeftover, every half minute."""
        latest = self.clock.now - self.settings.most_in_unschedulable
        stayed = [pod for pod in self.unschedulable.values() if pod.waits_since < latest]
        if stayed:
            for pod in stayed:
                pod.flushed = self.clock.now
            self._move(stayed, UNSCHEDULABLE_TIMEOUT, None, None)

    def leftover_due(self, pod: QueuedPod) -> float:
        """The flush that takes an unschedulable pod if nothing else moves it."""
        ends = max(pod.waits_since + self.settings.most_in_unschedulable, self.clock.now)
        return (ends // LEFTOVER_INTERVAL + 1) * LEFTOVER_INTERVAL

    def flush_helps(self, pod: QueuedPod) -> bool:
        """Whether a flush may bring back an unschedulable pod: not if it is held back by more than its group was."""
        key = group_of(pod.info) if pod.gated and self.settings.flushes_gated else None
        return not pod.gated or (key is not None and self._holding.get(key) == ())

    # Between the queues

    def _requeue(self, pod: QueuedPod, strategy: Strategy, event: str) -> QueueName:
        """requeuePodWithQueueingStrategy; where the pod went."""
        if strategy is Strategy.SKIP:
            self._to_unschedulable(pod, event)
            return UNSCHEDULABLE
        if strategy is Strategy.AFTER_BACKOFF and self.backoff.waits(pod):
            return BACKOFF if self._to_backoff(pod, event) else UNSCHEDULABLE
        return ACTIVE if self._to_active(pod, event) else UNSCHEDULABLE

    def _to_active(self, pod: QueuedPod, event: str, *, from_backoff: bool = False) -> bool:
        """moveToActiveQ. PreEnqueue ran for a pod of the backoff queue when the pod went there."""
        let_go: list[QueuedPod] = []
        if not (from_backoff and self.settings.pop_from_backoff):
            let_go = self._run_pre_enqueue(pod, event)
        if event in _FROM_INFORMER and (self.settings.gated_nominations or not pod.gated):
            self._nominator.follow_status(pod.row, pod.info.pod.status.nominated_node_name)
        if pod.gated:
            if pod.row not in self.active and pod.row not in self.backoff:
                self._to_unschedulable(pod, event)
            return False
        if pod.first_tried is None:
            pod.first_tried = self.clock.now
        self.unschedulable.pop(pod.row, None)
        self.backoff.remove(pod.row)
        self.active.put(pod)
        self._moved(pod, ACTIVE, event)
        for other in let_go:
            self._to_active(other, event)
        return True

    def _to_backoff(self, pod: QueuedPod, event: str) -> bool:
        """moveToBackoffQ."""
        let_go: list[QueuedPod] = []
        if self.settings.pop_from_backoff:
            let_go = self._run_pre_enqueue(pod, event)
            if pod.gated:
                self._to_unschedulable(pod, event)
                return False
        self.unschedulable.pop(pod.row, None)
        self.backoff.put(pod)
        self._moved(pod, BACKOFF, event)
        for other in let_go:
            self._requeue(other, Strategy.AFTER_BACKOFF, event)
        return True

    def _to_unschedulable(self, pod: QueuedPod, event: str) -> None:
        new = pod.row not in self.unschedulable
        self.unschedulable[pod.row] = pod
        if new:
            self._moved(pod, UNSCHEDULABLE, event)

    def _run_pre_enqueue(self, pod: QueuedPod, event: str) -> list[QueuedPod]:
        """runPreEnqueuePlugins. Returns the pods that may go now as well, because this one was the last of their group
        that was held back."""
        refusal = self._refusal(pod)
        let_go: list[QueuedPod] = []
        key = group_of(pod.info) if self._groups is not None else None
        if key is not None:
            before = self._holding.get(key, ())
            held = self._hold(key, pod, refusal)
            if refusal is None:
                refusal = held
            if held is not None and not before:
                self._pull_back(self._others(key, pod), held, event)
            elif held is None and before:
                let_go = [each for each in self._others(key, pod) if each.gated]
        self._set_gate(pod, refusal)
        return let_go

    def _refusal(self, pod: QueuedPod) -> Status | None:
        runtime = self._runtimes[pod.info.pod.spec.scheduler_name]
        try:
            return runtime.run_pre_enqueue(pod.info, pod.gating_plugin)
        except PluginFault as fault:
            # As with a status that is an error: the pod is held back, and the error is reported.
            return error(str(fault)).by(fault.plugin)

    def _set_gate(self, pod: QueuedPod, refusal: Status | None) -> None:
        """The plugin that holds the pod back counts among those that rejected it."""
        pod.gate = refusal
        if refusal is not None:
            pod.unschedulable_plugins |= {refusal.plugin}
            pod.gating_events = self.hints.events_of(refusal.plugin)

    # Pod groups that wait as a whole

    def _hold(self, key: GroupKey, pod: QueuedPod, refusal: Status | None) -> Status | None:
        """Note whether the pod is held back. Returns what the others of its group are held back with, if they are."""
        rows = list(self._holding.get(key, ()))
        if pod.row in rows and refusal is None:
            rows.remove(pod.row)
        elif pod.row not in rows and refusal is not None:
            rows.append(pod.row)
        status = None if refusal is None else held_with(pod.info, refusal)
        while status is None and rows:
            # Those that were held back are asked anew.
            other = self.unschedulable.get(rows[0])
            found = None if other is None else self._refusal(other)
            if other is not None and found is not None:
                status = held_with(other.info, found)
            else:
                del rows[0]
        self._holding[key] = tuple(rows)
        return status

    def _join(self, key: GroupKey, pod: QueuedPod, where: QueueName, other: QueuedPod) -> None:
        """The pod waits where the others of its group do, for as long as they do."""
        if where == BACKOFF:
            pod.unschedulable_count, pod.consecutive_errors = other.unschedulable_count, other.consecutive_errors
            pod.backoff_expiration, pod.unschedulable_plugins = other.backoff_expiration, other.unschedulable_plugins
            self._requeue(pod, Strategy.AFTER_BACKOFF, UNSCHEDULED_POD_ADD.label)
            return
        refusal = self._refusal(pod)
        if refusal is not None:
            self._hold(key, pod, refusal)
        pod.unschedulable_plugins, gate = other.unschedulable_plugins, other.gate
        if gate is not None and other.row in self._holding.get(key, ()):
            gate = held_with(other.info, gate)
        self._set_gate(pod, refusal or gate)
        self._to_unschedulable(pod, UNSCHEDULED_POD_ADD.label)

    def _waiting(self, key: GroupKey, but: int) -> Iterator[tuple[QueueName, QueuedPod]]:
        """The pods of the group that are in a queue, without one."""
        assert self._groups is not None
        found = (self.find(row) for row in self._groups.members(key) if row != but)
        return (each for each in found if each is not None)

    def _others(self, key: GroupKey, pod: QueuedPod) -> list[QueuedPod]:
        """The other pods of the group that wait in a queue."""
        return [other for _, other in self._waiting(key, pod.row)]

    def _pull_back(self, pods: Iterable[QueuedPod], held: Status, event: str) -> None:
        """The first pod of the group is held back, and these with it."""
        for pod in pods:
            if pod.gated:
                continue
            self._set_gate(pod, held)
            if self.active.remove(pod.row) is not None or self.backoff.remove(pod.row) is not None:
                self._to_unschedulable(pod, event)
