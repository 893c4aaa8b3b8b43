"""Runs variants one after the other: each is a trial in a world that stays loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ksched_cli.errors import KschedError
from ksched_cli.plan.coverage import coverage_of
from ksched_cli.plan.sweep.rows import VariantRow
from ksched_cli.plan.sweep.space import Setting, Variant
from ksched_cli.plan.sweep.task import SweepTask
from ksched_cli.plan.sweep.trials import VariantTrials


@dataclass(frozen=True)
class BaseRun:
    """The cluster without any variant: its row, its number of nodes, and its coverage."""

    row: VariantRow
    nodes: int
    coverage: dict[str, Any]


class VariantRunner:
    """Keeps the world of one configuration and one minor, and in it the setting of the last variant: a neighbour with
    the same setting costs its failures only."""

    def __init__(self, task: SweepTask) -> None:
        self._task = task
        self._variants = task.space.variants()
        self._trials: VariantTrials | None = None
        self._loaded: tuple[int, int] | None = None

    def run(self, numbers: Iterable[int]) -> Iterator[VariantRow]:
        """The rows of these variants."""
        for number in numbers:
            variant = self._variants[number]
            try:
                yield self._row(variant)
            except Exception as problem:
                # What the variant left behind is not trusted.
                self._trials = self._loaded = None
                kind = "" if isinstance(problem, KschedError) else f"{type(problem).__name__}: "
                yield VariantRow(number, variant.coordinates, "error", error=f"{kind}{problem}")

    def died(self, number: int) -> VariantRow:
        """The row of a variant whose worker dies whenever it runs it."""
        error = "the worker process died each time it ran this variant: is there enough memory?"
        return VariantRow(number, self._variants[number].coordinates, "error", error=error)

    def base(self) -> BaseRun:
        """The cluster as it is, without any variant: its row has number -1. UsageError for edits that cannot be made,
        of which the largest number of each range is tried."""
        row = self._row(Variant(-1, Setting(), (), {}))
        assert self._trials is not None
        self._trials.check_edits([each.edits[-1] for each in self._task.space.sweep.edits if each.edits[-1]])
        scheduler, source = self._trials.scheduler, self._trials.source
        return BaseRun(row, len(scheduler.cluster.nodes), coverage_of(scheduler, source.loaded, source.spec))

    def _row(self, variant: Variant) -> VariantRow:
        loaded = variant.setting.grid, variant.setting.version
        if self._trials is None or self._loaded != loaded:
            self._trials = None
            self._trials, self._loaded = VariantTrials(self._task, self._task.source.under(*loaded)), loaded
        return self._trials.row(variant)
