"""The bar of a long command, and the sentence of one that is interrupted."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksched_cli.progress import count, listen, steps
from ksched_cli.report.progress import RunProgress
from tests.cli.transcripts import CASE


@pytest.fixture
def heard() -> Iterator[RunProgress]:
    progress = RunProgress(bar=False)
    listen(progress)
    yield progress
    listen(None)


def test_the_outermost_loop_counts(heard: RunProgress) -> None:
    for index in steps(range(3), "drains are done", 3):
        assert list(steps("ab", "pods had their cycle", 2)) == ["a", "b"]
        count("scheduling cycles are done")
        if index == 1:
            break
    assert heard.summary() == "interrupted: 1 of 3 drains are done"


def test_what_has_no_loop_is_counted_as_well(heard: RunProgress) -> None:
    assert heard.summary() == "interrupted before the first result"
    for _ in range(1200):
        count("scheduling cycles are done")
    assert heard.summary() == "interrupted: 1,200 scheduling cycles are done"


def test_without_a_listener_items_come_as_they_are() -> None:
    assert list(steps(range(3), "pods had their cycle")) == [0, 1, 2]


def test_a_bar_shows_after_a_second_and_goes_away() -> None:
    now = [0.0]
    progress = RunProgress(bar=True, clock=lambda: now[0])
    progress.begin("pods had their cycle", 10)
    progress.advance()
    bars = [progress._bar]
    now[0] = 1.5
    progress.advance()
    bars.append(progress._bar)
    progress.end()
    bars.append(progress._bar)
    assert [each is None for each in bars] == [True, False, True]
    assert bars[1] is not None
    assert (bars[1].tasks[0].completed, bars[1].tasks[0].total) == (2, 10)


def long_run(tmp_path: Path) -> list[str]:
    from tests.benchmarks.workloads import write

    path = tmp_path / "cluster.json"
    with path.open("w") as file:
        write("varied", 300, 300, 20_000, file)
    return [sys.executable, "-m", "ksched_cli", "simulate", "--from", str(path)]


def test_an_interrupted_command_ends_with_130_and_says_what_was_done(tmp_path: Path) -> None:
    process = subprocess.Popen(long_run(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.startswith("ksched: interrupted")
    assert "\x1b" not in err


def test_a_terminal_gets_a_bar_and_a_pipe_gets_none(tmp_path: Path) -> None:
    command = long_run(tmp_path)
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    shown = b""
    started = time.monotonic()
    while b"pods had their cycle" not in shown and time.monotonic() - started < 60:
        shown += os.read(leader, 4096)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert b"/20000" in shown.replace(b" ", b"")
    quick = subprocess.run([*command[:4], "--from", str(CASE), "--exit-zero"], capture_output=True, check=True)
    assert b"pods had their cycle" not in quick.stderr
