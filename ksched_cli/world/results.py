"""The result of a run of a world, by name: the timeline, and the place of every pod in the end.

Most pods of a large cluster do not move, and few results show them: they are columns (`UnmovedPods`) until they are
read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import is_terminal, pod_key
from ksched_cli.controlplane.draws import Draw

if TYPE_CHECKING:
    from ksched_cli.controlplane.store import Identity, KeptObjects

# The event of a pod that has left its node.
_DEPARTURE = "AssignedPodDelete"
# Names, workloads and nodes.
Columns: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class UnmovedPods:
    """Pods that had their node before the run and to which nothing happened, as columns in the order of `pods`. The
    columns are made when they are read first."""

    def __init__(self, make: Callable[[], Columns] = lambda: ((), (), ())) -> None:
        self._make = make

    @classmethod
    def of(cls, found: Iterable[tuple[str, str, str]]) -> UnmovedPods:
        """The pods with these names, workloads and nodes."""
        columns = _sorted(found)
        return cls(lambda: columns)

    @cached_property
    def columns(self) -> Columns:
        return self._make()

    @property
    def pods(self) -> tuple[str, ...]:
        return self.columns[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnmovedPods) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash(self.columns)

    def __reduce__(self) -> tuple[Callable[..., UnmovedPods], tuple[object, ...]]:
        return _with_columns, self.columns


class StoredPods(UnmovedPods):
    """Unmoved pods that are known as objects: `table` has them by identity. `workload_of` must name the workloads as
    they were at the end of the run, whatever has happened since then."""

    def __init__(self, find: Callable[[], dict[Identity, Pod]], workload_of: Callable[[Pod], str]) -> None:
        super().__init__(self._columns_of_table)
        self._find, self.workload_of = find, workload_of

    @cached_property
    def table(self) -> Mapping[Identity, Pod]:
        return self._find()

    @classmethod
    def all_but(
        cls, left_out: Iterable[Identity], kept: KeptObjects, wanted: Callable[[Pod], bool] = lambda pod: True
    ) -> StoredPods:
        """The kept pods but these and finished ones, whose workloads are named as the kept objects have them. They are
        read later, as they are now."""
        from ksched_cli.controlplane.store import WorkloadNames

        gone = set(left_out)

        def find() -> dict[Identity, Pod]:
            pods = ((identity, pod) for identity, pod in kept.pods.items() if identity not in gone)
            return {identity: pod for identity, pod in pods if not is_terminal(pod) and wanted(pod)}

        return cls(find, WorkloadNames(kept))

    def left_out_of(self, kept: KeptObjects) -> tuple[Identity, ...] | None:
        """The kept pods that are not among these. None if some of these are others than the kept pods."""
        table = self.table
        left_out = tuple(identity for identity, pod in kept.pods.items() if table.get(identity) is not pod)
        return left_out if len(kept.pods) - len(left_out) == len(table) else None

    def _columns_of_table(self) -> Columns:
        return _sorted((pod_key(pod), self.workload_of(pod), pod.spec.node_name) for pod in self.table.values())


def _sorted(found: Iterable[tuple[str, str, str]]) -> Columns:
    rows = sorted(found)
    pods, workloads, nodes = zip(*rows, strict=True) if rows else ((), (), ())
    return pods, workloads, nodes


def _with_columns(*columns: tuple[str, ...]) -> UnmovedPods:
    pods, workloads, nodes = columns
    return UnmovedPods(lambda: (pods, workloads, nodes))


Ending = Literal["settled", "max-time", "max-cycles", "oscillation"]


class Limits(Struct, frozen=True):
    """The limits of a run, in virtual seconds and in cycles. It also ends, as at `max_time`, where nothing more happens
    at this moment and `until` holds."""

    max_time: float = 3600.0
    max_cycles: int = 100_000
    until: Callable[[], bool] | None = None


DEFAULT_LIMITS = Limits()


class TimelineEvent(Struct, frozen=True, omit_defaults=True):
    """At this time (seconds since the start) this event moved the pod to this queue, or its cycle came to this
    decision. Documents have it as it is."""

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
    # The pod or pod group that preempted the pod.
    preempted_by: str = ""

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


def first_lives(timeline: Iterable[TimelineEvent], final: FinalPods) -> tuple[list[TimelineEvent], FinalPods]:
    """The end of a run in which pods go and come back without end: without the pods that came and went in between, and
    without what happened after the first of these had gone too."""
    replaces = {each.pod: each.replaces for each in final.others if each.replaces != each.pod}

    def first(pod: str) -> str:
        seen = {pod}
        while (before := replaces.get(pod)) and before not in seen:
            seen.add(before)
            pod = before
        return pod

    departures: Counter[str] = Counter()
    events = []
    for event in timeline:
        pod = first(event.pod)
        if departures[pod] < 2 or not pod:
            events.append(event)
        departures[pod] += event.event == _DEPARTURE
    kept = (each for each in final.others if each.state != "gone" or not each.replaces)
    named = (replace(each, replaces=first(each.replaces)) if each.replaces else each for each in kept)
    return events, FinalPods.of(named, final.unmoved)
