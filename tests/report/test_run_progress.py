"""The bar of a long command, and the sentence of one that is interrupted."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ksched_cli.engine.decision import Decision
from ksched_cli.progress import count, listen, steps
from ksched_cli.report.progress import RunProgress
from tests.running import Ksched


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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


def test_what_is_known_to_follow_makes_a_total(heard: RunProgress) -> None:
    for left in (2, 1, 3):
        count("scheduling cycles are done", left)
    assert heard.summary() == "interrupted: 3 of 6 scheduling cycles are done"


def test_a_bar_without_a_loop_has_the_total_that_is_known() -> None:
    now = [0.0]
    progress = RunProgress(bar=True, clock=lambda: now[0])
    progress.count("scheduling cycles are done", 9)
    for moment, left in ((1.5, 8), (3.0, 7), (4.5, 20)):
        now[0] = moment
        progress.count("scheduling cycles are done", left)
    bar = progress._bar
    assert bar is not None
    progress.close()
    assert (bar.tasks[0].completed, bar.tasks[0].total) == (4, 24)


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
    assert bars[1].tasks[0].fields["rate"] == "1.3/s"


def test_the_newest_results_stand_above_the_bar_and_go_away_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    now = [0.0]
    progress = RunProgress(bar=True, clock=lambda: now[0])
    progress.begin("drains are done", 20)
    for number in range(12):
        now[0] = number / 10
        progress.note(f"node-{number:02}  safe")
        progress.advance()
    bar = progress._bar
    assert bar is not None
    bar.refresh()
    assert [f"node-{number:02}  safe" in terminal.getvalue() for number in range(12)] == [
        number > 2 for number in range(12)
    ]
    progress.end()
    lines_up = "\x1b[1A\x1b[2K" * 9
    assert terminal.getvalue().endswith(lines_up)
    progress.begin("pods had their cycle", 3)
    assert not progress._lines


def test_the_bar_of_a_drain_ends_with_its_last_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    from ksched_cli import Simulator
    from tests.builders import make_node

    now = [0.0]
    progress = RunProgress(bar=True, clock=lambda: now[0])
    listen(progress)
    try:
        found = Simulator.load(make_node("a").obj(), make_node("b").obj()).drain_nodes(each="node")
        for trial in found.trials:
            now[0] += 1.5
            assert trial.drain.outcome == "safe"
        assert (progress.done, progress._bar) == (2, None)
    finally:
        progress.close()
        listen(None)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_bar_goes_away_before_anything_else_is_written(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    now = [0.0]
    progress = RunProgress(bar=True, clock=lambda: now[0])
    with progress.cleared_for_output():
        progress.begin("drains are done", 3)
        now[0] = 1.5
        progress.advance()
        assert progress._bar is not None
        print("12 nodes: 12 safe", file=getattr(sys, stream))
        assert progress._bar is None
    # Clear the line, then the text.
    assert terminal.getvalue().endswith("\x1b[2K12 nodes: 12 safe\n")
    assert (sys.stdout, sys.stderr) == (terminal, terminal)


def test_the_bar_goes_away_when_a_command_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    now = [0.0]
    progress = RunProgress(bar=True, clock=lambda: now[0])
    with suppress(KeyboardInterrupt), progress.cleared_for_output():
        progress.begin("drains are done", 3)
        now[0] = 1.5
        progress.advance()
        assert progress._bar is not None
        raise KeyboardInterrupt
    assert progress._bar is None


@pytest.mark.parametrize("in_loop", [True, False], ids=["loop", "count"])
def test_only_a_loop_keeps_its_bar_while_a_pipe_is_written(in_loop: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", Terminal())
    now = [0.0]
    progress = RunProgress(bar=True, clock=lambda: now[0])
    with progress.cleared_for_output():
        if in_loop:
            progress.begin("drains are done", 3)
        now[0] = 1.5
        progress.advance() if in_loop else progress.count("scheduling cycles are done", 2)
        assert progress._bar is not None
        sys.stdout.write("node-1 safe\n")
        assert (progress._bar is not None) is in_loop


# `ksched` whose bar shows at once. In the cycle of one pod it writes a line and waits, so that it cannot end by itself.
_WAITING = """
import os, sys
from ksched_cli.cli.main import main
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.report import progress

waits_at, schedule, tried = int(sys.argv.pop(1)), Scheduler.schedule, []

def waiting(self, pod_row):
    tried.append(pod_row)
    if len(tried) == waits_at:
        os.write(1, b"waiting\\n")
        sys.stdin.read()
    return schedule(self, pod_row)

Scheduler.schedule = waiting
progress._SOON = 0
main()
"""


def waiting_run(tmp_path: Path, waits_at: int) -> list[str]:
    from tests.benchmarks.workloads import write

    path = tmp_path / "cluster.json"
    with path.open("w") as file:
        write("basic", 5, 5, 10, file)
    return [sys.executable, "-c", _WAITING, str(waits_at), "simulate", "--from", str(path)]


@pytest.mark.slow
def test_a_terminal_gets_a_bar_and_an_interrupted_command_says_what_was_done(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    command = waiting_run(tmp_path, waits_at=3)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=follower,
        # A job in the background inherits that interrupts are ignored: the command is to have one in any case.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(follower)
    assert process.stdout is not None
    assert process.stdout.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    shown = b""
    # Linux ends a closed terminal with an error where others end it with nothing.
    with suppress(OSError):
        while chunk := os.read(leader, 4096):
            shown += chunk
    os.close(leader)
    process.communicate()
    assert process.returncode == 130
    bar, summary = shown.split(b"ksched: ")
    assert b"/10" in bar
    assert b"pods had their cycle" in bar
    assert summary.startswith(b"interrupted: 2 of 10 pods had their cycle")


@pytest.mark.slow
def test_a_pipe_gets_no_bar(tmp_path: Path) -> None:
    done = subprocess.run(waiting_run(tmp_path, waits_at=0), capture_output=True, check=True)
    assert done.stderr == b""


@pytest.mark.parametrize("output", ["table", "json", "name"])
def test_an_interrupted_run_shows_the_pods_that_had_their_cycle(
    output: str, tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ksched_cli.engine.scheduler import Scheduler
    from tests.benchmarks.workloads import write

    path, tried = tmp_path / "cluster.json", []
    with path.open("w") as file:
        write("basic", 5, 5, 10, file)
    schedule = Scheduler.schedule

    def interrupted(self: Scheduler, pod_row: int) -> Decision:
        tried.append(pod_row)
        if len(tried) == 3:
            raise KeyboardInterrupt
        return schedule(self, pod_row)

    monkeypatch.setattr(Scheduler, "schedule", interrupted)
    shown = ksched("simulate", "--from", str(path), "-o", output, code=130)
    assert "interrupted: 2 of 10 pods had their cycle" in shown.err
    if output == "json":
        document = json.loads(shown.out)
        assert [pod["pod"] for pod in document["pods"]] == ["ns-0/new-000000", "ns-1/new-000001"]
        assert document["coverage"]["interrupted"] == {"pods": 2, "of": 10}
    else:
        assert [name in shown.out for name in ("new-000000", "new-000001", "new-000002")] == [True, True, False]


@pytest.mark.parametrize("method", ["stream", "simulate"])
def test_an_interrupt_ends_a_run_of_the_python_api(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the command line shows a part of the result."""
    from ksched_cli import Simulator
    from ksched_cli.engine.scheduler import Scheduler
    from tests.builders import make_node, make_pod

    def interrupted(self: Scheduler, pod_row: int) -> Decision:
        raise KeyboardInterrupt

    monkeypatch.setattr(Scheduler, "schedule", interrupted)
    simulator = Simulator.load(make_node("a").obj(), make_pod("web").obj())
    with pytest.raises(KeyboardInterrupt):
        list(simulator.stream() if method == "stream" else simulator.simulate().outcomes)
