"""`simulate --settle` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cli.main import run
from tests.builders import make_node, make_object, make_pod, write_list
from tests.cli.transcripts import same_as_golden
from tests.running import Ksched


def owned(name: str, kind: str, cpu: str) -> Any:
    pod = make_pod(name, "shop").uid(f"uid-{name}").requests(cpu=cpu).on("east-1").priority(1).phase("Running")
    return pod.owner(kind, name.rpartition("-")[0], apiVersion="apps/v1", uid=name).doc()


CLUSTER = [
    make_node("east-1").allocatable(cpu="4", memory="8Gi", pods="10").doc(),
    make_node("west-1").allocatable(cpu="1", memory="8Gi", pods="10").doc(),
    owned("web-abc", "ReplicaSet", "1"),
    owned("db-0", "StatefulSet", "3"),
    make_pod("urgent", "shop").uid("uid-urgent").requests(cpu="4").priority(100).doc(),
    make_pod("held", "shop").uid("uid-held").requests(cpu="1").gate("example.com/approval").doc(),
    make_pod("huge", "shop").uid("uid-huge").requests(cpu="64").doc(),
    make_pod("foreign", "shop").uid("uid-foreign").scheduler("other").doc(),
]


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return write_list(tmp_path / "cluster.json", *CLUSTER)


@pytest.mark.parametrize("output", ["table", "wide"])
def test_transcript(cluster: str, output: str, ksched: Ksched) -> None:
    shown = ksched("simulate", "--from", cluster, "--settle", "-o", output, code=1).out
    same_as_golden(f"simulate-settle-{output}", shown)


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_the_document_has_timeline_and_final(cluster: str, output: str, ksched: Ksched) -> None:
    text = ksched("simulate", "--from", cluster, "--settle", "-o", output, "--exit-zero", code=0).out
    document = json.loads(text) if output == "json" else yaml.safe_load(text)
    assert document["kind"] == "Simulation"
    assert document["settled"] == {"ending": "settled", "seconds": 30.0, "cycles": 6}
    assert document["timeline"][0] == {
        "time": 0.0,
        "event": "UnschedulablePodAdd",
        "pod": "shop/held",
        "queue": "unschedulable",
        "message": "waiting for scheduling gates: [example.com/approval]",
    }
    final = {(entry["pod"], entry["state"]): entry for entry in document["final"]}
    assert final["shop/urgent", "scheduled"] == {
        "pod": "shop/urgent",
        "workload": "Pod/shop/urgent",
        "state": "scheduled",
        "node": "east-1",
        "attempts": 2,
    }
    assert final["shop/db-0", "unschedulable"]["replaces"] == "shop/db-0"
    assert ("shop/web-abc", "gone") in final
    assert document["gated"] == ["shop/held"]
    assert document["ignored"] == ["shop/foreign"]
    assert document["stats"]["pods"] == len(document["pods"]) == 4


def test_names(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["simulate", "--from", cluster, "--settle", "-o", "name"])
    rows = capsys.readouterr().out.splitlines()
    assert "pod/shop/urgent\tnode/east-1" in rows
    assert "pod/shop/web-abc\t-" not in rows, "it is deleted"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["--settle", "--max-time", "10s"], "not settled: stopped after 0s (--max-time)", id="time"),
        pytest.param(["--settle", "--max-cycles", "2"], "not settled: stopped after 2 cycles", id="cycles"),
        pytest.param(["--settle", "--max-time", "1h"], "settled after 30s, 6 cycles", id="enough"),
    ],
)
def test_limits(cluster: str, arguments: list[str], expected: str, ksched: Ksched) -> None:
    assert expected in " ".join(ksched("simulate", "--from", cluster, *arguments, code=1).out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--max-time", "1m"], "--max-time and --max-cycles are limits of --settle: give that too", id="alone"
        ),
        pytest.param(["--settle", "--max-time", "soon"], "--max-time soon: not a length of time", id="not-a-time"),
        pytest.param(["--settle", "--max-time", "0s"], "--max-time 0s: not a length of time", id="no-time"),
        pytest.param(["--settle", "--max-cycles", "0"], "--max-cycles 0: must be at least 1", id="no-cycles"),
    ],
)
def test_mistakes(cluster: str, arguments: list[str], message: str, ksched: Ksched) -> None:
    assert message in ksched("simulate", "--from", cluster, *arguments, code=2).err


def test_preemption_may_be_a_failure(tmp_path: Path) -> None:
    small = [CLUSTER[0], owned("old-1", "Pod", "4"), CLUSTER[4]]
    del small[1]["metadata"]["ownerReferences"]
    cluster = write_list(tmp_path / "c.json", *small)
    assert run(["simulate", "--from", cluster, "--settle"]) == 0
    assert run(["simulate", "--from", cluster, "--settle", "--fail-on", "preemption"]) == 1
    nothing_to_preempt = write_list(tmp_path / "d.json", CLUSTER[0], CLUSTER[4])
    assert run(["simulate", "--from", nothing_to_preempt, "--settle", "--fail-on", "preemption"]) == 0


SCENARIO = """apiVersion: ksched/v1
kind: Scenario
steps:
- name: as it is
  expect: {schedulable: false}
- name: more room
  addNode: cpu=80,memory=64Gi,name=big
  expect: {schedulable: true, on: {pod/shop/huge: big}}
- name: a node is lost
  removeNode: west-1
  expect: {schedulable: true, noPreemption: true}
"""


def with_scenario(cluster: str, tmp_path: Path, text: str = SCENARIO) -> list[str]:
    path = tmp_path / "lost.yaml"
    path.write_text(text)
    return ["simulate", "--from", cluster, "--settle", "--scenario", str(path)]


def test_a_scenario_on_the_timeline(cluster: str, tmp_path: Path, ksched: Ksched) -> None:
    shown = ksched(*with_scenario(cluster, tmp_path), code=0).out
    same_as_golden("simulate-settle-scenario", shown)


def test_a_scenario_on_the_timeline_as_a_document(cluster: str, tmp_path: Path, ksched: Ksched) -> None:
    document = json.loads(ksched(*with_scenario(cluster, tmp_path), "-o", "json", code=0).out)
    steps = [each for each in document["timeline"] if each["event"] == "Step"]
    assert [each["message"] for each in steps] == ["as it is", "more room", "a node is lost"]
    # A step comes when everything has come to rest: the victims of the first took half a minute to leave.
    assert [each["time"] for each in steps] == [0.0, 30.2, 30.4]
    assert document["settled"]["ending"] == "settled"
    nodes = {each["pod"]: each.get("node") for each in document["final"] if each["state"] == "scheduled"}
    assert nodes == {
        "shop/db-0": "big",
        "shop/huge": "big",
        "shop/urgent": "east-1",
        **{pod: "big" for pod in nodes if pod.startswith("shop/web-")},
    }


def test_an_expectation_that_fails_on_the_timeline(cluster: str, tmp_path: Path, ksched: Ksched) -> None:
    text = SCENARIO.replace("{schedulable: false}", "{schedulable: true}")
    assert run(with_scenario(cluster, tmp_path, text)) == 4
    assert run([*with_scenario(cluster, tmp_path), "--max-cycles", "2"]) == 1
    assert "not as name" in ksched(*with_scenario(cluster, tmp_path), "-o", "name", code=2).err


def budget(allowed: int) -> dict[str, Any]:
    return make_object(
        "PodDisruptionBudget",
        "all",
        {"selector": {}, "maxUnavailable": allowed},
        namespace="shop",
        status={"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2 - allowed, "expectedPods": 2},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [[], [budget(1)], [budget(2)]], ids=["no budget", "a budget of one", "a budget of two"]
)
@pytest.mark.parametrize(
    "command",
    [
        ["drain", "east-1"],
        ["simulate", "--settle", "--drain", "east-1"],
        ["simulate", "--settle", "--remove-node", "east-1"],
        ["simulate", "--settle", "--taint", "east-1=gone:NoExecute"],
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_chance_decides_which_of_two_workloads_gets_the_place(
    command: list[str], more: list[Any], tmp_path: Path, ksched: Ksched
) -> None:
    """Their pods leave one node at one moment, and another node has room for one of them, or for both."""
    pods = [owned("a-1", "ReplicaSet", "1"), owned("b-1", "ReplicaSet", "1")]
    for pod in pods:
        pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    for cpu, ends in (("1", {"ReplicaSet/shop/a": True, "ReplicaSet/shop/b": True}), ("2", {})):
        west = make_node("west-1").allocatable(cpu=cpu, memory="8Gi", pods="10").doc()
        cluster = write_list(tmp_path / "c.json", CLUSTER[0], west, *pods, *more)
        document = json.loads(ksched(*command, "--from", cluster, "-o", "json", "--exit-zero").out)
        orders = document.get("orders") or {}
        doubtful = {name: 0 < finished < orders["tried"] for name, finished in orders.get("workloads", {}).items()}
        assert doubtful == ends
        assert (
            any(draw["what"] in ("first controller", "evictions granted") for draw in document.get("draws", ()))
            or not ends
        )
