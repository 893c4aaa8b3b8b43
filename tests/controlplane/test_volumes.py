"""Claims that are created in the run get their volumes as a provisioner makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node
from tests.cli.transcripts import write

ZONE = "topology.kubernetes.io/zone"
NODES = [make_node(name).label(**{ZONE: zone}).doc() for name, zone in (("a", "east"), ("b", "west"))]


def storage_class(mode: str = "Immediate", provisioner: str = "csi.example.com", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


def claim_spec(storage: str = "10Gi") -> dict[str, Any]:
    return {
        "storageClassName": "fast",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage}},
    }


def stateful_set(replicas: int = 2, **spec: Any) -> dict[str, Any]:
    mounts = [{"name": "data", "mountPath": "/data"}]
    template = {
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [{"name": "c", "image": "i", "volumeMounts": mounts}], **spec},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "db"}},
            "template": template,
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim_spec()}],
        },
    }


def pool(name: str, zone: str, capacity: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        "capacity": capacity,
    }


DRIVER = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": "csi.example.com"},
    "spec": {"storageCapacity": True},
}


def check(tmp_path: Path, capsys: pytest.CaptureFixture[str], cluster: list[Any], *manifests: Any) -> dict[str, Any]:
    arguments = ["--from", write(tmp_path / "c.json", *NODES, *cluster), "-f", write(tmp_path / "m.json", *manifests)]
    code = run(["check", *arguments, "-o", "json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {**document, "code": code}


def placed(document: dict[str, Any]) -> list[str]:
    return [pod.get("node", "") for pod in document["final"]]


AT_ONCE = "claims of StorageClass fast are provisioned at once: each gets a volume that "


def test_a_claim_that_binds_at_once_gets_a_volume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was an error: KS122, a volume claim is not bound yet."""
    found = check(tmp_path, capsys, [storage_class()], stateful_set())
    assert (found["code"], found["findings"]) == (0, [])
    assert [text for text in found["warnings"] if text.startswith(AT_ONCE)] == [f"{AT_ONCE}every node reaches"]


def test_the_topologies_of_the_class_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    west = [{"matchLabelExpressions": [{"key": ZONE, "values": ["west"]}]}]
    found = check(tmp_path, capsys, [storage_class(allowedTopologies=west)], stateful_set())
    assert (found["code"], placed(found)) == (0, ["b", "b"])
    assert f"{AT_ONCE}the nodes of the class's allowedTopologies reach" in found["warnings"]
    found = check(tmp_path, capsys, [storage_class(allowedTopologies=west)], stateful_set(nodeSelector={ZONE: "east"}))
    assert found["code"] == 1


@pytest.mark.parametrize("command", ["simulate", "capacity"])
def test_commands_without_a_world_provision_too(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--from", write(tmp_path / "c.json", *NODES, storage_class())]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared", "namespace": "default"},
        "spec": claim_spec(),
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes},
    }
    assert run([command, *arguments, "-f", write(tmp_path / "m.json", claim, pod)]) == 0
    assert AT_ONCE in capsys.readouterr().err
    assert run([command, *arguments, "-f", write(tmp_path / "m.json", stateful_set())]) == 0
    capsys.readouterr()


def test_a_class_without_a_provisioner_binds_volumes_that_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["west"]}]}]
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "20Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
        "status": {"phase": "Available"},
    }
    found = check(tmp_path, capsys, [local, volume], stateful_set(1))
    assert (found["code"], placed(found), found["warnings"]) == (0, ["b"], [])
    found = check(tmp_path, capsys, [local, volume], stateful_set(2))
    assert (found["code"], [each["code"] for each in found["findings"]]) == (1, ["KS122"])


def test_a_claim_that_waits_in_the_input_stays_unbound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its provisioner has had the time to make a volume, and has not."""
    waiting = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-db-0", "namespace": "default"},
        "spec": claim_spec(),
    }
    found = check(tmp_path, capsys, [storage_class(), waiting], stateful_set(1))
    assert [each["code"] for each in found["findings"]] == ["KS122"]


@pytest.mark.parametrize(
    ("east", "west", "nodes", "codes"),
    [
        pytest.param("100Gi", "5Gi", ["a", "a", "a"], [], id="room in one zone"),
        pytest.param("25Gi", "15Gi", ["a", "a", "b"], [], id="the third claim goes to the other zone"),
        pytest.param("25Gi", "5Gi", ["", "a", "a"], ["KS126"], id="no room for the third claim"),
    ],
)
def test_storage_pools_shrink(
    east: str, west: str, nodes: list[str], codes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All claims fitted into the same free space."""
    cluster = [storage_class("WaitForFirstConsumer"), DRIVER, pool("east", "east", east), pool("west", "west", west)]
    found = check(tmp_path, capsys, cluster, stateful_set(3))
    assert (sorted(placed(found)), [each["code"] for each in found["findings"]]) == (sorted(nodes), codes)
    assert found["code"] == int(bool(codes))
    assert any(text.startswith("volumes of StorageClass fast are provisioned from") for text in found["warnings"])
