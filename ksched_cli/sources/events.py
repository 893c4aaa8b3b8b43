"""FailedScheduling events: what schedulers said of pods that they could not place."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.api.decode import UnknownKind
from ksched_cli.api.events import Event
from ksched_cli.api.pod_facts import parse_time

REASON = "FailedScheduling"
_VERSIONS = frozenset({"v1", "events.k8s.io/v1", "events.k8s.io/v1beta1"})


@dataclass(frozen=True, slots=True)
class FailedScheduling:
    """`said`: when the scheduler said `text`. It is repeated where it failed `again` after that: an event becomes a
    series whatever is said later, and keeps its first text."""

    namespace: str
    pod: str
    uid: str
    scheduler: str
    text: str
    said: str
    again: bool


def is_event(unknown: UnknownKind) -> bool:
    return unknown.kind == "Event" and unknown.api_version in _VERSIONS


def _is_time(stamp: str | None) -> bool:
    try:
        return bool(stamp) and parse_time(stamp or "") > 0
    except ValueError:
        return False


def failed_scheduling(event: Event) -> FailedScheduling | None:
    """None for events of anything else. Until 1.18 events were those of the core group, which count the repetitions of
    one text and know when it was last said."""
    about = event.involved_object if event.involved_object.kind else event.regarding
    if event.reason != REASON or about.kind != "Pod":
        return None
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
