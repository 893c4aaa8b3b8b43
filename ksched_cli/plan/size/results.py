"""The purchase that `size` found, by name, and the limits of its searches.

`Sizing` is its own document: its fields are the keys of `-o json`, and a stored document is read back into it.
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
    # Nodes go to other zones until so many ways are tried.
    zone_moves: int = 24
    # Every maximal pattern of a shape is listed up to this number, for the whole problem and for a part.
    listed_patterns: int = 400
    listed_patterns_of_a_part: int = 3000
    # Seconds that the solver may take for the whole numbers of a part.
    whole_seconds: float = 4.0


# optimal: the cost is the lower bound; local: every search came to its end; stalled: a search was given up, for it
# found no cheaper set for long; time: the time limit, or a search's share of it, was over; greedy: no solver searched.
SearchEnd = Literal["optimal", "local", "stalled", "time", "greedy"]


class Money(Decimal):
    """An amount that documents write in digits: `0.0000001`, not `1E-7`."""

    def document(self) -> str:
        return f"{self:f}"


def without_zeros(amount: Decimal) -> Money:
    """The amount of money without zeros behind its last digit, as documents have it."""
    text = f"{amount:f}"
    return Money(text.rstrip("0") if "." in text else text)


def gap_of(cost: Decimal, lower_bound: Decimal) -> float:
    """How far the cost may be above the optimum, in per cent of the cost."""
    return float(((cost - lower_bound) * 100 / cost).quantize(Decimal("0.01"))) if cost else 0.0


class BoughtNodes(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """So many nodes of one shape. `cost` is that of all of them; `template` is the Node that `--add-node` takes."""

    shape: str
    zone: str = ""
    count: int
    price: Decimal
    cost: Decimal
    spot: bool = False
    names: tuple[str, ...]
    template: Mapping[str, Any]


class SizedPod(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pending pod and its node. `shape` is empty if the node is one that the cluster has."""

    pod: str
    workload: str
    node: str
    shape: str = ""


class UnsizedPod(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pod that no node of the catalog helps. `reasons`: why, by shape; `shapes_by_reason`: how many shapes lack each
    thing; `message`: why with all nodes bought."""

    pod: str
    workload: str = ""
    message: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)
    shapes_by_reason: Mapping[str, int] = field(default_factory=dict)


class CheaperSet(Struct, frozen=True, rename="camel"):
    """The dearest set below the cost that was tried: which pod has no node in it, and why."""

    nodes: Mapping[str, int]
    cost: Decimal
    pod: str
    message: str


class HelpingNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cheapest shape on which a pod fits, empty if no single node helps; `reasons` has the rejections by shape, for
    those that cost less or for all."""

    shape: str = ""
    price: Decimal | None = None
    unit: str = ""
    reasons: Mapping[str, str]


class SizeSearch(Struct, frozen=True, rename="camel"):
    """How the search ended. `pods_with_ties`: pods for which several nodes scored alike, so that kube-scheduler
    draws."""

    ended: SearchEnd
    seconds: float
    time_limit: float
    sets_tried: int
    pods_with_ties: int


class Sizing(
    Displayed, Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="Sizing"
):
    """The nodes to add. `gap`: how far the cost may be above the optimum, in per cent of the cost; None without a
    bound. `held_back`: pods that are gated or that another scheduler places, with the reason."""

    cost: Decimal
    lower_bound: Decimal | None
    gap: float | None
    unit: str
    nodes: tuple[BoughtNodes, ...]
    pods: tuple[SizedPod, ...]
    unplaced: tuple[UnsizedPod, ...]
    search: SizeSearch
    unusable_shapes: Mapping[str, str]
    held_back: Mapping[str, str]
    coverage: Mapping[str, Any]
    stats: Stats
    node_table: NodeChanges | Any = None
    cheaper: CheaperSet | None = None
    warnings: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.unplaced

    @property
    def count(self) -> int:
        return sum(each.count for each in self.nodes)
