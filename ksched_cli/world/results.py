"""The result of a run of a world, by name: the timeline, and the place of every pod in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Literal, overload

from msgspec import Struct, field

from ksched_cli.controlplane.draws import Draw
from ksched_cli.world.unmoved_pods import UnmovedPods

Ending = Literal["settled", "max-time", "max-cycles", "oscillation"]


class Limits(Struct, frozen=True):
    """The limits of a run, in virtual seconds and in cycles."""

    max_time: float = 3600.0
    max_cycles: int = 100_000


DEFAULT_LIMITS = Limits()


class TimelineEvent(Struct, frozen=True):
    """At this time (seconds since the start) this event moved the pod to this queue, or its cycle came to this
    decision."""

    time: float
    event: str
    pod: str = ""
    queue: str = ""
    decision: str = ""
    node: str = ""
    message: str = ""


class FinalPod(Struct, frozen=True):
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


_NONE_UNMOVED = UnmovedPods()


@dataclass(frozen=True, slots=True)
class FinalPods(Sequence[FinalPod]):
    """All pods at the end of a run, by name. Most of a large cluster did not move: each of those becomes an object of
    its own only when it is read."""

    others: tuple[FinalPod, ...] = ()
    unmoved: UnmovedPods = _NONE_UNMOVED

    @classmethod
    def of(cls, others: Iterable[FinalPod], unmoved: UnmovedPods) -> FinalPods:
        return cls(tuple(sorted(others, key=_order)), unmoved)

    def __len__(self) -> int:
        return len(self.others) + len(self.unmoved.pods)

    def __iter__(self) -> Iterator[FinalPod]:
        return merge(self.others, self._unmoved(), key=_order) if self.unmoved.pods else iter(self.others)

    def _unmoved(self) -> Iterator[FinalPod]:
        for pod, workload, node in zip(*self.unmoved.columns, strict=True):
            yield FinalPod(pod, workload, "running", node, moved=False)

    @overload
    def __getitem__(self, index: int) -> FinalPod: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[FinalPod, ...]: ...

    def __getitem__(self, index: int | slice) -> FinalPod | tuple[FinalPod, ...]:
        return tuple(self)[index]

    def only(self, keeps: Callable[[FinalPod], bool]) -> FinalPods:
        """The unmoved pods, and those of the others that `keeps` keeps."""
        return FinalPods(tuple(filter(keeps, self.others)), self.unmoved)


def _order(pod: FinalPod) -> tuple[str, bool]:
    return pod.pod, pod.state != "gone"


class Orders(Struct, frozen=True):
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


class WorldResult(Struct, frozen=True):
    """`seconds` is virtual time. `period` and `oscillating` are set if the same happens again and again. `finished`
    has, for workloads whose template or scale the run has changed, whether `kubectl rollout status` would call them
    complete. `orders`: in how many of the orders that were tried every pod has a node in the end; None if chance
    decides nothing that matters. `doubtful` has the workloads that do not end alike in all orders.
    """

    timeline: tuple[TimelineEvent, ...]
    final: FinalPods
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
        return tuple(pod for pod in self.final.others if pod.moved)

    @property
    def unplaced(self) -> tuple[FinalPod, ...]:
        return tuple(pod for pod in self.final.others if pod.unplaced)

    @property
    def preempting(self) -> bool:
        return any(entry.event == "Preempted" for entry in self.timeline)
