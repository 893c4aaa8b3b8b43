"""Small questions about a pod that many ask."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from ksched_cli.api.core import Pod


def pod_key(pod: Pod) -> str:
    """`namespace/name`."""
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def pod_priority(pod: Pod) -> int:
    """corev1helpers.PodPriority: no priority counts as 0."""
    return 0 if pod.spec.priority is None else pod.spec.priority


def is_terminal(pod: Pod) -> bool:
    """Finished pods hold nothing; the scheduler's informer does not even list them."""
    return pod.status.phase in ("Succeeded", "Failed")


@lru_cache(maxsize=65536)
def parse_time(stamp: str) -> float:
    """Seconds since the epoch of an RFC 3339 time; ValueError for anything else."""
    parsed = datetime.fromisoformat(stamp)
    if parsed.tzinfo is None:
        raise ValueError(f"{stamp!r} has no time zone")
    return parsed.timestamp()
