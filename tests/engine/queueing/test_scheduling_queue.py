"""Where pods are and what moves them (scheduling_queue_test.go names most of the situations)."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.object_facts import is_same_pod
from ksched_cli.framework.events import ASSIGNED_POD_DELETE, Action, ClusterEvent
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.engine.queueing.line import Line, make_line, registering
from tests.engine.queueing.line import line_of as minor_line

NODE_ADD = ClusterEvent("Node", Action.ADD)
NODE_LABEL = ClusterEvent("Node", Action.UPDATE_NODE_LABEL)
WAKES = registering("Wakes", NODE_ADD)
SLEEPS = registering("Sleeps", NODE_ADD, answer=False)
OWN = registering("Own", ClusterEvent("Pod", Action.UPDATE), answer=lambda pod, old, new: is_same_pod(pod.pod, new))


def line_of(*names: str, plugins: Any = (WAKES, SLEEPS, OWN), **settings: Any) -> Line:
    return make_line(*(make_pod(name).obj() for name in names), plugins=plugins, **settings)


def woken(line: Line) -> None:
    line.queue.move_all(NODE_ADD, None, make_node("new").obj())


# The order


def test_priority_then_time_in_the_queue_then_order_of_arrival() -> None:
    line = make_line(
        make_pod("young").created("2026-01-02T00:00:00Z").obj(),
        make_pod("b").created("2026-01-01T00:00:00Z").obj(),
        make_pod("a").created("2026-01-01T00:00:00Z").obj(),
    )
    line.clock.advance_to(5)
    line.add(make_pod("late").created("2020-01-01T00:00:00Z").obj(), make_pod("high").priority(7).obj())
    popped = [line.queue.pop() for _ in range(5)]
    assert [pod.info.name for pod in popped if pod] == ["high", "young", "b", "a", "late"]
    assert line.queue.pop() is None


def test_a_pod_that_failed_lines_up_behind_the_others() -> None:
    line = line_of("a", "b")
    first = line.queue.pop()
    assert first is not None
    assert first.info.name == "a"
    line.clock.advance_to(1)
    line.put_back(first, "Wakes")
    line.pass_time(3)
    woken(line)
    assert [pod.info.name for pod in (line.queue.pop(), line.queue.pop()) if pod] == ["b", "a"]


# After a cycle


@pytest.mark.parametrize(
    ("rejected", "pending", "happens", "expected"),
    [
        pytest.param(["Wakes"], (), [], "unschedulable", id="nothing-happened"),
        pytest.param(["Wakes"], (), [NODE_ADD], "backoff", id="an-event-that-helps"),
        pytest.param(["Sleeps"], (), [NODE_ADD], "unschedulable", id="an-event-that-does-not"),
        pytest.param(["Sleeps"], (), [NODE_LABEL], "unschedulable", id="an-event-nobody-wants"),
        pytest.param([], ("Wakes",), [NODE_ADD], "active", id="what-it-waited-for"),
        pytest.param(["Wakes"], ("Sleeps",), [NODE_ADD], "backoff", id="not-what-it-waited-for"),
        pytest.param([], (), [], "backoff", id="an-error"),
    ],
)
def test_where_a_pod_goes_after_its_cycle(rejected: Any, pending: Any, happens: Any, expected: str) -> None:
    line = line_of("p")
    pod = line.queue.pop()
    assert pod is not None
    assert line.where() == {"p": "in flight"}
    for event in happens:
        line.queue.move_all(event, None, make_node("new").obj())
    line.put_back(pod, *rejected, pending=pending)
    assert line.where() == {"p": expected}
    assert not line.queue.in_flight
    assert line.queue.in_flight.events == []


def test_attempts_and_failures_are_counted_apart() -> None:
    line = line_of("p", pop_from_backoff=False)
    counts = []
    for plugins in (["Wakes"], ["Wakes"], [], [], ["Wakes"]):
        pod = line.fail(*plugins)
        counts.append((pod.attempts, pod.unschedulable_count, pod.consecutive_errors))
        woken(line)
        line.pass_time(20)
    assert counts == [(1, 1, 0), (2, 2, 0), (3, 2, 1), (4, 2, 2), (5, 3, 0)]


def test_events_while_another_pod_is_in_flight_do_not_count_for_a_later_one() -> None:
    line = line_of("a", "b")
    first = line.queue.pop()
    woken(line)
    second = line.queue.pop()
    assert first
    assert second
    line.put_back(second, "Wakes")
    line.put_back(first, "Wakes")
    assert line.where() == {"a": "backoff", "b": "unschedulable"}


def test_a_group_s_pod_comes_back_by_backoff_alone() -> None:
    line = line_of("p", pod_groups=True)
    line.queue.active.get(0).info.pod.spec.scheduling_group = object()  # type: ignore[union-attr, assignment]
    line.fail("Sleeps")
    assert line.where() == {"p": "backoff"}


def test_a_pod_that_its_group_leaves_behind_waits_as_if_it_were_new() -> None:
    line = line_of("p")
    for _ in range(3):
        line.fail("Wakes")
        woken(line)
        line.pass_time(20)
    pod = line.queue.pop()
    assert pod is not None
    line.queue.add_rest(pod)
    assert line.where() == {"p": "active"}
    line.fail("Wakes")
    woken(line)
    line.pass_time(1)
    assert line.where() == {"p": "backoff"}
    line.pass_time(1)
    assert line.where() == {"p": "active"}


# Events


@pytest.mark.parametrize(
    ("rejected", "waited", "expected"),
    [
        pytest.param("Wakes", 0, "backoff", id="still-backing-off"),
        pytest.param("Wakes", 1, "backoff", id="its-second-is-not-over"),
        pytest.param("Wakes", 2, "active", id="backoff-is-over"),
        pytest.param("Sleeps", 2, "unschedulable", id="no-help"),
    ],
)
def test_an_event_moves_the_pods_that_it_may_help(rejected: str, waited: int, expected: str) -> None:
    line = line_of("p")
    line.fail(rejected)
    line.pass_time(waited)
    woken(line)
    assert line.where() == {"p": expected}


def test_an_event_passes_over_pods_that_the_check_excludes() -> None:
    line = line_of("p", plugins=(registering("Wakes", ClusterEvent("Pod", Action.DELETE)),))
    line.fail("Wakes")
    line.pass_time(2)
    line.queue.move_all(ASSIGNED_POD_DELETE, make_pod("gone").obj(), None, lambda pod: pod.name != "p")
    assert line.where() == {"p": "unschedulable"}
    line.queue.move_all(ASSIGNED_POD_DELETE, make_pod("gone").obj(), None, lambda pod: pod.name == "p")
    assert line.where() == {"p": "active"}


def test_an_event_passes_over_pods_that_it_does_not_help() -> None:
    other = registering("Other", NODE_LABEL)
    gated = make_pod("gated").gate("hold").obj()
    names = ("no-help", "not-asked", "helped")
    line = make_line(gated, *(make_pod(name).obj() for name in names), plugins=(WAKES, SLEEPS, other))
    for plugin in ("Sleeps", "Other", "Wakes"):
        line.fail(plugin)
    assert set(line.where().values()) == {"unschedulable"}
    line.pass_time(2)
    woken(line)
    assert [name for name, where in line.where().items() if where == "active"] == ["helped"]


def test_moves_are_told() -> None:
    line = line_of("p")
    line.fail("Wakes")
    woken(line)
    line.queue.pop()
    assert line.moves == [
        ("p", "active", "UnschedulablePodAdd"),
        ("p", "unschedulable", "ScheduleAttemptFailure"),
        ("p", "backoff", "NodeAdd"),
        ("p", "active", "PopFromBackoffQ"),
    ]


# The passing of time


def test_a_pod_in_the_backoff_queue_becomes_active_when_its_time_is_over() -> None:
    line = line_of("p", "q", pop_from_backoff=False)
    line.fail("Wakes")
    line.fail("Sleeps")
    woken(line)
    line.pass_time(1)
    assert line.where() == {"p": "backoff", "q": "unschedulable"}
    line.pass_time(1)
    assert line.where() == {"p": "active", "q": "unschedulable"}
    assert line.moves[-1] == ("p", "active", "BackoffComplete")


@pytest.mark.parametrize("most", [60.0, 300.0])
def test_a_pod_is_not_left_unschedulable_for_ever(most: float) -> None:
    line = line_of("p", most_in_unschedulable=most)
    line.fail("Sleeps")
    due = line.queue.leftover_due(line.pod("p"))
    line.pass_time(due - 1)
    assert line.where() == {"p": "unschedulable"}
    line.pass_time(1)
    assert line.where() == {"p": "active"}
    assert line.moves[-1] == ("p", "active", "UnschedulableTimeout")
    assert due == most + 30


def test_a_gated_pod_is_left_where_it_is() -> None:
    line = make_line(make_pod("p").gate("hold").obj())
    assert line.where() == {"p": "unschedulable"}
    assert line.pod("p").gating_plugin == "SchedulingGates"
    assert line.pod("p").attempts == 0
    line.pass_time(1000)
    line.queue.move_all(NODE_ADD, None, make_node("new").obj())
    assert line.where() == {"p": "unschedulable"}
    assert line.moves == [("p", "unschedulable", "UnschedulablePodAdd")]


# Updates and deletions


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda p: p.gate("hold"), "unschedulable", id="one-gate-is-left"),
        pytest.param(lambda p: p, "active", id="no-gate-is-left"),
    ],
)
def test_a_pod_whose_gates_go_is_tried(change: Any, expected: str) -> None:
    line = make_line(make_pod("p").gate("hold").gate("more").obj())
    line.update("p", change(make_pod("p")).obj())
    assert line.where() == {"p": expected}
    assert line.pod("p").gated is (expected != "active")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param("active", "active", id="active"),
        pytest.param("in flight", "in flight", id="in-flight"),
        pytest.param("backoff", "backoff", id="backoff"),
        pytest.param("error-backoff", "backoff", id="backoff-after-an-error"),
        pytest.param("unschedulable", "backoff", id="unschedulable-and-it-helps"),
        pytest.param("not helped", "unschedulable", id="unschedulable-and-it-does-not"),
        pytest.param("unknown", "active", id="not-queued-at-all"),
    ],
)
def test_an_update_reaches_the_pod_wherever_it_is(state: str, expected: str) -> None:
    line = line_of("p")
    if state == "in flight":
        line.queue.pop()
    elif state == "backoff":
        line.fail("Wakes")
        woken(line)
    elif state == "error-backoff":
        line.fail()
    elif state in ("unschedulable", "not helped"):
        line.fail("Own" if state == "unschedulable" else "Sleeps")
    elif state == "unknown":
        line.queue.delete(line.row("p"))
    line.update("p", make_pod("p").label(new="yes").obj())
    assert line.where() == {"p": expected}
    if expected != "in flight":
        assert line.pod("p").info.labels == {"new": "yes"}
    if expected == "backoff":
        # Only a pod that a plugin rejected is taken before its time.
        assert (line.queue.pop() is None) is (state == "error-backoff")


def test_an_update_while_in_flight_counts_when_the_cycle_is_over() -> None:
    line = line_of("p")
    pod = line.queue.pop()
    assert pod is not None
    line.update("p", make_pod("p").label(new="yes").obj())
    line.put_back(pod, "Own")
    assert line.where() == {"p": "backoff"}


@pytest.mark.parametrize("state", ["active", "backoff", "unschedulable"])
def test_a_deleted_pod_is_nowhere(state: str) -> None:
    line = line_of("p")
    if state != "active":
        line.fail("Wakes")
    if state == "backoff":
        woken(line)
    assert line.where() == {"p": state}
    line.scheduler.nominator.add(line.row("p"), "node")
    line.queue.delete(line.row("p"))
    assert line.where() == {"p": "-"}
    assert not line.scheduler.nominator.known()


@pytest.mark.parametrize(
    ("before", "after", "known", "expected"),
    [
        pytest.param("", "", "here", "here", id="says-nothing"),
        pytest.param("", "there", "here", "there", id="nominated"),
        pytest.param("here", "there", "here", "there", id="moved"),
        pytest.param("here", "", "here", "", id="taken-back"),
        pytest.param("here", "here", "", "here", id="unchanged-but-unknown"),
        pytest.param("", "", "", "", id="never"),
    ],
)
def test_nominations_follow_updates(before: str, after: str, known: str, expected: str) -> None:
    line = line_of()
    line.add(make_pod("p").nominated(before).obj())
    nominator = line.scheduler.nominator
    nominator.follow_status(0, known)
    line.update("p", make_pod("p").nominated(after).label(new="yes").obj())
    assert nominator.node_of(0) == expected


def test_a_new_pod_is_nominated_as_its_status_says() -> None:
    line = make_line(make_pod("p").nominated("node").obj(), make_pod("gated").gate("x").nominated("node").obj())
    assert line.scheduler.nominator.known() == {0: "node"}


@pytest.mark.parametrize(("minor", "known"), [("1.36", {0: "node"}), ("1.37", {0: "node", 1: "node"})])
def test_a_new_pod_that_is_gated_is_nominated_since_1_37(minor: str, known: dict[int, str]) -> None:
    """#139057."""
    pods = make_pod("p").nominated("node").obj(), make_pod("gated").gate("x").nominated("node").obj()
    assert minor_line(RELEASES[minor], *pods).scheduler.nominator.known() == known


# Activation


@pytest.mark.parametrize("state", ["active", "unschedulable", "backoff", "gated", "unknown"])
def test_pop_specific(state: str) -> None:
    line = make_line(make_pod("p").gate("x").obj() if state == "gated" else make_pod("p").obj(), plugins=(WAKES,))
    if state in ("unschedulable", "backoff"):
        line.fail("Wakes")
    if state == "backoff":
        woken(line)
    if state == "unknown":
        line.queue.delete(0)
    popped = line.queue.pop_specific(0)
    assert (popped is not None) == (state not in ("gated", "unknown"))
    assert (0 in line.queue.in_flight) == (popped is not None)


def test_without_the_gate_nothing_is_popped_from_the_backoff_queue() -> None:
    line = line_of("p", pop_from_backoff=False)
    line.fail("Wakes")
    woken(line)
    assert line.queue.pop() is None
    assert [pod.info.name for pod in line.queue] == ["p"]


@pytest.mark.parametrize("pop_from_backoff", [True, False])
def test_a_pod_gated_on_its_way_back_stays_out(pop_from_backoff: bool) -> None:
    line = line_of("p", pop_from_backoff=pop_from_backoff)
    pod = line.queue.pop()
    assert pod is not None
    woken(line)
    pod.info = type(pod.info)(make_pod("p").gate("now").obj(), line.scheduler.cluster.resources)
    line.put_back(pod, "Wakes")
    assert line.where() == {"p": "unschedulable" if pop_from_backoff else "backoff"}
    line.pass_time(5)
    assert line.where() == {"p": "unschedulable"}
    assert line.pod("p").gated
