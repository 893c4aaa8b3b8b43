"""The work queue of the controllers: keys in turn, and timers on the virtual clock."""

from __future__ import annotations

from itertools import count, pairwise
from typing import Any

import pytest

from ksched_cli.controlplane.api_server import Refusal
from ksched_cli.controlplane.work import Worker, WorkQueue
from ksched_cli.engine.hints import VirtualClock


class Noting(Worker):
    def __init__(self, *refused: str) -> None:
        self.refused = list(refused)
        self.seen: list[Any] = []

    def reconcile(self, key: Any) -> None:
        self.seen.append(key)
        if key in self.refused:
            self.refused.remove(key)
            raise Refusal("Test", "no")


def make() -> tuple[VirtualClock, WorkQueue]:
    clock = VirtualClock()
    return clock, WorkQueue(clock, lambda: 1)


def test_a_timer_runs_at_its_moment_and_not_before() -> None:
    clock, queue = make()
    ran: list[str] = []
    queue.at(5.0, lambda: ran.append("second"))
    queue.at(3.0, lambda: ran.append("first"))
    assert queue.next_moment() == 3.0
    clock.now = 2.999
    queue.run_due()
    assert ran == []
    clock.now = 3.0
    queue.run_due()
    assert ran == ["first"]
    assert queue.next_moment() == 5.0
    clock.now = 5.0
    queue.run_due()
    assert ran == ["first", "second"]
    assert queue.next_moment() is None


def test_keys_are_reconciled_in_turn_and_once() -> None:
    _, queue = make()
    worker = Noting()
    for key in ("a", "b", "a"):
        queue.add(worker, key)
    while queue.work():
        pass
    assert worker.seen == ["a", "b"]


def test_a_key_is_added_later_once_at_the_earliest_of_its_moments() -> None:
    clock, queue = make()
    worker = Noting()
    for seconds in (4.0, 2.0, 2.0, 3.0):
        queue.add_after(worker, "a", seconds)
    moments = []
    while (moment := queue.next_moment()) is not None:
        clock.now = moment
        moments.append(moment)
        queue.run_due()
        queue.work()
    assert moments == [2.0, 4.0]
    assert worker.seen == ["a", "a"]


def test_a_refused_key_comes_again_after_a_delay_that_doubles() -> None:
    clock, version = VirtualClock(), [0]
    queue = WorkQueue(clock, lambda: version[0])
    worker = Noting("a", "a")
    queue.add(worker, "a")
    moments = []
    while True:
        while queue.work():
            pass
        assert queue.next_moment() is None, "nothing has changed: the same request would fail again"
        version[0] += 1
        moment = queue.next_moment()
        if moment is None:
            break
        clock.now = moment
        moments.append(moment)
        queue.run_due()
    assert moments == [0.005, 0.015]
    assert worker.seen == ["a", "a", "a"]


def test_a_key_that_is_refused_a_thousand_times_is_tried_again_each_thousand_seconds() -> None:
    clock, versions = VirtualClock(), count()
    queue = WorkQueue(clock, lambda: next(versions))
    worker = Noting(*["a"] * 1100)
    queue.add(worker, "a")
    moments = []
    while queue.work():
        moments.append(clock.now)
        if (moment := queue.next_moment()) is not None:
            clock.now = moment
            queue.run_due()
    waits = [later - sooner for sooner, later in pairwise(moments)]
    assert len(waits) == 1100
    assert waits[:4] == pytest.approx([0.005, 0.01, 0.02, 0.04])
    assert waits[-1] == 1000.0
