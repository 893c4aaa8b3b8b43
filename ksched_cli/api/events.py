"""Events of the core group and of events.k8s.io: the messages of components about objects, with their times."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.api.meta import ObjectMeta, ObjectReference


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
