"""The extension points as base classes, named as in kube-scheduler (fwk.*Plugin).

A plugin inherits from every point it takes part in. What `pre_filter` returns is handed to `filter`, `pre_score`,
`reserve` and the later points of the same plugin; what `pre_score` returns is handed to `score` and `normalize`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct

from ksched_cli.cluster.columns import Int64Column, RowColumn
from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.events import EVERY_EVENT, ClusterEvent
from ksched_cli.framework.handle import CycleHandle, GroupTrial, Handle
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status
from ksched_cli.framework.verdict import Verdict
from ksched_cli.releases.minors import DEFAULT, Release

Detail = Mapping[str, Any]
State = TypeVar("State")
S = TypeVar("S")


class Plugin:
    """What every plugin has. `column` is a short heading over its scores. `since` and `until` are the first and the
    last minor that has the plugin; `points_since` has the points at which it takes part from some minor on. With
    `only_at` it takes part in these of the points that it inherits from. At the points `unlisted_at` kube-scheduler
    itself does its work: it runs there although no profile lists it.

    `args_model` is a dataclass or a msgspec.Struct: the plugin's pluginConfig is checked against it, and `args` is one
    of these. Without it `args` is the dict of the configuration, or None.
    """

    name: ClassVar[str]
    column: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    events: ClassVar[tuple[ClusterEvent, ...]] = ()
    since: ClassVar[str] = ""
    until: ClassVar[str] = ""
    points_since: ClassVar[tuple[tuple[str, str], ...]] = ()
    only_at: ClassVar[tuple[str, ...]] = ()
    unlisted_at: ClassVar[tuple[str, ...]] = ()
    args_model: ClassVar[type[Any] | None] = None

    def __init__(self, args: Any, handle: Handle) -> None:
        self.args = args
        self.handle = handle

    def events_to_register(self) -> Sequence[ClusterEvent]:
        """The events that may help a pod which this plugin rejected. One that names none is woken by every event."""
        return self.events or EVERY_EVENT

    def depends(self, info: PodInfo) -> Depends | None:
        """What the answers about the pod depend on; None, the default: the engine asks the plugin for every pod. The
        value follows from the pod's template and the API objects, whatever pods are placed."""
        return None

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        """The queueing hint: whether the pod, which this plugin rejected, may fit now (QueueingHintFn: Queue or
        QueueSkip). `event` is the registered one that matched; `old` is None for what was added and `new` for what
        was deleted."""
        return True


class PreEnqueuePlugin(Plugin, ABC):
    @abstractmethod
    def pre_enqueue(self, info: PodInfo) -> Status:
        """Anything but success keeps the pod out of the active queue."""


class QueueSortPlugin(Plugin, ABC):
    @abstractmethod
    def sort_key(self, info: PodInfo) -> tuple[Any, ...]:
        """Pods are tried in ascending order of this key."""


class PreFilterResult(Struct, Generic[S], frozen=True):
    """The state for the later points, and the only nodes worth looking at where the plugin can name them. With `skip`
    the state is kept and the plugin's filter is left out all the same."""

    state: S
    node_names: frozenset[str] | None = None
    skip: bool = False


class PreFilterPlugin(Plugin, ABC, Generic[State]):
    @abstractmethod
    def pre_filter(self, info: PodInfo) -> PreFilterResult[State] | Status:
        """Once per cycle. SKIP leaves the plugin's filter out; a rejection is for the pod as a whole."""

    def clone_state(self, state: State) -> State:
        """A copy that add_pod and remove_pod may change. Plugins whose state never changes return it as it is."""
        return state

    def add_pod(self, state: State, info: PodInfo, other: int, row: int) -> None:
        """PreFilterExtensions.AddPod: `other` (a pod row) has just been put on node `row` for a trial."""
        return

    def remove_pod(self, state: State, info: PodInfo, other: int, row: int) -> None:
        """PreFilterExtensions.RemovePod: `other` has just been taken off node `row` for a trial."""
        return

    def concerns(self, state: State, info: PodInfo, other: int) -> bool:
        """Whether `add_pod` and `remove_pod` do anything for this pod. Nodes without such pods are tried together."""
        return True


class FilterPlugin(Plugin, ABC, Generic[State]):
    @abstractmethod
    def filter(self, state: State, info: PodInfo, nodes: NodeRows) -> Verdict:
        """One code and reason tuple per row."""

    def changed_rows(self, info: PodInfo, before: State, now: State) -> RowColumn | None:
        """If the plugin depends on pods anywhere: the rows whose verdict may differ between two states that PreFilter
        returned for pods of one signature, None for all. Called when the `version` of its `Depends` has changed."""
        return None

    def explain(self, state: State, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The numbers behind the verdict on one of the rows; called only for rows that are shown."""
        return {}


class PostFilterResult(Struct, frozen=True):
    """The node that the pod is nominated to ("" clears a nomination), and who has to leave it."""

    nominated_node: str
    victims: tuple[int, ...] = ()
    pdb_violations: int = 0


class PostFilterPlugin(Plugin, ABC, Generic[State]):
    @abstractmethod
    def post_filter(
        self, state: State | None, info: PodInfo, cycle: CycleHandle
    ) -> tuple[PostFilterResult | None, Status]:
        """When no node was feasible. Success ends the search for a remedy; `cycle.trial()` dry-runs one."""

    def explain_post_filter(self, state: State | None, info: PodInfo, cycle: CycleHandle) -> Detail:
        """What `post_filter` would choose from and why it would choose that, by name; nothing is changed."""
        return {}


class PodGroupPostFilterResult(Struct, frozen=True):
    """Which pod rows leave, and to which node rows pods of the group are nominated; None leaves nominations alone."""

    victims: tuple[int, ...] = ()
    nominations: Mapping[int, int] | None = None
    message: str = ""


class PodGroupPostFilterPlugin(Plugin, ABC):
    """Makes room for a whole pod group. Earlier minors have no extension point for it in the configuration."""

    @abstractmethod
    def pod_group_post_filter(
        self, key: GroupKey, pods: Sequence[PodInfo], trial: GroupTrial
    ) -> PodGroupPostFilterResult | Status:
        """Called when the group found no place, with its pods that have no node: who leaves, or why there is no one."""


class PreScorePlugin(Plugin, ABC, Generic[S, State]):
    @abstractmethod
    def pre_score(self, state: S | None, info: PodInfo, nodes: NodeRows) -> State | Status:
        """`nodes` are the feasible ones. SKIP leaves the plugin's score out."""


class ScorePlugin(Plugin, ABC, Generic[State]):
    @abstractmethod
    def score(self, state: State, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """One raw score per row. If the profile leaves the plugin's PreScore out, the state is that of PreFilter."""

    def normalize(self, state: State, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        """Scores in 0..100 (ScoreExtensions.NormalizeScore)."""
        return scores


class ReservePlugin(Plugin, ABC, Generic[State]):
    @abstractmethod
    def reserve(self, state: State | None, info: PodInfo, row: int) -> Status: ...
    @abstractmethod
    def unreserve(self, state: State | None, info: PodInfo, row: int) -> None: ...


class PermitPlugin(Plugin, ABC, Generic[State]):
    @abstractmethod
    def permit(self, state: State | None, info: PodInfo, row: int) -> tuple[Status, float]:
        """The status and, with WAIT, for how many seconds at most."""


class PreBindPlugin(Plugin, ABC, Generic[State]):
    @abstractmethod
    def pre_bind(self, state: State | None, info: PodInfo, row: int) -> Status: ...


class BindPlugin(Plugin, ABC, Generic[State]):
    @abstractmethod
    def bind(self, state: State | None, info: PodInfo, row: int) -> Status:
        """Nothing is written anywhere: the pod is taken as bound. SKIP passes it to the next Bind plugin."""


class PostBindPlugin(Plugin, ABC, Generic[State]):
    @abstractmethod
    def post_bind(self, state: State | None, info: PodInfo, row: int) -> None: ...


class MeteringPlugin(Plugin, ABC):
    """Measures resources that pods request otherwise than in their containers, such as parts of GPUs in annotations:
    `--curve` shows how much of them is allocated while pods arrive. This is no extension point: it is used in every
    profile that enables the plugin anywhere. `metered` has the names of the resources; amounts are whole numbers."""

    metered: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def capacity(self, resource: str) -> int:
        """What all nodes have together."""

    @abstractmethod
    def used(self, resource: str) -> int:
        """What the pods on the nodes have together, as things stand."""

    @abstractmethod
    def requested(self, resource: str, info: PodInfo) -> int:
        """What the pod requests."""

    def unusable(self, resource: str) -> Mapping[str, float]:
        """What is free and typical pods cannot use, by what is missing, such as `lack of cpu`."""
        return {}


class Placement(Struct, frozen=True):
    """Nodes that a pod group is tried on as a whole (fwk.Placement)."""

    name: str
    rows: RowColumn


class PlacementGeneratePlugin(Plugin, ABC):
    @abstractmethod
    def generate_placements(self, key: GroupKey, nodes: RowColumn) -> Sequence[Placement] | Status:
        """Where the group may go, out of these nodes."""


class PlacementScorePlugin(Plugin, ABC):
    @abstractmethod
    def score_placement(self, key: GroupKey, placement: Placement, proposed: Sequence[PodInfo]) -> int:
        """The score of a placement in which these pods found a node. The cluster is as it is without them."""

    def normalize_placements(self, scores: Sequence[int]) -> Sequence[int] | Status:
        """Scores in 0..100, one per placement."""
        return scores


EXTENSION_POINTS: Mapping[str, type[Plugin]] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
    "placementGenerate": PlacementGeneratePlugin,
    "placementScore": PlacementScorePlugin,
    "podGroupPostFilter": PodGroupPostFilterPlugin,
}


def extension_points(plugin: type[Plugin], release: Release = DEFAULT) -> tuple[str, ...]:
    """The points that a plugin class takes part in, in the order of a cycle."""
    since = dict(plugin.points_since)
    return tuple(
        point
        for point, base in EXTENSION_POINTS.items()
        if issubclass(plugin, base)
        and (point in plugin.only_at if plugin.only_at else release.within(since.get(point, ""), ""))
    )
