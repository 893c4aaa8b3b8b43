"""Pod groups as a person sees them: in the table, in the document, in the exit code and in `coverage`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list
from tests.cli.transcripts import same_as_golden
from tests.pod_groups import GANG, member
from tests.running import Ksched


def pod_group(name: str, **policy: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    spec = {"schedulingPolicy": policy}
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec}


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """One gang that fits, one that does not, one that is not there yet, and one that needs room."""
    items = [
        make_node("n1").allocatable(cpu=4, pods=20).doc(),
        make_node("n2").allocatable(cpu=2, pods=20).label("special", "yes").doc(),
        make_pod("old").requests(cpu="1").on("n2").doc(),
        *(pod_group(name, gang={"minCount": count}) for name, count in (("fits", 2), ("big", 5), ("early", 3))),
        pod_group("urgent", gang={"minCount": 2}),
        *(member(f"fits-{index}", "fits").doc() for index in (1, 2)),
        *(member(f"big-{index}", "big").doc() for index in range(1, 6)),
        member("early-1", "early").doc(),
        *(member(f"urgent-{index}", "urgent").priority(9).selector(special="yes").doc() for index in (1, 2)),
    ]
    return write_list(tmp_path / "cluster.json", *items)


def test_table(dump: str, ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = ksched("simulate", "--from", dump, "--feature-gates", GANG, code=1).out
    same_as_golden("pod-groups", shown, columns=100)


def test_document(dump: str, ksched: Ksched) -> None:
    document = json.loads(ksched("simulate", "--from", dump, "--feature-gates", GANG, "-o", "json").out)
    groups = {each["podGroup"]: each for each in document["podGroups"]}
    assert groups["default/fits"] == {
        "podGroup": "default/fits", "result": "scheduled", "minCount": 2, "pods": 2, "placed": 2,
    }  # fmt: skip
    assert document["coverage"]["podGroupsNotModelled"] == ["second cycles of pods in a gang"]
    results = {name: (each["result"], each["placed"]) for name, each in groups.items()}
    assert results == {
        "default/big": ("unschedulable", 0),
        "default/early": ("gated", 0),
        "default/fits": ("scheduled", 2),
        "default/urgent": ("waiting", 0),
    }
    assert {pod["podGroup"] for pod in document["pods"]} == {"default/big", "default/fits", "default/urgent"}


def test_without_the_gates_no_group_is_mentioned(dump: str, ksched: Ksched) -> None:
    document = json.loads(ksched("simulate", "--from", dump, "-o", "json").out)
    assert "podGroups" not in document
    assert "podGroupsNotModelled" not in document["coverage"]
    assert document["gated"] == []


def test_a_group_that_waits_for_victims_counts_as_placed(tmp_path: Path, ksched: Ksched) -> None:
    items = [
        make_node("n1").allocatable(cpu=2, pods=20).doc(),
        make_pod("old").requests(cpu="1").on("n1").doc(),
        pod_group("urgent", gang={"minCount": 2}),
        *(member(f"urgent-{index}", "urgent").priority(9).doc() for index in (1, 2)),
    ]
    path = tmp_path / "cluster.json"
    write_list(path, *items)
    assert "2 pending pods: 2 preempt" in ksched("simulate", "--from", str(path), "--feature-gates", GANG, code=0).out


MERGE = "MatchLabelKeysInPodTopologySpreadSelectorMerge"


@pytest.mark.parametrize(
    ("gates", "named"),
    [
        pytest.param(f"{GANG},TopologyAwareWorkloadScheduling=true", None, id="what is modelled"),
        pytest.param(f"{GANG},WorkloadAwarePreemption=true", None, id="preemption for whole groups is"),
        pytest.param("GenericWorkload=true,DRANodeAllocatableResources=true", None, id="claims for node resources are"),
        pytest.param(f"{GANG},{MERGE}=false", [MERGE], id="selectors that are read as they are stored are not"),
    ],
)  # fmt: skip
def test_coverage(gates: str, named: list[str] | None, dump: str, ksched: Ksched) -> None:
    coverage = json.loads(ksched("simulate", "--from", dump, "--feature-gates", gates, "-o", "json").out)["coverage"]
    assert coverage.get("featureGatesNotModelled") == named
    assert "pluginsNotModelled" not in coverage


def test_a_gate_without_the_one_it_builds_on(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--from", dump, "--feature-gates", "GangScheduling=true"]) == 2
    text = "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"
    assert text in capsys.readouterr().err


def test_a_snapshot_keeps_the_groups(dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "taken.json.gz"
    assert run(["snapshot", "--from", dump, "-o", str(taken)]) == 0
    capsys.readouterr()
    shown = []
    for source in (dump, str(taken)):
        run(["simulate", "--from", source, "--feature-gates", GANG, "-o", "json"])
        shown.append(json.loads(capsys.readouterr().out)["podGroups"])
    assert shown[0] == shown[1]
