"""What an explanation holds, by name: no rows, no columns, nothing that changes any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from ksched_cli.framework.reasons import Reason, RejectionGuide
from ksched_cli.plan.reasons.fixes.values import Fixes
from ksched_cli.plan.reasons.rules import guide_of
from ksched_cli.plan.results.displayed import Displayed
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.results.outcomes import PodOutcome
from ksched_cli.plan.sweep.statistics import DrawOdds

if TYPE_CHECKING:
    from ksched_cli.autoscale.karpenter.decision import Provisioning
    from ksched_cli.plan.size.classes import HelpingNode

# How the pod stands before anything is worked out. "running": it has a node already and is looked at as if it had none.
Standing = Literal["pending", "running", "gated", "ignored", "refused"]


class Rejection(Struct, frozen=True):
    """One plugin's rejection of one node, and the numbers behind it. `part`: the plugin whose rule it is, for a
    predicate that has the rules of several. `beside`: only for pods nominated to the node."""

    plugin: str
    code: str
    reasons: tuple[Reason, ...]
    detail: Mapping[str, Any]
    beside: bool = False
    part: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(reason.text for reason in self.reasons)

    @property
    def guide(self) -> RejectionGuide:
        return guide_of(self.part or self.plugin)

    def describe(self) -> str:
        """One line with the numbers; the plugin's own reasons where nothing better is known."""
        text = (self.detail and self.guide.describe(self.detail)) or self._plain()
        return f"{text}, with the pods nominated there" if self.beside else text

    def describe_briefly(self) -> str:
        """The same without the names of other pods, to go on from "closest is node-7, "."""
        return (self.detail and self.guide.describe_briefly(self.detail)) or self._plain()

    def _plain(self) -> str:
        return "; ".join(reason.plain for reason in self.reasons)


class ExplainedNode(Struct, frozen=True):
    """Every plugin that rejects the node, in the order of the profile."""

    name: str
    rejections: tuple[Rejection, ...]


class PluginAnswer(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The result of a plugin for the pod as a whole; `nodes` are the only ones it leaves where it narrows them."""

    plugin: str
    code: str
    reasons: tuple[str, ...] = ()
    nodes: tuple[str, ...] | None = None

    @property
    def rejects(self) -> bool:
        return self.code not in ("Success", "Skip")


class QueuePlace(Struct, frozen=True):
    """The pod's turn, counted from 1. `placed` of those before it found a place."""

    position: int
    pods: int
    placed: int


class Margin(Struct, frozen=True):
    """What puts the chosen node ahead of another one, or behind it: the difference of the weighted scores."""

    node: str
    total: int
    by_plugin: Mapping[str, int]


class Retry(Struct, frozen=True):
    """Cluster events that a plugin waits for."""

    plugin: str
    events: tuple[str, ...]


class PreemptionCandidate(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A node that the pod would fit on if the victims left it; `why` it was chosen or was not."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int
    highest_priority: int
    why: str


class PreemptionStudy(Struct, frozen=True):
    """What preemption looked at: why the pod may not preempt, or the candidates from the best to the worst, the nodes
    that were tried in vain, and how many have a problem that no eviction solves."""

    ineligible: str = ""
    candidates: tuple[PreemptionCandidate, ...] = ()
    others: Mapping[str, str] = msgspec.field(default_factory=dict)
    beyond_help: int = 0


class WeightChange(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Another weight of one score plugin with which the pod goes to the node: tried, pods before it included."""

    plugin: str
    weight: int
    new_weight: int


class NodeFocus(Struct, frozen=True):
    """Why not this node. `behind` the chosen one where it fits, with its rank and the difference by plugin."""

    node: str
    rejections: tuple[Rejection, ...] = ()
    chosen: bool = False
    rank: int = 0
    behind: Margin | None = None
    weights: tuple[WeightChange, ...] = ()
    text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """`outcome` is the pod's entry in `simulate`; for a pod that is held back or runs already it is what would
    happen if it were tried. `nodes` are in name order."""

    pod: str
    standing: Standing
    asks: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0
    scheduler: str = ""
    node: str = ""
    # Why containers of a pod that has a node do not run there.
    waiting: tuple[str, ...] = ()
    nominated: str = ""
    outcome: PodOutcome | None = None
    summary: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    queue: QueuePlace | None = None
    pre_enqueue: tuple[PluginAnswer, ...] = ()
    pre_filter: tuple[PluginAnswer, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[ExplainedNode, ...] = ()
    runner_up: Margin | None = None
    retries: tuple[Retry, ...] = ()
    preemption: PreemptionStudy | None = None
    focus: NodeFocus | None = None
    fixes: Fixes | None = None
    # The nodes when the pod is tried, with the pods before it in place, and after its cycle.
    columns: NodeChanges | None = field(default=None, compare=False, repr=False)

    @property
    def unplaced(self) -> bool:
        """Whether the pod has no place and none is being made for it."""
        if self.standing in ("ignored", "refused", "gated"):
            return True
        return self.standing == "pending" and (self.outcome is None or self.outcome.unplaced)


class ExplainResult(Displayed, Struct, frozen=True):
    """`helping_node`: the cheapest node of the catalog that helps, if a catalog is given and the pod waits."""

    explanation: Explanation
    coverage: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    # Results of the pod under random orders and tie-breaks, with --orders or --ties.
    odds: DrawOdds | None = None
    helping_node: HelpingNode | None = None
    # What the autoscaler of the cluster does for the pod, if the pod waits.
    autoscaling: Provisioning | None = None
