"""What settling came to, by name: everything that happened, and where every pod that moved is in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ksched_cli.plan.results import PodGroupOutcome, PodOutcome

Ending = Literal["settled", "max-time", "max-cycles", "oscillation"]


@dataclass(frozen=True, slots=True)
class Happening:
    """A line of the timeline: at this time (seconds since the start) this event moved the pod to this queue, or its
    cycle came to this decision."""

    time: float
    event: str
    pod: str = ""
    queue: str = ""
    decision: str = ""
    node: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class FinalPod:
    """A pod that was pending, came, or had to leave. `state` is scheduled, unschedulable, error, gated, waiting (a
    Permit plugin holds it), nominated (its victims are leaving), pending (not tried yet), leaving or gone. `replaces`
    is the pod that it came back for."""

    pod: str
    state: str
    node: str = ""
    queue: str = ""
    attempts: int = 0
    nominated_node: str = ""
    replaces: str = ""
    message: str = ""
    unschedulable_plugins: tuple[str, ...] = ()
    gated_by: str = ""

    @property
    def unplaced(self) -> bool:
        """It wants a node and has none."""
        return self.state in ("unschedulable", "error", "pending", "nominated", "waiting")


@dataclass(frozen=True, slots=True)
class Settlement:
    """`outcomes` has every pod's last cycle. `seconds` is virtual time; `period` and `oscillating` are set where the
    same happens again and again."""

    timeline: tuple[Happening, ...]
    final: tuple[FinalPod, ...]
    outcomes: tuple[PodOutcome, ...]
    ending: Ending
    seconds: float
    cycles: int
    oscillating: tuple[str, ...] = ()
    period: float = 0.0
    faults: tuple[str, ...] = ()
    pod_groups: tuple[PodGroupOutcome, ...] = ()

    @property
    def settled(self) -> bool:
        return self.ending == "settled"

    @property
    def unplaced(self) -> tuple[FinalPod, ...]:
        return tuple(pod for pod in self.final if pod.unplaced)

    @property
    def preempting(self) -> bool:
        return any(entry.event == "Preempted" for entry in self.timeline)
