"""The result of `drain`, by name, and the filters that decide what kubectl drain evicts, leaves and refuses.

Mirrors kubectl/pkg/drain/filters.go, with its messages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct, field

from ksched_cli.api.core import OwnerReference, Pod, controller_of
from ksched_cli.api.object_facts import is_terminal, parse_time
from ksched_cli.api.selectors import Selector
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.whatif.edits.lib.editor import MIRROR
from ksched_cli.world.results import WorldResult

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning

# moves: evicted, and its successor has a node; unplaced: evicted, and its successor has none; gone: evicted, and no
# controller recreates it; stuck: a budget holds it, or it stays Terminating, because the kubelet of its node does not
# report; stays: drain leaves it; refused: drain wants a flag; waits: other pods of its node are refused, so that it is
# not evicted.
Fate = Literal["moves", "unplaced", "gone", "stuck", "stays", "refused", "waits"]

# From the best to the worst. evicts others: every pod has a place, but pods of other nodes are preempted for it; loses
# pods: no controller recreates a pod that was evicted or preempted; no place: a recreated pod finds no node, a pending
# pod has a node without the drain and none with it, or the pods do not come to rest; blocked: kubectl refuses to
# drain, or waits for a pod without end: a budget holds it, or the kubelet of its node does not report.
DrainOutcome = Literal["safe", "evicts others", "loses pods", "no place", "blocked"]


class Evicted(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pod that the scheduler preempts to make room for another. `successor` is the pod that a controller makes in its
    place, `to` the node of that."""

    pod: str
    node: str
    by: str
    successor: str = ""
    to: str = ""


class PodFate(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What becomes of one pod of a drained node. `why` has kubectl's or the API server's words, or the scheduler's.
    `lost`: the pod was running and no controller recreates it."""

    pod: str
    fate: Fate
    round: int = 0
    successor: str = ""
    to: str = ""
    why: str = field(default="", name="message")
    lost: bool = False


class Remark(Struct, frozen=True):
    """One of kubectl drain's messages, and the pods it is about."""

    message: str
    pods: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.message}: {', '.join(self.pods)}"


class NodeDrain(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`refusals` stop kubectl before it evicts anything; `warnings` do not. `timed_out`: the time of --timeout was over
    before all pods had left. `drained`: none of these, and no pod is stuck."""

    node: str
    drained: bool
    rounds: int
    timed_out: bool = False
    refusals: tuple[Remark, ...]
    warnings: tuple[Remark, ...]
    pods: tuple[PodFate, ...]

    def of(self, *fates: Fate) -> tuple[PodFate, ...]:
        return tuple(pod for pod in self.pods if pod.fate in fates)


class Healthy(Struct, frozen=True):
    before: int
    lowest: int
    after: int


class Allowed(Struct, frozen=True):
    before: int
    after: int


class BudgetChange(Struct, frozen=True, rename="camel"):
    """A budget that covers a pod of a drained node: what it allowed before and what it allows in the end."""

    budget: str
    desired_healthy: int
    current_healthy: Healthy
    disruptions_allowed: Allowed


class QueuedPods(Struct, frozen=True, rename="camel", omit_defaults=True):
    """How many pods waited for a node before the drain, and how many of these found one. `copies_left_out`: how many
    pods without a node are not in the final state, because copies of them stayed without one too."""

    pods: int
    placed: int
    copies_left_out: int = 0


class DrainResult(Struct, frozen=True, dict=True):
    """Nodes in the order in which they are drained. `displaced`: pods of no drained node, pending ones most of all,
    that have a node without the drain and none with it. `world`: where every pod is in the end. `orders`: in how many
    of the orders that were tried the drain has which outcome, if a draw decides it; everything else is of the first
    order."""

    nodes: tuple[NodeDrain, ...]
    budgets: tuple[BudgetChange, ...]
    preempted: tuple[Evicted, ...]
    pending: QueuedPods
    displaced: tuple[PodFate, ...]
    world: WorldResult
    orders: Mapping[DrainOutcome, int] = field(default_factory=dict)
    # The nodes that the autoscaler of the cluster adds, those for pending pods too.
    autoscaling: Provisioning | None = None

    @property
    def drained(self) -> bool:
        return all(node.drained for node in self.nodes)

    @property
    def unplaced(self) -> tuple[PodFate, ...]:
        return tuple(pod for node in self.nodes for pod in node.of("unplaced"))

    @property
    def homeless(self) -> tuple[Evicted, ...]:
        """Preempted pods whose successors have no node."""
        return tuple(each for each in self.preempted if each.successor and not each.to)

    @cached_property
    def lost(self) -> tuple[PodFate, ...]:
        """Evicted pods that no controller recreates."""
        return tuple(pod for node in self.nodes for pod in node.pods if pod.lost)

    @property
    def preempted_for_good(self) -> tuple[Evicted, ...]:
        """Preempted pods that no controller recreates."""
        return tuple(each for each in self.preempted if not each.successor)

    @cached_property
    def outcome(self) -> DrainOutcome:
        """The worst that happened in any order."""
        return max((self.first_outcome, *self.orders), key=get_args(DrainOutcome).index)

    @cached_property
    def first_outcome(self) -> DrainOutcome:
        """The worst that happened in the first order."""
        if not self.drained:
            return "blocked"
        if self.unplaced or self.displaced or self.homeless or not self.world.settled:
            return "no place"
        if self.lost or self.preempted_for_good:
            return "loses pods"
        return "evicts others" if self.preempted else "safe"

    @property
    def safe(self) -> bool:
        """Every node is empty in the end, every pod that left has a place, and no pod of another node was evicted."""
        return self.outcome == "safe"


class GroupDrain(Struct, frozen=True):
    """Some nodes that were drained by themselves, as one of many such trials."""

    name: str
    nodes: tuple[str, ...]
    drain: DrainResult


IGNORING_DAEMON_SETS = "ignoring DaemonSet-managed Pods"
DELETING_LOCAL_STORAGE = "deleting Pods with local storage"
DELETING_UNMANAGED = "deleting Pods that declare no controller"
DAEMON_SETS = "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
LOCAL_STORAGE = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
UNMANAGED = "cannot delete Pods that declare no controller (use --force to override)"
MIRROR_PODS = "mirror pods are the kubelet's own: drain skips them"
NOT_SELECTED = "--pod-selector leaves it out"
NOT_WAITED_FOR = "kubectl does not wait for it any longer (--skip-wait-for-delete-timeout)"

Verdict = Literal["evict", "stay", "refuse"]


EVERYTHING = Selector()


class Flags(Struct, frozen=True):
    """kubectl drain's flags of these names. `grace_period` and `timeout` in seconds; None: the pods' own grace periods,
    and no time limit. `skip_wait_for_delete_timeout` of 0: kubectl waits for each pod."""

    force: bool = False
    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    pod_selector: Selector = EVERYTHING
    disable_eviction: bool = False
    grace_period: float | None = None
    timeout: float | None = None
    skip_wait_for_delete_timeout: int = 0

    def skipped_from(self, pod: Pod) -> float:
        """The moment, in seconds since the epoch, from which kubectl neither evicts this pod that terminates nor waits
        for it (shouldSkipPod): it cuts off fractions of seconds before it compares."""
        stamp, seconds = pod.metadata.deletion_timestamp, self.skip_wait_for_delete_timeout
        return parse_time(stamp) + seconds + 1 if stamp and seconds > 0 else math.inf


class DrainFilterResult(Struct, frozen=True):
    """`message` is kubectl's text; of several warnings it is the last one. `warns`: kubectl prints it although
    it goes on."""

    verdict: Verdict
    message: str = ""
    warns: bool = False


_EVICT = DrainFilterResult("evict")


class DrainFilters:
    """What `kubectl drain` does with a pod: evict, leave it on the node, or refuse the node (drain/filters.go).
    `now` is in seconds since the epoch."""

    def __init__(self, flags: Flags, sets: Sequence[DaemonSet], now: float = 0.0) -> None:
        self._flags, self._now = flags, now
        # A dump without any DaemonSet may have left them out; one with some has all of them.
        self._daemon_sets = {(each.metadata.namespace, each.metadata.name) for each in sets} if sets else None
        self._filters = (self._daemon_set, self._mirror, self._local_storage, self._unmanaged)

    def judge(self, pod: Pod) -> DrainFilterResult:
        """One filter after the other, until one keeps the pod back."""
        if not self._flags.pod_selector.matches(pod.metadata.labels):
            return DrainFilterResult("stay", NOT_SELECTED)
        if self._now >= self._flags.skipped_from(pod):
            return DrainFilterResult("stay", NOT_WAITED_FOR)
        found = _EVICT
        for judge in self._filters:
            verdict = judge(pod)
            if verdict.verdict != "evict":
                return verdict
            found = verdict if verdict.message else found
        return found

    def _daemon_set(self, pod: Pod) -> DrainFilterResult:
        """Its pods come back on the same node whatever one does; finished ones can go."""
        owner = controller_of(pod.metadata)
        if owner is None or not _is_daemon_set(owner) or is_terminal(pod):
            return _EVICT
        if self._daemon_sets is not None and (pod.metadata.namespace, owner.name) not in self._daemon_sets:
            missing = f'daemonsets.apps "{owner.name}" not found'
            if self._flags.force:
                return DrainFilterResult("evict", missing, warns=True)
            return DrainFilterResult("refuse", f"cannot delete {missing}")
        if not self._flags.ignore_daemonsets:
            return DrainFilterResult("refuse", DAEMON_SETS)
        return DrainFilterResult("stay", IGNORING_DAEMON_SETS, warns=True)

    def _mirror(self, pod: Pod) -> DrainFilterResult:
        return DrainFilterResult("stay", MIRROR_PODS) if MIRROR in pod.metadata.annotations else _EVICT

    def _local_storage(self, pod: Pod) -> DrainFilterResult:
        if is_terminal(pod) or all(volume.empty_dir is None for volume in pod.spec.volumes):
            return _EVICT
        if self._flags.delete_emptydir_data:
            return DrainFilterResult("evict", DELETING_LOCAL_STORAGE, warns=True)
        return DrainFilterResult("refuse", LOCAL_STORAGE)

    def _unmanaged(self, pod: Pod) -> DrainFilterResult:
        if is_terminal(pod) or controller_of(pod.metadata) is not None:
            return _EVICT
        return (
            DrainFilterResult("evict", DELETING_UNMANAGED, warns=True)
            if self._flags.force
            else DrainFilterResult("refuse", UNMANAGED)
        )


def _is_daemon_set(owner: OwnerReference) -> bool:
    """isControllerRefDaemonSet. A dump cut down by hand may lack the version."""
    return owner.kind == "DaemonSet" and owner.api_version in ("apps/v1", "")
