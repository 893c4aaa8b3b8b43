"""Computations in copies of the process give the results that they would give in the process itself."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ksched_cli import process
from ksched_cli.plan.drain import drain as run
from ksched_cli.plan.reasons.fixes import search as trial
from ksched_cli.plan.run import each as parallel
from ksched_cli.plan.run.each import Copy, copies_at_once, run_trials
from ksched_cli.plan.verify import search
from ksched_cli.plan.verify.results import VerifySettings
from ksched_cli.process import is_copy
from ksched_cli.simulator import Simulator
from tests.builders import make_node, make_pod
from tests.plan.test_orders import drained

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only"),
    # Python 3.12 and later warn because the test runner has threads.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process._Process, "may_be_copied", True)
    monkeypatch.setattr(parallel, "core_count", lambda: 2)


def _number_and_process(number: int) -> tuple[int, int]:
    return number, os.getpid()


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_results_come_in_order_and_from_other_processes(at_once: int) -> None:
    found = list(run_trials([partial(_number_and_process, number) for number in range(5)], at_once))
    assert [number for number, _ in found] == [0, 1, 2, 3, 4]
    assert os.getpid() not in {process for _, process in found}


@pytest.mark.parametrize(
    ("cores", "available", "copies"),
    [
        pytest.param(2, 8192.0, 3, id="one more than cores"),
        pytest.param(4, 80.0, 4, id="half of the memory is for the copies"),
        pytest.param(4, 40.0, 2, id="two"),
        pytest.param(4, 39.0, 0, id="one copy alone is none"),
        pytest.param(1, 8192.0, 0, id="one core"),
    ],
)
@pytest.mark.usefixtures("allowed")
def test_how_many_copies_run_at_once(
    cores: int, available: float, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "core_count", lambda: cores)
    monkeypatch.setattr(parallel, "available_mib", lambda: available)
    monkeypatch.setattr(parallel, "peak_mib", lambda: 10.0)
    assert copies_at_once() == copies


def test_only_a_copy_is_one() -> None:
    assert Copy(is_copy).result()
    assert not is_copy()


def test_a_result_larger_than_a_pipe_holds_is_whole() -> None:
    assert len(Copy(lambda: "x" * 3_000_000).result()) == 3_000_000


def test_an_exception_is_raised_here() -> None:
    def fail() -> int:
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        Copy(fail).result()


def test_what_a_copy_did_not_return_is_computed_here() -> None:
    here = os.getpid()

    def die_elsewhere() -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return here

    assert Copy(die_elsewhere).result() == here


def test_what_no_process_is_allowed_for_is_computed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    computations = [partial(_number_and_process, number) for number in range(3)]
    assert list(run_trials(computations, 2)) == [(number, os.getpid()) for number in range(3)]


def test_copies_end_with_the_loop_over_their_results(tmp_path: Path) -> None:
    def wait_or_write(number: int) -> int:
        (tmp_path / str(number)).write_text(str(os.getpid()))
        while number:
            signal.pause()
        return number

    results: Iterator[int] = run_trials([partial(wait_or_write, number) for number in range(2)], 2)
    assert next(results) == 0
    while not (tmp_path / "1").exists() or not (tmp_path / "1").read_text():
        os.sched_yield()
    results.close()  # type: ignore[attr-defined]  # a generator
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "1").read_text()), 0)


def test_an_interrupt_reaches_only_the_process_that_was_copied() -> None:
    def survive() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "alive"

    assert Copy(survive).result() == "alive"


def test_only_the_command_line_makes_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "core_count", lambda: 2)
    monkeypatch.setattr(parallel, "available_mib", lambda: 8192.0)
    monkeypatch.setattr(parallel, "peak_mib", lambda: 200.0)
    monkeypatch.setattr(process._Process, "may_be_copied", False)
    assert copies_at_once() == 0
    process.allow_copies()
    assert copies_at_once() == 3
    process.forbid_copies()
    assert copies_at_once() == 0
    process.allow_copies()
    monkeypatch.setattr(parallel, "peak_mib", lambda: 1e9)
    assert copies_at_once() == 0


def _cluster() -> list[dict[str, Any]]:
    zones = [("a", "x"), ("b", "x"), ("c", "y"), ("d", "z")]
    nodes = [make_node(name).allocatable(cpu="4", pods="10").zone(zone).doc() for name, zone in zones]
    running = [make_pod(f"run-{index}").requests(cpu="1").on("abcd"[index % 4]).doc() for index in range(8)]
    waiting = [make_pod(f"new-{index}").requests(cpu=f"{index}").doc() for index in range(1, 6)]
    return [*nodes, *running, *waiting]


def _tied() -> list[dict[str, Any]]:
    """Whether the pods of node n2 find a node depends on a tie."""
    return drained({"kubernetes.io/hostname": "n0"})


def _guarded() -> list[dict[str, Any]]:
    """Pod guard of node a keeps copies of a pod away from both nodes."""
    nodes = [make_node(name).allocatable(cpu="64", pods="110").zone("z").doc() for name in "ab"]
    guard = make_pod("guard").label(app="guard").on("a").doc()
    term = {
        "topologyKey": "topology.kubernetes.io/zone",
        "labelSelector": {"matchLabels": {"app": "guard"}},
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    waiting = [make_pod(f"new-{number}").label(app="new").spec(affinity=apart).doc() for number in range(6)]
    return [*nodes, guard, *waiting]


@pytest.mark.parametrize(
    ("cluster", "each_of", "computations"),
    [
        pytest.param(_cluster, "zone", [3, 0], id="one order"),
        pytest.param(_tied, "node", [3, 2], id="other orders of one drain"),
        pytest.param(_guarded, "node", [2, 1], id="one drain needs all copies of a pod"),
    ],
)
def test_drains_in_copies_come_to_the_same(
    cluster: Any, each_of: Any, computations: list[int], monkeypatch: pytest.MonkeyPatch, allowed: None
) -> None:
    def drains() -> list[Any]:
        trials = Simulator.load(cluster()).drain_nodes(each=each_of, force=True).trials
        return [(trial.name, trial.drain) for trial in trials]

    monkeypatch.setattr(run, "KEPT_COPIES", 2)
    here = drains()
    monkeypatch.setattr(run, "_WORTH_NODES", 0)
    started: list[int] = []
    monkeypatch.setattr(run, "run_trials", _noting(started))
    assert drains() == here
    assert started == computations
    # Where no process can be copied, the drains run here.
    monkeypatch.setattr(run, "run_trials", lambda trials, workers: (trial() for trial in trials))
    assert drains() == here


def _noting(started: list[int]) -> Any:
    def compute(computations: Any, at_once: int) -> Any:
        started.append(len(computations))
        return run_trials(computations, at_once)

    return compute


def test_fixes_beside_a_copy_are_the_same(monkeypatch: pytest.MonkeyPatch, allowed: None) -> None:
    def fixes() -> Any:
        return Simulator.load(_cluster()).explain("new-5").explanation.fixes

    here = fixes()
    assert here.found
    monkeypatch.setattr(trial, "WORTH_ANSWERS", 0)
    begun: list[str] = []

    def fork(compute: Any) -> Copy[Any]:
        begun.append(compute.__name__)
        return Copy(compute)

    monkeypatch.setattr(trial, "Copy", fork)
    assert fixes() == here
    assert begun == ["_run_unchanged"]


def _history(seed: int) -> list[dict[str, Any]]:
    """Pods that were bound to random nodes, two or three in a second; some seconds follow each other at once."""
    random = Random(seed)
    nodes = [make_node(name).allocatable(cpu=cpu, pods="40").doc() for name, cpu in (("a", "30"), ("b", "20"))]
    second, pods = 0, []
    for index in range(24):
        second += random.choice((0, 0, 1, 2))
        stamp = f"2026-01-01T00:00:{second:02}Z"
        pod = make_pod(f"run-{index}").requests(cpu=random.choice("12")).on(random.choice("ab")).phase("Running")
        pods.append(pod.status(conditions=[{"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp}]))
    return [*nodes, *(pod.doc() for pod in pods)]


@pytest.mark.parametrize("cycles", [0, 30, pytest.param(60, marks=pytest.mark.slow), 2000])
def test_a_history_in_two_halves_is_the_same(cycles: int, monkeypatch: pytest.MonkeyPatch, allowed: None) -> None:
    """With few cycles the first half leaves too few for the second half, which is then replayed once more."""
    settings = VerifySettings(cycles=cycles, node_cycles=0)
    histories = [_history(seed) for seed in range(6)]

    def verifications() -> list[Any]:
        return [Simulator.load(history).verify(settings) for history in histories]

    here = verifications()
    monkeypatch.setattr(search, "WORTH_ANSWERS", 0)
    replayed: list[int] = []
    checked = search._Replay.checked

    def noting(run: search._Replay, steps: Sequence[Any]) -> list[Any]:
        replayed.append(len(steps))
        return checked(run, steps)

    monkeypatch.setattr(search._Replay, "checked", noting)
    assert verifications() == here
    # Of each history this process replays the first half alone, or both halves one after the other.
    assert len(histories) <= len(replayed) <= 2 * len(histories)
    assert (len(replayed) > len(histories)) is (cycles in (30, 60))


def test_a_history_whose_copy_fails_is_replayed_here(monkeypatch: pytest.MonkeyPatch, allowed: None) -> None:
    here = Simulator.load(_history(1)).verify()
    monkeypatch.setattr(search, "WORTH_ANSWERS", 0)
    monkeypatch.setattr(search._Replay, "rest", lambda *_: 1 / 0)
    assert Simulator.load(_history(1)).verify() == here
