"""How fast ksched is on this machine: every workload in a process of its own, as a user would run it.

    python -m tests.benchmarks                       # all workloads at 500, 5000 and 15000 nodes
    python -m tests.benchmarks basic --nodes 5000    # one of them
    python -m tests.benchmarks --runs 5              # the best of five runs, on a machine that others use, too
    python -m tests.benchmarks.commands              # each command as a whole process; the first line does this, too

Machines are shared, and what else runs on them makes a run slower and never faster. So each figure is the best of some
runs. `cal s` is the calibration right before and after that run, and the first line has one for the whole: a machine may
be half as fast for some minutes. Divide by it to compare.

What is checked is that the pods were placed, not how fast: the exit code is 1 where they were not.
"""

from __future__ import annotations

import argparse
import compileall
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import ksched_cli
from tests.benchmarks.workloads import FEATURES, OPTIONS, PENDING, write

T = TypeVar("T")

SIZES = (500, 5000, 15000)
RUNNING, PENDING_PODS = 10000, 1000
CROWDS = (1000, 10000, 50000)
RUNS = 3


@dataclass(frozen=True)
class Run:
    workload: str
    nodes: int
    running: int
    pods: int
    placed: int
    wanted: int
    stats: dict[str, Any]
    whole: float
    calibration: float

    @property
    def line(self) -> str:
        stats = self.stats
        return (
            f"{self.workload:<20}{self.nodes:>7}{self.running:>9}{self.pods:>7}{stats['loadSeconds']:>9.2f}"
            f"{stats['scheduleSeconds']:>10.2f}{stats['podsPerSecond']:>9.0f}{stats['peakMiB']:>7.0f}{self.whole:>8.2f}"
            f"{self.calibration:>7.3f}"
            + ("" if self.placed == self.wanted else f"  placed {self.placed} of {self.wanted}")
        )


HEADER = (
    f"{'workload':<20}{'nodes':>7}{'running':>9}{'pods':>7}{'load s':>9}{'cycles s':>10}{'pods/s':>9}{'MiB':>7}"
    f"{'whole s':>8}{'cal s':>7}"
)


def calibrate(times: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """How long this machine takes for a fixed piece of work, half in numpy and half in Python, in seconds: divide by
    it to compare two machines. The best of so many times."""

    def once() -> float:
        started = clock()
        column = np.arange(5000, dtype=np.int64)
        for _ in range(4000):
            column = (column * 3 + 7) // 2 % 10007
        counts: dict[int, int] = {}
        for number in range(400_000):
            counts[number % 977] = counts.get(number % 977, 0) + 1
        return clock() - started

    return min(once() for _ in range(times))


def calibrated(run: Callable[[], T]) -> tuple[T, float]:
    """What the run returns, and the mean of the calibrations before and after it."""
    before = calibrate(2)
    result = run()
    return result, (before + calibrate(2)) / 2


def compile_package() -> None:
    """Write the byte code that pip writes when it installs ksched."""
    compileall.compile_dir(Path(ksched_cli.__file__).parent, quiet=1)


def measure(workload: str, nodes: int, running: int, folder: Path, times: int = RUNS) -> Run:
    """The best of so many runs."""
    path = folder / f"{workload}-{nodes}-{running}.json"
    with path.open("w") as file:
        write(workload, nodes, running, PENDING_PODS, file)
    options = OPTIONS.get(workload, ())
    command = [sys.executable, "-m", "ksched_cli", "simulate", "--from", str(path), "--exit-zero", *options]

    def document_of_run() -> dict[str, Any]:
        printed = subprocess.run([*command, "-o", "json"], check=True, stdout=subprocess.PIPE)
        found: dict[str, Any] = json.loads(printed.stdout)
        return found

    wholes, documents = [], []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wholes.append(time.perf_counter() - started)
        documents.append(calibrated(document_of_run))
    path.unlink()
    document, calibration = max(documents, key=lambda each: each[0]["stats"]["podsPerSecond"])
    placed = sum("node" in entry or "preemption" in entry for entry in document["pods"])
    there = nodes * 4 if workload == "preemption" else running
    wanted = 0 if workload == "unschedulable" else PENDING_PODS
    return Run(workload, nodes, there, PENDING_PODS, placed, wanted, document["stats"], min(wholes), calibration)


def startup(command: Sequence[str]) -> float:
    def once() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started

    return min(once() for _ in range(7))


def runs(workloads: Sequence[str], sizes: Sequence[int], folder: Path, times: int) -> Iterator[Run]:
    for workload in workloads:
        for nodes in sizes[:1] if workload in FEATURES else sizes:
            yield measure(workload, nodes, RUNNING, folder, times)


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def growth(done: Sequence[Run], by: str) -> Iterator[str]:
    """How much longer a cycle takes, for how much more of something."""
    for workload in dict.fromkeys(run.workload for run in done):
        mine = [run for run in done if run.workload == workload]
        first, last = mine[0], mine[-1]
        if first is not last:
            more = getattr(last, by) / getattr(first, by)
            longer = first.stats["podsPerSecond"] / last.stats["podsPerSecond"]
            yield f"{workload:<20}{by} x{more:<6.1f} time per pod x{longer:.1f}"


# What kube-scheduler 1.36 does at 5,000 nodes, in pods per second: at all nodes, and in brackets with its sampling.
KUBE_SCHEDULER = {
    "basic": "65-84 (526)",
    "varied": "56-88 (577)",
    "node-affinity": "67-91 (290-483)",
    "antiaffinity": "42-55 (199-275)",
    "affinity": "59-88 (107-209)",
    "preferred-affinity": "51 (141-192)",
    "spread": "32-54 (161-210)",
    "unschedulable": "106-121 (94-118)",
    "preemption": "40-56 (33-47)",
}


def table_rows(done: Sequence[Run]) -> Iterator[str]:
    """The rows of the table in `ksched help performance`, of the workloads that kube-scheduler was measured with, and
    what the paragraph below the table and the README name of them."""
    shown = [run for run in done if run.workload in KUBE_SCHEDULER]
    last = ""
    for run in shown:
        name, last = "" if run.workload == last else run.workload, run.workload
        stats, other = run.stats, KUBE_SCHEDULER[run.workload].replace("-", "\u2013") if run.nodes == 5000 else ""
        yield (
            f"| {name} | {run.nodes:,} | {run.running:,} | {stats['podsPerSecond']:,.0f} | {stats['scheduleSeconds']:.2f} "
            f"| {run.whole:.1f} | {stats['peakMiB'] * 2**20 / 1e6:.0f} | {other} |"
        )
    calibrations = [run.calibration for run in shown]
    yield f"calibration {min(calibrations, default=0):.3f} to {max(calibrations, default=0):.3f} s"
    speeds = [run.stats["podsPerSecond"] for run in shown if run.nodes == 5000]
    yield f"{min(speeds, default=0):,.0f} to {max(speeds, default=0):,.0f} pods per second at 5,000 nodes"


def measure_commands(times: int) -> bool:
    """The table of all commands; whether all of them came to a result."""
    from tests.benchmarks import commands

    say("\ncommands at 5000 nodes, 10000 running and 1000 pending pods")
    with tempfile.TemporaryDirectory() as folder:
        files = commands.prepare(Path(folder), commands.NODES, commands.RUNNING, commands.PENDING)
        return commands.print_table(list(commands.COMMANDS), files, times=times)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("workloads", nargs="*", choices=[[], *PENDING], help="all of them if none is named")
    parser.add_argument("--nodes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--runs", type=int, default=RUNS, help="how often each is measured; the best counts")
    given = parser.parse_args()
    compile_package()
    say(f"calibration {calibrate():.3f} s")
    say(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        done = []
        for run in runs(given.workloads or list(PENDING), given.nodes, Path(folder), given.runs):
            done.append(run)
            say(run.line)
        crowded = []
        if not given.workloads:
            say("\nbasic at 5000 nodes, by pods that run already")
            for running in CROWDS:
                crowded.append(measure("basic", 5000, running, Path(folder), given.runs))
                say(crowded[-1].line)
    answered = bool(given.workloads) or measure_commands(given.runs)
    say("\ngrowth")
    for line in (*growth(done, "nodes"), *growth(crowded, "running")):
        say(line)
    say("\nrows for help/performance.md and the README")
    for line in table_rows(done):
        say(line)
    base = startup(["-c", "import typer"])
    for command in ("version", "--help"):
        taken = startup(["-m", "ksched_cli", command])
        say(f"ksched {command}: {taken:.3f} s, import typer {base:.3f} s, x{taken / base:.2f}")
    return int(not answered or any(run.placed != run.wanted for run in (*done, *crowded)))


if __name__ == "__main__":
    sys.exit(main())
