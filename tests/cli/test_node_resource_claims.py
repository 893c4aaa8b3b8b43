"""Claims whose devices stand for cpu of their node, from the input to what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list

GATE = "DRANodeAllocatableResources=true"
OLD = {"resourceClaimName": "old", "containers": ["main"], "resources": {"cpu": "2"}}


def dra(kind: str, name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-{name}"} | ({"namespace": "default"} if kind == "ResourceClaim" else {})
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec, **more}


def cluster(cpu: str = "3") -> list[dict[str, Any]]:
    """A node of 4 cpu, 2 of which the claim of a running pod has, and a pod that needs 1 and a device of so many."""
    reference = [{"name": "c", "resourceClaimName": "new"}]
    pod = make_pod("p").uid("uid-p").requests(cpu="1").spec(resourceClaims=reference)
    pod.data["spec"]["containers"][0]["resources"]["claims"] = [{"name": "c"}]
    running = make_pod("r").uid("uid-r").on("n1").status(nodeAllocatableResourceClaimStatuses=[OLD])
    running.spec(resourceClaims=[{"name": "c", "resourceClaimName": "old"}])
    device = {"name": "a", "nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": cpu}}}
    request = {"name": "r", "exactly": {"deviceClassName": "cpus", "allocationMode": "ExactCount", "count": 1}}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    return [
        make_node("n1").allocatable(cpu="4", memory="8Gi", pods="10").doc(),
        running.doc(),
        pod.doc(),
        dra("DeviceClass", "cpus", {}),
        dra("ResourceClaim", "new", {"devices": {"requests": [request]}}),
        dra("ResourceSlice", "s", {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": [device]}),
    ]


def pod_of(source: str, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    run(["simulate", "--from", source, "-o", "json", *options])
    document = json.loads(capsys.readouterr().out)
    return document["pods"][0], document["coverage"]


@pytest.mark.parametrize(
    ("cpu", "gates", "result"),
    [
        pytest.param("1", GATE, "scheduled", id="just enough"),
        pytest.param("1001m", GATE, "unschedulable", id="the running pod's claim is in the way"),
        pytest.param("1001m", "", "scheduled", id="without the gate"),
    ],
)
def test_simulate(cpu: str, gates: str, result: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_list(tmp_path / "c.json", *cluster(cpu))
    pod, coverage = pod_of(source, capsys, "--feature-gates", gates)
    assert pod["result"] == result
    assert "featureGatesNotModelled" not in coverage
    if result == "unschedulable":
        assert pod["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")


def shared() -> list[dict[str, Any]]:
    """The pod wants the claim that the running pod has."""
    result = {"request": "r", "driver": "d.example.com", "pool": "n1", "device": "a"}
    old = dra("ResourceClaim", "old", {}, status={"allocation": {"devices": {"results": [result]}}})
    pod = make_pod("p").uid("uid-p").spec(resourceClaims=[{"name": "c", "resourceClaimName": "old"}]).doc()
    return [*(each for each in cluster() if each["metadata"]["name"] not in ("p", "new")), pod, old]


@pytest.mark.slow
@pytest.mark.parametrize("redact", [pytest.param([], id="plain"), pytest.param(["--redact"], id="redacted")])
@pytest.mark.parametrize(
    ("items", "message"),
    [
        pytest.param(cluster("1"), "", id="enough"),
        pytest.param(cluster("1001m"), "1 Insufficient cpu", id="too little"),
        pytest.param(shared(), "is already used by another pod", id="used by another pod"),
    ],
)
def test_a_snapshot_gives_the_same_answer(
    items: Any, message: str, redact: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = str(tmp_path / "taken.json.gz")
    assert run(["snapshot", "--from", write_list(tmp_path / "c.json", *items), "-o", taken, *redact]) == 0
    capsys.readouterr()
    pod = pod_of(taken, capsys, "--feature-gates", GATE)[0]
    assert pod["result"] == ("unschedulable" if message else "scheduled")
    assert message in pod.get("message", "")


def test_explain_shows_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["explain", "--from", write_list(tmp_path / "c.json", *cluster("1500m")), "--feature-gates", GATE, "default/p"])
    text = " ".join(capsys.readouterr().out.split())
    assert "default/new: the pod with its claims needs cpu 2500m, 2 free" in text


def test_a_multiplier_that_is_no_quantity_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--from", write_list(tmp_path / "c.json", *cluster("two"))]) == 2
    assert "nodeAllocatableResourceMappings.cpu.allocationMultiplier" in capsys.readouterr().err
