"""The result of a run of a world, by name: the timeline, and the place of every pod in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ksched_cli.controlplane.draws import Draw

Ending = Literal["settled", "max-time", "max-cycles", "oscillation"]


@dataclass(frozen=True)
class Limits:
    """The limits of a run, in virtual seconds and in cycles."""

    max_time: float = 3600.0
    max_cycles: int = 100_000


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """At this time (seconds since the start) this event moved the pod to this queue, or its cycle came to this
    decision."""

    time: float
    event: str
    pod: str = ""
    queue: str = ""
    decision: str = ""
    node: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class FinalPod:
    """A pod at the end of the run.

    `state` is running (it had a node before the run), scheduled, unschedulable, error, gated, waiting (a Permit plugin
    holds it), nominated (its victims are leaving), pending (not tried yet), ignored (of another scheduler), leaving or
    gone. `workload` is its top owner as `Deployment/shop/web`. `replaces` is the pod whose place it takes, `why` the
    reason why it is gone. `moved`: something happened to the pod in the run.
    """

    pod: str
    workload: str
    state: str
    node: str = ""
    queue: str = ""
    attempts: int = 0
    nominated_node: str = ""
    replaces: str = ""
    message: str = ""
    unschedulable_plugins: tuple[str, ...] = ()
    gated_by: str = ""
    why: str = ""
    moved: bool = True

    @property
    def unplaced(self) -> bool:
        """The pod wants a node and has none."""
        return self.state in ("unschedulable", "error", "pending", "nominated", "waiting")


@dataclass(frozen=True, slots=True)
class Orders:
    """How often a workload came to its end when decisions that Kubernetes leaves to chance were tried in several
    orders."""

    tried: int
    finished: int

    def __str__(self) -> str:
        if not self.finished:
            return f"does not finish in any of the {self.tried} orders that were tried"
        if self.finished == self.tried:
            return f"finishes in all {self.tried} orders that were tried"
        return f"finishes in {self.finished} of {self.tried} orders"


@dataclass(frozen=True, slots=True)
class WorldResult:
    """`seconds` is virtual time. `period` and `oscillating` are set if the same happens again and again. `finished`
    has, for workloads whose template or scale the run has changed, whether `kubectl rollout status` would call them
    complete. `orders`: in how many of the orders that were tried every pod has a node in the end; None if chance
    decides nothing that matters. `doubtful` has the workloads that do not end alike in all orders.
    """

    timeline: tuple[TimelineEvent, ...]
    final: tuple[FinalPod, ...]
    ending: Ending
    seconds: float
    cycles: int
    finished: Mapping[str, bool]
    draws: tuple[Draw, ...] = ()
    oscillating: tuple[str, ...] = ()
    period: float = 0.0
    faults: tuple[str, ...] = ()
    orders: Orders | None = None
    doubtful: Mapping[str, Orders] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        return self.ending == "settled"

    @property
    def moved(self) -> tuple[FinalPod, ...]:
        """The pods to which something happened."""
        return tuple(pod for pod in self.final if pod.moved)

    @property
    def unplaced(self) -> tuple[FinalPod, ...]:
        return tuple(pod for pod in self.final if pod.unplaced)

    @property
    def preempting(self) -> bool:
        return any(entry.event == "Preempted" for entry in self.timeline)
