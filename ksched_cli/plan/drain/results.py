"""What draining came to, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct, field

from ksched_cli.world.results import WorldResult

if TYPE_CHECKING:
    pass

# moves: evicted, and its successor has a node; unplaced: evicted, and its successor has none; gone: evicted, and no
# controller recreates it; stuck: a budget holds it; stays: drain leaves it; refused: drain wants a flag; waits: other
# pods of its node are refused, so that it is not evicted.
Fate = Literal["moves", "unplaced", "gone", "stuck", "stays", "refused", "waits"]

# From the best to the worst. evicts others: every pod has a place, but pods of other nodes are preempted for it; loses
# pods: no controller recreates a pod that was evicted or preempted; no place: a recreated pod finds no node, a pending
# pod has a node without the drain and none with it, or the pods do not come to rest; blocked: kubectl refuses to
# drain, or a budget holds a pod.
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


class NodeDrain(Struct, frozen=True):
    """`refusals` stop kubectl before it evicts anything; `warnings` do not. `timed_out`: the time of --timeout was over
    before all pods had left."""

    node: str
    rounds: int
    pods: tuple[PodFate, ...]
    refusals: tuple[Remark, ...] = ()
    warnings: tuple[Remark, ...] = ()
    timed_out: bool = False

    def of(self, *fates: Fate) -> tuple[PodFate, ...]:
        return tuple(pod for pod in self.pods if pod.fate in fates)

    @property
    def drained(self) -> bool:
        return not self.refusals and not self.timed_out and not self.of("stuck")


class BudgetChange(Struct, frozen=True):
    """A budget that covers a pod of a drained node: what it allowed before and what it allows in the end."""

    budget: str
    desired: int
    healthy_before: int
    healthy_after: int
    allowed_before: int
    allowed_after: int
    lowest: int


class DrainResult(Struct, frozen=True, dict=True):
    """Nodes in the order in which they are drained. `pending`: how many pods waited for a node before, and how many
    of these found one. `displaced`: pods of no drained node, pending ones most of all, that have a node without the
    drain and none with it. `world`: where every pod is in the end. `orders`: in how many of the orders that were tried
    the drain has which outcome, if chance decides it; everything else is of the first order. `left_out`: how many
    pending pods without a node are not in `world`, because copies of them stayed without one too."""

    nodes: tuple[NodeDrain, ...]
    budgets: tuple[BudgetChange, ...]
    preempted: tuple[Evicted, ...]
    pending: int
    pending_placed: int
    displaced: tuple[PodFate, ...]
    world: WorldResult
    orders: Mapping[DrainOutcome, int] = field(default_factory=dict)
    left_out: int = 0

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


class DrainTrial(Struct, frozen=True):
    """Some nodes that were drained by themselves, as one of many such trials."""

    name: str
    nodes: tuple[str, ...]
    drain: DrainResult
