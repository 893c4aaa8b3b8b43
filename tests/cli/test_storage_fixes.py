"""What `explain` advises about volumes: a claim that is missing is created once, and a volume of a zone without nodes
needs a node there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "std", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "ebs.csi.aws.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def node(name: str, zone: str, region: str = "eu-1") -> Any:
    return make_node(name).allocatable(cpu="4", memory="8Gi", pods=10).label(ZONE, zone).label(REGION, region)


def mounting(*claims: str) -> dict[str, Any]:
    volumes = [{"name": f"v{at}", "persistentVolumeClaim": {"claimName": name}} for at, name in enumerate(claims)]
    return make_pod("p").requests(cpu="1").spec(volumes=volumes).doc()


def claim(name: str, volume: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "std", "resources": {"requests": {"storage": "1Gi"}}}
    spec |= {"volumeName": volume} if volume else {}
    status = {"phase": "Bound" if volume else "Pending"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def volume(**place: Any) -> dict[str, Any]:
    """A volume of claim `data`, in a zone by its labels or by its node affinity."""
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "std",
        "claimRef": {"name": "data", "namespace": "default"},
        "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "h"},
        **place.pop("spec", {}),
    }
    metadata = {"name": "pv", **place}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Bound"},
    }


def affine(zone: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


def explained(capsys: pytest.CaptureFixture[str], tmp_path: Path, *objects: Any) -> dict[str, Any]:
    run(["explain", "default/p", "--from", write_list(tmp_path / "c.json", *objects), "-o", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("claims", "created"),
    [
        pytest.param(("nope",), ["nope"], id="one"),
        pytest.param(("nope", "nope"), ["nope"], id="one that two volumes mount"),
        pytest.param(("data", "nope"), ["nope"], id="one beside a claim that is there"),
        pytest.param(("nope", "none"), ["nope", "none"], id="two"),
    ],
)
def test_a_missing_claim_is_created_once(
    claims: tuple[str, ...], created: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = (node("n1", "eu-1a"), CLASS, claim("data"), mounting(*claims))
    fix = explained(capsys, tmp_path, *objects)["fixes"][0]
    assert [each["object"]["metadata"]["name"] for each in fix["changes"]] == created
    assert fix["text"].count("create claim") == len(fix["commands"]) == len(created)


@pytest.mark.parametrize(
    ("of", "nodes", "zone"),
    [
        pytest.param(volume(labels={ZONE: "eu-1c"}), ("eu-1a", "eu-1b"), "eu-1c", id="by its label"),
        pytest.param(volume(spec=affine("eu-1c")), ("eu-1a", "eu-1b"), "eu-1c", id="by its node affinity"),
        pytest.param(volume(spec=affine("us-1c")), ("eu-1a", "eu-1b"), "", id="of another region"),
    ],
)
def test_a_volume_of_a_zone_without_nodes(
    of: dict[str, Any], nodes: tuple[str, ...], zone: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The zone is named, and a node there is the fix, unless no node of the region can be copied."""
    objects = [node(f"n{at}", each) for at, each in enumerate(nodes)]
    cluster = write_list(tmp_path / "c.json", *objects, CLASS, claim("data", "pv"), of, mounting("data"))
    run(["explain", "default/p", "--from", cluster])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Volume pv of claim data is in zone {zone or 'us-1c'}, without nodes." in shown
    assert ("in zone eu-1c, which has no node" in shown) is bool(zone)


def test_a_volume_of_a_zone_with_nodes_is_not_without_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full = node("n1", "eu-1b")
    full.data["spec"]["unschedulable"] = True
    objects = (node("n0", "eu-1a"), full, CLASS, claim("data", "pv"), volume(labels={ZONE: "eu-1b"}), mounting("data"))
    run(["explain", "default/p", "--from", write_list(tmp_path / "c.json", *objects)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "uncordon n1" in shown
    assert "without nodes" not in shown
    assert "which has no node" not in shown
