"""What is remembered for pods whose cycle is under way (Test_InFlightPods)."""

from __future__ import annotations

from ksched_cli.engine.scheduling_queue import InFlight, QueueEvent
from ksched_cli.framework.events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, UNSCHEDULED_POD_UPDATE

A = QueueEvent(ASSIGNED_POD_ADD, None, "a")
B = QueueEvent(ASSIGNED_POD_DELETE, "b", None)
C = QueueEvent(UNSCHEDULED_POD_UPDATE, "c", "c")


def test_nothing_is_remembered_while_nobody_is_in_flight() -> None:
    flights = InFlight()
    assert not flights.note(A)
    flights.start(1)
    assert flights.meanwhile(1) == []


def test_each_pod_has_what_happened_after_it_took_off() -> None:
    flights = InFlight()
    flights.start(1)
    flights.note(A)
    flights.start(2)
    flights.note(B)
    assert flights.meanwhile(1) == [A, B]
    assert flights.meanwhile(2) == [B]
    assert len(flights) == 2
    assert list(flights) == [1, 2]


def test_what_no_pod_needs_any_more_is_forgotten() -> None:
    flights = InFlight()
    flights.start(1)
    flights.note(A)
    flights.start(2)
    flights.note(B)
    flights.done(2)
    assert flights.events == [A, B]
    flights.start(3)
    flights.note(C)
    flights.done(1)
    assert flights.events == [C]
    flights.done(3)
    assert flights.events == []


def test_done_twice_is_done_once() -> None:
    flights = InFlight()
    flights.start(1)
    flights.done(1)
    flights.done(1)
    assert 1 not in flights


def test_an_event_for_a_pod_that_is_not_in_flight_is_refused() -> None:
    flights = InFlight()
    flights.start(1)
    assert not flights.note_for(2, [A])
    assert flights.note_for(1, [B, C])
    assert flights.meanwhile(1) == [B, C]
