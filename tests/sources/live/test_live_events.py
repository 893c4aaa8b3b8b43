"""`ksched verify` of a live cluster, which shows its events or does not; and nobody else asks for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from ksched_cli.cli.main import run
from ksched_cli.sources.live import cluster as listing
from tests.builders import make_node, make_pod
from tests.failed_scheduling import written_now
from tests.running import Ksched
from tests.sources.live.kube_server import EVENTS, KubeServer, refuses, serving

TAIL = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
CPU = f"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, {TAIL}"
NOON, ONE = "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"


@pytest.fixture
def kube(ca: trustme.CA) -> Iterator[KubeServer]:
    """Three pods too large for the node: one with a verdict in its condition, two with one in an event."""
    pods = [make_pod(f"p{number}").requests(cpu="9").doc() for number in range(3)]
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": CPU}
    pods[0]["status"] = {"phase": "Pending", "conditions": [{**said, "lastTransitionTime": NOON}]}
    with serving([make_node("n1").doc(), *pods], ca) as server:
        server.events += [written_now(f"p{number}", CPU, ONE) for number in (1, 2)]
        server.events.append(written_now("p1", "Pulled", ONE, reason="Pulled"))
        yield server


def verified(kube: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["verify", "--kubeconfig", kube.kubeconfig(tmp_path), "-o", "json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def asked(kube: KubeServer) -> list[dict[str, str]]:
    return [request.query for request in kube.requests if request.path == EVENTS]


@pytest.mark.slow
def test_events_are_read_page_by_page(
    kube: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 1)
    document = verified(kube, tmp_path, capsys)
    assert [(each["pod"], each["agreement"], each["saidIn"], each["saidAt"]) for each in document["pending"]] == [
        ("default/p0", "same", "condition", NOON),
        ("default/p1", "same", "event", ONE),
        ("default/p2", "same", "event", ONE),
    ]
    assert "missing" not in document["coverage"]
    assert asked(kube) == [
        {"limit": "1", "fieldSelector": "reason=FailedScheduling", "resourceVersion": "0"},
        {"limit": "1", "fieldSelector": "reason=FailedScheduling", "continue": "1"},
        {"limit": "1", "fieldSelector": "reason=Scheduled", "resourceVersion": "0"},
        {"limit": "1", "fieldSelector": "reason=Preempted", "resourceVersion": "0"},
    ]
    assert {request.method for request in kube.requests} == {"GET"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "reason"),
    [pytest.param(403, "forbidden", id="forbidden"), pytest.param(404, "no such list (404)", id="not there")],
)
def test_without_events_the_conditions_are_compared_and_that_is_told(
    status: int, reason: str, kube: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kube.faults[EVENTS] += [refuses(status, "no such list")] * 2
    document = verified(kube, tmp_path, capsys)
    assert [each["pod"] for each in document["pending"]] == ["default/p0"]
    missing = f"{reason}: verdicts are those of the PodScheduled conditions"
    assert document["coverage"]["missing"] == {"Event": missing}
    assert run(["verify", "--kubeconfig", kube.kubeconfig(tmp_path)]) == 0
    assert "not taken into account: Event (" in capsys.readouterr().out


@pytest.mark.slow
def test_trouble_with_events_is_trouble(kube: KubeServer, tmp_path: Path, ksched: Ksched) -> None:
    kube.faults[EVENTS].append(refuses(401, "who are you"))
    assert "it does not know you" in ksched("verify", "--kubeconfig", kube.kubeconfig(tmp_path), code=3).err


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["simulate"], ["explain", "p0"], ["snapshot", "-o", "/dev/null"], ["check", "-f", "/dev/null"]]
)
def test_no_other_command_asks_for_events(command: list[str], kube: KubeServer, tmp_path: Path) -> None:
    run([*command, "--kubeconfig", kube.kubeconfig(tmp_path)])
    assert "/api/v1/pods" in kube.paths()
    assert asked(kube) == []
