"""`final` and the losses of plain `simulate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run

CASES = Path(__file__).parents[2] / "fixtures" / "controlplane" / "cases"


def final_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run(["simulate", "--exit-zero", "-o", "json", *arguments]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["final"]
    return found


def test_simulate_scale_down_names_the_deleted_pods(capsys: pytest.CaptureFixture[str]) -> None:
    before = str(CASES / "scale-08" / "before.json")
    assert run(["simulate", "--from", before, "--scale", "deployment/default/x=3"]) == 0
    out = capsys.readouterr().out
    assert "5 pods deleted  surplus of ReplicaSet" in out
    assert "5 running pods deleted (4 nodes)" in out
    assert "no pending pods" not in out
    final = final_of(capsys, "--from", before, "--scale", "deployment/default/x=3")
    states = [each["state"] for each in final if each["workload"] == "Deployment/default/x"]
    assert (states.count("gone"), states.count("running")) == (5, 3)


def test_every_pod_is_in_final(capsys: pytest.CaptureFixture[str]) -> None:
    folder = CASES / "preempt-03"
    before = json.loads((folder / "before.json").read_text())
    pods = {f"default/{item['metadata']['name']}" for item in before["items"] if item["kind"] == "Pod"}
    final = final_of(capsys, "--from", str(folder / "before.json"), "-f", str(folder / "apply.yaml"))
    assert pods <= {each["pod"] for each in final}
    assert {each["state"] for each in final} == {"running", "leaving", "nominated"}
    assert {each["workload"] for each in final if each["state"] == "nominated"} == {"Deployment/default/hi"}
    assert all("node" in each for each in final if each["state"] in ("running", "leaving"))
