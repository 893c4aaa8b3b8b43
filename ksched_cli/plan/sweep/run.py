"""Runs a sweep: rows are passed on as they come, stored, and added up to a `SweepResult`.

`RowStore` appends rows to a folder, and a later run continues with them: `sweep.json` has the sweep that the rows are
of, and `rows.jsonl` has one line for each variant.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace as replace_fields
from io import FileIO
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli import __version__
from ksched_cli.errors import ConfigError, InputError, KschedError, Problem, UsageError
from ksched_cli.plan.results.nodes import NodeChanges
from ksched_cli.plan.results.outcomes import Displayed, PodOdds, Share
from ksched_cli.plan.run.checks import check_nodes
from ksched_cli.plan.run.each import Cores, Executor, InProcess, OnDask, Processes, Spans, SpanTask
from ksched_cli.plan.run.loaded_input import InputMaker, LoadedInput
from ksched_cli.plan.run.options import RunOptions, SweepKeywords
from ksched_cli.plan.sweep.model import dimensions_of, read_sweep
from ksched_cli.plan.sweep.statistics import (
    OUTCOMES,
    Aggregator,
    FigureRange,
    Figures,
    VariantOutcome,
    VariantRow,
    decode_rows,
)
from ksched_cli.plan.sweep.trials import (
    SweepTask,
    SweptCluster,
    VariantEnd,
    VariantRunner,
    as_document,
    variant_space,
)
from ksched_cli.progress import steps
from ksched_cli.sources.decoding import API_VERSION
from ksched_cli.sources.loaded import Loaded

ABOUT, ROWS = "sweep.json", "rows.jsonl"


def about_rows(task: SweepTask) -> dict[str, Any]:
    """What rows have to agree in to be rows of one sweep."""
    sweep, space = task.space.sweep, task.space
    return {
        "apiVersion": API_VERSION,
        "kind": "SweepRows",
        "ksched": __version__,
        "cluster": task.source.digest(),
        "dimensions": dimensions_of(sweep),
        "expectations": [str(each) for each in sweep.expectations],
        "sample": sweep.sample,
        "seed": sweep.seed,
        "variants": len(space),
    }


class StoredRow(Protocol):
    """A row has the number of its variant."""

    @property
    def variant(self) -> int: ...


T = TypeVar("T", bound=SpanTask)
R = TypeVar("R", bound=StoredRow)
S = TypeVar("S")


class RowStore(Generic[R]):
    """`about` identifies the sweep: rows are resumed only where it is the same. `decode` reads lines of rows."""

    def __init__(
        self, folder: str, about: dict[str, Any], decode: Callable[[bytes], Iterable[R]], *, resume: bool
    ) -> None:
        self._folder, self._about, self._resume = Path(folder), about, resume
        self._decode = decode
        self._file: FileIO | None = None
        self._size = 0
        self.done = bytearray(about["variants"])

    @property
    def path(self) -> Path:
        return self._folder / ROWS

    def open(self) -> Iterator[R]:
        """Open the folder for writing. The rows that it has already, where it is resumed."""
        with _usable(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._check()
            self._file = FileIO(self.path, "a+")
            _lock(self._file, self._folder)
        yield from self._read(self._file)

    def _check(self) -> None:
        known = self._folder / ABOUT
        if not known.exists():
            if self.path.exists():
                raise UsageError(
                    Problem(f"it has {ROWS} and no {ABOUT}", str(self._folder), hint="give an empty folder")
                )
            known.write_text(json.dumps(self._about, indent=2) + "\n")
            return
        if not self._resume:
            text = "the folder has the rows of an earlier sweep"
            raise UsageError(Problem(text, str(self._folder), hint="--resume goes on with it; or give an empty folder"))
        try:
            found = json.loads(known.read_text())
        except ValueError:
            raise InputError(Problem("it is no JSON", str(known))) from None
        different = [key for key in self._about if not isinstance(found, dict) or found.get(key) != self._about[key]]
        if "ksched" in different and isinstance(found, dict):
            text = f"the rows were made by ksched {found.get('ksched')}, and this is {self._about['ksched']}"
            raise UsageError(Problem(text, str(self._folder)))
        if different:
            text = f"the folder has the rows of another sweep: {', '.join(different)} differ"
            raise UsageError(Problem(text, str(self._folder), hint="resume with the same options and the same cluster"))

    def _read(self, file: FileIO) -> Iterator[R]:
        """A last line that was not written to its end is cut off."""
        file.seek(0)
        with open(file.fileno(), "rb", closefd=False) as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    (row,) = self._decode(line)
                except (msgspec.DecodeError, ValueError):
                    raise InputError(Problem("the line is no row of a sweep", str(self.path), number)) from None
                self._size += len(line)
                if 0 <= row.variant < len(self.done) and not self.done[row.variant]:
                    self.done[row.variant] = 1
                    yield row
        file.truncate(self._size)

    def append(self, lines: bytes) -> None:
        """Write the lines and wait until the disk has them. KschedError if they cannot be written: then the file ends
        with the last line that was written before."""
        file, left = self._file, memoryview(lines)
        assert file is not None
        try:
            while left:
                left = left[file.write(left) :]
            os.fsync(file)
        except OSError as problem:
            with suppress(OSError):
                file.truncate(self._size)
            text = f"cannot write the rows: {(problem.strerror or str(problem)).lower()}"
            hint = "the rows before are whole: --resume goes on with them"
            raise KschedError(Problem(text, str(self.path), hint=hint)) from None
        self._size += len(lines)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """UsageError with the system's message about a folder that cannot be used."""
    try:
        yield
    except OSError as problem:
        raise UsageError(Problem((problem.strerror or str(problem)).lower(), str(folder))) from None


def _lock(file: FileIO, folder: Path) -> None:
    """One sweep at a time writes to a folder."""
    try:
        import fcntl
    except ImportError:
        # Not on Windows.
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        raise UsageError(Problem("another sweep is writing to the folder", str(folder))) from None


class SweepStats(Struct, frozen=True, rename="camel"):
    """`resumed` variants were read and not run. `peak_mib` is that of the largest worker."""

    nodes: int
    executor: str
    workers: int
    resumed: int
    load_seconds: float
    seconds: float
    variants_per_second: float
    peak_mib: float = msgspec.field(name="peakMiB")


class SweepResult(
    Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="SweepResult"
):
    """`outcome` is the worst of all variants; `base` has the figures of the cluster without any variant. `worst` has
    the variants that are not safe, the worst first, and `kept` the same in full, where the sweep keeps them. `settings`
    have the place of each setting, `paretoFront`, `outcomes` and `figures`. `failures`: the worst outcome by the node,
    zone or other domain that failed."""

    name: str
    outcome: VariantOutcome = msgspec.field(name="result")
    safe: bool
    dimensions: Mapping[str, Any]
    product: int
    variants: int
    seed: int | None = None
    sample: int | None = None
    base: Figures
    outcomes: dict[str, Share]
    failed: dict[str, Share] = msgspec.field(default_factory=dict, name="failedExpectations")
    figures: Mapping[str, FigureRange]
    worst: tuple[VariantRow, ...]
    kept: tuple[VariantEnd | Any, ...] = ()
    settings: tuple[Mapping[str, Any], ...]
    pods: tuple[PodOdds, ...]
    failures: dict[str, VariantOutcome] = msgspec.field(default_factory=dict, name="worstByFailure")
    node_table: NodeChanges | Any = None
    coverage: Mapping[str, Any]
    stats: SweepStats

    @property
    def is_drawn(self) -> bool:
        """The variants are some of many that could be drawn, so that shares have an interval."""
        return self.variants < self.product or bool({"orders", "ties"} & self.dimensions.keys())


# Called with the number of variants that are done and with that of all.
SweepProgress = Callable[[int, int], None]


class SweepExecution(Struct, frozen=True):
    """How a sweep runs: on so many processes (0: one for each core) or on Dask, with its rows stored in the folder
    `out`. UsageError for values that cannot be."""

    workers: int = 1
    dask: str | None = None
    out: str | None = None
    resume: bool = False
    progress: SweepProgress | None = None

    def __post_init__(self) -> None:
        if self.resume and self.out is None:
            raise UsageError("--resume goes with --out: it continues with the rows of that folder")
        if self.workers < 0:
            raise UsageError(f"--workers {self.workers}: 0 is one for each core")

    def executor(self, variants: int) -> Executor:
        if self.dask is None:
            workers = self.workers
            return Processes(min(workers, variants)) if workers > 1 else InProcess() if workers else Cores()
        if importlib.util.find_spec("distributed") is None:
            raise UsageError("--dask needs dask.distributed: pip install 'ksched-cli[dask]'")
        return OnDask(self.dask)

    def store(self, about: Callable[[], dict[str, Any]], decode: Callable[[bytes], Iterable[R]]) -> RowStore[R] | None:
        """The folder for the rows. `about` computes what identifies the sweep."""
        return None if self.out is None else RowStore(self.out, about(), decode, resume=self.resume)


class RowRun(Displayed, Generic[T, R, S]):
    """The variants of a task, run when they are read: iterate for the rows as they come, or call `result`."""

    unit = "variants are done"

    def __init__(
        self,
        task: T,
        size: int,
        execution: SweepExecution,
        about: Callable[[], dict[str, Any]],
        decode: Callable[[bytes], Iterable[R]],
        warnings: tuple[str, ...] = (),
    ) -> None:
        self._task, self._size, self.warnings = task, size, warnings
        self._executor, self._progress = execution.executor(size), execution.progress
        self._store, self._decode = execution.store(about, decode), decode
        self._peak, self._done, self._resumed = 0.0, 0, 0
        self._rows: Iterator[R] | None = None
        self._result: S | None = None

    def _begin(self) -> Any:
        """A runner of this process."""
        return self._task.runner()

    def _add(self, row: R) -> None:
        """Count the row in the result."""
        raise NotImplementedError

    def _summed(self, here: Any, load_seconds: float, seconds: float) -> S:
        """The result of all rows."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[R]:
        """Rows are not kept: a second loop goes on where the first one ended."""
        if self._rows is None:
            self._rows = steps(self._run(), self.unit, len(self))
        return self._rows

    def result(self) -> S:
        """What all variants come to together. Those that are not run yet are run now."""
        for _ in self:
            pass
        assert self._result is not None
        return self._result

    def __getstate__(self) -> dict[str, Any]:
        """The state of a run that is over: its rows are read, and its result is known."""
        kept = {"_task": self._task, "_size": self._size, "warnings": self.warnings}
        return {**kept, "_result": self.result(), "_rows": iter(())}

    def _run(self) -> Iterator[R]:
        started = time.perf_counter()
        here, store = self._begin(), self._store
        loaded = time.perf_counter()
        try:
            if store is not None:
                yield from self._counted(store.open())
            self._resumed = self._done
            running = self._executor.run(self._task, Spans(len(self), store.done if store is not None else None), here)
            with closing(running):
                for span in running:
                    if store is not None:
                        store.append(span.lines)
                    self._peak = max(self._peak, span.peak_mib)
                    yield from self._counted(self._decode(span.lines))
        finally:
            if store is not None:
                store.close()
        self._result = self._summed(here, loaded - started, time.perf_counter() - loaded)

    def _counted(self, rows: Iterable[R]) -> Iterator[R]:
        for row in rows:
            self._add(row)
            self._done += 1
            yield row
        if self._progress is not None:
            self._progress(self._done, len(self))


class SweepRun(RowRun[SweepTask, VariantRow, SweepResult]):
    """The variants of a sweep."""

    def __init__(
        self, task: SweepTask, execution: SweepExecution, load_seconds: float, warnings: tuple[str, ...]
    ) -> None:
        super().__init__(task, len(task.space), execution, lambda: about_rows(task), decode_rows, warnings)
        self._load_seconds = load_seconds
        self._aggregator = Aggregator(task.space.sweep.worst)

    def _begin(self) -> VariantRunner:
        here = VariantRunner(self._task)
        self._base = here.base()
        return here

    def _add(self, row: VariantRow) -> None:
        self._aggregator.add(row)

    def _summed(self, here: VariantRunner, load_seconds: float, seconds: float) -> SweepResult:
        found, space, base = self._aggregator, self._task.space, self._base
        worst = found.worst()
        stats = SweepStats(
            len(base.columns.table),
            self._executor.name,
            self._executor.workers,
            self._resumed,
            round(self._load_seconds + load_seconds, 4),
            round(seconds, 4),
            round((found.count - self._resumed) / seconds if seconds else 0.0, 1),
            round(self._peak, 1),
        )
        assert base.row.figures is not None
        sweep, outcomes = space.sweep, found.outcomes()
        return SweepResult(
            name=sweep.name,
            outcome=next((each for each in reversed(OUTCOMES) if each in outcomes), "safe"),
            safe=set(outcomes) <= {"safe"},
            dimensions=dimensions_of(sweep),
            product=space.product,
            variants=found.count,
            seed=sweep.seed if sweep.sample else None,
            sample=sweep.sample,
            base=base.row.figures,
            outcomes=outcomes,
            failed=found.failed(),
            figures=found.figures(),
            worst=worst,
            kept=tuple(here.whole(row.variant) for row in worst if sweep.keeps_worst and row.outcome != "error"),
            settings=found.settings(),
            pods=found.pods(),
            failures=found.failures(),
            node_table=NodeChanges(base.columns, base.columns),
            coverage=base.coverage,
            stats=stats,
        )


def sweep_input(
    options: RunOptions,
    source: LoadedInput,
    maker: InputMaker,
    path: str | None,
    words: Mapping[str, Any],
    execution: SweepExecution,
) -> SweepRun:
    """The run of a sweep file, of words, or of both, over this input."""
    unknown = sorted(words.keys() - SweepKeywords.__annotations__.keys())
    if unknown:
        known = ", ".join(SweepKeywords.__annotations__)
        raise UsageError(f"there is no dimension {', '.join(unknown)}; there are {known}")
    sweep = read_sweep(path, words, as_document(options.config))
    cluster = SweptCluster.of(options, source, sweep, maker)
    _check_grid(cluster)
    check_nodes(options, cluster.loaded, Loaded())
    space = variant_space(sweep, cluster.loaded)
    task = SweepTask(space, cluster, options.namespace or cluster.loaded.namespace)
    return SweepRun(task, execution, source.seconds, source.warnings)


def _check_grid(cluster: SweptCluster) -> None:
    """ConfigError with what kube-scheduler would not accept of the configurations of the grid."""
    problems: dict[str, Problem] = {}
    for point in cluster.sweep.grid:
        try:
            cluster.maker.scheduler_spec(replace(cluster.options, config=point.configuration))
        except ConfigError as mistake:
            problems |= {str(each): replace_fields(each, source="--grid", line=None) for each in mistake.problems}
    if problems:
        raise ConfigError(problems.values())
