"""What happens to the pending pods of a cluster that changes.

A `Moment` is a simulation of the cluster as it is, with the news since the moment before: each pending pod's result,
once, and again when it changes. Questions about a pod are answered between two moments, by the thread that simulates.
"""

from __future__ import annotations

import queue
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import pod_key
from ksched_cli.errors import KschedError
from ksched_cli.plan.explain.results import ExplainResult
from ksched_cli.plan.results.outcomes import PodOutcome, Simulation
from ksched_cli.plan.run.checks import check_selection
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.run.run import Run
from ksched_cli.process import forbid_copies
from ksched_cli.sources.live.api_server import LiveApiServer
from ksched_cli.sources.live.cluster import LiveCluster, Progress, read_cluster
from ksched_cli.sources.live.connection import connect
from ksched_cli.sources.live.watch import ClusterMirror, Event, Follower, Lost, Reached
from ksched_cli.sources.loaded import Loaded

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


class News(Struct, frozen=True, omit_defaults=True):
    """One line of news. `why` is a sentence."""

    kind: Kind
    pod: str = ""
    node: str = ""
    why: str = ""


class Moment(Struct, frozen=True, eq=False):
    """The cluster between two changes. `created` has the creation times of the pending pods."""

    simulation: Simulation
    created: Mapping[str, str]
    news: tuple[News, ...]


class Question(Struct, frozen=True):
    """Asks why a pod is pending."""

    pod: str


class Answer(Struct, frozen=True, eq=False):
    """`mistake`: why there is no result."""

    pod: str
    result: ExplainResult | None = None
    mistake: str = ""


Seen = Moment | News | Answer


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
    """`simulate` returns the results of a cluster's pending pods, `explain` those of one pod; `events` are the changes
    of the cluster, and questions; None ends the watch."""

    mirror: ClusterMirror
    events: queue.Queue[Event | Question | None]
    simulate: Callable[[LiveCluster], Simulation]
    explain: Callable[[LiveCluster, str], ExplainResult] | None = None
    deadline: float | None = None
    _before: Picture | None = None
    # How often in a row each kind failed, and the age of the data at the last message.
    _failures: Counter[str] = field(default_factory=Counter)
    _reported_age: float | None = None
    _ended: bool = False

    def seen(self) -> Iterator[Seen]:
        """The moments, the news about the server and the answers, until the deadline or without end."""
        yield from self._look()
        while not self._ended:
            changed = False
            for event in self._burst():
                if isinstance(event, Question):
                    yield self._answer(event.pod)
                    continue
                if isinstance(event, Lost):
                    yield from self._lose(event)
                    continue
                yield from self._reach(event.kind.__name__)
                if not isinstance(event, Reached):
                    changed |= self.mirror.apply(event)
            if changed:
                yield from self._look()

    def _look(self) -> Iterator[Moment]:
        cluster = self.mirror.cluster()
        pods = [each.value for each in cluster.found.get(Pod, ()) if isinstance(each.value, Pod)]
        # First, because a simulation uses the cluster up: its objects become the scheduler's.
        bound = {pod_key(pod): pod.spec.node_name for pod in pods if pod.spec.node_name}
        created = {pod_key(pod): pod.metadata.creation_timestamp or "" for pod in pods if not pod.spec.node_name}
        simulation = self.simulate(cluster)
        now = picture(simulation, bound)
        yield Moment(simulation, created, tuple(news(self._before, now)))
        self._before = now

    def _answer(self, pod: str) -> Answer:
        assert self.explain is not None
        try:
            return Answer(pod, self.explain(self.mirror.cluster(), pod))
        except KschedError as mistake:
            return Answer(pod, mistake="; ".join(map(str, mistake.problems)))

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

    def _burst(self) -> Iterator[Event | Question]:
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
    """A live cluster that is followed for so many seconds or without end. `simulate` and `explain` are called with the
    cluster as it is then; `warnings` are those of the last simulation."""

    server: LiveApiServer
    progress: Progress | None
    simulate: Callable[[LiveCluster], Simulation]
    explain: Callable[[LiveCluster, str], ExplainResult]
    seconds: float | None = None
    warnings: tuple[str, ...] = ()
    _events: queue.Queue[Event | Question | None] = field(default_factory=queue.Queue)

    def news(self) -> Generator[News, None, None]:
        """Each line of news. To close the generator stops the watch of the cluster."""
        with closing(self.seen()) as found:
            for each in found:
                if isinstance(each, News):
                    yield each
                elif isinstance(each, Moment):
                    yield from each.news

    def seen(self) -> Generator[Seen, None, None]:
        """As `news`, with the whole moments, and an answer to each question."""
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        first = read_cluster(self.server, self.progress)
        if self.progress is not None:
            self.progress.close()
        # A copy of this process would have none of the threads that follow the cluster.
        forbid_copies()
        follower = Follower(self.server, self._events.put)
        follower.follow(list(first.versions), first.versions)

        def simulate(cluster: LiveCluster) -> Simulation:
            found = self.simulate(cluster)
            self.warnings = found.warnings
            return found

        try:
            yield from Watch(ClusterMirror(first), self._events, simulate, self.explain, deadline).seen()
        finally:
            follower.stop.set()
            self.server.close()

    def ask(self, pod: str) -> None:
        """Ask why the pod is pending: an `Answer` follows. Any thread may ask."""
        self._events.put(Question(pod))

    def stop(self) -> None:
        """End `seen` and `news`. Any thread may stop them."""
        self._events.put(None)


def follow(
    options: RunOptions,
    seconds: float | None,
    read_sources: Callable[[RunOptions, Callable[[], LiveCluster]], Loaded],
    load_changed: Callable[[RunOptions, Loaded], LoadedInput],
) -> Following:
    """Follow the live cluster of the options. The manifests and edits are applied to each state of the cluster."""
    # Pods with the labels of -l may come later.
    only_namespace = replace(options, selector="")

    def read(cluster: LiveCluster) -> LoadedInput:
        loaded = read_sources(options, lambda: cluster)
        check_selection(only_namespace, loaded)
        return load_changed(options, loaded)

    def simulate(cluster: LiveCluster) -> Simulation:
        return Run(read(cluster)).simulate()

    def explain(cluster: LiveCluster, pod: str) -> ExplainResult:
        from ksched_cli.plan.explain.explain import explain_pod

        return explain_pod(read(cluster), pod, "")

    return Following(connect(options.live), options.progress, simulate, explain, seconds)
