"""Runs a sweep: rows are passed on as they come, stored, and added up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from ksched_cli.plan.displayed import Displayed
from ksched_cli.plan.sweep.executors.executor import Executor, RanSpan
from ksched_cli.plan.sweep.results import SweepResult, SweepStats
from ksched_cli.plan.sweep.rows import VariantRow, decode_rows
from ksched_cli.plan.sweep.runner import BaseRun, VariantRunner
from ksched_cli.plan.sweep.spans import Spans
from ksched_cli.plan.sweep.statistics import Aggregator
from ksched_cli.plan.sweep.store import RowStore
from ksched_cli.plan.sweep.swept_pods import VariantEnd
from ksched_cli.plan.sweep.task import SweepTask
from ksched_cli.progress import steps

# Called with the number of variants that are done and with that of all.
SweepProgress = Callable[[int, int], None]


class SweepRun(Displayed):
    """The variants of a sweep, run when they are read: iterate for the rows as they come, or call `result`."""

    def __init__(
        self,
        task: SweepTask,
        executor: Executor,
        *,
        progress: SweepProgress | None = None,
        store: RowStore | None = None,
        load_seconds: float = 0.0,
        warnings: tuple[str, ...] = (),
    ) -> None:
        self._task, self._executor, self._progress = task, executor, progress
        self._store, self._load_seconds, self.warnings = store, load_seconds, warnings
        self._aggregator = Aggregator(task.space.sweep.worst)
        self._peak, self._resumed = 0.0, 0
        self._rows: Iterator[VariantRow] | None = None
        self._result: SweepResult | None = None

    def __len__(self) -> int:
        return len(self._task.space)

    def __iter__(self) -> Iterator[VariantRow]:
        """Rows are not kept: a second loop goes on where the first one ended."""
        if self._rows is None:
            self._rows = steps(self._run(), "variants are done", len(self))
        return self._rows

    def result(self) -> SweepResult:
        """What all variants come to together. Those that are not run yet are run now."""
        for _ in self:
            pass
        assert self._result is not None
        return self._result

    def _run(self) -> Iterator[VariantRow]:
        started = time.perf_counter()
        here = VariantRunner(self._task)
        base = here.base()
        loaded = time.perf_counter()
        try:
            if self._store is not None:
                yield from self._counted(self._store.open())
            self._resumed = self._aggregator.count
            running = self._executor.run(self._task, self._spans(), here)
            with closing(running):
                for span in running:
                    yield from self._finished(span)
        finally:
            if self._store is not None:
                self._store.close()
        load_seconds = self._load_seconds + loaded - started
        seconds = time.perf_counter() - loaded
        worst = self._aggregator.worst() if self._task.space.sweep.keeps_worst else ()
        kept = tuple(here.whole(row.variant) for row in worst if row.outcome != "error")
        self._result = self._summed(base, kept, load_seconds, seconds)

    def _spans(self) -> Spans:
        return Spans(len(self), self._store.done if self._store is not None else None)

    def _finished(self, span: RanSpan) -> Iterator[VariantRow]:
        """The rows of the span, once they are stored."""
        if self._store is not None:
            self._store.append(span.lines)
        self._peak = max(self._peak, span.peak_mib)
        yield from self._counted(decode_rows(span.lines))

    def _counted(self, rows: Iterable[VariantRow]) -> Iterator[VariantRow]:
        for row in rows:
            self._aggregator.add(row)
            yield row
        if self._progress is not None:
            self._progress(self._aggregator.count, len(self))

    def _summed(self, base: BaseRun, kept: tuple[VariantEnd, ...], load_seconds: float, seconds: float) -> SweepResult:
        found, space = self._aggregator, self._task.space
        executor, resumed = self._executor, self._resumed
        stats = SweepStats(
            len(base.columns.table),
            executor.name,
            executor.workers,
            found.count,
            resumed,
            seconds,
            load_seconds,
            self._peak,
        )
        return SweepResult(
            space.sweep,
            space.product,
            found.count,
            base.row,
            found.outcomes(),
            found.failed(),
            found.figures(),
            found.worst(),
            kept,
            found.pods(),
            found.settings(),
            found.failures(),
            base.columns,
            base.coverage,
            stats,
        )
