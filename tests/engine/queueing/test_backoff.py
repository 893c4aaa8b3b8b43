"""How long a pod has to wait, and in which order pods stop waiting."""

from __future__ import annotations

import pytest

from ksched_cli.engine.hints import QueuedPod, VirtualClock
from ksched_cli.engine.scheduling_queue import BackoffQueue
from tests.builders import make_pod
from tests.engine.queueing.line import make_line
from tests.harness import make_scheduler


def queue_at(now: float, *, initial: float = 1, most: float = 10, pop_early: bool = True) -> BackoffQueue:
    return BackoffQueue(
        VirtualClock(now),
        lambda pod: (-pod.info.priority, pod.timestamp),
        initial=initial,
        most=most,
        pop_early=pop_early,
    )


def queued(name: str = "p", *, priority: int = 0, row: int = 0, **fields: object) -> QueuedPod:
    cluster = make_scheduler([], [make_pod(name).priority(priority).obj()]).cluster
    return QueuedPod(row, cluster.pods.infos[0], **{"timestamp": 0.0, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("initial", "most", "count", "seconds"),
    [
        pytest.param(1, 10, 0, 0, id="never-tried"),
        pytest.param(1, 10, 1, 1, id="first"),
        pytest.param(1, 10, 2, 2, id="second"),
        pytest.param(1, 10, 3, 4, id="third"),
        pytest.param(1, 10, 4, 8, id="fourth"),
        pytest.param(1, 10, 5, 10, id="the-maximum"),
        pytest.param(1, 10, 1000, 10, id="very-many"),
        pytest.param(1, 10, 10**9, 10, id="more-than-a-float-holds"),
        pytest.param(20, 10, 1, 10, id="initial-above-maximum"),
        pytest.param(3, 100, 4, 24, id="other-settings"),
    ],
)
def test_the_backoff_doubles_up_to_the_maximum(initial: float, most: float, count: int, seconds: float) -> None:
    assert queue_at(0, initial=initial, most=most).duration(count) == seconds


@pytest.mark.parametrize(
    ("pod", "most", "expected"),
    [
        pytest.param({"unschedulable_count": 1}, 10, 5.0, id="rejected-once"),
        pytest.param({"unschedulable_count": 3}, 10, 8.0, id="rejected-often"),
        pytest.param({"unschedulable_count": 5, "consecutive_errors": 1}, 10, 5.0, id="errors-count-on-their-own"),
        pytest.param({}, 10, float("-inf"), id="not-tried-yet"),
        pytest.param({"unschedulable_count": 1}, 0, float("-inf"), id="no-backoff-at-all"),
    ],
)
def test_expiration_is_cut_to_the_second(pod: dict[str, int], most: float, expected: float) -> None:
    assert queue_at(4.5, most=most).expiration(queued(timestamp=4.5, **pod)) == expected


def test_the_expiration_is_kept_until_the_next_attempt_is_over() -> None:
    queue, pod = queue_at(0), queued(unschedulable_count=1)
    assert queue.expiration(pod) == 1
    pod.unschedulable_count = 4
    assert queue.expiration(pod) == 1


@pytest.mark.parametrize(
    ("now", "pop_early", "waits"),
    [
        pytest.param(0.5, True, True, id="long-before"),
        pytest.param(1.0, True, True, id="its-second-begins"),
        pytest.param(1.9, True, True, id="its-second-is-not-over"),
        pytest.param(2.0, True, False, id="the-next-second"),
        pytest.param(1.0, False, True, id="to-the-moment"),
        pytest.param(1.1, False, False, id="to-the-moment-and-past-it"),
    ],
)
def test_a_pod_waits_to_the_end_of_its_second(now: float, pop_early: bool, waits: bool) -> None:
    assert queue_at(now, pop_early=pop_early).waits(queued(unschedulable_count=1)) is waits


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("added", [0.0, 0.25, 7.5])
@pytest.mark.parametrize("pop_early", [True, False])
def test_due_is_the_first_whole_second_that_lets_the_pod_go(count: int, added: float, pop_early: bool) -> None:
    queue = queue_at(added, pop_early=pop_early)
    pod = queued(timestamp=added, unschedulable_count=count, unschedulable_plugins=frozenset({"A"}))
    queue.put(pod)
    due = queue.due(pod)
    queue._clock.now = due - 1
    let_go_before = due - 1 > added and bool(queue.pop_completed())
    queue._clock.now = due
    assert not let_go_before
    assert due == int(due)
    assert due > added
    assert queue.pop_completed() == [pod]


def test_pods_of_one_second_come_in_the_order_of_the_active_queue() -> None:
    queue = queue_at(0)
    late = queued("late", row=0, timestamp=3.0, unschedulable_count=1, unschedulable_plugins=frozenset({"A"}))
    low = queued("low", row=1, timestamp=0.1, unschedulable_count=1, unschedulable_plugins=frozenset({"A"}))
    high = queued(
        "high", row=2, priority=9, timestamp=0.9, unschedulable_count=1, unschedulable_plugins=frozenset({"A"})
    )
    for pod in (late, low, high):
        queue.put(pod)
    assert [queue.pop_early() for _ in range(4)] == [high, low, late, None]


def test_a_pod_that_met_an_error_is_not_taken_early() -> None:
    queue = queue_at(0)
    pod = queued(consecutive_errors=1)
    queue.put(pod)
    assert queue.pop_early() is None
    assert 0 in queue
    assert len(queue) == 1
    queue._clock.now = 2
    assert queue.pop_completed() == [pod]
    assert len(queue) == 0


def test_nothing_is_taken_early_without_the_gate() -> None:
    queue = queue_at(0, pop_early=False)
    queue.put(queued(unschedulable_count=1, unschedulable_plugins=frozenset({"A"})))
    assert queue.pop_early() is None


def test_retries_come_after_1_2_4_8_and_10_seconds() -> None:
    line = make_line(make_pod("p").obj(), pop_from_backoff=True)
    tried = []
    for _ in range(60):
        if line.queue.active.peek() is not None:
            tried.append(line.clock.now)
            line.fail()
        line.pass_time(1)
    # A flush comes at the end of the second in which the backoff is over.
    assert tried == [0, 2, 5, 10, 19, 30, 41, 52]
