"""A scheduling queue over a few pods, with plugins that say what a test tells them to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.engine.handlers import pod_changes
from ksched_cli.engine.hints import Hints, QueuedPod, VirtualClock
from ksched_cli.engine.loop import queue_settings
from ksched_cli.engine.scheduling_queue import QueueSettings, SchedulingQueue
from ksched_cli.framework.events import ClusterEvent
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.releases.minors import Release
from tests.harness import make_scheduler

Answer = Callable[[Any, Any, Any], bool]


def registering(name: str, *events: ClusterEvent, answer: Answer | bool = True) -> Plugin:
    """A plugin with these events, and one answer for all hints or a function of (pod, old, new)."""

    class Registering(Plugin):
        def is_schedulable_after(self, event: ClusterEvent, pod: Any, old: Any, new: Any) -> bool:
            return answer if isinstance(answer, bool) else answer(pod, old, new)

    Registering.name = name
    Registering.events = events
    return Registering(None, None)  # type: ignore[arg-type]


@dataclass
class Line:
    queue: SchedulingQueue
    scheduler: Any
    moves: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def clock(self) -> VirtualClock:
        return self.queue.clock

    def add(self, *pods: Pod) -> None:
        cluster = self.scheduler.cluster
        for pod in pods:
            row = cluster.register(pod)
            self.queue.add(row, cluster.pods.infos[row])

    def row(self, name: str) -> int:
        return next(row for row, info in enumerate(self.scheduler.cluster.pods.infos) if info.name == name)

    def pod(self, name: str) -> QueuedPod:
        found = self.queue.find(self.row(name))
        assert found is not None
        return found[1]

    def where(self) -> dict[str, str]:
        """Pod to queue, for every pod that the cluster knows."""
        places: dict[str, str] = {}
        for row, info in enumerate(self.scheduler.cluster.pods.infos):
            found = self.queue.find(row)
            places[info.name] = found[0] if found else "in flight" if row in self.queue.in_flight else "-"
        return places

    def fail(self, *plugins: str, pending: tuple[str, ...] = ()) -> QueuedPod:
        """The next pod's cycle, rejected by these plugins; without any it met an error."""
        pod = self.queue.pop()
        assert pod is not None
        return self.put_back(pod, *plugins, pending=pending)

    def put_back(self, pod: QueuedPod, *plugins: str, pending: tuple[str, ...] = ()) -> QueuedPod:
        pod.unschedulable_plugins, pod.pending_plugins = frozenset(plugins), frozenset(pending)
        self.queue.add_unschedulable(pod)
        return pod

    def update(self, name: str, new: Pod) -> None:
        cluster = self.scheduler.cluster
        row = self.row(name)
        old = cluster.pods.infos[row].pod
        info = type(cluster.pods.infos[row])(new, cluster.resources)
        self.queue.update(row, info, old, pod_changes(old, new, self.scheduler.handle.gates))

    def pass_time(self, seconds: float) -> None:
        """Second by second, with kube-scheduler's flushes."""
        for _ in range(int(seconds)):
            self.clock.advance_to(self.clock.now + 1)
            self.queue.flush_backoff()
            if self.clock.now % 30 == 0:
                self.queue.flush_leftovers()


def make_line(*pods: Pod, plugins: tuple[Plugin, ...] = (), **settings: Any) -> Line:
    """Without plugins of a test's own the hints are those of the default profile."""
    scheduler = make_scheduler([], [])
    hints = Hints({name: plugins or runtime.profile.plugins for name, runtime in scheduler.runtimes.items()})
    moves: list[tuple[str, str, str]] = []
    queue = SchedulingQueue(
        scheduler.runtimes,
        scheduler.nominator,
        hints,
        VirtualClock(),
        QueueSettings(**settings),
        lambda pod, where, event: moves.append((pod.info.name, where, event)),
    )
    line = Line(queue, scheduler, moves)
    line.add(*pods)
    return line


def line_of(current: Release, *pods: Pod, gates: str = "", objects: Iterable[Any] = ()) -> Line:
    """The queue of a minor, with the default profile's plugins."""
    scheduler = make_scheduler([], [], objects=objects, current=current, gates=gates)
    plugins = {name: runtime.profile.plugins for name, runtime in scheduler.runtimes.items()}
    queue = SchedulingQueue(
        scheduler.runtimes,
        scheduler.nominator,
        Hints(plugins, scheduler.handle),
        VirtualClock(),
        queue_settings(scheduler),
        groups=scheduler.groups if scheduler.holds_back_groups else None,
    )
    line = Line(queue, scheduler, [])
    line.add(*pods)
    return line
