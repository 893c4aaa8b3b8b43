"""Sweeps on a real Dask cluster of two worker processes."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.build_info import __version__
from ksched_cli.cli.main import run
from ksched_cli.errors import ClusterUnreadable, UsageError
from ksched_cli.plan.run.each import Spans
from ksched_cli.plan.sweep.statistics import decode_rows
from ksched_cli.plan.sweep.trials import VariantRunner
from tests.cli.transcripts import ROOT
from tests.plan.sweep.executors.deadly import DeadlySource
from tests.plan.sweep.sweeping import MANY, simulator, sorted_lines, stored_lines

# Processes that load a cluster take seconds.
pytestmark = pytest.mark.slow

SHOP = str(ROOT / "fixtures" / "clusters" / "drain.yaml")


# The tests import Dask: loading it takes half a second, which every run would pay when tests are collected.
@contextmanager
def dask_cluster(workers: int) -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


def client_of(cluster: Any) -> Any:
    from distributed import Client

    return Client(cluster)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Any]:
    with dask_cluster(2) as cluster:
        yield cluster


def test_two_workers_make_the_same_rows_as_one_process(two_workers: Any, tmp_path: Path) -> None:
    here = sorted_lines(simulator().sweep(**MANY))
    found = simulator().sweep(dask=two_workers.scheduler_address, out=str(tmp_path), **MANY)
    assert sorted_lines(found) == here == stored_lines(tmp_path)
    stats = found.result().stats
    assert (stats.executor, stats.workers) == ("dask", 2)


def test_a_worker_that_is_killed_changes_no_row(two_workers: Any) -> None:
    here = sorted_lines(simulator().sweep(**MANY))
    found = simulator().sweep(dask=two_workers.scheduler_address, **MANY)
    rows = iter(found)
    first = next(rows)
    pid = two_workers.workers[0].pid
    os.kill(pid, signal.SIGKILL)
    assert sorted_lines([first, *rows]) == here  # type: ignore[arg-type]  # rows are all that is read
    assert not found.result().outcomes.get("error")
    with client_of(two_workers) as client:
        client.wait_for_workers(2)
        assert pid not in client.run(os.getpid).values()


def test_a_variant_that_kills_its_worker_is_a_row_with_an_error() -> None:
    import dask

    from ksched_cli.plan.run.each import OnDask

    task = simulator().sweep(fail="zone")._task
    deadly = replace(task, source=DeadlySource(task.source, 1))
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), dask_cluster(2) as cluster:
        spans = list(OnDask(cluster.scheduler_address).run(deadly, Spans(len(task.space)), VariantRunner(task)))
    rows = {row.variant: row for span in spans for row in decode_rows(span.lines)}
    assert {number: row.outcome == "error" for number, row in rows.items()} == {0: False, 1: True}
    assert "the worker process died each time it ran this variant" in rows[1].error


def test_the_task_is_taken_from_the_workers_in_the_end(two_workers: Any) -> None:
    simulator().sweep(fail="zone", dask=two_workers.scheduler_address).result()
    with client_of(two_workers) as client:
        client.wait_for_workers(2)
        assert client.run(lambda dask_worker: [name for name in dask_worker.plugins if "ksched" in name]) == {
            address: [] for address in client.nthreads()
        }


def test_a_worker_with_another_version_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "ksched_cli"
    package.mkdir()
    (package / "__init__.py").write_text('__version__ = "0.0.9"\n')
    with dask_cluster(0) as cluster, client_of(cluster) as client:
        words = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        options = ["--no-nanny", "--no-dashboard", "--nthreads", "1", "--local-directory", str(tmp_path)]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        with subprocess.Popen([*words, *options], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL) as worker:
            try:
                client.wait_for_workers(1)
                message = rf"has ksched 0\.0\.9, and this is ksched {__version__}".replace("+", r"\+")
                with pytest.raises(UsageError, match=message):
                    simulator().sweep(fail="zone", dask=cluster.scheduler_address).result()
            finally:
                worker.terminate()


def test_a_cluster_without_workers_is_an_error() -> None:
    with dask_cluster(0) as cluster, pytest.raises(ClusterUnreadable, match="the Dask cluster has no worker"):
        simulator().sweep(fail="zone", dask=cluster.scheduler_address).result()


@pytest.mark.parametrize("listens", [pytest.param(False, id="refuses"), pytest.param(True, id="is silent")])
def test_an_address_that_does_not_answer_ends_in_exit_code_3(listens: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if listens:
            server.listen()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        started = time.monotonic()
        assert run(["sweep", "--from", SHOP, "--fail", "node", "--dask", address]) == 3
        assert time.monotonic() - started < 10
    assert f"{address}: the Dask scheduler does not answer" in capsys.readouterr().err


def test_an_address_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--from", SHOP, "--fail", "node", "--dask", "quic://nowhere"]) == 3
    assert "quic://nowhere: the Dask scheduler does not answer" in capsys.readouterr().err


def test_without_dask_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'ksched-cli\[dask\]'"):
        simulator().sweep(fail="zone", dask="local")


def test_dask_has_its_own_workers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--from", SHOP, "--fail", "node", "--dask", "local", "--workers", "2"]) == 2
    assert "--dask and --workers contradict each other" in capsys.readouterr().err


def test_a_local_cluster_is_started(capfd: pytest.CaptureFixture[str]) -> None:
    code = f"import sys; from ksched_cli.cli.main import run; sys.exit(run(['sweep', '--from', {SHOP!r}, '--fail', 'zone', '--dask', 'local', '-o', 'jsonl']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stdout.splitlines())) == (1, 2), done.stderr
