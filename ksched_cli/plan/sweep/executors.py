"""The variants that are still to be run, handed out in spans of neighbours.

What every executor does: it runs spans of variants and returns their rows as they come.

Runs the variants of a sweep in this process.

Runs the variants of a sweep on several cores, each in a process of its own (concurrent.futures).

Runs the variants of a sweep here, and on all cores as soon as that is worth the start of processes."""

from __future__ import annotations

import gc
import pickle
import signal
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Protocol

from msgspec import Struct

from ksched_cli.errors import KschedError, Problem
from ksched_cli.forks import core_count
from ksched_cli.memory import peak_mib
from ksched_cli.plan.sweep.space import SweepTask
from ksched_cli.plan.sweep.statistics import encode_rows
from ksched_cli.plan.sweep.trials import VariantRunner

# A span is to take about so many seconds: long against the cost of sending it, short against the whole.
SPAN_SECONDS = 2.0
_FIRST, _MOST = 1, 100_000
# How much the newest measurement counts.
_NEWEST = 0.5


class Spans:
    """`done` are numbers of variants that need no run. Spans grow and shrink with the measured time of a variant."""

    def __init__(self, total: int, done: bytearray | None = None, seconds: float = SPAN_SECONDS) -> None:
        self._total, self._done, self._seconds = total, done, seconds
        self._next = 0
        self._per_variant = 0.0
        self._measured = False

    def hand_out(self) -> range | None:
        """The next span; None when all variants are handed out."""
        while self._next < self._total and self._is_done(self._next):
            self._next += 1
        if self._next >= self._total:
            return None
        start, stop = self._next, min(self._next + self._size(), self._total)
        end = next((number for number in range(start, stop) if self._is_done(number)), stop)
        self._next = end
        return range(start, end)

    def measured(self, span: range, seconds: float) -> None:
        """The span took so long."""
        latest = seconds / len(span)
        self._per_variant = (1 - _NEWEST) * self._per_variant + _NEWEST * latest if self._measured else latest
        self._measured = True

    def seconds_left(self) -> float:
        """How long the spans that are not handed out yet take one worker; 0 before the first measurement."""
        return (self._total - self._next) * self._per_variant

    def _size(self) -> int:
        if not self._measured:
            return _FIRST
        return min(max(int(self._seconds / max(self._per_variant, 1e-6)), 1), _MOST)

    def _is_done(self, number: int) -> bool:
        return self._done is not None and bool(self._done[number])


class RanSpan(Struct, frozen=True):
    """The rows of a span as lines of JSON, how long they took, and the most memory that the worker has held."""

    span: range
    lines: bytes
    seconds: float
    peak_mib: float


class Executor(Protocol):
    """`name` and `workers` are for the statistics of the result."""

    name: str
    workers: int

    def run(self, task: SweepTask, spans: Spans, here: VariantRunner) -> Generator[RanSpan, None, None]:
        """Run all spans, in any order. When the iterator is closed, everything that it started has ended. `here` is a
        runner of this process, whose cluster is loaded."""


def ran(runner: VariantRunner, span: range) -> RanSpan:
    """Run the span here."""
    started = time.perf_counter()
    lines = encode_rows(runner.run(span))
    return RanSpan(span, lines, time.perf_counter() - started, peak_mib())


class InProcess:
    """One variant after the other."""

    name, workers = "in-process", 1

    def run(self, task: SweepTask, spans: Spans, here: VariantRunner) -> Generator[RanSpan, None, None]:
        while (span := spans.hand_out()) is not None:
            result = ran(here, span)
            spans.measured(span, result.seconds)
            yield result


# Spans that each worker has, the one that it runs included.
_AHEAD = 2
# A variant by itself whose worker dies so often is a row with an error.
_MOST_DEATHS = 2


class Processes:
    """The task is sent to each worker once, when the worker starts. A worker that dies takes the whole pool with it
    (BrokenProcessPool). The spans that were running are suspects: they are run one at a time in a new pool, and halved
    while the worker dies again. So the variant that the worker dies of is found, and all others are run."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, task: SweepTask, spans: Spans, here: VariantRunner) -> Generator[RanSpan, None, None]:
        payload = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        suspects = _Suspects()
        while True:
            with _pool(self.workers, payload) as pool:
                try:
                    yield from suspects.run(pool)
                    yield from self._run_all(pool, spans, suspects)
                    return
                except BrokenProcessPool:
                    pass
            deadly = suspects.narrow()
            if deadly is not None:
                yield RanSpan(range(deadly, deadly + 1), encode_rows([here.died(deadly)]), 0.0, 0.0)

    def _run_all(self, pool: ProcessPoolExecutor, spans: Spans, suspects: _Suspects) -> Generator[RanSpan, None, None]:
        running: dict[Future[RanSpan], range] = {}
        span: range | None = None
        try:
            while True:
                while len(running) < self.workers * _AHEAD and (span := spans.hand_out()) is not None:
                    running[pool.submit(_run, span)] = span
                    span = None
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    result = future.result()
                    del running[future]
                    spans.measured(result.span, result.seconds)
                    yield result
        except BrokenProcessPool:
            # A pool that is broken already refuses the span that was just taken.
            suspects.add([*running.values(), *([span] if span is not None else [])])
            raise


class _Suspects:
    """Spans that were running when a worker died, and what is known of the first of them."""

    def __init__(self) -> None:
        self._spans: deque[range] = deque()
        self._alone = False
        self._deaths = 0

    def add(self, spans: Iterable[range]) -> None:
        self._spans.extend(spans)
        self._alone = False

    def run(self, pool: ProcessPoolExecutor) -> Generator[RanSpan, None, None]:
        """Run one span at a time."""
        while self._spans:
            self._alone = True
            result = pool.submit(_run, self._spans[0]).result()
            self._spans.popleft()
            self._alone, self._deaths = False, 0
            yield result

    def narrow(self) -> int | None:
        """Halve the span that was running alone. The number of the variant that the worker died of repeatedly."""
        if not self._alone:
            return None
        first = self._spans[0]
        if len(first) > 1:
            self._spans.popleft()
            middle = len(first) // 2
            self._spans.extendleft((first[middle:], first[:middle]))
            return None
        self._deaths += 1
        if self._deaths < _MOST_DEATHS:
            return None
        self._spans.popleft()
        self._alone, self._deaths = False, 0
        return first[0]


@contextmanager
def _pool(workers: int, payload: bytes) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that have loaded the task. At the end they are stopped, whatever they are doing."""
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _load, (payload,))
    try:
        loaded = [pool.submit(_loaded) for _ in range(workers)]
        try:
            wait(loaded, return_when=FIRST_COMPLETED).done.pop().result()
        except BrokenProcessPool:
            hint = 'a script calls sweep() below: if __name__ == "__main__":'
            raise KschedError(Problem("the worker processes do not start", hint=hint)) from None
        yield pool
    finally:
        for worker in list((pool._processes or {}).values()):
            worker.terminate()
        pool.shutdown(cancel_futures=True)


class _Worker:
    """The runner of this process."""

    runner: VariantRunner


def _load(payload: bytes) -> None:
    """Called once in each worker. Ctrl-C is for the process that collects the rows."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000, 50, 1000)
    _Worker.runner = VariantRunner(pickle.loads(payload))


def _loaded() -> bool:
    return True


def _run(span: range) -> RanSpan:
    return ran(_Worker.runner, span)


# A sweep that takes no longer is over before the processes have loaded the cluster.
_WORTH_SECONDS = 5.0


class Cores:
    """`name` and `workers` are those of the executor that it has chosen."""

    def __init__(self) -> None:
        self.name, self.workers = InProcess.name, InProcess.workers

    def run(self, task: SweepTask, spans: Spans, here: VariantRunner) -> Generator[RanSpan, None, None]:
        cores = core_count()
        while cores == 1 or spans.seconds_left() <= _WORTH_SECONDS:
            span = spans.hand_out()
            if span is None:
                return
            result = ran(here, span)
            spans.measured(span, result.seconds)
            yield result
        processes = Processes(cores)
        self.name, self.workers = processes.name, processes.workers
        yield from processes.run(task, spans, here)
