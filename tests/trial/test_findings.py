"""What was found when a new user tried dumps of five shapes, as far as no test of an area has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.running import Ksched
from tests.trial.shapes import SHAPES, Cluster, dump, pod
from tests.trial.test_everyday import MANIFEST

# Keys that programs read, of documents of each command; those under a dot are keys of each entry.
KEYS = {
    "simulate": "apiVersion kind pods gated ignored coverage stats final.pod final.workload final.node final.state",
    "simulate --detail full": "pods.pod pods.result pods.message pods.unschedulablePlugins pods.filters",
    "simulate --settle": "pods final.pod final.workload final.node final.state finished settled",
    "drain {node} --ignore-daemonsets --force": "nodes budgets final.pod final.workload final.node final.state finished",
    "diff --cordon {node}": "pods unchanged final.pod final.workload final.node final.state finished",
    "check -f {manifest}": "workloads findings final.pod final.workload final.node final.state finished",
    "capacity -f {manifest}": "capacities coverage stats",
    "sweep --fail zone --keep worst=1": "variants worst kept coverage stats",
    "consolidate": "steps kept costBefore costAfter coverage stats",
    "explain deploy/db/etcd": "pod result fixes.text fixes.cost fixes.node fixes.changes fixes.commands fixes.promise",
}
STATS = {"nodes", "pods", "loadSeconds", "scheduleSeconds", "podsPerSecond", "peakMiB"}


def written(cluster: Cluster, folder: Path) -> str:
    path = folder / "cluster.json"
    path.write_text(json.dumps(dump(cluster)))
    return str(path)


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    run([*words, "-o", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("command", KEYS)
def test_a_document_has_the_keys_that_are_promised(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "new.yaml"
    manifest.write_text(MANIFEST)
    words = command.format(node="gen-1", manifest=manifest).split()
    found = document(capsys, *words, "--from", written(SHAPES["mixed"](), tmp_path))
    for key in KEYS[command].split():
        outer, _, inner = key.partition(".")
        assert outer in found
        if inner == "node":
            # Absent while Pending.
            assert any(each.get(inner) for each in found[outer])
        elif inner:
            assert found[outer]
            rejected = (each for each in found[outer] if outer != "pods" or each["result"] == "unschedulable")
            assert all(inner in each for each in rejected), inner
    if command == "simulate":
        assert found["stats"].keys() >= STATS


def test_the_node_selector_of_a_project_of_openshift_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three worker nodes with 2 cpu free each, the project may use none: its nodes are those for infrastructure."""
    cluster = SHAPES["ocp"]()
    manifest = tmp_path / "new.yaml"
    manifest.write_text(MANIFEST.replace("namespace: web", "namespace: ci"))
    source = written(cluster, tmp_path)
    assert run(["check", "-f", str(manifest), "--from", source]) == 0
    infra = "node-role.kubernetes.io/infra="
    cluster.get("Namespace", "ci")["metadata"]["annotations"] = {"openshift.io/node-selector": infra}
    written(cluster, tmp_path)
    capsys.readouterr()
    assert run(["check", "-f", str(manifest), "--from", source]) == 1
    assert "fails, 0 of 3 pods have a node" in capsys.readouterr().out


@pytest.fixture
def with_a_quota(tmp_path: Path) -> str:
    """A Deployment with 2 of 4 pods: its quota is used up."""
    return written(SHAPES["mixed"](), tmp_path)


def test_a_workload_whose_pods_a_quota_refuses(with_a_quota: str, ksched: Ksched) -> None:
    said = " ".join(ksched("explain", "deploy/team/worker", "--from", with_a_quota, code=1).out.split())
    assert "Deployment team/worker has 2 of 4 pods: the API server refuses the others (ResourceQuota)" in said


def test_requests_cannot_be_sized_where_a_quota_refuses_the_pods(
    with_a_quota: str, tmp_path: Path, ksched: Ksched
) -> None:
    manifest = tmp_path / "new.yaml"
    manifest.write_text(MANIFEST.replace("namespace: web", "namespace: team"))
    said = ksched("rightsize", "-f", str(manifest), "--from", with_a_quota, code=2).err
    assert "there is no request to size; the API server refuses team/new-" in said
    assert "(ResourceQuota): exceeded quota: q" in said


def test_a_page_of_one_pool_has_no_pools_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster("local")
    cluster.pool("n", ["z"], "4", "8Gi")
    cluster.workload("Deployment", "web/one", pod(), waiting=1)
    assert "pools" not in document(capsys, "simulate", "--from", written(cluster, tmp_path))["nodeTable"]
