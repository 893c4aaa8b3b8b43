"""A live cluster followed through changes, bookmarks, expiry and restarts of the API server."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import trustme

from ksched_cli.api.core import Pod
from ksched_cli.api.decode import DecodedObject
from ksched_cli.cli.main import run
from ksched_cli.plan import watch as plan_watch
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.watch import Kind, News, Picture, Watch, news
from ksched_cli.simulator import Simulator
from ksched_cli.sources.live import watch as watching
from ksched_cli.sources.live.api_server import RequestRefused
from ksched_cli.sources.live.cluster import Resource, read_cluster
from ksched_cli.sources.live.connection import connect
from ksched_cli.sources.live.watch import ClusterMirror, Event, Follower, Listed, Lost, ObjectChange, Reached
from ksched_cli.sources.read_options import LiveOptions
from tests.builders import make_node, make_pod
from tests.running import Ksched
from tests.sources.live.kube_server import (
    KubeServer,
    hangs_up_at_once,
    refuses,
    resets_in_the_body,
    sends,
    sends_and_ends,
    serving,
    zipped,
)

PODS = "/api/v1/pods"
WATCH = f"{PODS}?watch"
PATIENCE = 20.0


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries, and the quiet that ends a burst, are for people and servers."""
    monkeypatch.setattr(watching, "_SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(plan_watch, "QUIET", 0.02)


@pytest.fixture
def kube(ca: trustme.CA) -> Iterator[KubeServer]:
    with serving([make_node("n1").doc(), make_pod("p0").requests(cpu="10m").doc()], ca) as server:
        yield server


@pytest.fixture
def following(kube: KubeServer, tmp_path: Path) -> Iterator[queue.Queue[Event]]:
    """What a follower of the pods says."""
    server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
    server.pause = lambda seconds: None
    first = read_cluster(server)
    events: queue.Queue[Event] = queue.Queue()
    follower = Follower(server, events.put)
    follower.follow([Pod], first.versions)
    yield events
    follower.stop.set()
    kube.close()


def told(events: queue.Queue[Event]) -> Any:
    """The next event that is about objects or a lost server."""
    event = events.get(timeout=PATIENCE)
    return told(events) if isinstance(event, Reached) else names(event)


def names(event: Event) -> Any:
    if isinstance(event, Listed):
        return "listed", [each.value.metadata.name for each in event.found]  # type: ignore[union-attr]
    if isinstance(event, ObjectChange):
        return ("gone" if event.found is None else "is"), event.key[1]
    return "lost", event.kind.__name__


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return make_pod(name).spec(**spec).doc()


@pytest.mark.slow
def test_changes_arrive_as_they_happen(kube: KubeServer, following: queue.Queue[Event]) -> None:
    kube.change("ADDED", pod("p1"))
    kube.change("MODIFIED", pod("p1", nodeName="n1"))
    kube.change("DELETED", pod("p0"))
    assert [names(following.get(timeout=PATIENCE)) for _ in range(3)] == [("is", "p1"), ("is", "p1"), ("gone", "p0")]


def test_a_proxy_may_compress_a_watch(kube: KubeServer, tmp_path: Path) -> None:
    kube.faults[WATCH].append(zipped({"type": "ADDED", "object": pod("p1")}, {"type": "ADDED", "object": pod("p2")}))
    server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
    events: queue.Queue[Event] = queue.Queue()
    follower = Follower(server, events.put)
    follower.follow([Pod], read_cluster(server).versions)
    assert [names(events.get(timeout=PATIENCE)) for _ in range(2)] == [("is", "p1"), ("is", "p2")]
    follower.stop.set()


def bookmark(revision: int) -> dict[str, Any]:
    return {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": str(revision)}}}


@pytest.mark.slow
def test_after_a_bookmark_the_watch_goes_on_from_there(ca: trustme.CA, tmp_path: Path) -> None:
    with serving([make_node("n1").doc()], ca) as kube:
        kube.faults[WATCH].append(sends_and_ends(bookmark(100)))
        for number in range(2):
            kube.change("ADDED", pod(f"p{number}"))
        kube.faults[WATCH].append(sends_and_ends(bookmark(101)))
        server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
        events: queue.Queue[Event] = queue.Queue()
        follower = Follower(server, events.put)
        follower.follow([Pod], read_cluster(server).versions)
        kube.change("ADDED", pod("p2"))
        # From 101 on: the second pod came with 102, which the list had; the bookmark set the watch back.
        assert names(events.get(timeout=PATIENCE)) == ("is", "p1")
        assert names(events.get(timeout=PATIENCE)) == ("is", "p2")
        asked = [each.query["resourceVersion"] for each in kube.requests if "watch" in each.query]
        assert asked[:3] == ["102", "100", "101"]
        assert all(each.query.get("allowWatchBookmarks") == "true" for each in kube.requests if "watch" in each.query)
        follower.stop.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "expired",
    [
        pytest.param(refuses(410, "too old resource version"), id="status 410"),
        pytest.param(
            sends_and_ends({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}),
            id="ERROR 410 within the watch",
        ),
    ],
)
def test_an_expired_watch_lists_again(expired: Any, kube: KubeServer, tmp_path: Path, ca: trustme.CA) -> None:
    kube.faults[WATCH].append(expired)
    server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
    first = read_cluster(server)
    kube.change("ADDED", pod("p1"))
    events: queue.Queue[Event] = queue.Queue()
    follower = Follower(server, events.put)
    follower.follow([Pod], first.versions)
    assert names(events.get(timeout=PATIENCE)) == ("listed", ["p0", "p1"])
    kube.change("DELETED", pod("p0"))
    assert names(events.get(timeout=PATIENCE)) == ("gone", "p0")
    follower.stop.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(hangs_up_at_once, id="hung up"),
        pytest.param(resets_in_the_body, id="reset"),
        pytest.param(refuses(503, "the server is starting"), id="503"),
        pytest.param(refuses(403, "no longer"), id="403"),
        pytest.param(sends(b"not json\n"), id="nonsense"),
        pytest.param(sends_and_ends({"type": "ERROR", "object": {"code": 500, "message": "etcd"}}), id="ERROR 500"),
    ],
)
def test_trouble_is_told_and_the_watch_goes_on(trouble: Any, kube: KubeServer, tmp_path: Path) -> None:
    kube.faults[WATCH] += [trouble, trouble]
    server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
    events: queue.Queue[Event] = queue.Queue()
    follower = Follower(server, events.put)
    follower.follow([Pod], read_cluster(server).versions)
    assert [told(events) for _ in range(2)] == [("lost", "Pod")] * 2
    kube.change("ADDED", pod("p1"))
    assert told(events) == ("is", "p1")
    follower.stop.set()


def mirror(kube: KubeServer, tmp_path: Path) -> ClusterMirror:
    return ClusterMirror(read_cluster(connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))))


def test_a_mirror_knows_what_scheduling_does_not_read(kube: KubeServer, tmp_path: Path) -> None:
    mine = mirror(kube, tmp_path)
    found = {each.value.metadata.name: each for each in mine.cluster().found[Pod]}  # type: ignore[union-attr]
    again = {each.value.metadata.name: each for each in mirror(kube, tmp_path).cluster().found[Pod]}  # type: ignore[union-attr]
    again["p0"].value.metadata.resource_version = "999"  # type: ignore[union-attr]
    assert not mine.apply(ObjectChange(Pod, ("default", "p0"), again["p0"]))
    again["p0"].value.spec.node_name = "n1"  # type: ignore[union-attr]
    assert found["p0"].value is not again["p0"].value
    assert not mine.apply(Lost(Pod, "x"))
    assert mine.apply(ObjectChange(Pod, ("default", "p0"), None))
    assert not mine.apply(ObjectChange(Pod, ("default", "p0"), None))
    assert mine.apply(Listed(Pod, [again["p0"]]))
    assert not mine.apply(Listed(Pod, [again["p0"]]))
    for found_now in (DecodedObject(None), DecodedObject(None), again["p0"]):
        assert mine.apply(ObjectChange(Pod, ("default", "p0"), found_now))


A, B = News(Kind.FITS, "x/a", "n1", "1 of 2 nodes fit"), News(Kind.UNSCHEDULABLE, "x/a", "", "0/2 nodes are available")


@pytest.mark.parametrize(
    ("before", "now", "bound", "told"),
    [
        pytest.param(None, A, {}, [A], id="at first"),
        pytest.param(A, A, {}, [], id="the same"),
        pytest.param(A, News(Kind.FITS, "x/a", "n1", "2 of 2 nodes fit"), {}, [], id="other numbers"),
        pytest.param(A, B, {}, [B], id="no longer"),
        pytest.param(B, News(Kind.UNSCHEDULABLE, "x/a", "", "0/3"), {}, [News(Kind.UNSCHEDULABLE, "x/a", "", "0/3")], id="why"),
        pytest.param(A, None, {"x/a": "n1"}, [News(Kind.BOUND, "x/a", "n1", "as foreseen")], id="as foreseen"),
        pytest.param(A, None, {"x/a": "n2"}, [News(Kind.BOUND, "x/a", "n2", "foreseen was n1")], id="elsewhere"),
        pytest.param(B, None, {"x/a": "n2"}, [News(Kind.BOUND, "x/a", "n2", "was unschedulable")], id="after all"),
        pytest.param(A, None, {}, [News(Kind.GONE, "x/a")], id="gone"),
    ],
)  # fmt: skip
def test_what_is_news(before: News | None, now: News | None, bound: dict[str, str], told: list[News]) -> None:
    first = None if before is None else Picture({"x/a": before}, {})
    assert list(news(first, Picture({"x/a": now} if now else {}, bound))) == told


def test_a_lost_server_is_told_once_and_so_is_its_return() -> None:
    events: queue.Queue[Event | None] = queue.Queue()

    class Still:
        def apply(self, event: Event) -> bool:
            return False

        def cluster(self) -> None:
            return None

    for event in (Lost(Pod, "refused"), Lost(Pod, "refused"), Listed(Pod, []), None):
        events.put(event)
    watch = Watch(Still(), events, lambda cluster: None)  # type: ignore[arg-type,return-value]
    watch._look = lambda: iter(())  # type: ignore[method-assign]
    assert [each.kind for each in watch.seen() if isinstance(each, News)] == [Kind.LOST, Kind.BACK]


@pytest.mark.slow
def test_a_cluster_followed_to_the_end(kube: KubeServer, tmp_path: Path) -> None:
    setup = RunOptions(live=LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
    told: queue.Queue[News] = queue.Queue()
    stop = threading.Event()

    def read() -> None:
        for each in Simulator.watch(setup, PATIENCE).news():
            told.put(each)
            if stop.is_set():
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def after(act: Callable[[], None]) -> News:
        act()
        return told.get(timeout=PATIENCE)

    assert after(lambda: None) == News(Kind.FITS, "default/p0", "n1", "1 of 1 nodes fit")
    big = make_pod("big").requests(cpu="64").doc()
    assert after(lambda: kube.change("ADDED", big)).kind is Kind.UNSCHEDULABLE
    assert after(
        lambda: kube.change("ADDED", make_node("n2").allocatable(cpu="80", memory="16Gi", pods="110").doc())
    ) == News(Kind.FITS, "default/big", "n2", "1 of 2 nodes fit")
    placed = make_pod("big").requests(cpu="64").on("n2").doc()
    assert after(lambda: kube.change("MODIFIED", placed)) == News(Kind.BOUND, "default/big", "n2", "as foreseen")
    stop.set()
    assert after(lambda: kube.change("DELETED", pod("p0"))) == News(Kind.GONE, "default/p0")
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert {each.method for each in kube.requests} == {"GET"}


@pytest.mark.slow
def test_the_command_prints_a_line_for_each(kube: KubeServer, tmp_path: Path, ksched: Ksched) -> None:
    live = ["watch", "--kubeconfig", kube.kubeconfig(tmp_path), "--count", "1"]
    assert ksched(*live, code=0).out[8:] == "  default/p0  fits on n1  1 of 1 nodes fit\n"
    entry = json.loads(ksched(*live, "-o", "json", code=0).out)
    assert {key: entry[key] for key in ("kind", "pod", "node")} == {"kind": "fits", "pod": "default/p0", "node": "n1"}
    assert run([*live[:3], "--for", "50ms"]) == 0


@pytest.mark.slow
def test_mistakes(kube: KubeServer, tmp_path: Path, ksched: Ksched) -> None:
    live = ["watch", "--kubeconfig", kube.kubeconfig(tmp_path)]
    assert "-n defualt: nothing of the input is in namespace defualt" in ksched(*live, "-n", "defualt", code=2).err
    assert run(["watch", "--from", "x.json"]) == 2
    assert run(["watch", "--for", "soon"]) == 2
    said = ksched("watch", "--kubeconfig", str(tmp_path / "none"), code=3).err
    assert "leave --from out" in said
    assert "--for soon: not a length of time" in said
    assert "no such kubeconfig" in said


class Watched(Mock):
    """A server that ends each watch at once, or refuses it."""

    def lines(self, *_: Any, **__: Any) -> Iterator[bytes]:
        if self.refused:
            raise RequestRefused(self.refused, "no")
        return iter(())


@pytest.mark.parametrize(
    ("seconds", "refused", "failures", "version"),
    [
        pytest.param(0.0, 0, [1, 2, 3], "1", id="watches that end at once"),
        pytest.param(1.0, 0, [0, 0, 0], "1", id="watches that last"),
        pytest.param(0.0, 410, [1, 2, 3], "", id="versions that the server no longer has"),
        pytest.param(0.0, 500, [1, 2, 3], "1", id="a server in trouble"),
        pytest.param(0.0, 504, [1, 2, 3], "", id="a version that the server does not reach"),
    ],
)
def test_watches_that_fail_in_a_row(seconds: float, refused: int, failures: list[int], version: str) -> None:
    times = count(0.0, seconds)
    follower = Follower(Watched(refused=refused), Mock(), clock=lambda: next(times))
    watched = watching._Watched(Resource(Pod, "v1"), "1", 0.0)
    found: list[int] = []
    for _ in failures:
        watched.version = "1"
        follower.stop = Mock(
            is_set=Mock(side_effect=[False, False, True])
            if refused not in (0, 410)
            else Mock(side_effect=[False, True])
        )
        follower._follow_kind(watched)
        found.append(watched.failures)
    assert (found, watched.version) == (failures, version)


@pytest.mark.parametrize(("number", "lines"), [(2, 2), (3, 3), (0, 4)])
def test_the_command_stops_after_a_number_of_lines(
    number: int, lines: int, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning is printed once, before the line that follows it."""
    following = Mock(warnings=())

    def news() -> Iterator[News]:
        for each in range(4):
            following.warnings = ("the server was lost",) if each else ()
            yield News(Kind.GONE, f"default/p{each}")

    following.news = news
    monkeypatch.setattr(Simulator, "watch", lambda *_: following)
    shown = ksched("watch", "--count", str(number), code=0)
    assert [line.split()[1] for line in shown.out.splitlines()] == [f"default/p{each}" for each in range(lines)]
    assert shown.err == "ksched: warning: the server was lost\n"


def test_a_server_that_is_back_is_told_once() -> None:
    told, bookmark_line = Mock(), json.dumps(bookmark(7)).encode()
    follower = Follower(Mock(lines=lambda *_, **__: iter((b"", bookmark_line, b""))), told, clock=lambda: 0.0)
    watched = watching._Watched(Resource(Pod, "v1"), "1", 0.0, failures=4, lost=True)
    follower._watch_once(watched)
    assert [call.args for call in told.call_args_list] == [(Reached(Pod),)]
    assert (watched.version, watched.failures, watched.lost) == ("7", 1, False)
