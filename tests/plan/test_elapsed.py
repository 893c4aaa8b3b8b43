"""The seconds in the results are those that the run took."""

from __future__ import annotations

import json
import time
from itertools import count
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from ksched_cli.plan import simulate
from tests.builders import make_node, make_pod
from tests.harness import make_scheduler

ROOT = Path(__file__).parents[2]
FLEET = str(ROOT / "fixtures/clusters/fleet.yaml")
POD = str(ROOT / "fixtures/manifests/capacity.yaml")


def test_the_clock_of_a_run_leaves_out_what_its_reader_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reading of the clock is one second later: two readings for the queue, two a pod, two at the end."""
    ticks = count()
    pods = [make_pod(name).obj() for name in ("a", "b")]
    scheduler = make_scheduler([make_node("n").obj()], pods)
    monkeypatch.setattr(simulate.time, "perf_counter", lambda: float(next(ticks)))
    placement = simulate.place(scheduler)
    assert placement.seconds == 1.0
    for _ in placement.outcomes:
        for _ in range(100):
            simulate.time.perf_counter()
    assert placement.seconds == 4.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["simulate"], id="simulate"),
        pytest.param(["simulate", "--settle"], id="settle"),
        pytest.param(["capacity", "-f", POD, "--max", "3"], id="capacity"),
        pytest.param(["check", "-f", POD], id="check"),
        pytest.param(["drain", "east-1", "--ignore-daemonsets", "--force", "--delete-emptydir-data"], id="drain"),
    ],
)
def test_the_seconds_of_a_document_are_no_more_than_the_command_took(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.perf_counter()
    run([*arguments, "--from", FLEET, "-o", "json"])
    most = time.perf_counter() - started
    stats = json.loads(capsys.readouterr().out)["stats"]
    assert stats["scheduleSeconds"] >= 0
    assert stats["loadSeconds"] > 0
    assert stats["scheduleSeconds"] + stats["loadSeconds"] <= most
