"""`ksched verify` as a person runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list
from tests.cli.transcripts import same_as_golden
from tests.failed_scheduling import written_now

NO_CLAIMS = "no new claims to deallocate, preemption:"
HELPS_NOT = "Preemption is not helpful for scheduling."
CPU = (
    "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). "
    f"{NO_CLAIMS} 0/3 nodes are available: 3 {HELPS_NOT}"
)
FEWER = (
    "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). "
    f"{NO_CLAIMS} 0/2 nodes are available: 2 {HELPS_NOT}"
)
MEMORY = f"0/3 nodes are available: 3 Insufficient memory. {NO_CLAIMS} 0/3 nodes are available: 3 {HELPS_NOT}"


def running(name: str, node: str, second: int, **requests: str) -> Any:
    pod = make_pod(name, "shop").requests(**requests).on(node).phase("Running")
    stamp = f"2026-01-01T10:00:{second:02}Z"
    return pod.status(conditions=[{"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp}]).doc()


def waiting(name: str, message: str, **requests: str) -> Any:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    pod = make_pod(name, "shop").requests(**requests)
    return pod.status(phase="Pending", conditions=[{**condition, "lastTransitionTime": "2026-01-01T10:01:00Z"}]).doc()


def said(name: str, text: str) -> Any:
    event = written_now(name, text, "2026-01-01T10:02:00.5Z")
    event["involvedObject"]["namespace"] = "shop"
    return event


CLUSTER = [
    make_node("small").allocatable(cpu="4", memory="8Gi", pods=9).doc(),
    make_node("large").allocatable(cpu="8", memory="16Gi", pods=9).taint("team", "a").doc(),
    make_node("other").allocatable(cpu="8", memory="16Gi", pods=9).taint("team", "b").doc(),
    running("web-1", "small", 1, cpu="1"),
    running("web-2", "small", 2, cpu="1"),
    running("moved", "large", 3, cpu="1"),
    running("lost", "gone", 4, cpu="1"),
    waiting("big", FEWER, cpu="9"),
    waiting("huge", CPU, cpu="9"),
    waiting("stale", CPU, cpu="1"),
    waiting("new", CPU, cpu="9"),
    make_pod("fresh", "shop").requests(cpu="9").doc(),
    said("huge", CPU),
    said("new", MEMORY),
    said("before", CPU),
]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("verify", [], 1, id="table"),
        pytest.param("verify-yaml", ["-o", "yaml"], 1, id="yaml"),
        pytest.param("verify-help", ["--help"], 0, id="help"),
    ],
)
def test_transcript(
    name: str, arguments: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", "--from", write_list(tmp_path / "cluster.json", *CLUSTER), *arguments]) == code
    shown, _, _ = capsys.readouterr().out.partition("run:\n")
    same_as_golden(name, shown, columns=None if name == "verify-yaml" else 80)
