"""What a purchase came to, by name."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct, field

from ksched_cli.plan.results.displayed import Displayed
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.results.outcomes import Stats

# optimal: the cost is the lower bound; local: every search came to its end; stalled: a search was given up, for it
# found no cheaper set for long; time: the time limit, or a search's share of it, was over; greedy: no solver searched.
SearchEnd = Literal["optimal", "local", "stalled", "time", "greedy"]


class BoughtNodes(Struct, frozen=True):
    """So many nodes of one shape. `cost` is that of all of them; `template` is the Node that `--add-node` takes."""

    shape: str
    zone: str
    count: int
    price: Decimal
    cost: Decimal
    names: tuple[str, ...]
    template: Mapping[str, Any]
    spot: bool = False


class SizedPod(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pending pod and its node. `shape` is empty if the node is one that the cluster has."""

    pod: str
    workload: str
    node: str
    shape: str = ""


class UnsizedPod(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pod that no node of the catalog helps. `reasons`: why, by shape; `message`: why with all nodes bought."""

    pod: str
    workload: str = ""
    message: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)


class CheaperSet(Struct, frozen=True):
    """The dearest set below the cost that was tried: which pod has no node in it, and why."""

    nodes: Mapping[str, int]
    cost: Decimal
    pod: str
    message: str


class Sizing(Displayed, Struct, frozen=True):
    """The nodes to add. `gap`: how far the cost may be above the optimum, in per cent of the cost; None without a
    bound. `held_back`: pods that are gated or that another scheduler places, with the reason. `ties`: pods for which
    several nodes scored alike, so that kube-scheduler draws."""

    cost: Decimal
    lower_bound: Decimal | None
    unit: str
    nodes: tuple[BoughtNodes, ...]
    pods: tuple[SizedPod, ...]
    unplaced: tuple[UnsizedPod, ...]
    cheaper: CheaperSet | None
    ended: SearchEnd
    time_limit: float
    seconds: float
    sets_tried: int
    unusable: Mapping[str, str]
    held_back: Mapping[str, str]
    ties: int
    coverage: Mapping[str, Any]
    stats: Stats
    warnings: tuple[str, ...] = ()
    columns: NodeChanges | None = None

    @property
    def gap(self) -> Decimal | None:
        if self.lower_bound is None:
            return None
        if not self.cost:
            return Decimal(0)
        return ((self.cost - self.lower_bound) * 100 / self.cost).quantize(Decimal("0.01"))

    @property
    def fits(self) -> bool:
        return not self.unplaced

    @property
    def count(self) -> int:
        return sum(each.count for each in self.nodes)
