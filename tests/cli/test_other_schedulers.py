"""Manifests of which every pod is left to another scheduler: nothing is checked or placed, which is no success."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import PodBuilder, make_node, make_pod, write_list
from tests.running import Ksched

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: web}]
"""
OTHER = WEB.replace("      containers", "      schedulerName: defualt-scheduler\n      containers")
OWN = WEB.replace("name: web}", "name: own}")
PROBLEM = 'no profile is named "defualt-scheduler", and another scheduler places its pods'
HINT = "did you mean default-scheduler?"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_list(tmp_path / "cluster.json", make_node("n1").allocatable(cpu=4, pods=20).doc())
    return tmp_path


@pytest.mark.parametrize(
    "command",
    ["check", "simulate", "simulate --settle", "diff --cordon n1", "size --catalog c.yaml", "sweep --fail node"],
)
def test_exit_code_and_hint(command: str, here: Path, ksched: Ksched) -> None:
    (here / "web.yaml").write_text(OTHER)
    (here / "c.yaml").write_text(
        "apiVersion: ksched/v1\nkind: Catalog\nshapes: [{name: s, price: 1, allocatable: {cpu: 4, memory: 8Gi, pods: 9}}]"
    )
    printed = ksched(*command.split(), "--from", "cluster.json", "-f", "web.yaml", code=2)
    shown = " ".join((printed.out + printed.err).split())
    assert "web.yaml:9: " in shown
    assert PROBLEM in shown
    assert HINT in shown


@pytest.mark.parametrize("command", ["check", "simulate"])
@pytest.mark.parametrize(
    ("manifests", "flags"),
    [pytest.param(OTHER, ["--allow-empty"], id="meant"), pytest.param(f"{OTHER}---\n{OWN}", [], id="one of two")],
)
def test_a_success(command: str, manifests: str, flags: list[str], here: Path, ksched: Ksched) -> None:
    (here / "web.yaml").write_text(manifests)
    assert PROBLEM not in ksched(command, "--from", "cluster.json", "-f", "web.yaml", *flags, code=0).err


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_a_pod_with_a_node_is_left_to_no_scheduler(command: str, here: Path, ksched: Ksched) -> None:
    write_list(here / "pod.json", make_pod("bound").scheduler("mine").on("n1").doc())
    printed = ksched(command, "--from", "cluster.json", "-f", "pod.json", code=0)
    assert "nothing to place" not in printed.out + printed.err


@pytest.mark.parametrize(
    ("pod", "code"),
    [
        pytest.param(make_pod("p"), 0, id="a pending pod"),
        pytest.param(make_pod("p").on("n1"), 2, id="a running pod"),
        pytest.param(make_pod("p").phase("Failed"), 2, id="a failed pod that never had a node"),
    ],
)
def test_pending_pods_of_the_cluster_are_placed_nevertheless(
    pod: PodBuilder, code: int, here: Path, ksched: Ksched
) -> None:
    (here / "web.yaml").write_text(OTHER)
    write_list(here / "cluster.json", make_node("n1").allocatable(cpu=4, pods=20).doc(), pod.doc())
    assert (PROBLEM in ksched("simulate", "--from", "cluster.json", "-f", "web.yaml", code=code).err) == (code == 2)
