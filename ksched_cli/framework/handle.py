"""What the engine offers to plugins (fwk.Handle): protocols, which `engine/` implements. A plugin imports no module of
the engine."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol

from msgspec import Struct

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.diagnosis import Diagnosis
from ksched_cli.framework.status import Status
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import Release


class Candidate(Struct, frozen=True):
    """A node that the pod would fit on without the victims, the most important of them first."""

    row: int
    victims: tuple[int, ...]
    pdb_violations: int


class Nominator(Protocol):
    """Pods that wait for a place that preemption made for them (fwk.PodNominator)."""

    def nominated_on(self, node: str) -> Collection[int]:
        """Pod rows nominated to the node, in the order they were nominated."""

    def nodes(self) -> Collection[str]:
        """Names of the nodes that have nominated pods."""

    def node_of(self, pod_row: int) -> str:
        """The node that the pod is nominated to, or an empty string."""


class PreemptingExtenders(Protocol):
    """The extenders that take part in preemption."""

    def preempt(self, info: PodInfo, candidates: Mapping[int, Candidate]) -> dict[int, Candidate] | Status:
        """callExtenders: the candidates that are left, or the status that ends the search."""


class WaitingPod(Protocol):
    """A pod that Permit plugins hold on its node (fwk.WaitingPod)."""

    @property
    def pod(self) -> PodInfo: ...
    @property
    def node(self) -> str: ...

    @property
    def pending_plugins(self) -> Collection[str]:
        """Those that have not allowed it yet."""

    def allow(self, plugin: str) -> None: ...
    def reject(self, plugin: str, message: str) -> bool: ...


class Waiting(Protocol):
    """All such pods. Without a clock (`simulate` without `--settle`) no pod waits."""

    def __iter__(self) -> Iterator[WaitingPod]: ...
    def get(self, uid: str) -> WaitingPod | None: ...


class Handle(Protocol):
    """The same for the whole life of a plugin."""

    @property
    def cluster(self) -> Cluster: ...

    @property
    def release(self) -> Release:
        """The minor of kube-scheduler that is followed."""

    @property
    def gates(self) -> FeatureGates: ...
    @property
    def nominator(self) -> Nominator: ...

    @property
    def waiting(self) -> Waiting:
        """GetWaitingPod and IterateOverWaitingPods."""

    @property
    def scheduler_names(self) -> Collection[str]:
        """Of all profiles: a pending pod that names another scheduler is ignored."""

    @property
    def extenders(self) -> PreemptingExtenders | None:
        """None where no extender is called."""

    @property
    def sampling(self) -> bool:
        """Whether kube-scheduler's limits on how many nodes are looked at are in force."""


class Trial(Protocol):
    """A what-if inside one cycle: take pods off nodes, put them back, run the filters. Leaving it undoes all."""

    def __enter__(self) -> Trial: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def row_scoped(self) -> bool:
        """Whether every filter in force looks at one node alone, so that many nodes can be tried at once."""

    def stays_local(self, pod_row: int) -> bool:
        """Whether it matters to no other node when the pod leaves its own."""

    @property
    def signature(self) -> Hashable | None:
        """All of the pod that the filters in force go by, if their verdict on a row holds until that row changes
        and for every pod that signs alike; else None."""

    def remove(self, pod_rows: RowColumn) -> None:
        """Take pods off their nodes, in the columns and in every plugin's state."""

    def put_back(self, pod_rows: RowColumn) -> BoolColumn:
        """Undo `remove` for these pods, those of a node one after the other, where the cycle's pod still fits; which of
        them are back."""

    def filter(self, rows: RowColumn) -> Verdict:
        """RunFilterPluginsWithNominatedPods for these rows as things stand in the trial."""

    def fits(self, rows: RowColumn) -> BoolColumn:
        """Only which of the rows pass."""


class GroupTrial(Protocol):
    """A what-if inside the cycle of a pod group: pods leave their nodes and come back, and the group is tried anew."""

    def remove(self, pod_rows: Sequence[int]) -> None: ...
    def put_back(self, pod_rows: Sequence[int]) -> None: ...

    def schedule(self) -> Mapping[int, int] | Status:
        """podGroupSchedulingAlgorithm without PostFilter: the node rows of pod rows if the group finds its places."""

    def fit(self, places: Mapping[int, int]) -> bool:
        """Whether these pods of the group pass the filters at these places, one after the other."""


class CycleHandle(Protocol):
    """What PostFilter plugins may use of the cycle that failed."""

    @property
    def diagnosis(self) -> Diagnosis: ...
    def trial(self) -> Trial: ...
