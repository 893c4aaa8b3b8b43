"""What a sweep came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ksched_cli.plan.node_columns import NodeColumns
from ksched_cli.plan.sweep.model import Sweep, dimensions_of
from ksched_cli.plan.sweep.rows import OUTCOMES, VariantOutcome, VariantRow
from ksched_cli.plan.sweep.statistics import FigureRange, PodOdds, SettingSummary, Share
from ksched_cli.plan.sweep.swept_pods import VariantEnd


class SweepStats(Struct, frozen=True):
    """`resumed` variants were read and not run. `peak_mib` is that of the largest worker."""

    nodes: int
    executor: str
    workers: int
    variants: int
    resumed: int
    seconds: float
    load_seconds: float
    peak_mib: float

    @property
    def rate(self) -> float:
        """Variants per second."""
        return (self.variants - self.resumed) / self.seconds if self.seconds else 0.0


class SweepResult(Struct, frozen=True):
    """`base` is the cluster without any variant, with the nodes of `columns`. `failures` has the worst outcome by the
    node, zone or other domain that failed. `worst` has the variants that are not safe, the worst first, and
    `kept` the same in full, where the sweep keeps them."""

    sweep: Sweep
    product: int
    variants: int
    base: VariantRow
    outcomes: Mapping[str, Share]
    failed: Mapping[str, Share]
    figures: Mapping[str, FigureRange]
    worst: tuple[VariantRow, ...]
    kept: tuple[VariantEnd, ...]
    pods: tuple[PodOdds, ...]
    settings: tuple[SettingSummary, ...]
    failures: Mapping[str, VariantOutcome]
    columns: NodeColumns
    coverage: Mapping[str, Any]
    stats: SweepStats

    @property
    def outcome(self) -> VariantOutcome:
        """The worst of all variants."""
        return next((each for each in reversed(OUTCOMES) if each in self.outcomes), "safe")

    @property
    def is_drawn(self) -> bool:
        """The variants are some of many that could be drawn, so that shares have an interval."""
        return bool(self.sweep.orders or self.sweep.ties or self.variants < self.product)

    @property
    def dimensions(self) -> dict[str, Any]:
        """Each dimension by the name that it has in a sweep file."""
        return dimensions_of(self.sweep)

    @property
    def safe(self) -> bool:
        """Every variant is safe."""
        return set(self.outcomes) <= {"safe"}
