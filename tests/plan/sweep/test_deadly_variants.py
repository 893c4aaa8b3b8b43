"""Spans whose worker dies, in a pool and a Dask cluster of one process: every other variant is run once."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from ksched_cli.errors import ClusterUnreadable, KschedError, UsageError
from ksched_cli.plan.run import each as module
from ksched_cli.plan.run.each import Cores, InProcess, OnDask, Processes, RanSpan, Spans

TOTAL = 40


class Here:
    def rows(self, span: range) -> bytes:
        return b"here"

    def died(self, number: int) -> bytes:
        return b"died %d" % number


class Pool:
    """Runs spans when they are submitted. It breaks, as a process pool does, when a deadly variant runs."""

    def __init__(self, deadly: Callable[[range], bool]) -> None:
        self.deadly, self.is_broken = deadly, False

    def submit(self, run: Any, span: range) -> Future[RanSpan]:
        if self.is_broken:
            raise BrokenProcessPool
        future: Future[RanSpan] = Future()
        if self.deadly(span):
            self.is_broken = True
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result(RanSpan(span, b"ran", 0.25, 1.0))
        return future


def swept(deadly: Callable[[range], bool], monkeypatch: pytest.MonkeyPatch, workers: int = 2) -> tuple[Any, int]:
    """How each variant was run, and how many pools were started."""
    pools: list[Pool] = []

    @contextmanager
    def pool(workers: int, payload: bytes) -> Iterator[Pool]:
        pools.append(Pool(deadly))
        yield pools[-1]

    monkeypatch.setattr(module, "_pool", pool)
    found = list(Processes(workers).run("task", Spans(TOTAL), Here()))  # type: ignore[arg-type]
    lines = [(number, each.lines) for each in found for number in each.span]
    assert sorted(number for number, _ in lines) == list(range(TOTAL))
    return dict(lines), len(pools)


@pytest.mark.parametrize("deadly", [(), (0,), (7,), (39,), (7, 8), (3, 20, 21)], ids=str)
def test_a_variant_that_kills_its_worker_is_found(deadly: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    found, pools = swept(lambda span: any(number in span for number in deadly), monkeypatch)
    assert {number for number, line in found.items() if line != b"ran"} == set(deadly)
    assert all(found[number] == b"died %d" % number for number in deadly)
    # A pool dies for each time that a span is halved, and twice of each variant.
    assert pools >= 1 + 2 * len(deadly)
    assert pools <= 1 + 8 * len(deadly)


def test_a_worker_that_dies_once_costs_no_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    deaths = Counter[range]()

    def once(span: range) -> bool:
        deaths[span] += 5 in span
        return 5 in span and sum(deaths.values()) == 1

    found, pools = swept(once, monkeypatch)
    assert (set(found.values()), pools) == ({b"ran"}, 2)


def test_workers_have_two_spans_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first that is broken in a pool is one of four: none of the others is lost."""
    handed: list[range] = []

    def fourth(span: range) -> bool:
        handed.append(span)
        return len(handed) == 4

    found, _ = swept(fourth, monkeypatch)
    assert handed[:4] == [range(number, number + 1) for number in range(4)]
    assert set(found.values()) == {b"ran"}


@pytest.mark.parametrize(("seconds", "cores", "name"), [(0.0, 2, "in-process"), (9.0, 1, "in-process"), (9.0, 2, "processes")])  # fmt: skip
def test_processes_start_for_a_long_sweep_only(
    seconds: float, cores: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def pool(workers: int, payload: bytes) -> Iterator[Pool]:
        yield Pool(lambda span: False)

    monkeypatch.setattr(module, "_pool", pool)
    monkeypatch.setattr(module, "core_count", lambda: cores)
    monkeypatch.setattr(module, "ran", lambda runner, span: RanSpan(span, runner.rows(span), seconds * len(span), 1.0))
    executor = Cores()
    found = list(executor.run("task", Spans(3), Here()))  # type: ignore[arg-type]
    assert sorted(number for each in found for number in each.span) == [0, 1, 2]
    assert (executor.name, executor.workers) == (name, cores if name == "processes" else InProcess.workers)
    assert [each.lines for each in found].count(b"ran") == (2 if name == "processes" else 0)


# Dask


class Killed(Exception):
    pass


class Completed(list[Any]):
    """As `as_completed`: the futures in their order."""

    add = list.append

    def __next__(self) -> Any:
        return self.pop(0)


class DaskFuture:
    def __init__(self, span: range, is_killed: bool) -> None:
        self.span, self.is_killed = span, is_killed

    def result(self) -> RanSpan:
        if self.is_killed:
            raise Killed
        return RanSpan(self.span, b"ran", 0.25, 1.0)

    def release(self) -> None:
        self.span = range(0)


class Client:
    """A cluster whose workers die of these variants."""

    def __init__(self, deadly: set[int], versions: dict[str, str] | None = None) -> None:
        self.deadly, self.versions = deadly, versions or {}
        self.plugins: list[str] = []

    def nthreads(self) -> dict[str, int]:
        return {"a": 1, "b": 1, "c": 1}

    def submit(self, run: Any, start: int, stop: int, *, pure: bool) -> DaskFuture:
        assert not pure
        span = range(start, stop)
        return DaskFuture(span, any(number in span for number in self.deadly))

    def wait_for_workers(self, number: int, *, timeout: float) -> None:
        if not self.versions:
            raise TimeoutError

    def run(self, function: Any, name: str) -> dict[str, str]:
        return self.versions

    def register_plugin(self, plugin: Any, name: str) -> None:
        self.plugins.append(name)

    def unregister_worker_plugin(self, name: str) -> None:
        self.plugins.remove(name)


def on_dask(client: Client, monkeypatch: pytest.MonkeyPatch) -> tuple[OnDask, list[RanSpan]]:
    @contextmanager
    def connected(self: OnDask) -> Iterator[Client]:
        yield client

    fake = SimpleNamespace(KilledWorker=Killed, as_completed=Completed)
    monkeypatch.setitem(sys.modules, "distributed", fake)
    monkeypatch.setattr(OnDask, "_client", connected)
    monkeypatch.setattr(module, "_task_plugin", lambda payload: payload)
    executor = OnDask("tcp://scheduler:1")
    return executor, list(executor.run("task", Spans(TOTAL), Here()))  # type: ignore[arg-type]


def this_version() -> str:
    from ksched_cli import __version__

    return __version__


@pytest.mark.parametrize("deadly", [(), (0,), (7, 8), (3, 20, 39)], ids=str)
def test_dask_finds_the_variant_that_kills_its_worker(deadly: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(set(deadly), {"w1": this_version()})
    executor, found = on_dask(client, monkeypatch)
    lines = {number: each.lines for each in found for number in each.span}
    assert sum(len(each.span) for each in found) == len(lines) == TOTAL
    assert {number for number, line in lines.items() if line != b"ran"} == set(deadly)
    assert (executor.workers, client.plugins) == (3, [])


@pytest.mark.parametrize(
    ("versions", "error", "message"),
    [
        pytest.param({}, ClusterUnreadable, "the Dask cluster has no worker", id="no worker"),
        pytest.param({"w1": this_version(), "w2": "0.1"}, UsageError, "Dask worker w2 has ksched 0.1, and this is ksched", id="another version"),
        pytest.param({"w1": "", "w2": this_version()}, UsageError, "Dask worker w1 has no ksched", id="no ksched"),
    ],
)  # fmt: skip
def test_dask_workers_have_this_version(
    versions: dict[str, str], error: type[KschedError], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(error, match=message) as caught:
        on_dask(Client(set(), versions), monkeypatch)
    assert len(caught.value.problems) == 1


def test_a_dask_scheduler_that_goes_away_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: DaskFuture) -> RanSpan:
        raise OSError

    client = Client(set(), {"w1": this_version()})
    monkeypatch.setattr(DaskFuture, "result", gone)
    with pytest.raises(ClusterUnreadable, match="the Dask scheduler is gone: OSError"):
        on_dask(client, monkeypatch)
    assert client.plugins == []
