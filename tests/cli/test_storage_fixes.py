"""What `explain` advises about volumes: a claim that is missing is created once, and a volume of a zone without nodes
needs a node there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list
from tests.running import Ksched

BETA = "failure-domain.beta.kubernetes.io/zone"
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


def affine(*values: str, key: str = ZONE) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]
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
        pytest.param(volume(labels={BETA: "eu-1c"}), ("eu-1a", "eu-1b"), "eu-1c", id="by its beta label"),
        pytest.param(volume(spec=affine("us-1c")), ("eu-1a", "eu-1b"), "", id="of another region"),
    ],
)
def test_a_volume_of_a_zone_without_nodes(
    of: dict[str, Any], nodes: tuple[str, ...], zone: str, tmp_path: Path, ksched: Ksched
) -> None:
    """The zone is named, and a node there is the fix, unless no node of the region can be copied."""
    objects = [node(f"n{at}", each) for at, each in enumerate(nodes)]
    cluster = write_list(tmp_path / "c.json", *objects, CLASS, claim("data", "pv"), of, mounting("data"))
    shown = " ".join(ksched("explain", "default/p", "--from", cluster).out.split())
    assert f"Volume pv of claim data is in zone {zone or 'us-1c'}, without nodes: add a node there, or" in shown
    assert ("in zone eu-1c, which has no node" in shown) is bool(zone)


def test_a_zone_has_nodes_with_the_label_of_the_driver_alone(tmp_path: Path, ksched: Ksched) -> None:
    full = node("n1", "").label("topology.ebs.csi.aws.com/zone", "eu-1b")
    full.data["spec"]["unschedulable"] = True
    of = volume(spec=affine("eu-1b", key="topology.ebs.csi.aws.com/zone"))
    cluster = write_list(tmp_path / "c.json", node("n0", ""), full, CLASS, claim("data", "pv"), of, mounting("data"))
    assert "without nodes" not in " ".join(ksched("explain", "default/p", "--from", cluster).out.split())


def test_a_volume_of_a_zone_with_nodes_is_not_without_nodes(tmp_path: Path, ksched: Ksched) -> None:
    full = node("n1", "eu-1b")
    full.data["spec"]["unschedulable"] = True
    objects = (node("n0", "eu-1a"), full, CLASS, claim("data", "pv"), volume(labels={ZONE: "eu-1b"}), mounting("data"))
    shown = " ".join(ksched("explain", "default/p", "--from", write_list(tmp_path / "c.json", *objects)).out.split())
    assert "uncordon n1" in shown
    assert "without nodes" not in shown
    assert "which has no node" not in shown


_HOST = "kubernetes.io/hostname"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "code", "text"),
    [
        pytest.param(
            volume(labels={ZONE: "eu-1c"}),
            "KS128",
            "Volume pv of claim data is in zone eu-1c, without nodes: add a node there, or move the data.",
            id="a zone without nodes by label",
        ),
        pytest.param(
            volume(spec=affine("eu-1c", "eu-1d")),
            "KS124",
            "Volume pv of claim data is in zone eu-1c or eu-1d, without nodes: add a node there, or move the data.",
            id="two zones without nodes by affinity",
        ),
        pytest.param(
            volume(spec=affine("n9", key=_HOST)),
            "KS124",
            "Volume pv of claim data is on node n9, which the cluster does not have: bring the node back, or",
            id="a node that is not there",
        ),
        pytest.param(
            volume(spec=affine("n1", "n9", key=_HOST)),
            "KS124",
            "node affinity. Volume pv of claim data is on node n1.",
            id="a node that is full",
        ),
        pytest.param(
            volume(labels={ZONE: "eu-1b"}),
            "KS128",
            "volume zone. Volume pv of claim data is in zone eu-1b.",
            id="a zone whose node is full",
        ),
        pytest.param(
            volume(labels={ZONE: "eu-1b__eu-1c"}),
            "KS128",
            "Volume pv of claim data is in zone eu-1b or eu-1c.",
            id="two zones of which one has a node that is full",
        ),
    ],
)
def test_check_names_the_place_of_the_volume(
    of: dict[str, Any], code: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = node("n1", "eu-1b").label(_HOST, "n1")
    full.data["status"]["allocatable"]["cpu"] = "100m"
    objects = (node("n0", "eu-1a").label(_HOST, "n0"), full, CLASS, claim("data", "pv"), of)
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(mounting("data")), encoding="utf-8")
    assert run(["check", "--from", write_list(tmp_path / "c.json", *objects), "-f", str(manifest), "-o", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["code"], text in found["message"]) == (code, True), found["message"]


def test_check_names_no_volume_where_the_pod_lacks_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(
        json.dumps({**mounting("data"), "spec": {**mounting("data")["spec"], "nodeSelector": {"a": "b"}}})
    )
    objects = (node("n0", "eu-1b"), CLASS, claim("data", "pv"), volume(labels={ZONE: "eu-1b"}))
    run(["check", "--from", write_list(tmp_path / "c.json", *objects), "-f", str(manifest), "-o", "json"])
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert "volume" not in found["message"].lower()
