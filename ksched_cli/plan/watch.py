"""Messages about a cluster that changes: each pending pod's result, once, and again when it changes."""

from __future__ import annotations

import queue
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import pod_key
from ksched_cli.plan.results.outcomes import PodOutcome, Simulation
from ksched_cli.sources.live.api_server import LiveApiServer
from ksched_cli.sources.live.cluster import LiveCluster, Progress, read_cluster
from ksched_cli.sources.live.watch import ClusterMirror, Event, Follower, Lost, Reached

# Changes come in bursts: a rollout is one picture, not a hundred. A long burst makes several pictures.
QUIET, LONGEST = 0.2, 2.0
# From which failure in a row a lost server is reported, and after how many seconds for the second time.
FAILURES_REPORTED, REMINDER = 2, 60.0


class Kind(StrEnum):
    """The kinds of news, about a pod or about the watch itself."""

    FITS = "fits"
    PREEMPTS = "preempts"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"
    HELD_BACK = "held back"
    NOT_OURS = "not ours"
    DELETING = "being deleted"
    BOUND = "bound"
    GONE = "gone"
    LOST = "lost"
    BACK = "back"


class News(Struct, frozen=True):
    """One line of news. `why` is a sentence."""

    kind: Kind
    pod: str = ""
    node: str = ""
    why: str = ""


class Picture(Struct, frozen=True):
    """The verdicts on pending pods and the nodes of the other pods at one moment."""

    verdicts: Mapping[str, News]
    bound: Mapping[str, str]


def picture(simulation: Simulation, bound: Mapping[str, str]) -> Picture:
    verdicts = {each.pod: _verdict(each) for each in simulation.outcomes}
    for gated in simulation.gated:
        verdicts[gated.pod] = News(Kind.HELD_BACK, gated.pod, why=", ".join(gated.reasons))
    for ignored in simulation.ignored:
        verdicts[ignored.pod] = News(Kind.NOT_OURS, ignored.pod, why=f'no profile is named "{ignored.scheduler}"')
    return Picture(verdicts, bound)


def _verdict(outcome: PodOutcome) -> News:
    fit = f"{outcome.feasible_nodes} of {outcome.total_nodes} nodes fit"
    if outcome.result == "scheduled":
        return News(Kind.FITS, outcome.pod, outcome.node, fit)
    if outcome.preemption and outcome.nominated_node:
        return News(
            Kind.PREEMPTS, outcome.pod, outcome.nominated_node, f"evicting {', '.join(outcome.preemption.victims)}"
        )
    if outcome.result == "skipped":
        return News(Kind.DELETING, outcome.pod)
    kind = Kind.ERROR if outcome.result == "error" else Kind.UNSCHEDULABLE
    return News(kind, outcome.pod, outcome.nominated_node, outcome.message)


def news(before: Picture | None, now: Picture) -> Iterator[News]:
    """The differences from the picture before. A different number of nodes that fit is no news by itself."""
    known = before.verdicts if before else {}
    for pod, verdict in now.verdicts.items():
        if pod not in known or _gist(known[pod]) != _gist(verdict):
            yield verdict
    for pod, verdict in known.items():
        if pod in now.verdicts:
            continue
        if pod in now.bound:
            yield News(Kind.BOUND, pod, now.bound[pod], _foreseen(verdict, now.bound[pod]))
        else:
            yield News(Kind.GONE, pod)


def _gist(verdict: News) -> tuple[str, ...]:
    return (verdict.kind, verdict.node) if verdict.kind is Kind.FITS else (verdict.kind, verdict.node, verdict.why)


def _foreseen(verdict: News, node: str) -> str:
    if not verdict.node:
        return f"was {verdict.kind}"
    return "as foreseen" if verdict.node == node else f"foreseen was {verdict.node}"


@dataclass
class Watch:
    """`simulate` returns the results of a cluster's pending pods; `events` are its changes; None ends the watch."""

    mirror: ClusterMirror
    events: queue.Queue[Event | None]
    simulate: Callable[[LiveCluster], Simulation]
    deadline: float | None = None
    _before: Picture | None = None
    # How often in a row each kind failed, and the age of the data at the last message.
    _failures: Counter[str] = field(default_factory=Counter)
    _reported_age: float | None = None
    _ended: bool = False

    def news(self) -> Iterator[News]:
        """The news until the deadline, or without end."""
        yield from self._look()
        while not self._ended:
            changed = False
            for event in self._burst():
                if isinstance(event, Lost):
                    yield from self._lose(event)
                    continue
                yield from self._reach(event.kind.__name__)
                if not isinstance(event, Reached):
                    changed |= self.mirror.apply(event)
            if changed:
                yield from self._look()

    def _look(self) -> Iterator[News]:
        cluster = self.mirror.cluster()
        pods = (each.value for each in cluster.found.get(Pod, ()) if isinstance(each.value, Pod))
        # First, because a simulation uses the cluster up: its objects become the scheduler's.
        bound = {pod_key(pod): pod.spec.node_name for pod in pods if pod.spec.node_name}
        now = picture(self.simulate(cluster), bound)
        yield from news(self._before, now)
        self._before = now

    def _lose(self, event: Lost) -> Iterator[News]:
        """Report the first of several kinds that are lost, and again whenever the data has become twice as old. A
        connection that breaks once is no news."""
        self._failures[event.kind.__name__] += 1
        if self._failures[event.kind.__name__] < FAILURES_REPORTED:
            return
        if self._reported_age is None or event.age > max(2 * self._reported_age, REMINDER):
            self._reported_age = event.age
            yield News(Kind.LOST, why=f"{event.message}; the data is {round(event.age)}s old")

    def _reach(self, kind: str) -> Iterator[News]:
        """Report that every kind is read again."""
        if self._failures.pop(kind, 0) and self._reported_age is not None and not self._failures:
            self._reported_age = None
            yield News(Kind.BACK)

    def _burst(self) -> Iterator[Event]:
        """The next event and the events that follow it closely."""
        started: float | None = None
        while True:
            now = time.monotonic()
            ends = [self.deadline] if self.deadline is not None else []
            ends += [now + QUIET, started + LONGEST] if started is not None else []
            wait = max(min(ends) - now, 0.0) if ends else None
            try:
                event = self.events.get(timeout=wait)
            except queue.Empty:
                self._ended = self.deadline is not None and time.monotonic() >= self.deadline
                return
            if event is None:
                self._ended = True
                return
            started = started or time.monotonic()
            yield event
            if time.monotonic() - started > LONGEST:
                return


@dataclass
class Following:
    """News of a live cluster, for so many seconds or without end. `simulate` is called with each picture of the
    cluster; `warnings` are those of the last one."""

    server: LiveApiServer
    progress: Progress | None
    simulate: Callable[[LiveCluster], Simulation]
    seconds: float | None = None
    warnings: tuple[str, ...] = ()

    def news(self) -> Generator[News, None, None]:
        """Each line of news. To close the generator stops the watch of the cluster."""
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        first = read_cluster(self.server, self.progress)
        if self.progress is not None:
            self.progress.close()
        events: queue.Queue[Event | None] = queue.Queue()
        follower = Follower(self.server, events.put)
        follower.follow(list(first.versions), first.versions)

        def simulate(cluster: LiveCluster) -> Simulation:
            found = self.simulate(cluster)
            self.warnings = found.warnings
            return found

        try:
            yield from Watch(ClusterMirror(first), events, simulate, deadline).news()
        finally:
            follower.stop.set()
