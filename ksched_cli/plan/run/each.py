"""Trials on other cores and on other machines. This is the only module that copies or starts processes.

- `run_trials` runs trials one after the other, or each in a copy of this process (os.fork). A copy has the loaded
  cluster and everything that was worked out so far, and needs no time to start. `Copy` is one computation beside this
  process.
- An `Executor` runs the variants of a sweep in spans: in this process, in processes that load the cluster once
  (concurrent.futures), or on a Dask cluster (dask.distributed).
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

from msgspec import Struct

from ksched_cli.errors import ClusterUnreadable, KschedError, Problem, Terminated, UsageError
from ksched_cli.process import available_mib, become_copy, core_count, may_be_copied, peak_mib
from ksched_cli.progress import listen

# What starts processes or connects to Dask is imported where it is used: a copy of this process needs none of it.
if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

T = TypeVar("T")

_CHUNK = 2**20
# So many answers, one for each pending pod and node, make a run of a world worth a copy of this process.
WORTH_ANSWERS = 500_000


# Copies of this process


def copies_at_once() -> int:
    """How many copies of this process may run at once; 0 for none. One more than there are cores, so that no core is
    without work while the last copies end; fewer where the memory of so many could be short."""
    cores = core_count()
    if not may_be_copied() or sys.platform != "linux" or cores < 2:
        return 0
    found = min(cores + 1, int(available_mib() / 2 / max(peak_mib(), 1.0)))
    return found if found > 1 else 0


class Copy(Generic[T]):
    """A computation that begins at once in a copy of this process. `result` waits for it. What the copy cannot return,
    such as an exception, is computed here once more."""

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._received = bytearray()
        self._succeeded = False
        self.is_done = False
        # Ctrl-C is for the process that collects the results, from the first moment on.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._reader, writer = os.pipe()
            try:
                self._process = os.fork()
            except OSError:  # A container may allow no further process.
                os.close(self._reader)
                self.is_done = True
            else:
                if not self._process:
                    os.close(self._reader)
                    _compute_in_copy(compute, writer)
            os.close(writer)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def fileno(self) -> int:
        return self._reader

    def receive(self) -> None:
        """Read what the copy has sent, or wait for it."""
        data = os.read(self._reader, _CHUNK)
        self._received += data
        if not data:
            self._end()

    def result(self) -> T:
        while not self.is_done:
            self.receive()
        if not self._succeeded:
            return self._compute()
        import pickle

        value: T = pickle.loads(self._received)
        return value

    def stop(self) -> None:
        """End the copy if it still runs."""
        if not self.is_done:
            os.kill(self._process, signal.SIGKILL)
            self._end()

    def _end(self) -> None:
        self.is_done = True
        os.close(self._reader)
        _, status = os.waitpid(self._process, 0)
        self._succeeded = os.waitstatus_to_exitcode(status) == 0


def _compute_in_copy(compute: Callable[[], object], writer: int) -> NoReturn:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        become_copy()
        # The garbage collector would write to every object that the copy shares.
        gc.freeze()
        listen(None)
        import pickle

        data = pickle.dumps(compute(), pickle.HIGHEST_PROTOCOL)
        with open(writer, "wb") as out:
            out.write(data)
        code = 0
    finally:
        # Without the exit handlers and the buffered output of the process that was copied.
        os._exit(code)


def run_trials(trials: Sequence[Callable[[], T]], workers: int) -> Iterator[T]:
    """The results in their order. With `workers` each trial has a copy of this process, and so many run at once."""
    if not workers:
        yield from (trial() for trial in trials)
        return
    copies: list[Copy[T]] = []
    try:
        for index in range(len(trials)):
            while True:
                running = [copy for copy in copies if not copy.is_done]
                for compute in trials[len(copies) : len(copies) + workers - len(running)]:
                    copies.append(Copy(compute))
                    running.append(copies[-1])
                if copies[index].is_done:
                    break
                for ready in select.select(running, [], [])[0]:
                    ready.receive()
            yield copies[index].result()
    finally:
        for copy in copies:
            copy.stop()


# The variants of a sweep

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


# The error of a variant whose worker dies whenever it runs it.
DIED = "the worker process died each time it ran this variant: is there enough memory?"


def error_text(problem: Exception) -> str:
    """The error of a variant that could not be run, with the type of an exception that is a mistake of the program."""
    return str(problem) if isinstance(problem, KschedError) else f"{type(problem).__name__}: {problem}"


class SpanRunner(Protocol):
    """Runs variants by their numbers."""

    def rows(self, span: range) -> bytes:
        """The rows of these variants, as lines of JSON."""

    def died(self, number: int) -> bytes:
        """The row of a variant whose worker dies whenever it runs it."""


class SpanTask(Protocol):
    """What workers need: it is sent to each of them once."""

    def runner(self) -> SpanRunner:
        """A runner of this process."""


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

    def run(self, task: SpanTask, spans: Spans, here: SpanRunner) -> Generator[RanSpan, None, None]:
        """Run all spans, in any order. When the iterator is closed, everything that it started has ended. `here` is a
        runner of this process, whose cluster is loaded."""


def ran(runner: SpanRunner, span: range) -> RanSpan:
    """Run the span here."""
    started = time.perf_counter()
    lines = runner.rows(span)
    return RanSpan(span, lines, time.perf_counter() - started, peak_mib())


class InProcess:
    """One variant after the other."""

    name, workers = "in-process", 1

    def run(self, task: SpanTask, spans: Spans, here: SpanRunner) -> Generator[RanSpan, None, None]:
        while (span := spans.hand_out()) is not None:
            result = ran(here, span)
            spans.measured(span, result.seconds)
            yield result


_STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM}
# Spans that each worker has, the one that it runs included.
_AHEAD = 2
# A variant by itself whose worker dies so often is a row with an error.
_MOST_DEATHS = 2


def _run_spans(
    spans: Spans,
    here: SpanRunner,
    submit: Callable[[range], Any],
    first_done: Callable[[Iterable[Any]], Any],
    ahead: Callable[[], int],
    deadly: type[Exception],
    most_deaths: int = 1,
) -> Generator[RanSpan, None, None]:
    """Run all spans on workers, of which so many may be `ahead`. A worker that dies may take other spans with it,
    whichever of them was the cause: their futures raise `deadly`. Such spans wait until no other span runs. Then each
    is run alone, and halved while its worker dies. So the variant that the worker dies of is found, `most_deaths`
    times, and all others are run."""
    span_of: dict[Any, range] = {}
    lost: list[range] = []
    deaths = 0
    while True:
        alone, most = bool(lost) and not span_of, ahead()
        if alone:
            span = lost.pop()
            span_of[submit(span)] = span
        while not alone and not lost and len(span_of) < most and (following := spans.hand_out()) is not None:
            span_of[submit(following)] = following
        if not span_of:
            return
        future = first_done(span_of)
        span = span_of.pop(future)
        try:
            result: RanSpan = future.result()
        except deadly:
            deaths += alone and len(span) == 1
            if deaths == most_deaths:
                yield RanSpan(span, here.died(span.start), 0.0, 0.0)
                deaths = 0
            else:
                lost += _halves(span) if alone and len(span) > 1 else [span]
            continue
        deaths = 0
        spans.measured(span, result.seconds)
        yield result


def _halves(span: range) -> list[range]:
    """The second half and the first: the last one is taken first."""
    middle = span.start + len(span) // 2
    return [range(middle, span.stop), range(span.start, middle)]


class Processes:
    """Processes that load the task once, when they start (concurrent.futures). A worker that dies takes the whole pool
    with it (BrokenProcessPool)."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, task: SpanTask, spans: Spans, here: SpanRunner) -> Generator[RanSpan, None, None]:
        import pickle
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        payload = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        with ExitStack() as pools:
            pool = pools.enter_context(_pool(self.workers, payload))

            def submit(span: range) -> Future[RanSpan]:
                nonlocal pool
                try:
                    return pool.submit(_run, span)
                except BrokenProcessPool:
                    pools.close()
                    pool = pools.enter_context(_pool(self.workers, payload))
                    return pool.submit(_run, span)

            def first_done(futures: Iterable[Future[RanSpan]]) -> Future[RanSpan]:
                return wait(futures, return_when=FIRST_COMPLETED).done.pop()

            ahead = self.workers * _AHEAD
            yield from _run_spans(spans, here, submit, first_done, lambda: ahead, BrokenProcessPool, _MOST_DEATHS)


@contextmanager
def _pool(workers: int, payload: bytes) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that have loaded the task. At the end they are stopped, whatever they are doing, also when this
    process is interrupted or terminated."""
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with _raises_when_terminated():
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _load, (payload,))
        try:
            # A worker inherits the blocked signals. Until `_load` an interrupt would be a traceback of the worker.
            with _stop_signals_blocked():
                loaded = [pool.submit(bool) for _ in range(workers)]
            try:
                wait(loaded, return_when=FIRST_COMPLETED).done.pop().result()
            except BrokenProcessPool:
                hint = 'a script calls sweep() below: if __name__ == "__main__":'
                raise KschedError(Problem("the worker processes do not start", hint=hint)) from None
            yield pool
        finally:
            for worker in list((pool._processes or {}).values()):
                worker.kill()
            pool.shutdown(cancel_futures=True)


@contextmanager
def _stop_signals_blocked() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the end of the block."""
    if not hasattr(signal, "pthread_sigmask"):
        # Not on Windows.
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _raises_when_terminated() -> Iterator[None]:
    """SIGTERM raises Terminated in the block: otherwise the workers and their semaphores would outlive this process. A
    handler of the program that uses ksched stays, and only the main thread can have one."""
    import threading

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def terminate(number: int, frame: object) -> NoReturn:
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


class _Worker:
    """The runner of this process."""

    runner: SpanRunner


def _load(payload: bytes) -> None:
    """Called once in each worker. Ctrl-C is for the process that collects the rows."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
    import pickle

    gc.set_threshold(100_000, 50, 1000)
    _Worker.runner = pickle.loads(payload).runner()


def _run(span: range) -> RanSpan:
    return ran(_Worker.runner, span)


# A sweep that takes no longer is over before the processes have loaded the cluster.
_WORTH_SECONDS = 5.0


class Cores:
    """`name` and `workers` are those of the executor that it has chosen."""

    def __init__(self) -> None:
        self.name, self.workers = InProcess.name, InProcess.workers

    def run(self, task: SpanTask, spans: Spans, here: SpanRunner) -> Generator[RanSpan, None, None]:
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


# Dask

LOCAL = "local"
# In seconds. A scheduler that does not answer is reported within ten.
_CONNECT, _GREETING, _FIRST_WORKER = 4, 3, 3
_NAME = "ksched-sweep"


class OnDask:
    """Dask sends spans to workers, and sends them again when a worker dies. The task is a plugin of the workers: Dask
    sends it once to each worker, also to one that joins later."""

    name = "dask"

    def __init__(self, address: str) -> None:
        self._address = address
        self.workers = 0

    def run(self, task: SpanTask, spans: Spans, here: SpanRunner) -> Generator[RanSpan, None, None]:
        import pickle
        import zlib
        from concurrent.futures import CancelledError

        payload = zlib.compress(pickle.dumps(task, pickle.HIGHEST_PROTOCOL), 1)
        with self._client() as client:
            self._check_workers(client)
            client.register_plugin(_task_plugin(payload), name=_NAME)
            try:
                yield from self._run_all(client, spans, here)
            except (CancelledError, OSError) as problem:
                text = f"the Dask scheduler is gone: {str(problem) or type(problem).__name__}"
                raise ClusterUnreadable(Problem(text, self._address)) from None
            finally:
                client.unregister_worker_plugin(_NAME)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """A connection to the scheduler of the address, or to one that is started here."""
        import logging

        from distributed import Client, LocalCluster

        if self._address == LOCAL:
            with (
                LocalCluster(
                    n_workers=core_count(), threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
                ) as cluster,
                Client(cluster) as client,
            ):
                yield client
            return
        try:
            _greet(self._address)
            client = Client(self._address, timeout=_CONNECT)
        except (OSError, ValueError) as problem:
            text = f"the Dask scheduler does not answer: {str(problem).splitlines()[0]}"
            raise ClusterUnreadable(Problem(text, self._address)) from None
        with client:
            yield client

    def _check_workers(self, client: Any) -> None:
        """There is a worker, and all have this version of ksched."""
        try:
            client.wait_for_workers(1, timeout=_FIRST_WORKER)
        except TimeoutError:
            raise ClusterUnreadable(Problem("the Dask cluster has no worker", self._address)) from None
        from pydoc import locate

        from ksched_cli import __version__

        versions = client.run(locate, "ksched_cli.__version__")
        problems = [
            Problem(f"Dask worker {worker} has ksched {version}, and this is ksched {__version__}")
            if version
            else Problem(f"Dask worker {worker} has no ksched, and this is ksched {__version__}")
            for worker, version in sorted(versions.items())
            if version != __version__
        ]
        if problems:
            raise UsageError(problems)

    def _run_all(self, client: Any, spans: Spans, here: SpanRunner) -> Generator[RanSpan, None, None]:
        """Run all spans. Dask gives up a span when too many workers died while they had it."""
        from distributed import KilledWorker, as_completed

        running = as_completed()

        def submit(span: range) -> Any:
            future = client.submit(_run_on_dask, span.start, span.stop, pure=False)
            running.add(future)
            return future

        def ahead() -> int:
            """Workers come and go."""
            self.workers = max(self.workers, len(client.nthreads()))
            return self.workers * _AHEAD

        yield from _run_spans(spans, here, submit, lambda _: next(running), ahead, KilledWorker)


def _greet(address: str) -> None:
    """OSError if a server listens and does not speak as a Dask scheduler does, which greets first: `Client` would wait
    for it without end."""
    import socket

    from distributed.comm import get_address_host_port, parse_address

    scheme, _ = parse_address(address)
    if scheme != "tcp":
        return
    with socket.create_connection(get_address_host_port(address), _CONNECT) as connection:
        connection.settimeout(_GREETING)
        if not connection.recv(1):
            raise OSError("the server closed the connection")


def _task_plugin(payload: bytes) -> Any:
    """A plugin that holds the task in a worker. The cluster is loaded by the first span."""
    import pickle
    import threading
    import zlib

    from distributed import WorkerPlugin

    class TaskPlugin(WorkerPlugin):  # type: ignore[misc]  # distributed is not typed here
        def __init__(self) -> None:
            self._runner: SpanRunner | None = None
            self._lock: Any = None

        def setup(self, worker: Any) -> None:
            self._lock = threading.Lock()

        def run(self, span: range) -> RanSpan:
            """Run the span. One at a time: a worker with several threads has one world."""
            with self._lock:
                if self._runner is None:
                    self._runner = pickle.loads(zlib.decompress(payload)).runner()
                return ran(self._runner, span)

    return TaskPlugin()


def _run_on_dask(start: int, stop: int) -> RanSpan:
    """Called in a worker."""
    from distributed import get_worker

    worker = get_worker()
    plugin = worker.plugins.get(_NAME)
    if plugin is None:
        raise KschedError(f"Dask worker {worker.address} could not load the sweep: has it the same ksched?")
    result: RanSpan = plugin.run(range(start, stop))
    return result
