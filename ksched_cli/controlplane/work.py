"""The work queues of all controllers on one virtual clock (client-go's util/workqueue). There is one queue and one
worker: keys are reconciled one after the other, and work itself takes no time."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, get_args

from ksched_cli.api.object_facts import is_ready, is_terminal, ready_since
from ksched_cli.cluster.undo import LoggedDict, LoggedSet, UndoLog
from ksched_cli.controlplane.api_server import Refusal
from ksched_cli.controlplane.store import identity_of
from ksched_cli.engine.hints import VirtualClock

if TYPE_CHECKING:
    from ksched_cli.api.core import Pod
    from ksched_cli.controlplane.api_server import ApiServer

# workqueue.DefaultTypedControllerRateLimiter: 5 ms, doubled with each failure, up to 1000 s.
_FIRST_DELAY, _LONGEST_DELAY = 0.005, 1000.0


class Worker(ABC):
    """Something that works off keys: a controller, or the scheduler."""

    @abstractmethod
    def reconcile(self, key: Any) -> None:
        """Bring the object of this key to what is wanted. Raises Refusal to be called again after a back-off."""


# How a pod changes. "metadata": nothing else has changed, as when a pod begins to terminate; "spec" and "status":
# nothing else of an active pod has changed; "other" is every other update.
PodChangeKind = Literal["created", "metadata", "spec", "status", "other", "deleted"]
ALL_POD_CHANGES: frozenset[PodChangeKind] = frozenset(get_args(PodChangeKind))


def pod_change(old: Pod | None, new: Pod | None) -> PodChangeKind:
    """How these two versions of a pod differ; None for absent."""
    if old is None or new is None:
        return "created" if old is None else "deleted"
    if old.metadata is not new.metadata:
        return "metadata" if old.spec is new.spec and old.status is new.status else "other"
    if new.metadata.deletion_timestamp is not None or is_terminal(old) or is_terminal(new):
        return "other"
    return "status" if old.spec is new.spec else "spec"


class Controller(Worker):
    """A controller of kube-controller-manager: it watches objects and reconciles the keys that changes concern.
    `informers` are the kinds that it watches; empty for all kinds. `serves` are the kinds that it reconciles: while
    there is no object of them, no change of another object concerns the controller; empty where this does not hold. Of
    pods it handles `pod_changes`: no other change of a pod concerns it."""

    informers: ClassVar[tuple[type[Any], ...]] = ()
    serves: ClassVar[tuple[type[Any], ...]] = ()
    pod_changes: ClassVar[frozenset[PodChangeKind]] = ALL_POD_CHANGES

    def __init__(self, api: ApiServer, queue: WorkQueue) -> None:
        self.api = api
        self.store = api.store
        self.queue = queue

    @abstractmethod
    def keys_to_reconcile(self, old: Any, new: Any) -> Iterable[Hashable]:
        """The keys to reconcile after this change. `old` is None for a new object, `new` for a deleted one."""

    def keys_of_copies(self, pods: Sequence[Pod]) -> Iterable[Hashable]:
        """The keys to reconcile after these pods were created, which differ in their names, uids and times only. If the
        first does not concern the controller, none does."""
        first = list(self.keys_to_reconcile(None, pods[0]))
        return [*first, *(key for pod in pods[1:] for key in self.keys_to_reconcile(None, pod))] if first else ()

    def check_availability_later(self, item: Any, pods_of: Callable[[Any], Iterable[Pod]]) -> None:
        """Reconcile the object again when the next of its ready pods has been ready for minReadySeconds."""
        least, now = item.spec.min_ready_seconds, self.api.now()
        due = [ready_since(pod) + least for pod in pods_of(item) if is_ready(pod)] if least else ()
        later = [moment - now for moment in due if moment > now]
        if later:
            self.queue.add_after(self, identity_of(item), min(later))


class Timer(NamedTuple):
    """Timers are in the order of their moments. No two have the same turn, so that nothing else is compared.
    `failed_at` is for a retry: the version at which it failed. The same request would fail again while nothing has
    changed. What follows from a timer that `is_alone` happens before the next timer of the same moment."""

    moment: float
    turn: int
    action: Callable[[], None]
    failed_at: int | None = None
    is_alone: bool = False


class WorkQueue:
    """First in, first out over all workers; a key that waits already is not added again (workqueue.Typed)."""

    def __init__(self, clock: VirtualClock, version: Callable[[], int], undo: UndoLog | None = None) -> None:
        self.clock = clock
        self._undo = undo or UndoLog()
        self._version = version
        self._items: deque[tuple[Worker, Hashable]] = deque()
        self._waiting: set[tuple[Worker, Hashable]] = LoggedSet(self._undo)
        self._failures: dict[tuple[Worker, Hashable], int] = LoggedDict(self._undo)
        self._timers: list[Timer] = []
        self._turn = count()
        # When a key is added later, at the earliest.
        self._due: dict[tuple[Worker, Hashable], float] = LoggedDict(self._undo)

    def add(self, worker: Worker, key: Hashable = None) -> None:
        item = worker, key
        if item not in self._waiting:
            self._waiting.add(item)
            self._undo.save_copy(self._items)
            self._items.append(item)

    def add_after(self, worker: Worker, key: Hashable, seconds: float) -> None:
        """Add the key later. A timer of the same key that is due earlier, or at the same time, is enough."""
        moment = self.clock.now + seconds
        due = self._due.get((worker, key))
        if due is not None and self.clock.now < due <= moment:
            return
        self._due[worker, key] = moment
        self.at(moment, lambda: self.add(worker, key))

    def at(
        self, moment: float, action: Callable[[], None], failed_at: int | None = None, *, is_alone: bool = False
    ) -> Timer:
        timer = Timer(moment, next(self._turn), action, failed_at, is_alone)
        self._undo.save_copy(self._timers)
        heapq.heappush(self._timers, timer)
        return timer

    @property
    def timers(self) -> int:
        """How many timers wait."""
        return len(self._timers)

    def cancel(self, timer: Timer) -> None:
        """Forget a timer, so that time does not pass for its sake."""
        if timer in self._timers:
            self._undo.save_copy(self._timers)
            self._timers.remove(timer)
            heapq.heapify(self._timers)

    def work(self) -> bool:
        """Reconcile the next key. Returns False if none waits."""
        if not self._items:
            return False
        self._undo.save_copy(self._items)
        item = self._items.popleft()
        self._waiting.discard(item)
        worker, key = item
        try:
            worker.reconcile(key)
        except Refusal:
            failures = self._failures.get(item, 0)
            self._failures[item] = failures + 1
            delay = min(_FIRST_DELAY * 2.0 ** min(failures, 1000), _LONGEST_DELAY)
            self.at(self.clock.now + delay, lambda: self.add(worker, key), self._version())
        else:
            if self._failures:
                self._failures.pop(item, None)
        return True

    def next_moment(self) -> float | None:
        """When the next timer is due; None if no timer could change anything any more."""
        version = self._version()
        for timer in self._timers:
            if timer.failed_at != version:
                return self._timers[0].moment
        return None

    def run_due(self) -> None:
        """Run the timers that are due by now, up to the first that is alone."""
        while self._timers and self._timers[0].moment <= self.clock.now:
            self._undo.save_copy(self._timers)
            timer = heapq.heappop(self._timers)
            timer.action()
            if timer.is_alone:
                return
