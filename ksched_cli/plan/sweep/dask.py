"""Runs the variants of a sweep on a Dask cluster (dask.distributed), or on one of this machine."""

from __future__ import annotations

import logging
import pickle
import socket
import threading
import zlib
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pydoc import locate
from typing import Any

from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin, as_completed, get_worker
from distributed.comm import get_address_host_port, parse_address

from ksched_cli import __version__
from ksched_cli.errors import ClusterUnreadable, KschedError, Problem, UsageError
from ksched_cli.forks import core_count
from ksched_cli.plan.sweep.executors import RanSpan, Spans, ran
from ksched_cli.plan.sweep.space import SweepTask
from ksched_cli.plan.sweep.statistics import encode_rows
from ksched_cli.plan.sweep.trials import VariantRunner

LOCAL = "local"
# In seconds. A scheduler that does not answer is reported within ten.
_CONNECT, _GREETING, _FIRST_WORKER = 4, 3, 3
# Spans that each worker has, the one that it runs included.
_AHEAD = 2
_NAME = "ksched-sweep"


class OnDask:
    """Dask sends spans to workers, and sends them again when a worker dies. The task is a plugin of the workers: Dask
    sends it once to each worker, also to one that joins later."""

    name = "dask"

    def __init__(self, address: str) -> None:
        self._address = address
        self.workers = 0

    def run(self, task: SweepTask, spans: Spans, here: VariantRunner) -> Generator[RanSpan, None, None]:
        payload = zlib.compress(pickle.dumps(task, pickle.HIGHEST_PROTOCOL), 1)
        with self._client() as client:
            self._check_workers(client)
            client.register_plugin(_TaskPlugin(payload), name=_NAME)
            try:
                yield from self._run_all(client, spans, here)
            except (CancelledError, OSError) as problem:
                text = f"the Dask scheduler is gone: {problem or type(problem).__name__}"
                raise ClusterUnreadable(Problem(text, self._address)) from None
            finally:
                client.unregister_worker_plugin(_NAME)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """A connection to the scheduler of the address, or to one that is started here."""
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
        self.workers = len(versions)

    def _run_all(self, client: Any, spans: Spans, here: VariantRunner) -> Generator[RanSpan, None, None]:
        """Run all spans. Dask gives up a span when too many workers died while they had it, whichever span was the
        cause. So such spans wait until no other span runs; then each is run alone, and halved while its worker dies."""
        running = as_completed()
        span_of: dict[Any, range] = {}
        suspects: list[range] = []
        while True:
            # Workers come and go.
            self.workers = max(self.workers, len(client.nthreads()))
            alone = not span_of and bool(suspects)
            while alone or (not suspects and len(span_of) < self.workers * _AHEAD):
                span = suspects.pop() if alone else spans.hand_out()
                if span is None:
                    break
                future = client.submit(_run, span.start, span.stop, pure=False)
                span_of[future] = span
                running.add(future)
                if alone:
                    break
            if not span_of:
                return
            future = next(running)
            span = span_of.pop(future)
            try:
                result: RanSpan = future.result()
            except KilledWorker:
                if alone and len(span) == 1:
                    yield RanSpan(span, encode_rows([here.died(span.start)]), 0.0, 0.0)
                else:
                    suspects += _halves(span) if alone else [span]
                continue
            future.release()
            spans.measured(span, result.seconds)
            yield result


def _greet(address: str) -> None:
    """OSError if a server listens and does not speak as a Dask scheduler does, which greets first: `Client` would wait
    for it without end."""
    scheme, _ = parse_address(address)
    if scheme != "tcp":
        return
    with socket.create_connection(get_address_host_port(address), _CONNECT) as connection:
        connection.settimeout(_GREETING)
        if not connection.recv(1):
            raise OSError("the server closed the connection")


def _halves(span: range) -> list[range]:
    middle = span.start + len(span) // 2
    return [range(middle, span.stop), range(span.start, middle)]


class _TaskPlugin(WorkerPlugin):  # type: ignore[misc]  # distributed is not typed here
    """Holds the task in a worker. The cluster is loaded by the first span."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._runner: VariantRunner | None = None
        self._lock: Any = None

    def setup(self, worker: Any) -> None:
        self._lock = threading.Lock()

    def run(self, span: range) -> RanSpan:
        """Run the span. One at a time: a worker with several threads has one world."""
        with self._lock:
            if self._runner is None:
                self._runner = VariantRunner(pickle.loads(zlib.decompress(self._payload)))
            return ran(self._runner, span)


def _run(start: int, stop: int) -> RanSpan:
    """Called in a worker."""
    worker = get_worker()
    plugin = worker.plugins.get(_NAME)
    if plugin is None:
        raise KschedError(f"Dask worker {worker.address} could not load the sweep: has it the same ksched?")
    result: RanSpan = plugin.run(range(start, stop))
    return result
