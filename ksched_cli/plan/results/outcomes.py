"""The results of a simulation, by name: frozen values without rows and columns.

Results display themselves (`Displayed`): a short table in a terminal, HTML in a notebook. This layer can write neither:
`simulator.py` names the display that can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning
    from ksched_cli.controlplane.api_server import PodRefusal as Refused
    from ksched_cli.plan.results.nodes import Failure, FailureGroup, NodeChanges, NodeDetail, ScoredNode
    from ksched_cli.whatif.changes import DeletedPod
    from ksched_cli.world.results import FinalPod


class Display(Protocol):
    """Makes the text and the HTML with which a result shows itself in Python and in a notebook."""

    def text(self, result: object) -> str: ...

    def html(self, result: object) -> str: ...


class Displayed:
    """A result with a `repr` for people and with `_repr_html_` for notebooks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _display.text(self) if _display is not None else object.__repr__(self)

    def _repr_html_(self) -> str:
        return _display.html(self) if _display is not None else ""


_display: Display | None = None


def display_with(display: Display) -> None:
    """All results show themselves with this display from now on."""
    global _display
    _display = display


class Preemption(Struct, frozen=True, rename="camel"):
    node: str
    victims: tuple[str, ...]
    pdb_violations: int


class PodOutcome(Struct, frozen=True, gc=False):
    """One pod's cycle. `top` holds the best nodes only; `detail` is None without --detail; `missing` are kinds
    that a live cluster did not show and that could change this. `group_victims` leave for its whole pod group. `tied`:
    how many nodes tie; `ties` has their names, or the first of them where a line of a table is all that is shown."""

    pod: str
    result: str
    node: str = ""
    ties: Sequence[str] = ()
    total_nodes: int = 0
    feasible_nodes: int = 0
    pre_filter: Failure | None = None
    failures: tuple[FailureGroup, ...] = ()
    top: tuple[ScoredNode, ...] = ()
    message: str = ""
    preemption: Preemption | None = None
    nominated_node: str = ""
    unschedulable_plugins: tuple[str, ...] = ()
    scheduler: str = ""
    pod_group: str = ""
    group_victims: tuple[str, ...] = ()
    detail: NodeDetail | None = None
    missing: tuple[str, ...] = ()
    tied: int = 0

    @property
    def unplaced(self) -> bool:
        """The pod has no node, is not nominated to one, and no victims leave for its pod group."""
        return self.result in ("unschedulable", "error") and not self.nominated_node and not self.group_victims


class GatedPod(Struct, frozen=True):
    pod: str
    plugin: str
    reasons: tuple[str, ...]


class IgnoredPod(Struct, frozen=True):
    pod: str
    scheduler: str


class RefusedPod(Struct, frozen=True):
    """A pod of a manifest that admission would not have let in, so that the scheduler never sees it."""

    pod: str
    plugin: str
    message: str


def refused_pods(refused: Iterable[Refused]) -> tuple[RefusedPod, ...]:
    """The pods by name."""
    from ksched_cli.api.object_facts import pod_key

    return tuple(RefusedPod(pod_key(each.pod), each.plugin, each.message) for each in refused)


class GroupPreemption(Struct, frozen=True):
    """The pods that leave for a group as a whole."""

    victims: tuple[str, ...]


class PodGroupOutcome(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A group with pods that had no node: how many it has now, how many of them have one, and how many a gang must
    have (0 without a quorum). `result` is scheduled, unschedulable, waiting (for victims to leave), error or gated."""

    pod_group: str
    result: str
    min_count: int = 0
    pods: int
    placed: int
    message: str = ""
    placement: str = ""
    preemption: GroupPreemption | None = None


# The entry of what no plugin took: the engine, with the memory of results.
ENGINE = "(engine)"


class PluginTiming(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a plugin took at one extension point; `origin` is where an out-of-tree plugin comes from. `remembered` are
    the cycles of pods without a call: an earlier answer held, or the plugin had nothing to do. `asked_for_every_pod`:
    it does not report what its answers depend on. What is not spent in a plugin is in the entry of the engine."""

    point: str
    plugin: str
    calls: int
    remembered: int
    seconds: float
    origin: str = ""
    asked_for_every_pod: bool = False


class FirstFailure(Struct, frozen=True, rename="camel"):
    """The first pod without a node; shares are percent."""

    pod: str
    arrived: float
    allocated: float


class Curve(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A resource while pods arrive. `capacity` is in thousandths of a core, in bytes, or in pieces; shares are percent
    of it. `first` is the percent of the first point; each list has a value for each percent from there on.
    `unusable_at` has what is free and cannot be used, by what is missing. `arrived` and `allocated` are those after the
    last pod."""

    resource: str
    capacity: int
    arrived: float
    allocated: float
    failed: int
    first: int
    allocated_at: tuple[float, ...]
    failed_at: tuple[int, ...]
    unusable_at: Mapping[str, tuple[float, ...]] = {}
    first_failure: FirstFailure | None = None

    @property
    def last(self) -> int:
        """The percent of the last point."""
        return self.first + len(self.allocated_at) - 1


# The quantile of the normal distribution for 95 %.
_Z = 1.959963984540054


class Share(Struct, frozen=True):
    """The number and share of variants, with the Wilson interval of 95 %: the true shares under which this number is no
    surprise."""

    variants: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, count: int, size: int) -> Share:
        """The share of `count` of `size` variants."""
        if not size:
            return cls(count, 0.0, 0.0, 1.0)
        share = count / size
        middle = share + _Z * _Z / (2 * size)
        margin = _Z * sqrt(share * (1 - share) / size + _Z * _Z / (4 * size * size))
        scale = 1 + _Z * _Z / size
        low = 0.0 if count == 0 else max((middle - margin) / scale, 0.0)
        high = 1.0 if count == size else min((middle + margin) / scale, 1.0)
        return cls(count, round(share, 6), round(low, 6), round(high, 6))

    @property
    def percent(self) -> str:
        return f"{self.share * 100:.1f} %"

    @property
    def interval_text(self) -> str:
        return f"{self.low * 100:.1f} - {self.high * 100:.1f} %"


class PodOdds(Struct, frozen=True):
    """In how many of the variants that moved the pod it came to which result and to which node, the most frequent
    first."""

    pod: str
    variants: int
    results: Mapping[str, Share]
    nodes: Mapping[str, Share]

    @property
    def placed(self) -> int:
        """In how many variants the pod has a node."""
        return sum(each.variants for each in self.nodes.values())


class DrawOdds(Struct, frozen=True):
    """So many random arrival orders, each with so many random tie-breaks; 0 where the order or the tie-break is as in a
    single run. `pods` has the pods to which something happens."""

    orders: int
    ties: int
    pods: tuple[PodOdds, ...]


class Stats(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Times in seconds, memory in MiB. `timings` with --timings."""

    nodes: int
    pods: int
    load_seconds: float
    schedule_seconds: float
    pods_per_second: float
    peak_mib: float = msgspec.field(name="peakMiB")
    timings: tuple[PluginTiming, ...] = ()


class PodsAfterCycles:
    """Where every pod is after the cycles: computed when it is first read, or when the result is pickled."""

    def __init__(self, find: Callable[[], tuple[FinalPod, ...]] = tuple) -> None:
        self._find = find

    @cached_property
    def pods(self) -> tuple[FinalPod, ...]:
        return self._find()

    def __call__(self) -> tuple[FinalPod, ...]:
        return self.pods

    def __reduce__(self) -> tuple[Callable[..., PodsAfterCycles], tuple[object, ...]]:
        return _found_pods, self.pods


def _found_pods(*pods: FinalPod) -> PodsAfterCycles:
    return PodsAfterCycles(lambda: pods)


@dataclass(frozen=True, slots=True, repr=False)
class Simulation(Displayed):
    """The results of a run."""

    outcomes: tuple[PodOutcome, ...]
    gated: tuple[GatedPod, ...]
    ignored: tuple[IgnoredPod, ...]
    coverage: Mapping[str, Any]
    stats: Stats
    warnings: tuple[str, ...] = field(default=())
    refused: tuple[RefusedPod, ...] = field(default=())
    pod_groups: tuple[PodGroupOutcome, ...] = ()
    # Pods that edits have deleted before the cycles.
    deleted: tuple[DeletedPod, ...] = ()
    # Where every pod is after the cycles.
    final_pods: PodsAfterCycles = field(default_factory=PodsAfterCycles, compare=False)
    # The nodes before and after the run.
    nodes: NodeChanges | None = field(default=None, compare=False, repr=False)
    # Results of the pods under random orders and tie-breaks, with --orders or --ties.
    odds: DrawOdds | None = None
    # The nodes that the cluster's autoscaler adds for pods without a place.
    autoscaling: Provisioning | None = None
    # How full the cluster became while the pods arrived, with --curve.
    curves: tuple[Curve, ...] = ()

    @property
    def provisioned(self) -> frozenset[str]:
        """The pods for which the autoscaler has a node."""
        return frozenset() if self.autoscaling is None else self.autoscaling.placed

    @property
    def placements(self) -> dict[str, str]:
        """Where each pod that was tried goes, by `namespace/name`; an empty string where it has no node."""
        return {outcome.pod: outcome.node for outcome in self.outcomes}

    def to_arrow(self, *, nodes: bool = False) -> Any:
        """A pyarrow.Table with a row for each pod that was tried; with `nodes` and a run with detail, a row for each
        such pod and node. Needs the extra `arrow`."""
        from ksched_cli.plan.results.arrow import nodes_table, pods_table

        return nodes_table(self.outcomes) if nodes else pods_table(self.outcomes)

    def to_pandas(self, *, nodes: bool = False) -> Any:
        """The same as a pandas.DataFrame."""
        from ksched_cli.plan.results.arrow import as_frame

        return as_frame(self.to_arrow(nodes=nodes))

    def pod(self, name: str) -> PodOutcome:
        """The outcome of one pod, by `namespace/name`, or by its name if only one pod has the name."""
        found = [each for each in self.outcomes if name in (each.pod, each.pod.partition("/")[2])]
        if len(found) != 1:
            known = ", ".join(each.pod for each in found or self.outcomes[:5])
            more = ", ..." if not found and len(self.outcomes) > 5 else ""
            raise KeyError(f"{'several pods are' if found else 'no pod that was tried is'} named {name}: {known}{more}")
        return found[0]

    @property
    def unplaced(self) -> tuple[PodOutcome, ...]:
        """Pods that were tried and have neither a place nor one that preemption makes for them."""
        return tuple(outcome for outcome in self.outcomes if outcome.unplaced)

    @property
    def preempting(self) -> tuple[PodOutcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.preemption)
