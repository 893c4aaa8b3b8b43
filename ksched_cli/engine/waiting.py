"""Pods that Permit plugins hold on the node they were assumed on (runtime.waitingPodsMap), on the virtual clock. They
exist in a world only: a run with one cycle for each pod has no later moment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.undo import Logged, LoggedDict, UndoLog
from ksched_cli.config.model import duration_text
from ksched_cli.engine.cycle.runtime import CycleState, Runtime
from ksched_cli.engine.decision import Decision
from ksched_cli.framework.status import SUCCESS, Status, error, unschedulable


@dataclass(eq=False)
class WaitingPodState(Logged):
    """One pod between Permit and PreBind. The first of "all plugins allow it" and "a plugin rejects it"
    decides."""

    decision: Decision
    runtime: Runtime
    state: CycleState
    node: str
    timeouts: Mapping[str, float]
    since: float = 0.0
    verdict: Status | None = None
    _pending: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._pending = frozenset(self.timeouts)
        self.undo = self.runtime.cluster.undo

    @property
    def pod(self) -> PodInfo:
        return self.decision.pod

    @property
    def pending_plugins(self) -> Collection[str]:
        """Plugins that have not allowed the pod yet."""
        return tuple(sorted(self._pending))

    def allow(self, plugin: str) -> None:
        self._pending -= {plugin}
        if not self._pending and self.verdict is None:
            self.verdict = SUCCESS

    def reject(self, plugin: str, message: str) -> bool:
        """Reject the pod. Returns False if its wait had ended before."""
        return self._end(unschedulable(message).by(plugin))

    def preempt(self, plugin: str, message: str = "preempted") -> bool:
        """End the wait for a pod of higher priority: this pod goes back to the queue as after an error."""
        return self._end(error(message).by(plugin))

    def _end(self, verdict: Status) -> bool:
        if self.verdict is not None:
            return False
        self.verdict = verdict
        return True

    @property
    def deadline(self) -> float:
        """The moment at which the first plugin stops waiting."""
        return self.since + min(self.timeouts[plugin] for plugin in self._pending)

    def expire(self) -> None:
        plugin = min(self._pending, key=lambda each: (self.timeouts[each], each))
        wait = duration_text(round(self.timeouts[plugin] * 10**9))
        self.reject(plugin, f"rejected due to timeout after waiting {wait} at plugin {plugin}")


class WaitingPods:
    """By uid, in the order in which they began to wait."""

    def __init__(self, undo: UndoLog | None = None) -> None:
        self._pods: dict[str, WaitingPodState] = LoggedDict(undo or UndoLog())

    def __iter__(self) -> Iterator[WaitingPodState]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> WaitingPodState | None:
        return self._pods.get(uid)

    def add(self, pod: WaitingPodState) -> None:
        self._pods[pod.pod.uid] = pod

    def remove(self, pod: WaitingPodState) -> None:
        self._pods.pop(pod.pod.uid, None)

    def decided(self) -> list[WaitingPodState]:
        return [pod for pod in self._pods.values() if pod.verdict is not None] if self._pods else []

    def next_deadline(self) -> float | None:
        if not self._pods:
            return None
        return min((pod.deadline for pod in self if pod.verdict is None), default=None)

    def expire(self, now: float) -> None:
        for pod in self if self._pods else ():
            if pod.verdict is None and pod.deadline <= now:
                pod.expire()
