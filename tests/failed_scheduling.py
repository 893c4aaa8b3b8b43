"""FailedScheduling events as schedulers write them, of old and of now."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def written_now(pod: str, text: str, said: str, *, again: str = "", uid: str = "", **more: Any) -> Document:
    """As the core group shows what was written as events.k8s.io/v1. `again` makes a series of it."""
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.{said}", "namespace": "default", "creationTimestamp": said},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": pod, "uid": uid, "resourceVersion": "7"},
        "reason": "FailedScheduling",
        "message": text,
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "type": "Warning",
        "eventTime": said,
        "action": "Scheduling",
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-control-plane",
        **({"series": {"count": 3, "lastObservedTime": again}} if again else {}),
    }
    return {**event, **more}


def in_its_own_group(pod: str, text: str, said: str, *, uid: str = "") -> Document:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.{said}", "namespace": "default"},
        "regarding": {"kind": "Pod", "namespace": "default", "name": pod, "uid": uid},
        "reason": "FailedScheduling",
        "note": text,
        "type": "Warning",
        "eventTime": said,
        "action": "Scheduling",
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-control-plane",
    }


def of_old(pod: str, text: str, last: str, *, count: int = 1, uid: str = "") -> Document:
    """As the core group's recorder wrote them, which counts the repetitions of a text."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.{last}", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": pod, "uid": uid},
        "reason": "FailedScheduling",
        "message": text,
        "source": {"component": "default-scheduler"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": last,
        "count": count,
        "type": "Warning",
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }
