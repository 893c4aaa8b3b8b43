"""What each command prints at 80 columns for a cluster of EKS with two NodePools, one of AKS with node auto-provisioning,
and a kind cluster without Karpenter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_first_glance import on_a_terminal
from tests.cli.test_size import without_times
from tests.cli.transcripts import ROOT, same_as_golden
from tests.lanes import sampled
from tests.running import Ksched

CLUSTERS = {
    "karpenter-eks": ("ml/trainer-7d4b9c-bbbbb", "ip-10-0-2-12.ec2.internal", "deploy/shop/web"),
    "karpenter-aks": ("shop/legacy-7d4b9c-bbbbb", "aks-default-x7k2p", "deploy/shop/api"),
    "kind": ("shop/web-7d4b9c-ddddd", "kind-worker", "deploy/shop/web"),
}
COMMANDS = {
    "simulate": "simulate --from {cluster}",
    "settle": "simulate --settle --node-startup 90s --from {cluster}",
    "explain": "explain {pod} --from {cluster}",
    "check": "check -f fixtures/manifests/autoscaled.yaml --from {cluster}",
    "drain": "drain {node} --ignore-daemonsets --from {cluster}",
    "drain-each": "drain --each node --ignore-daemonsets --from {cluster}",
    "diff": "diff --scale {workload}=9 --from {cluster}",
    "capacity": "capacity -f fixtures/manifests/autoscaled.yaml --max 200 --from {cluster}",
    "sweep": "sweep --fail node --from {cluster}",
    "scenario": "simulate --scenario fixtures/scenarios/grow-the-shop.yaml --from {cluster}",
    "size": "size --from {cluster}",
    # The search is complete after a second; a busy machine must not end it.
    "consolidate": "consolidate --time-limit 300s --from {cluster}",
    "instance-types": "instance-types m*.large Standard_D4s_v* --from {cluster}",
}
CASES = [f"{cluster}-{command}" for cluster in CLUSTERS for command in COMMANDS]


def command_of(case: str) -> str:
    cluster = next(each for each in CLUSTERS if case.startswith(f"{each}-"))
    pod, node, workload = CLUSTERS[cluster]
    path = f"fixtures/clusters/{cluster}.yaml"
    return COMMANDS[case.removeprefix(f"{cluster}-")].format(cluster=path, pod=pod, node=node, workload=workload)


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 6))
def test_transcript(case: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_a_terminal(command_of(case), 80, monkeypatch)
    shown = re.sub(r"\s+\([\d,]+\s+variants?/s,[^)]*\)", "", shown) + capsys.readouterr().err
    text = "".join(f"{line.rstrip()}\n" for line in shown.splitlines() if "warning" not in line)
    same_as_golden(case, without_times(text), columns=None)
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith("ksched: ")] == []


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("kind-")][:5])
def test_without_node_pools_the_autoscaler_changes_nothing(
    case: str, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    outputs = []
    for arguments in ((), ("--autoscaler", "none")):
        outputs.append(ksched(*command_of(case).split(), *arguments).out)
    # explain repeats the options of the run in the command that it prints.
    assert outputs[0] == outputs[1].replace("--autoscaler none ", "")


# The key `autoscaling` has three nodes there.
# The fast lane has a page of one half of the commands, and Markdown of the other.
@pytest.mark.parametrize(
    ("output", "command"),
    [
        pytest.param(output, command, marks=[pytest.mark.slow] * (number % 2), id=f"{output}-{command}")
        for start, output in enumerate(("html", "markdown"))
        for number, command in enumerate(("simulate", "check", "explain", "drain", "diff", "capacity"), start)
    ],
)
def test_pages_and_markdown_have_the_nodes_that_karpenter_adds(
    command: str, output: str, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    words = command_of(f"karpenter-eks-{command}")
    if command == "explain":
        words = words.replace("ml/trainer-7d4b9c-bbbbb", "batch/report-7d4b9c-bbbbb")
    shown = ksched(*words.split(), "-o", output).out
    assert re.search(r"\d+ nodes? that Karpenter adds: \$", shown)
    assert "m7g.4xlarge" in shown


@pytest.mark.slow
def test_a_stored_document_is_a_page_too(tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    document = tmp_path / "found.json"
    document.write_text(ksched(*command_of("karpenter-eks-simulate").split(), "-o", "json").out)
    assert json.loads(document.read_text())["autoscaling"]["newNodes"]
    assert re.search(r"\d+ nodes? that Karpenter adds: \$", ksched("report", str(document), code=0).out)
