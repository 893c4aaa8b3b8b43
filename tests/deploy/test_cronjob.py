"""The CronJob that writes snapshots for CI has the rights that it needs and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ksched_cli import Simulator
from ksched_cli.sources.live.cluster import READ, resources_of

MANIFEST = Path(__file__).parents[2] / "deploy" / "snapshot" / "cronjob.yaml"
DOCUMENTS = {each["kind"]: each for each in yaml.safe_load_all(MANIFEST.read_text())}


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = DOCUMENTS["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return spec


def test_the_role_lists_what_a_snapshot_reads_and_no_more() -> None:
    read = {
        ("" if "/" not in resource.version else resource.version.partition("/")[0], resource.plural)
        for kind in READ
        for resource in resources_of(kind)
    } | {("networking.k8s.io", "servicecidrs")}
    rules = DOCUMENTS["ClusterRole"]["rules"]
    allowed = [(group, name) for rule in rules for group in rule["apiGroups"] for name in rule["resources"]]
    assert len(allowed) == len(set(allowed))
    assert set(allowed) == read
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list"}
    assert set(DOCUMENTS) & {"Role", "RoleBinding"} == set()


def test_the_pod_is_restricted() -> None:
    """What the Pod Security Standard "restricted" asks for, and a root file system that is read-only."""
    (container,) = pod()["containers"]
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert pod()["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert DOCUMENTS["Namespace"]["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "restricted"}
    image = (MANIFEST.parents[1] / "image" / "Dockerfile").read_text()
    assert f"USER {pod()['securityContext']['runAsUser']}:{pod()['securityContext']['runAsGroup']}\n" in image


def test_the_command_is_one_of_ksched(tmp_path: Path) -> None:
    from ksched_cli.cli.main import run

    (container,) = pod()["containers"]
    out = tmp_path / "cluster.ksched.gz"
    arguments = [each.replace("/snapshots/cluster.ksched.gz", str(out)) for each in container["args"]]
    assert "--redact" in arguments
    assert run([*arguments, "--from", "ksched_cli/cli/demo_cluster.yaml"]) == 0
    assert len(Simulator.load(str(out)).nodes) == 6


def test_ksched_accepts_its_own_manifest() -> None:
    """Every object but those without a meaning for scheduling is read, and the job would fit in the demo's cluster."""
    found = Simulator.load("ksched_cli/cli/demo_cluster.yaml").check(str(MANIFEST))
    assert not found.is_input_wrong
    assert [each.workload for each in found.workloads] == ["CronJob ksched/ksched-snapshot"]
