"""Sweeps on several processes: the same rows, and workers that die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.errors import KschedError
from ksched_cli.plan.run.each import Cores, InProcess, Processes, Spans
from ksched_cli.plan.sweep.statistics import decode_rows
from ksched_cli.plan.sweep.trials import VariantRunner
from tests.benchmarks.workloads import write
from tests.plan.sweep.executors.deadly import DeadlySource
from tests.plan.sweep.sweeping import MANY, simulator, sorted_lines, stored_lines

# Processes that load a cluster take seconds.
pytestmark = pytest.mark.slow


def test_two_processes_make_the_same_rows_as_one(tmp_path: Path) -> None:
    here = sorted_lines(simulator().sweep(**MANY))
    run = simulator().sweep(workers=2, out=str(tmp_path / "rows"), **MANY)
    assert sorted_lines(run) == here == stored_lines(tmp_path / "rows")
    stats = run.result().stats
    assert (stats.executor, stats.workers) == ("processes", 2)


def test_a_worker_that_is_killed_changes_no_row() -> None:
    here = sorted_lines(simulator().sweep(**MANY))
    run = simulator().sweep(workers=2, **MANY)
    rows = iter(run)
    found = [next(rows)]
    (victim, *_) = multiprocessing.active_children()
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    found += rows
    assert sorted_lines(found) == here  # type: ignore[arg-type]  # rows are all that is read
    assert not run.result().outcomes.get("error")


def test_a_variant_that_kills_its_worker_is_a_row_with_an_error() -> None:
    task = simulator().sweep(fail="node:2")._task
    here = VariantRunner(task)
    deadly = replace(task, source=DeadlySource(task.source, 7))
    spans = list(Processes(2).run(deadly, Spans(len(task.space)), here))
    rows = {row.variant: row for span in spans for row in decode_rows(span.lines)}
    assert rows.keys() == set(range(len(task.space)))
    assert [number for number, row in sorted(rows.items()) if row.outcome == "error"] == [7]
    assert "the worker process died each time it ran this variant" in rows[7].error


class _Unreadable:
    """A source that no worker can load."""

    digest = ""

    def under(self, grid: int, version: int) -> Any:
        raise AssertionError

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise RuntimeError("it cannot be loaded")

    def __getstate__(self) -> dict[str, Any]:
        return {"state": 1}


def test_workers_that_do_not_start_are_an_error() -> None:
    task = simulator().sweep(fail="node")._task
    broken = replace(task, source=_Unreadable())
    with pytest.raises(KschedError, match="the worker processes do not start"):
        list(Processes(2).run(broken, Spans(len(task.space)), VariantRunner(task)))
    assert multiprocessing.active_children() == []


def test_no_worker_is_left_when_the_rows_are_not_read_to_the_end() -> None:
    rows = iter(simulator().sweep(workers=2, **MANY))
    next(rows)
    assert multiprocessing.active_children()
    rows.close()  # type: ignore[attr-defined]  # a generator
    assert multiprocessing.active_children() == []


def test_a_short_sweep_starts_no_process() -> None:
    task = simulator().sweep(fail="node")._task
    cores = Cores()
    assert list(cores.run(task, Spans(len(task.space)), VariantRunner(task)))
    assert (cores.name, cores.workers) == (InProcess.name, 1)


def _children(pid: int) -> list[int]:
    """The worker processes that the process has started. Others end while they are looked at."""
    found = []
    for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(FileNotFoundError):
            if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes():
                found.append(int(each))
    return found


def _is_running(pid: int) -> bool:
    with suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("seconds", [0.05, 1.5], ids=["workers start", "workers run"])
@pytest.mark.parametrize(
    ("ends", "number", "code"),
    [
        pytest.param(os.killpg, signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(os.killpg, signal.SIGTERM, -signal.SIGTERM, id="SIGTERM to the group"),
        pytest.param(os.kill, signal.SIGTERM, -signal.SIGTERM, id="SIGTERM"),
    ],
)
def test_a_sweep_that_is_stopped_leaves_one_sentence(
    ends: Callable[[int, int], None], number: int, code: int, seconds: float, tmp_path: Path
) -> None:
    path, errors = tmp_path / "cluster.json", tmp_path / "stderr"
    with path.open("w") as file:
        write("basic", 40, 200, 30, file)
    command = [sys.executable, "-m", "ksched_cli", "sweep", "--fail", "node:2", "--workers", "2", "--from", str(path)]
    with errors.open("w") as stderr:
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    deadline = time.monotonic() + 60
    while len(workers := _children(process.pid)) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    time.sleep(seconds)
    ends(process.pid, number)
    try:
        assert process.wait(30) == code
        assert not [each for each in workers if _is_running(each)]
    finally:
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
    # The resource tracker of multiprocessing ends after the process, and would warn of semaphores then.
    time.sleep(0.5)
    (sentence,) = errors.read_text().splitlines()
    assert sentence.startswith("ksched: interrupted")
