"""Reads events of schedulers: pods that did not fit, pods that were bound, pods that were evicted for others.

The types are those of the core group and of events.k8s.io.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from ksched_cli.api.core import ObjectMeta, ObjectReference
from ksched_cli.api.decode import UnknownKind
from ksched_cli.api.object_facts import parse_time


class EventSeries(Struct, frozen=True, gc=False):
    """The mark of an event that was repeated. None of its fields is read."""


class EventSource(Struct, rename="camel", frozen=True, gc=False):
    component: str = ""


class Event(Struct, rename="camel", frozen=True, gc=False):
    """Both forms: what is `message` in one is `note` in the other."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    reason: str = ""
    event_time: str | None = None
    related: ObjectReference = ObjectReference()
    series: EventSeries | None = None
    # Of the core group.
    involved_object: ObjectReference = ObjectReference()
    message: str = ""
    source: EventSource = EventSource()
    reporting_component: str = ""
    last_timestamp: str | None = None
    # Of events.k8s.io.
    regarding: ObjectReference = ObjectReference()
    note: str = ""
    deprecated_source: EventSource = EventSource()
    reporting_controller: str = ""
    deprecated_last_timestamp: str | None = None


FAILED, SCHEDULED, PREEMPTED = "FailedScheduling", "Scheduled", "Preempted"
REASONS = (FAILED, SCHEDULED, PREEMPTED)
_VERSIONS = frozenset({"v1", "events.k8s.io/v1", "events.k8s.io/v1beta1"})
# "Successfully assigned shop/web-1 to node-1"; "Preempted by pod UID on node node-1", of old "Preempted by shop/web-1".
_ASSIGNED = re.compile(r"Successfully assigned \S+ to (\S+)")
_MADE_ROOM = re.compile(r"Preempted by .* on node (\S+)")


class FailedScheduling(Struct, frozen=True):
    """`stamp`: the time at which the scheduler wrote `text`. `again`: the pod failed later, too; such an event is a
    series, which keeps its first text."""

    namespace: str
    pod: str
    uid: str
    scheduler: str
    text: str
    stamp: str
    again: bool


class ScheduledPod(Struct, frozen=True):
    """A pod that a scheduler bound to the node. `at` is the time in seconds since the epoch. It is `exact` if the event
    has an eventTime, which has microseconds."""

    namespace: str
    pod: str
    uid: str
    node: str
    stamp: str
    at: float
    exact: bool

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.pod}"


class PreemptionEvent(Struct, frozen=True):
    """A preemptor, by uid and name as far as the event has them, for which a pod was evicted from the node."""

    preemptor_uid: str
    preemptor: str
    node: str


SchedulerEvent = FailedScheduling | ScheduledPod | PreemptionEvent


def is_event(unknown: UnknownKind) -> bool:
    return unknown.kind == "Event" and unknown.api_version in _VERSIONS


def read_event(event: Event) -> SchedulerEvent | None:
    """The event of a scheduler about a pod; None for other events."""
    about = event.involved_object if event.involved_object.kind else event.regarding
    if about.kind != "Pod":
        return None
    if event.reason == FAILED:
        return _failed_scheduling(event, about)
    text = event.message or event.note
    if event.reason == SCHEDULED and (assigned := _ASSIGNED.fullmatch(text)):
        return _scheduled(event, about, assigned[1])
    if event.reason == PREEMPTED and event.related.name and (made_room := _MADE_ROOM.fullmatch(text)):
        related = event.related
        return PreemptionEvent(related.uid, f"{related.namespace}/{related.name}", made_room[1])
    return None


def _failed_scheduling(event: Event, about: ObjectReference) -> FailedScheduling:
    """The failure in the event. Older minors write events of the core group, which count how often a text was repeated
    and have the time of the last one."""
    source = event.source.component or event.deprecated_source.component
    last = event.last_timestamp or event.deprecated_last_timestamp
    return FailedScheduling(
        about.namespace,
        about.name,
        about.uid,
        event.reporting_component or event.reporting_controller or source,
        event.message or event.note,
        next(filter(_is_time, (last, event.event_time, event.metadata.creation_timestamp)), None) or "",
        last is None and event.series is not None,
    )


def _scheduled(event: Event, about: ObjectReference, node: str) -> ScheduledPod | None:
    last = event.last_timestamp or event.deprecated_last_timestamp
    stamp = next(filter(_is_time, (event.event_time, last, event.metadata.creation_timestamp)), None)
    if stamp is None:
        return None
    exact = _is_time(event.event_time)
    return ScheduledPod(about.namespace, about.name, about.uid, node, stamp, parse_time(stamp), exact)


def _is_time(stamp: str | None) -> bool:
    try:
        return bool(stamp) and parse_time(stamp or "") > 0
    except ValueError:
        return False
