"""Runs variants one after the other: each is a trial in a world that stays loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from ksched_cli.errors import KschedError, Problem, UsageError
from ksched_cli.plan.coverage import coverage_of
from ksched_cli.plan.node_columns import NodeColumns
from ksched_cli.plan.sweep.rows import VariantRow
from ksched_cli.plan.sweep.space import Setting, Variant
from ksched_cli.plan.sweep.swept_pods import VariantEnd
from ksched_cli.plan.sweep.task import SweepTask
from ksched_cli.plan.sweep.trials import VariantTrials
from ksched_cli.whatif.edits.lib.arguments import EditMistake


class BaseRun(Struct, frozen=True):
    """The cluster without any variant: its row, its nodes, and its coverage."""

    row: VariantRow
    columns: NodeColumns
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
                yield self._trials_of(variant).end(variant).row
            except Exception as problem:
                # What the variant left behind is not trusted.
                self._trials = self._loaded = None
                kind = "" if isinstance(problem, KschedError) else f"{type(problem).__name__}: "
                yield VariantRow(number, variant.coordinates, "error", error=f"{kind}{problem}")

    def whole(self, number: int) -> VariantEnd:
        """The variant with everything that happens in it."""
        variant = self._variants[number]
        return self._trials_of(variant).end(variant, whole=True)

    def died(self, number: int) -> VariantRow:
        """The row of a variant whose worker dies whenever it runs it."""
        error = "the worker process died each time it ran this variant: is there enough memory?"
        return VariantRow(number, self._variants[number].coordinates, "error", error=error)

    def base(self) -> BaseRun:
        """The cluster as it is, without any variant: its row has number -1. UsageError for expectations of pods that
        are not there, and for edits that cannot be made: the largest number of each range is tried."""
        variant = Variant(-1, Setting(), (), {})
        trials = self._trials_of(variant)
        try:
            row = trials.end(variant).row
        except EditMistake as mistake:
            raise UsageError(Problem(f"expect: {mistake}", hint=mistake.hint)) from None
        trials.check_edits([each.edits[-1] for each in self._task.space.sweep.edits if each.edits[-1]])
        scheduler, source = trials.scheduler, trials.source
        return BaseRun(row, NodeColumns.of(scheduler.cluster), coverage_of(scheduler, source.loaded, source.spec))

    def _trials_of(self, variant: Variant) -> VariantTrials:
        """The world that has the configuration and the minor of the variant."""
        loaded = variant.setting.grid, variant.setting.version
        if self._trials is None or self._loaded != loaded:
            self._trials = None
            self._trials, self._loaded = VariantTrials(self._task, self._task.source.under(*loaded)), loaded
        return self._trials
