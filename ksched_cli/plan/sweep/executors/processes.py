"""Runs the variants of a sweep on several cores, each in a process of its own (concurrent.futures)."""

from __future__ import annotations

import gc
import pickle
import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

from ksched_cli.errors import KschedError, Problem
from ksched_cli.plan.sweep.executors.executor import RanSpan, ran
from ksched_cli.plan.sweep.rows import encode_rows
from ksched_cli.plan.sweep.runner import VariantRunner
from ksched_cli.plan.sweep.spans import Spans
from ksched_cli.plan.sweep.task import SweepTask

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
