"""The benchmark's clusters are what they are said to be; how fast they are is not asked here."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest

import ksched_cli
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.simulator import Simulator
from ksched_cli.sources.decoding import decode
from tests.benchmarks import commands
from tests.benchmarks.__main__ import KUBE_SCHEDULER, Run, measure, table_rows
from tests.benchmarks.reading import full_pod, timed, write_list
from tests.benchmarks.workloads import FEATURES, OPTIONS, PENDING, write
from tests.lanes import sampled
from tests.running import prepare

PODS = 30


@pytest.mark.slow
@pytest.mark.parametrize("workload", [*sampled([each for each in PENDING if each not in FEATURES], 4), *FEATURES])
def test_every_pending_pod_comes_to_the_end_its_workload_is_named_for(workload: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    with path.open("w") as file:
        write(workload, 30, 60, PODS, file)
    given = dict(zip(OPTIONS.get(workload, ())[::2], OPTIONS.get(workload, ())[1::2], strict=True))
    options = RunOptions(
        [str(path)],
        kube_version=given.get("--kube-version", "auto"),
        feature_gates=given.get("--feature-gates", ""),
    )
    outcomes = prepare(options).simulate().outcomes
    if workload == "preemption":
        assert all(outcome.preemption and len(outcome.preemption.victims) >= 2 for outcome in outcomes)
    else:
        wanted = "unschedulable" if workload == "unschedulable" else "scheduled"
        assert Counter(outcome.result for outcome in outcomes) == {wanted: PODS}
    if workload == "antiaffinity":
        # A pod keeps away from others of its own namespace.
        assert len({(outcome.pod.split("/")[0], outcome.node) for outcome in outcomes}) == PODS
    if workload == "node-affinity":
        assert all(int(outcome.node.split("-")[1]) % 3 != 2 for outcome in outcomes)


def test_the_same_arguments_write_the_same_bytes() -> None:
    texts = []
    for _ in range(2):
        out = io.StringIO()
        write("spread", 5, 7, 3, out)
        texts.append(out.getvalue())
    assert texts[0] == texts[1]
    assert Counter(each["kind"] for each in json.loads(texts[0])["items"]) == {"Node": 5, "Namespace": 5, "Pod": 10}


@pytest.mark.slow
def test_a_measured_run_reads_the_command_s_own_figures(tmp_path: Path) -> None:
    run = measure("antiaffinity", 200, 4, tmp_path, times=2)
    assert (run.placed, run.wanted, run.pods) == (1000, 1000, 1000)
    assert run.stats["nodes"] == 200
    assert run.whole > run.stats["loadSeconds"]
    assert "placed" not in run.line


def test_the_pods_that_reading_is_timed_with_are_of_their_size_and_valid(tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    with path.open("w") as file:
        write_list(map(full_pod, range(50)), file)
    assert 18_000 < path.stat().st_size / 50 < 22_000
    found = list(decode(path.read_bytes(), "x"))
    assert len(found) == 50
    assert all(each.value is not None for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["json.loads", "ksched, JSON"])
def test_readers_are_timed(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    with path.open("w") as file:
        write_list(map(full_pod, range(50)), file)
    seconds, mib = timed(reader, path)
    assert seconds > 0
    assert mib >= 0


def test_500_files_make_the_920_pods_of_the_benchmark(tmp_path: Path) -> None:
    files = commands.prepare(tmp_path, 5, 5, 1)
    assert len(list(Path(files["folder"]).iterdir())) == 500
    kinds = Counter(each["kind"] for each in json.loads(Path(files["small"]).read_text())["items"])
    assert kinds["Node"] == 120
    assert kinds["Pod"] == 920
    manifests = "".join(each.read_text() for each in Path(files["folder"]).iterdir())
    assert sum(map(int, re.findall(r"^  replicas: (\d+)$", manifests, re.MULTILINE))) == 920


@pytest.mark.slow
def test_the_920_pods_of_500_files_find_nodes(tmp_path: Path) -> None:
    files = commands.prepare(tmp_path, 5, 5, 1)
    found = Simulator.load(files["small"]).check(files["folder"]).workloads
    assert [each.running for each in found] == [each.pods for each in found]
    assert (len(found), sum(each.pods for each in found)) == (500, 920)


@pytest.mark.slow
def test_commands_are_measured_as_whole_processes(tmp_path: Path) -> None:
    files = commands.prepare(tmp_path, 20, 20, 5)
    for name in ("simulate", "check, 10 Deployments"):
        measured = commands.measure_best(commands.COMMANDS[name].format(**files).split())
        assert measured.code == 0, name
        assert measured.cpu > 0
        assert 20 < measured.peak < 1000
    stopped = commands.measure(commands.COMMANDS["simulate"].format(**files).split(), limit=0.05)
    assert stopped.code is None
    assert stopped.line.endswith("stopped")


def test_the_rows_of_the_manual_are_printed_as_the_manual_has_them() -> None:
    text = (Path(ksched_cli.__file__).parent / "help" / "performance.md").read_text()
    stats = {"podsPerSecond": 7421.6, "scheduleSeconds": 0.134, "peakMiB": 64.9}
    runs = [Run("basic", nodes, 10000, 1000, 1000, 1000, stats, 0.52, 0.11) for nodes in (500, 5000)]
    first, second, calibration, speeds = table_rows([*runs, Run("devices", 500, 1, 1, 1, 1, stats, 1, 1)])
    assert first == "| basic | 500 | 10,000 | 7,422 | 0.13 | 0.5 | 68 |  |"
    assert second == "|  | 5,000 | 10,000 | 7,422 | 0.13 | 0.5 | 68 | 65\u201384 (526) |"
    assert text.partition("\n| workload |")[2].partition("\n")[0].count("|") == first.count("|") - 2
    assert (calibration, speeds) == (
        "calibration 0.110 to 0.110 s",
        "7,422 to 7,422 pods per second at 5,000 nodes",
    )
    for workload, figures in KUBE_SCHEDULER.items():
        rows = text.partition(f"| {workload} | 500 |")[2].split("\n")
        assert rows[1].startswith("|  | 5,000 |")
        assert rows[1].replace("\u2013", "-").endswith(f"| {figures} |")
