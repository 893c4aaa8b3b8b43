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


def test_every_pod_is_in_final(capsys: pytest.CaptureFixture[str]) -> None:
    folder = CASES / "preempt-03"
    before = json.loads((folder / "before.json").read_text())
    pods = {f"default/{item['metadata']['name']}" for item in before["items"] if item["kind"] == "Pod"}
    final = final_of(capsys, "--from", str(folder / "before.json"), "-f", str(folder / "apply.yaml"))
    assert pods <= {each["pod"] for each in final}
    assert {each["state"] for each in final} == {"running", "leaving", "nominated"}
    assert {each["workload"] for each in final if each["state"] == "nominated"} == {"Deployment/default/hi"}
    assert all("node" in each for each in final if each["state"] in ("running", "leaving"))
