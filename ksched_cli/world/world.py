"""The world: one cluster with its scheduler, its control plane and a virtual clock.

Every change goes one way: a write to the API server, then the watches of the scheduler (cache and queue), the kubelets
and the controllers. What follows from it waits in one work queue, first in, first out. A run ends when nothing is left
to do, at a limit, or when the world repeats the same states (`Oscillation`). A `WorldTrial` is rolled back at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.object_facts import is_terminal, uid_of_pod
from ksched_cli.cluster.pod_groups import group_preemptor
from ksched_cli.cluster.undo import Logged
from ksched_cli.controlplane.draws import Draws
from ksched_cli.controlplane.kubelet import START_SECONDS
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.controlplane.work import Worker
from ksched_cli.engine.decision import Decision
from ksched_cli.engine.hints import QueuedPod, VirtualClock
from ksched_cli.engine.loop import SchedulingLoop
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.framework.events import ASSIGNED_POD, ClusterEvent, with_subtype
from ksched_cli.progress import count
from ksched_cli.releases.engine_rules import ControllerRules, EngineRules
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.unread import as_stored
from ksched_cli.world.recorder import Recorder
from ksched_cli.world.results import DEFAULT_LIMITS, Ending, Limits, WorldResult, first_lives

# A state that occurs so many times, with other states in between, occurs again without end.
_OFTEN = 3
# So many states are kept also of a run in which nothing has happened twice.
_FIRST = 20

State = frozenset[tuple[str, str]]


class Oscillation:
    """The states of all moving pods so far, one for each time at which only the clock can go on."""

    def __init__(self) -> None:
        self._history: list[tuple[float, State]] = []
        self._seen: dict[State, int] = {}
        self.period = 0.0
        self.pods: tuple[str, ...] = ()

    @property
    def is_young(self) -> bool:
        return len(self._history) < _FIRST

    @property
    def can_be_found(self) -> bool:
        """Whether the next state can be the one that shows a repetition."""
        return len(self._history) >= 2 * (_OFTEN - 1)

    def notice(self, now: float, places: Mapping[str, str]) -> bool:
        """Whether the run repeats itself, with this state. `places` has the place of each pod, in words."""
        state: State = frozenset(places.items())
        if self._history and self._history[-1][1] == state:
            return False
        self._history.append((now, state))
        self._seen[state] = self._seen.get(state, 0) + 1
        if self._seen[state] < _OFTEN:
            return False
        last = max(index for index, (_, each) in enumerate(self._history[:-1]) if each == state)
        self.period = now - self._history[last][0]
        lap = [each for _, each in self._history[last:]]
        self.pods = tuple(sorted({pod for each in lap for pod, _ in each ^ state}))
        return True


WorldChange = Callable[[ControlPlane], None]
# Adds a controller to a new world: a watch of the API server, and a worker of the work queue.
ControllerFactory = Callable[["World"], object]


class World(Logged):
    """`trying` is called with the rows of the pods that are about to have a cycle, `decided` with each decision of the
    scheduler. `wanted` returns whether the timeline shows a pod; without `keeps_timeline` there is none. `controllers`
    come beside those of the control plane."""

    def __init__(
        self,
        scheduler: Scheduler,
        loaded: Loaded | None = None,
        *,
        draws: Draws | None = None,
        keeps_timeline: bool = True,
        wanted: Callable[[Pod], bool] = lambda pod: True,
        trying: Callable[[Sequence[int]], None] = lambda rows: None,
        decided: Callable[[Decision], None] = lambda decision: None,
        controllers: Sequence[ControllerFactory] = (),
    ) -> None:
        self.scheduler, self.cluster = scheduler, scheduler.cluster
        self.wanted, self._decided_too = wanted, decided
        self.undo = self.cluster.undo
        self.clock = VirtualClock(undo=self.undo)
        store = _store_of(scheduler, loaded or Loaded())
        self.plane = ControlPlane(store, self.clock, draws, watches=(self._observe,))
        self.api, self.queue = self.plane.api, self.plane.queue
        handle = scheduler.handle
        self._has_subtypes = EngineRules.of(handle.release).pod_events_have_subtypes
        self.api.minor = handle.release.minor
        self.api.stored_form = lambda pod: as_stored([pod], handle.release, handle.gates)[0]
        stateful_sets = self.plane.controllers.stateful_sets
        stateful_sets.rules = ControllerRules.of(handle.release)
        stateful_sets.counts_unavailable = handle.gates.enabled("MaxUnavailableStatefulSet")
        stateful_sets.recreates = handle.gates.enabled("StatefulSetRecreateStrategy")
        self._keeps_timeline = keeps_timeline
        self.begin_record()
        self._worker = _SchedulerWorker(self)
        self._evictions = _Evictions(self)
        self.loop = SchedulingLoop(
            scheduler,
            clock=self.clock,
            moved=self._moved,
            on_event=self._on_event,
            trying=trying,
            decided=self._decided,
            write=self.api.update,
        )
        self.cycles, self.max_cycles = 0, 0
        self._oscillation = Oscillation()
        # Called with each decision of the scheduler, as its events are seen by other controllers.
        self.listeners: list[Callable[[Decision], None]] = []
        self.controllers = [add_controller(self) for add_controller in controllers]
        self.plane.controllers.wake()

    # What the scheduler observes and does

    def _observe(self, old: Any, new: Any) -> None:
        """The first watch: the recorder, then the scheduler's informers."""
        self.recorder.changed(old, new)
        item = old if new is None else new
        if type(item).__name__ in _WATCHED_BY_SCHEDULER and old is not new:
            self.loop.handlers.changed(old, new)

    def _moved(self, pod: QueuedPod, queue: str, event: str) -> None:
        self.recorder.queued(pod, queue, self.name_of(event))
        if queue == "active":
            self.queue.add(self._worker)

    def name_of(self, event: str) -> str:
        """The label of an event in the words of the minor."""
        return with_subtype(event) if self._has_subtypes else event

    def _on_event(self, event: ClusterEvent, item: Any) -> None:
        if event.resource != ASSIGNED_POD:
            name = f"{item.metadata.namespace}/{item.metadata.name}".removeprefix("/")
            self.recorder.note(event.label, message=f"{event.resource} {name}")

    def _decided(self, decision: Decision) -> None:
        self.cycles += 1
        self.recorder.decided(decision)
        self._decided_too(decision)
        for listener in self.listeners:
            listener(decision)
        for row in decision.preemption.victims if decision.preemption else ():
            if row in self.cluster.preempted:
                self.queue.add(self._evictions, (row, decision.pod.key))
        for row in decision.group_victims:
            if row in self.cluster.preempted:
                self.queue.add(self._evictions, (row, group_preemptor(decision.pod)))

    # Running

    def apply(self, change: WorldChange) -> None:
        """Make a change by way of the API server. What follows from it happens as the world runs. A state that comes
        again after a change is no oscillation."""
        self._oscillation = Oscillation()
        change(self.plane)

    def run(self, limits: Limits = DEFAULT_LIMITS) -> Ending:
        """Go on until nothing moves or a limit is reached: `max-time` also if `limits.until` holds."""
        self.max_cycles = limits.max_cycles
        self._oscillation = Oscillation()
        self.recorder.begin_run()
        while True:
            if self.queue.work():
                continue
            if self.cycles >= limits.max_cycles:
                return "max-cycles"
            if self.loop.has_work():
                self.queue.add(self._worker)
                continue
            if limits.until is not None and limits.until():
                return "max-time"
            moment = self._next_moment()
            # Pods that are bound within the limit still become Ready.
            goes_on = moment is not None and moment <= limits.max_time + START_SECONDS
            if (goes_on or self._oscillation.can_be_found) and self._repeats():
                return "oscillation"
            if moment is None or not goes_on:
                return "settled" if moment is None else "max-time"
            self.loop.advance_to(moment, self.queue.run_due)

    def _repeats(self) -> bool:
        """Whether the run repeats itself, after a look at the present state."""
        may_repeat = self.recorder.has_repeats or self._oscillation.is_young
        return may_repeat and self._oscillation.notice(self.clock.now, self.recorder.places())

    def _next_moment(self) -> float | None:
        of_scheduler, of_timer = self.loop.next_moment(), self.queue.next_moment()
        if of_scheduler is None or of_timer is None:
            return of_timer if of_scheduler is None else of_scheduler
        return min(of_scheduler, of_timer)

    def result(self, ending: Ending, *, moved_only: bool = False) -> WorldResult:
        """What the world came to; with `moved_only` its `final` leaves out the pods to which nothing happened."""
        oscillating = ending == "oscillation"
        timeline, final = self.recorder.timeline, self.recorder.final(moved_only=moved_only)
        if oscillating:
            timeline, final = first_lives(timeline, final)
        return WorldResult(
            tuple(timeline),
            final,
            ending,
            self.recorder.last_moment,
            self.cycles,
            self.plane.finished(),
            tuple(self.api.draws.made),
            self._oscillation.pods if oscillating else (),
            self._oscillation.period if oscillating else 0.0,
            tuple(dict.fromkeys(self.loop.hints.faults)),
        )

    def begin_record(self) -> None:
        """Record from here on: what has happened so far is the beginning."""
        self.recorder = Recorder(self, keeps_timeline=self._keeps_timeline)

    def requeue(self, pod: Pod) -> None:
        """Let a pod wait for a node in this version. It may be bound by now; if it still waits, it keeps its turn."""
        pod = self.api.stored_form(pod)
        row = self.cluster.pods.row_of[uid_of_pod(pod)]
        self.cluster.unbind(row, pod)
        self.api.restore(pod)
        self.loop.queue.add_again(row, self.cluster.pods.infos[row])

    def trial(self, *changes: WorldChange) -> WorldTrial:
        """A trial in which these changes are made. It begins with its `with` block."""
        return WorldTrial(self, changes)

    def at(self, moment: float, change: WorldChange) -> None:
        """Make a change at this moment."""
        self.queue.at(moment, lambda: change(self.plane))


class WorldTrial:
    """Everything that happens in a trial is rolled back at its end, in time proportional to what has changed. Trials
    nest. Results that are to stay must be read before the end.

    As a `with` block, or with `begin` and `roll_back`: then the trial stays open until the world before it is needed
    again, which is often never. `commit` lets everything stand."""

    def __init__(self, world: World, changes: Sequence[WorldChange] = ()) -> None:
        self.world, self._changes = world, changes
        self._mark: int | None = None

    def begin(self) -> WorldTrial:
        """Begin the trial, or roll it back and begin it again."""
        self.roll_back()
        self.world.plane.prepare()
        self._mark = self.world.undo.mark()
        try:
            for change in self._changes:
                self.world.apply(change)
        except BaseException:
            self.roll_back()
            raise
        return self

    def roll_back(self) -> None:
        """Take everything back since the trial began, if it is open."""
        if self._mark is not None:
            mark, self._mark = self._mark, None
            self.world.undo.roll_back(mark)

    def commit(self) -> None:
        """End the trial, if it is open. Everything that happened in it stands."""
        if self._mark is not None:
            mark, self._mark = self._mark, None
            self.world.undo.commit(mark)

    def __enter__(self) -> WorldTrial:
        return self.begin()

    def __exit__(self, *problem: object) -> None:
        self.roll_back()


class _SchedulerWorker(Worker):
    """One turn of the scheduler: a cycle for each pod that is in the active queue when the turn begins."""

    def __init__(self, world: World) -> None:
        self._world = world

    def reconcile(self, key: object) -> None:
        loop = self._world.loop
        for _ in range(max(len(loop.queue.active), 1)):
            if self._world.cycles >= self._world.max_cycles or loop.step() is None:
                return
            count("scheduling cycles are done", len(loop.queue.active))
        if loop.has_work():
            self._world.queue.add(self)


class _Evictions(Worker):
    """Preemption deletes its victims while the scheduler goes on (Executor.prepareCandidateAsync)."""

    def __init__(self, world: World) -> None:
        self._world = world

    def reconcile(self, key: tuple[int, str]) -> None:
        row, preemptor = key
        world = self._world
        if row in world.cluster.pods.gone:
            return
        pod = world.cluster.pods.infos[row].pod
        if pod.metadata.deletion_timestamp is not None:
            return
        world.recorder.note_preempted(pod, preemptor)
        world.api.delete(pod, why=f"preempted by {preemptor}", disrupts=True)


# Kinds of which kube-scheduler's informers or listers have the objects.
_WATCHED_BY_SCHEDULER = frozenset(
    {
        "Pod",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "VolumeAttachment",
        "ResourceClaim",
        "ResourceSlice",
        "DeviceClass",
        "PodGroup",
        "Workload",
        "Service",
        "Namespace",
    }
)


def _store_of(scheduler: Scheduler, loaded: Loaded) -> Store:
    """The objects as the scheduler's cache has them; finished pods, which the cache leaves out, from the input."""
    cluster = scheduler.cluster
    pods = [info.pod for row, info in enumerate(cluster.pods.infos) if row not in cluster.pods.gone]
    own = loaded.copied()
    own.set_all(Pod, [*pods, *(pod for pod in loaded.of(Pod) if is_terminal(pod))])
    own.set_all(Node, cluster.nodes.arrival)
    return Store(own, cluster.catalog)
