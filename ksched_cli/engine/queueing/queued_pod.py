"""A pod on its way through the queues (framework.QueuedPodInfo)."""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.undo import Logged
from ksched_cli.framework.events import ClusterEvent
from ksched_cli.framework.status import Status


class QueuedPod(Logged):
    """`timestamp` is when the pod came to the queue, anew after every attempt; of pods that came at the same moment
    the lowest `turn` came first. What it was rejected by decides which
    events may bring it back; a pod without any was not rejected, something went wrong with it. What is not set has the
    value of the class."""

    row: int
    info: PodInfo
    timestamp: float
    turn: int = 0
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    first_tried: float | None = None
    backoff_expiration: float | None = None
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    # What PreEnqueue holds it back with.
    gate: Status | None = None
    gating_events: tuple[ClusterEvent, ...] = ()

    def __init__(self, row: int, info: PodInfo, timestamp: float, **others: Any) -> None:
        self.row, self.info, self.timestamp = row, info, timestamp
        for name, value in others.items():
            setattr(self, name, value)

    @property
    def gated(self) -> bool:
        """PreEnqueue holds it back."""
        return self.gate is not None

    @property
    def gating_plugin(self) -> str:
        return self.gate.plugin if self.gate is not None else ""

    @property
    def gating_message(self) -> str:
        return self.gate.message if self.gate is not None else ""

    @property
    def rejectors(self) -> frozenset[str]:
        return self.unschedulable_plugins | self.pending_plugins

    @property
    def backoff_count(self) -> int:
        """How many attempts the backoff is reckoned by: those that failed by an error count on their own."""
        return self.consecutive_errors or self.unschedulable_count
