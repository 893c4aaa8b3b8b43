"""Which pods are held back, and where those of a group wait: one by one up to 1.36, and since 1.37 as a whole with the
gate GenericWorkload."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_pod
from tests.engine.queueing.line import Line, line_of
from tests.harness import decide, make_scheduler
from tests.pod_groups import GATES_OF_MINOR, group, member, nodes_with

_LETTERS = {"active": "a", "backoff": "b", "unschedulable": "u", "-": "-", "in flight": "f"}


def _made(name: str) -> Any:
    """Pods x and y are gated, and z is one of another group."""
    pod = member(name, of="other" if name == "z" else "g").created("2026-01-01T00:00:00Z")
    return (pod.gate("wait") if name in "xyz" else pod).obj()


def _do(line: Line, what: str, name: str) -> None:
    if what == "add":
        line.add(_made(name))
    elif what == "reject":
        while len(line.queue.active):
            line.fail("Rejects")
    elif what == "ungate":
        line.update(name, member(name).created("2026-01-01T00:00:00Z").obj())
    elif what == "label":
        line.update(name, member(name).created("2026-01-01T00:00:00Z").gate("wait").label(new="yes").obj())
    elif what == "delete":
        line.queue.delete(line.row(name))
    elif what == "node":
        line.queue.move_all(ClusterEvent("Node", Action.ADD), None, nodes_with(1)[0])
    else:
        line.pass_time(float(name))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "before", "now"),
    [
        pytest.param("add p", "a", "a", id="one pod"),
        pytest.param("add x", "u", "u", id="one that is gated"),
        pytest.param("add p, add q", "aa", "aa", id="another comes"),
        pytest.param("add p, add x", "au", "uu", id="one that is gated comes"),
        pytest.param("add x, add p", "ua", "uu", id="another comes to one that is gated"),
        pytest.param("add p, add z", "au", "au", id="one of another group is gated"),
        pytest.param("add p, reject, add q", "ba", "bb", id="another comes in backoff"),
        pytest.param("add p, reject, add x", "bu", "uu", id="one that is gated comes in backoff"),
        pytest.param("add p, reject, add q, pass 3", "aa", "aa", id="the backoff ends for all"),
        pytest.param("add p, add q, delete q", "a-", "a-", id="one is deleted"),
        pytest.param("add p, reject, add q, delete q", "b-", "b-", id="one is deleted in backoff"),
        pytest.param("add p, add x, delete x", "a-", "u-", id="the gated one is deleted"),
        pytest.param("add p, add x, delete x, pass 330", "a-", "a-", id="the gated one is deleted, and the rest is flushed"),
        pytest.param("add p, add x, delete x, add q", "a-a", "u-u", id="the gated one is deleted, and another comes"),
        pytest.param("add p, add x, add y, delete x", "a-u", "u-u", id="one of two gated ones is deleted"),
        pytest.param("add x, ungate x", "a", "a", id="a gate is removed"),
        pytest.param("add p, add x, ungate x", "aa", "aa", id="the only gate is removed"),
        pytest.param("add x, label x", "u", "u", id="a gated pod changes"),
        pytest.param("add x, add y, ungate x", "au", "uu", id="one gate of two is removed"),
        pytest.param("add x, add y, add p, ungate x, ungate y", "aaa", "aaa", id="both gates are removed"),
        pytest.param("add p, reject, add x, ungate x", "ba", "bb", id="the gate is removed while others are in backoff"),
        pytest.param("add p, add x, node", "au", "uu", id="an event that the gate does not wait for"),
        pytest.param("add p, add x, pass 330", "au", "uu", id="a gated group is flushed"),
    ],
)  # fmt: skip
def test_where_pods_of_a_group_wait(steps: str, before: str, now: str) -> None:
    """The cases are those of the tests about pod groups in scheduling_queue_test.go; their group is p, q, x and y. One
    letter for each pod in the order of coming: active, backoff, unschedulable."""
    found = {}
    for minor, gates in GATES_OF_MINOR.items():
        line = line_of(RELEASES[minor], gates=gates, objects=[group(), group("other")])
        for step in steps.split(", "):
            what, _, name = step.partition(" ")
            _do(line, what, name)
        found[minor] = "".join(_LETTERS[where] for where in line.where().values())
    assert found == {"1.36": before, "1.37": now}


@pytest.mark.parametrize(
    ("min_count", "pods", "before", "now"),
    [
        pytest.param(None, "pq", "pq", "pq", id="none is gated"),
        pytest.param(None, "pxq", "pq", "", id="one is gated"),
        pytest.param(None, "xy", "", "", id="all are gated"),
        pytest.param(None, "pz", "p", "p", id="one of another group is gated"),
        pytest.param(None, "apx", "ap", "a", id="one of no group is tried"),
        pytest.param(None, "rp", "p", "p", id="one runs"),
        pytest.param(None, "rpx", "p", "", id="one runs, and one is gated"),
        pytest.param(2, "pqx", "pq", "", id="the quorum is there without the gated one"),
        pytest.param(3, "pqx", "pq", "", id="the gated one makes the quorum"),
        pytest.param(4, "pqx", "", "", id="too few"),
    ],
)
def test_which_pods_of_a_group_are_tried(min_count: int | None, pods: str, before: str, now: str) -> None:
    """runPreEnqueuePlugins: any pod of a group that is gated gates the group. A is of no group, and r runs."""
    made = []
    for name in pods:
        pod = _made(name)
        made.append(make_pod(name).obj() if name == "a" else member(name).on("n1").obj() if name == "r" else pod)
    found = {}
    for minor, gates in GATES_OF_MINOR.items():
        objects = [group(min_count=min_count), group("other")]
        scheduler = make_scheduler(nodes_with(9), made, objects=objects, gates=gates, current=RELEASES[minor])
        found[minor] = "".join(sorted(key.removeprefix("default/") for key in decide(scheduler)))
    assert found == {"1.36": before, "1.37": now}


@pytest.mark.parametrize(
    ("pods", "before", "now"),
    [
        pytest.param("xy", "x", "xy", id="two of a group are gated"),
        pytest.param("xp", "px", "px", id="one of a group is gated"),
        pytest.param("xz", "x", "x", id="one of another group is gated"),
        pytest.param("bx", "b", "b", id="a pod of no group"),
    ],
)
def test_which_pods_are_let_in_with_the_first(pods: str, before: str, now: str) -> None:
    made = [make_pod(name).gate("wait").obj() if name == "b" else _made(name) for name in pods]
    found = {}
    for minor, gates in GATES_OF_MINOR.items():
        objects = [group(), group("other")]
        scheduler = make_scheduler(nodes_with(9), made, objects=objects, gates=gates, current=RELEASES[minor])
        queue, infos = scheduler.enqueue(), scheduler.cluster.pods.infos
        scheduler.let_in(queue, next(row for row, info in enumerate(infos) if info.name == pods[0]))
        found[minor] = "".join(sorted(infos[row].name for row in queue.active))
    assert found == {"1.36": before, "1.37": now}


@pytest.mark.parametrize("names", ["px", "xp"])
def test_what_a_pod_is_held_back_with_names_the_other(names: str) -> None:
    pods = [_made(name) for name in names]
    current, gates = RELEASES["1.37"], GATES_OF_MINOR["1.37"]
    scheduler = make_scheduler(nodes_with(9), pods, objects=[group()], gates=gates, current=current)
    infos, gated = scheduler.cluster.pods.infos, scheduler.enqueue().gated
    (gate,) = (status for row, status in gated.items() if infos[row].name == "p")
    line = line_of(current, *pods, gates=gates, objects=[group()])
    text = "pod default/x of its pod group is held back: waiting for scheduling gates: [wait]"
    assert (gate.plugin, gate.message) == ("SchedulingGates", text)
    assert (line.pod("p").gating_plugin, line.pod("p").gating_message) == ("SchedulingGates", text)


def test_a_pod_that_joins_its_group_in_backoff_keeps_its_nomination() -> None:
    line = line_of(RELEASES["1.37"], _made("p"), gates=GATES_OF_MINOR["1.37"], objects=[group()])
    _do(line, "reject", "")
    line.add(member("q").nominated("n1").obj())
    assert line.where() == {"p": "backoff", "q": "backoff"}
    assert line.scheduler.nominator.known() == {line.row("q"): "n1"}


def test_a_flush_helps_a_group_that_nothing_holds_back_any_longer() -> None:
    line = line_of(RELEASES["1.37"], _made("p"), _made("x"), gates=GATES_OF_MINOR["1.37"], objects=[group()])
    assert not line.queue.flush_helps(line.pod("p"))
    _do(line, "delete", "x")
    assert line.queue.flush_helps(line.pod("p"))


@pytest.mark.parametrize(
    ("steps", "before", "now"),
    [
        pytest.param((330,), "u", "u", id="still gated"),
        pytest.param((0, 290), "u", "u", id="gated no longer, but too soon"),
        pytest.param((0, 330), "u", "a", id="gated no longer"),
        pytest.param((330, 270), "u", "u", id="flushed once, and then gated no longer, but too soon"),
        pytest.param((330, 330), "u", "a", id="flushed once, and then gated no longer"),
    ],
)
def test_when_gated_pods_are_flushed(steps: tuple[int, ...], before: str, now: str) -> None:
    """#139162 and #139331, the cases of scheduling_queue_test.go: the gate goes after the first of the times, and no
    event comes for it."""
    found = {}
    for minor in ("1.36", "1.37"):
        line = line_of(RELEASES[minor], make_pod("x").gate("wait").obj())
        for count, seconds in enumerate(steps):
            if count:
                line.pod("x").info = PodInfo(make_pod("x").obj(), line.scheduler.cluster.resources)
            line.pass_time(seconds)
        found[minor] = _LETTERS[line.where()["x"]]
    assert found == {"1.36": before, "1.37": now}


def test_a_flush_that_lets_a_group_go_reaches_the_pods_behind_it() -> None:
    """The gates of x and of the other pod go, and no event comes for it. P is no longer held back then."""
    other = make_pod("other").gate("wait").obj()
    line = line_of(RELEASES["1.37"], _made("x"), _made("p"), other, gates=GATES_OF_MINOR["1.37"], objects=[group()])
    for pod in (member("x"), make_pod("other")):
        line.pod(pod.obj().metadata.name).info = PodInfo(pod.obj(), line.scheduler.cluster.resources)
    line.pass_time(330)
    assert line.where() == {"x": "active", "p": "active", "other": "active"}
