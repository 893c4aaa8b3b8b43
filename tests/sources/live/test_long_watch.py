"""Watches that last for hours: a real HTTPS server whose clock the test moves, so that nobody sleeps."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from ksched_cli.api.core import Node, Pod
from ksched_cli.cli.main import run
from ksched_cli.plan import watch as plan_watch
from ksched_cli.plan.results.outcomes import PodOutcome, Preemption, Simulation
from ksched_cli.plan.watch import Kind, News, Watch, picture
from ksched_cli.report.view.watch import sentence
from ksched_cli.sources.live import api_server
from ksched_cli.sources.live import watch as watching
from ksched_cli.sources.live.cluster import read_cluster
from ksched_cli.sources.live.connection import connect
from ksched_cli.sources.live.watch import Event, Follower, Listed, Lost, ObjectChange, Reached
from ksched_cli.sources.read_options import LiveOptions
from tests.builders import make_node, make_pod
from tests.sources.live.kube_server import Handler, KubeServer, refuses, running, sends_and_ends, serving

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
PATIENCE = 20.0
HOURS = 2


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(watching, "_LONGEST_PAUSE", 0.05)


class Following:
    """A follower of a server, and the events that it passed on."""

    def __init__(self, kube: KubeServer, folder: Path, *kinds: type[Any], clock: Callable[[], float] = time.monotonic):
        server = connect(LiveOptions(kubeconfig=kube.kubeconfig(folder)))
        server.pause = lambda seconds: None
        self.events: queue.Queue[Event] = queue.Queue()
        self.follower = Follower(server, self.events.put, clock=clock)
        self.follower.follow(kinds, read_cluster(server).versions)

    def next(self) -> Event:
        return self.events.get(timeout=PATIENCE)

    def next_change(self) -> tuple[str, ...]:
        """The name of the next object that changed, or those of a list; troubles are skipped."""
        while True:
            event = self.next()
            if isinstance(event, ObjectChange):
                return (event.key[1],)
            if isinstance(event, Listed):
                return tuple(sorted(each.value.metadata.name for each in event.found))  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_quiet_watch_outlives_the_time_to_connect(
    ca: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """urllib3.Timeout(a, b) is the total and the time to connect: a quiet watch ended after 30 seconds."""
    seen: list[Any] = []
    kept = api_server.LiveApiServer._open

    def noted(self: Any, url: str, timeout: Any) -> Any:
        if "watch=1" in url:
            seen.append(timeout)
        return kept(self, url, timeout)

    monkeypatch.setattr(api_server.LiveApiServer, "_open", noted)
    with serving([make_pod("p0").doc()], ca) as kube:
        following = Following(kube, tmp_path, Pod)
        kube.until_watched(PODS, 1)
        kube.change("ADDED", make_pod("p1").doc())
        assert following.next_change() == ("p1",)
        following.follower.stop.set()
    assert seen[0].total is None
    assert seen[0].connect_timeout == api_server.CONNECT_SECONDS
    assert seen[0].read_timeout >= watching._SECONDS + 30


@pytest.mark.slow
def test_two_quiet_hours_a_restart_and_an_expiry(ca: trustme.CA, tmp_path: Path) -> None:
    now = [0.0]
    with serving([make_node("n0").doc(), make_pod("p0").doc()], ca) as kube:
        following = Following(kube, tmp_path, Pod, Node, clock=lambda: now[0])
        kube.until_watched(PODS, 1)
        kube.until_watched(NODES, 1)
        for minute in range(HOURS * 60):
            now[0] += 60
            kube.pass_time(60)
            if minute % 30 == 29:
                # One kind changes now and then, the other is quiet all the time.
                kube.change("ADDED", make_pod(f"p{minute}").doc())
                assert following.next_change() == (f"p{minute}",)
        # The watch was opened anew every five to ten minutes, and went on from where it was.
        assert HOURS * 60 / 11 <= kube.watching[NODES] <= HOURS * 60 / 4
        assert following.events.empty()
        lists = kube.paths().count(PODS) - kube.watching[PODS]
        assert lists == 1
    # A restart: for a while nobody answers, and what happened meanwhile is not missed.
    troubles = [following.next() for _ in range(4)]
    assert all(isinstance(each, Lost) for each in troubles)
    kube.change("ADDED", make_pod("during").doc())
    with running(kube):
        assert following.next_change() == ("during",)
        # Expired: the kind is listed again.
        kube.faults[f"{PODS}?watch"].append(refuses(410, "too old resource version"))
        kube.pass_time(700)
        assert following.next_change() == ("during", "p0", "p119", "p29", "p59", "p89")
        kube.change("DELETED", make_pod("during").doc())
        assert following.next_change() == ("during",)
        # The quiet kind is still followed.
        kube.change("ADDED", make_node("n1").doc())
        assert following.next_change() == ("n1",)
        following.follower.stop.set()


@pytest.mark.slow
def test_a_slow_kind_keeps_no_other_waiting(ca: trustme.CA, tmp_path: Path) -> None:
    gate = threading.Event()

    def slow(handler: Handler) -> None:
        gate.wait(PATIENCE)
        handler.watch(NODES, 100, {})

    with serving([make_node("n0").doc(), make_pod("p0").doc()], ca) as kube:
        kube.faults[f"{NODES}?watch"].append(slow)
        following = Following(kube, tmp_path, Pod, Node)
        kube.change("ADDED", make_node("n1").doc())
        kube.change("ADDED", make_pod("p1").doc())
        assert following.next_change() == ("p1",)
        gate.set()
        assert following.next_change() == ("n1",)
        following.follower.stop.set()


@pytest.mark.slow
def test_a_server_that_is_busy_is_given_time(ca: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses grow, and Retry-After counts."""
    waited: list[float] = []
    with serving([make_pod("p0").doc()], ca) as kube:
        kube.faults[f"{PODS}?watch"] += [refuses(429, "slow down", "7"), *[refuses(503, "starting")] * 3]
        server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
        events: queue.Queue[Event] = queue.Queue()
        follower = Follower(server, events.put)
        monkeypatch.setattr(follower.stop, "wait", lambda seconds: waited.append(seconds))
        monkeypatch.setattr(watching, "_LONGEST_PAUSE", 30.0)
        follower.follow([Pod], read_cluster(server).versions)
        kube.until_watched(PODS, 1)
        kube.change("ADDED", make_pod("p1").doc())
        kinds = [type(events.get(timeout=PATIENCE)) for _ in range(6)]
        follower.stop.set()
    assert kinds == [Lost, Lost, Lost, Lost, Reached, ObjectChange]
    assert waited[0] == 7.0
    assert 0.01 * 2 * 0.75 <= waited[1] < waited[2] < waited[3] < 0.2


@pytest.mark.slow
def test_watches_that_end_at_once_are_not_opened_without_a_pause(ca: trustme.CA, tmp_path: Path) -> None:
    waited: list[float] = []
    with serving([make_pod("p0").doc()], ca) as kube:
        kube.faults[f"{PODS}?watch"] += [sends_and_ends()] * 3
        server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
        follower = Follower(server, lambda event: None)
        follower.stop.wait = lambda seconds: bool(waited.append(seconds))  # type: ignore[method-assign,assignment,misc]
        follower.follow([Pod], read_cluster(server).versions)
        kube.until_watched(PODS, 1)
        follower.stop.set()
    assert len(waited) >= 3
    assert waited[0] < waited[2]


@pytest.mark.slow
def test_a_kind_that_may_no_longer_be_listed_is_not_taken_for_empty(ca: trustme.CA, tmp_path: Path) -> None:
    path = "/apis/policy/v1/poddisruptionbudgets"
    from ksched_cli.api.workloads import PodDisruptionBudget

    with serving([make_pod("p0").doc()], ca) as kube:
        kube.faults[f"{path}?watch"].append(refuses(410, "too old"))
        server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
        first = read_cluster(server)
        kube.faults[path] += [refuses(403, "forbidden")] * 2
        events: queue.Queue[Event] = queue.Queue()
        follower = Follower(server, events.put)
        follower.follow([PodDisruptionBudget], first.versions)
        found = [events.get(timeout=PATIENCE) for _ in range(2)]
        follower.stop.set()
    assert all(isinstance(each, Lost) for each in found)


class Still:
    """A mirror of a cluster in which nothing changes."""

    def apply(self, event: Event) -> bool:
        return False

    def cluster(self) -> None:
        return None


def told(*events: Event) -> list[News]:
    waiting: queue.Queue[Event | None] = queue.Queue()
    for event in (*events, None):
        waiting.put(event)
    watch = Watch(Still(), waiting, lambda cluster: None)  # type: ignore[arg-type,return-value]
    watch._look = lambda: iter(())  # type: ignore[method-assign]
    return [each for each in watch.seen() if isinstance(each, News)]


def test_a_connection_that_breaks_once_is_no_news() -> None:
    assert told(Lost(Pod, "reset", 3), Reached(Pod), Lost(Pod, "reset", 4), Reached(Pod)) == []


def test_one_kind_that_is_reached_does_not_make_up_for_another() -> None:
    lost = [Lost(Pod, "refused", 9)] * 2
    assert [each.kind for each in told(*lost, Reached(Node), Listed(Node, []))] == [Kind.LOST]
    assert [each.kind for each in told(*lost, Reached(Node), Reached(Pod))] == [Kind.LOST, Kind.BACK]


def test_the_age_of_the_data_is_shown() -> None:
    news = told(*(Lost(Pod, "refused", age) for age in (1, 5, 30, 70, 100, 150, 200, 400)), Reached(Pod))
    assert [each.why.rpartition("; ")[2] for each in news[:-1]] == [
        f"the data is {age}s old" for age in (5, 70, 150, 400)
    ]
    assert sentence(news[0]) == "the API server does not answer, trying again: refused; the data is 5s old"


def outcome(result: str, node: str = "", **more: Any) -> PodOutcome:
    return PodOutcome("shop/p", result, nominated_node=node, feasible_nodes=0, total_nodes=1, **more)


def test_a_pod_that_preempts_is_followed_until_it_is_bound() -> None:
    made = plan_watch.news

    def seen(each: PodOutcome) -> Any:
        simulation = Simulation.__new__(Simulation)
        object.__setattr__(simulation, "outcomes", (each,))
        object.__setattr__(simulation, "gated", ())
        object.__setattr__(simulation, "ignored", ())
        return picture(simulation, {})

    before = seen(outcome("unschedulable", "n1", preemption=Preemption("n1", ("shop/victim",), 0)))
    waiting = seen(outcome("unschedulable", "n1", message="waits for shop/victim"))
    bound = plan_watch.Picture({}, {"shop/p": "n1"})
    assert [each.kind for each in made(None, before)] == [Kind.PREEMPTS]
    assert [(each.kind, each.node) for each in made(before, waiting)] == [(Kind.UNSCHEDULABLE, "n1")]
    assert list(made(waiting, bound)) == [News(Kind.BOUND, "shop/p", "n1", "as foreseen")]


def test_a_certificate_that_is_not_checked_is_warned_of_once(
    ca: trustme.CA, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving([make_node("n").doc(), make_pod("p0").doc()], ca) as kube:
        path = Path(kube.kubeconfig(tmp_path))
        lines = path.read_text().splitlines()
        at = next(number for number, line in enumerate(lines) if "certificate-authority-data" in line)
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines[at] = f"{indent}insecure-skip-tls-verify: true"
        path.write_text("\n".join(lines))
        assert run(["simulate", "--kubeconfig", str(path)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if "certificate" in line] == [
        f"ksched: warning: {kube.url}: its certificate is not checked (insecure-skip-tls-verify)"
    ]
    assert len(said) == 1
