"""The purchase that `size` found, by name, and the limits of its searches.

A test or a caller of `Simulator.size` may set the limits (`SearchSettings`); `ksched size` has the time limit only.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct, field

from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.results.outcomes import Displayed, Stats


class SearchSettings(Struct, frozen=True, kw_only=True):
    """The defaults are those that the benchmark instances need (`python -m tests.benchmarks.sizing`)."""

    # Sets of the program that the scheduler tries.
    proposed_sets: int = 40
    # The share of the time limit, and the least seconds, after which the program ends without a better set.
    patience: float = 0.2
    least_patience: float = 1.0
    # The search of the parts ends after the first share of the time limit, and has the second share at least.
    parts_until: float = 0.65
    parts_share: float = 0.1
    # The scheduler tries so many of the sets that the search of a part finds, the cheapest first.
    tried_of_a_part: int = 3
    # All sets of a part are listed up to this number; beyond, nodes of the best set are exchanged at random.
    listed_sets: int = 30_000
    # So many nodes at most are taken out, and so many put in; fewer if there are more combinations than this.
    exchanged_nodes: int = 3
    combinations: int = 20_000
    # Random exchanges in a row that find nothing new, after which there is nothing new to find.
    vain_exchanges: int = 2000
    # Purchases of one shape are a start if there are no more choices than this.
    one_shape_choices: int = 40
    # How often a forecast is mended before the scheduler tries the set.
    mended_forecasts: int = 20
    # The scheduler tries so many single nodes where the forecast has to choose, and a set in so many orders of zones.
    helping_nodes: int = 4
    zone_spreads: int = 4
    # Every maximal pattern of a shape is listed up to this number, for the whole problem and for a part.
    listed_patterns: int = 400
    listed_patterns_of_a_part: int = 3000
    # Seconds that the solver may take for the whole numbers of a part.
    whole_seconds: float = 4.0


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
