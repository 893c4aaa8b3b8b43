"""`--sampling` agrees with kube-scheduler 1.36, which looks at a part of the nodes, on 20 clusters of 150 to 1,500 nodes."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.report.registry import RenderOptions, render
from ksched_cli.wiring.options import RunOptions
from tests.running import prepare

RECORDINGS = Path(__file__).parent.parent / "fixtures" / "conformance" / "sampling" / "1.36.jsonl.gz"
CASES = [f"sampling-{number:02d}" for number in range(20)]


@cache
def recorded() -> dict[str, dict[str, Any]]:
    with gzip.open(RECORDINGS, "rt") as lines:
        return {case["case"]: case for case in map(json.loads, lines)}


def simulate(case: dict[str, Any], folder: Path, *, sampling: bool = True) -> list[dict[str, Any]]:
    """The pods of the document, in the order of their cycles."""
    cluster = folder / "cluster.json"
    cluster.write_text(json.dumps(case["cluster"]))
    prepared = prepare(RunOptions([str(cluster)], config=case.get("config"), sampling=sampling))
    out = io.StringIO()
    render(prepared.stream(detail=True, top=0), out, RenderOptions("json"))
    pods: list[dict[str, Any]] = json.loads(out.getvalue())["pods"]
    return pods


def differences(want: dict[str, Any], got: dict[str, Any]) -> Iterator[str]:
    feasible = want.get("feasible") or list(want.get("totals") or {})
    for key, wanted in (
        *((key, want.get(key)) for key in ("pod", "result", "node", "message", "totals")),
        ("ties", sorted(want.get("ties") or [])),
        ("feasible", sorted(feasible)),
    ):
        found = got.get(key)
        if (wanted or None) != ((sorted(found) if isinstance(found, list) else found) or None):
            yield f"{want['pod']} {key}: want {wanted} got {found}"


@pytest.mark.parametrize("name", CASES)
def test_the_part_of_the_nodes_is_the_same(name: str, tmp_path: Path) -> None:
    case = recorded()[name]
    found = simulate(case, tmp_path)
    assert len(found) == len(case["pods"]) == 14
    assert [each for pair in zip(case["pods"], found, strict=True) for each in differences(*pair)] == []


def test_every_recorded_case_is_there() -> None:
    assert sorted(recorded()) == CASES


def test_without_sampling_pods_go_elsewhere(tmp_path: Path) -> None:
    """The recordings are of a part of the nodes: an answer about all nodes does not agree with them."""
    case = recorded()["sampling-19"]
    found = simulate(case, tmp_path, sampling=False)
    assert any(each for pair in zip(case["pods"], found, strict=True) for each in differences(*pair))
