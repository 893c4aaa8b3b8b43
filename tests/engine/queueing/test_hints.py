"""Which pods an event is worth waking (isPodWorthRequeuing, buildQueueingHintMap)."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.engine.hints import Hints, QueuedPod, Strategy, registrations
from ksched_cli.engine.scheduling_queue import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT
from ksched_cli.framework.events import (
    ASSIGNED_POD_ADD,
    EVERY_EVENT,
    Action,
    ClusterEvent,
)
from ksched_cli.releases.minors import release
from tests.builders import make_node, make_pod
from tests.engine.queueing.line import registering
from tests.harness import make_scheduler

NODE_ADD = ClusterEvent("Node", Action.ADD)
NODE_LABEL = ClusterEvent("Node", Action.UPDATE_NODE_LABEL)
POD_ADD = ClusterEvent("Pod", Action.ADD)


def queued(*rejected: str, pending: tuple[str, ...] = (), scheduler: str = "default-scheduler") -> QueuedPod:
    pod = make_pod("p").uid("p").scheduler(scheduler).obj()
    info = make_scheduler([], [pod]).cluster.pods.infos[0]
    return QueuedPod(0, info, 0.0, unschedulable_plugins=frozenset(rejected), pending_plugins=frozenset(pending))


def fails(*_: Any) -> bool:
    raise ValueError("cannot say")


SKIPPING, QUEUEING = registering("No", NODE_ADD, answer=False), registering("Yes", NODE_ADD)
WAITED, FAILING = registering("Waited", NODE_ADD), registering("Fails", NODE_ADD, answer=fails)


@pytest.mark.parametrize(
    ("plugins", "rejected", "pending", "event", "expected"),
    [
        pytest.param([QUEUEING], [], (), NODE_ADD, "AFTER_BACKOFF", id="rejected-by-nobody"),
        pytest.param([QUEUEING], ["Yes"], (), NODE_ADD, "AFTER_BACKOFF", id="queue"),
        pytest.param([SKIPPING], ["No"], (), NODE_ADD, "SKIP", id="skip"),
        pytest.param([FAILING], ["Fails"], (), NODE_ADD, "AFTER_BACKOFF", id="an-error-is-a-yes"),
        pytest.param([SKIPPING, QUEUEING], ["No", "Yes"], (), NODE_ADD, "AFTER_BACKOFF", id="one-of-two"),
        pytest.param([SKIPPING, QUEUEING], ["No"], (), NODE_ADD, "SKIP", id="others-are-not-asked"),
        pytest.param([SKIPPING, QUEUEING], ["Yes"], (), NODE_ADD, "AFTER_BACKOFF", id="behind-one-that-is-not-asked"),
        pytest.param([WAITED], [], ("Waited",), NODE_ADD, "IMMEDIATELY", id="what-was-pending"),
        pytest.param([QUEUEING, WAITED], ["Yes"], ("Waited",), NODE_ADD, "IMMEDIATELY", id="pending-wins"),
        pytest.param([QUEUEING, SKIPPING], ["Yes"], ("No",), NODE_ADD, "AFTER_BACKOFF", id="pending-says-no"),
        pytest.param([QUEUEING], ["Yes"], (), NODE_LABEL, "SKIP", id="another-event"),
        pytest.param([SKIPPING], ["No"], (), UNSCHEDULABLE_TIMEOUT, "AFTER_BACKOFF", id="timeout"),
        pytest.param([SKIPPING], ["No"], (), FORCE_ACTIVATE, "AFTER_BACKOFF", id="force-activate"),
        pytest.param([registering("P", POD_ADD)], ["P"], (), ASSIGNED_POD_ADD, "AFTER_BACKOFF", id="pod-is-any-pod"),
    ],
)
def test_worth_requeuing(plugins: Any, rejected: Any, pending: Any, event: ClusterEvent, expected: str) -> None:
    hints = Hints({"default-scheduler": plugins})
    found = hints.worth_requeuing(queued(*rejected, pending=pending), event, None, None)
    assert found is Strategy[expected]


def test_a_wildcard_event_may_be_for_one_pod() -> None:
    hints, pod = Hints({"default-scheduler": []}), queued("A")
    assert hints.worth_requeuing(pod, FORCE_ACTIVATE, None, make_pod("p").uid("p").obj()) is Strategy.AFTER_BACKOFF
    assert hints.worth_requeuing(pod, FORCE_ACTIVATE, None, make_pod("p").uid("other").obj()) is Strategy.SKIP


def test_a_hint_that_fails_is_told() -> None:
    hints = Hints({"default-scheduler": [FAILING]})
    hints.worth_requeuing(queued("Fails"), NODE_ADD, None, make_node("a").obj())
    assert hints.faults == ['queueing hint of plugin "Fails" failed for default/p at Node Add: ValueError: cannot say']


def test_the_plugins_of_another_profile_are_not_asked() -> None:
    hints = Hints({"default-scheduler": [QUEUEING], "mine": [registering("Yes", POD_ADD)]})
    assert hints.worth_requeuing(queued("Yes", scheduler="mine"), NODE_ADD, None, None) is Strategy.SKIP
    assert hints.of_interest(NODE_ADD)
    assert hints.of_interest(ASSIGNED_POD_ADD)
    assert hints.events_of("Yes") == (NODE_ADD, ClusterEvent("Node", Action.UPDATE_NODE_TAINT), POD_ADD)


@pytest.mark.parametrize(("gate", "expected"), [("true", "SKIP"), ("false", "AFTER_BACKOFF")])
def test_without_the_gate_no_plugin_is_asked(gate: str, expected: str) -> None:
    handle = make_scheduler([], [], gates=f"SchedulerQueueingHints={gate}", current=release("1.32")).handle
    hints = Hints({"default-scheduler": [SKIPPING]}, handle)
    assert hints.worth_requeuing(queued("No"), NODE_ADD, None, None) is Strategy[expected]


def test_events_that_nobody_wants_are_of_no_interest() -> None:
    hints = Hints({"default-scheduler": [QUEUEING]})
    assert not hints.of_interest(NODE_LABEL)
    assert hints.of_interest(UNSCHEDULABLE_TIMEOUT)


@pytest.mark.parametrize(
    ("events", "extra"),
    [
        pytest.param([NODE_ADD], True, id="add-alone"),
        pytest.param([ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_TAINT)], False, id="both-in-one"),
        pytest.param([NODE_ADD, ClusterEvent("Node", Action.UPDATE_NODE_TAINT)], False, id="both-apart"),
        pytest.param([NODE_LABEL], False, id="no-add"),
        pytest.param([POD_ADD], False, id="no-node"),
    ],
)
def test_who_hears_of_new_nodes_hears_of_taints_too(events: list[ClusterEvent], extra: bool) -> None:
    found = registrations([registering("A", *events, answer=False)])
    assert [each.event for each in found[: len(events)]] == events
    assert [each.skips_hint for each in found[len(events) :]] == ([True] if extra else [])
    if extra:
        hints = Hints({"default-scheduler": [registering("A", *events, answer=False)]})
        taint = ClusterEvent("Node", Action.UPDATE_NODE_TAINT)
        assert hints.worth_requeuing(queued("A"), taint, None, None) is Strategy.AFTER_BACKOFF


def test_a_plugin_that_names_no_event_is_woken_by_every_event() -> None:
    assert [each.event for each in registrations([registering("A")])] == list(EVERY_EVENT)
