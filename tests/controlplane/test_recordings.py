"""Every recording of the real control plane (fixtures/controlplane): the end state that the command line foretells."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.lanes import sampled

CASES = Path(__file__).parents[2] / "fixtures" / "controlplane" / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/after.json"))


def places(final: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Workload to node to its number of pods; no node is Pending."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for entry in final:
        if entry["state"] != "gone":
            found[entry["workload"]][entry.get("node", "")] += 1
    return {workload: dict(nodes) for workload, nodes in found.items()}


def blocked(document: dict[str, Any]) -> list[str]:
    """Workloads with pods left on drained nodes, but for those of DaemonSets."""
    nodes = {node["node"] for node in document["nodes"]}
    left = (workload for workload, where in places(document["final"]).items() if nodes & where.keys())
    return sorted(workload for workload in left if not workload.startswith("DaemonSet/"))


def foretold(document: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What the document says of everything that was recorded."""
    found: dict[str, Any] = {"workloads": places(document["final"])}
    if "finished" in wanted:
        found["finished"] = {name: document["finished"].get(name) for name in wanted["finished"]}
    if "drained" in wanted:
        found["drained"] = document["drained"]
    if "blocked" in wanted:
        found["blocked"] = blocked(document)
    return found


@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_the_end_is_the_recorded_one(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(CASES / name)
    action, after = (json.loads(Path(f"{part}.json").read_text()) for part in ("action", "after"))
    recorded = {key: after[key] for key in ("workloads", "finished", "drained", "blocked") if key in after}
    recorded["workloads"] = {workload: nodes for workload, nodes in after["workloads"].items() if nodes}
    assert run([*action["args"], "--from", "before.json", "-o", "json", "--exit-zero"]) == 0
    assert foretold(json.loads(capsys.readouterr().out), recorded) == recorded


def test_all_recordings_are_here() -> None:
    assert len(NAMES) == 143
