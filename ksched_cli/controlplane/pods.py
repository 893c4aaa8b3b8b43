"""Facts about one pod that several controllers use."""

from __future__ import annotations

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_terminal, parse_time


def is_active(pod: Pod) -> bool:
    """controller.IsPodActive: neither finished nor terminating."""
    return not is_terminal(pod) and pod.metadata.deletion_timestamp is None


def is_ready(pod: Pod) -> bool:
    """podutil.IsPodReady. A pod that comes without any conditions counts as ready if it runs."""
    if not pod.status.conditions:
        return bool(pod.spec.node_name) and pod.status.phase in ("Running", "")
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


def ready_since(pod: Pod) -> float:
    """When the pod became ready, in seconds since the epoch; 0 without such a condition."""
    for each in pod.status.conditions:
        if each.type == "Ready" and each.status == "True" and each.last_transition_time:
            return parse_time(each.last_transition_time)
    return 0.0


def is_available(pod: Pod, min_ready_seconds: int, now: float) -> bool:
    """podutil.IsPodAvailable."""
    return is_ready(pod) and (not min_ready_seconds or ready_since(pod) + min_ready_seconds <= now)
