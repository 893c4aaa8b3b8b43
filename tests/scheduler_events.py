"""Events of pods that a scheduler bound or evicted, in the forms in which clusters have them."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def bound_event(pod: str, node: str, at: str, *, uid: str = "") -> Document:
    """As the core group shows what was written as events.k8s.io/v1."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.bound", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": pod, "uid": uid},
        "reason": "Scheduled",
        "message": f"Successfully assigned default/{pod} to {node}",
        "type": "Normal",
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": at,
        "action": "Binding",
        "reportingComponent": "default-scheduler",
    }


def bound_event_of_its_group(pod: str, node: str, at: str, *, uid: str = "") -> Document:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.bound", "namespace": "default"},
        "regarding": {"kind": "Pod", "namespace": "default", "name": pod, "uid": uid},
        "reason": "Scheduled",
        "note": f"Successfully assigned default/{pod} to {node}",
        "type": "Normal",
        "eventTime": at,
        "action": "Binding",
        "reportingController": "default-scheduler",
    }


def bound_event_of_old(pod: str, node: str, at: str) -> Document:
    """As the core group's recorder wrote them, which cuts times to the second."""
    event = bound_event(pod, node, at)
    return {**event, "eventTime": None, "firstTimestamp": at, "lastTimestamp": at, "source": {"component": "scheduler"}}


def preempted_event(victim: str, preemptor: str, node: str, *, uid: str = "") -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{victim}.preempted", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": victim},
        "related": {"kind": "Pod", "namespace": "default", "name": preemptor, "uid": uid},
        "reason": "Preempted",
        "message": f"Preempted by pod {uid} on node {node}",
        "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000001Z",
        "action": "Preempting",
        "reportingComponent": "default-scheduler",
    }
