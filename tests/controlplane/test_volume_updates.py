"""Changes of PersistentVolumes, claims and nodes that the API server refuses and takes (their Validate...Update functions)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, write_list


def volume(**spec: Any) -> dict[str, Any]:
    found = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "w"}, "spec": found}


def stored(document: dict[str, Any]) -> dict[str, Any]:
    """The object as the API server prints it: what it lacks is not set."""
    return {**document, "metadata": {**document["metadata"], "uid": "u", "resourceVersion": "7"}}


def in_zone(zone: str, key: str = "zone") -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [zone]}]}]
    return {"required": {"nodeSelectorTerms": terms}}


NFS, OTHER_NFS = {"server": "a", "path": "/x"}, {"server": "b", "path": "/x"}
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
CSI, EXPANDED = {"driver": "d", "volumeHandle": "v"}, {"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}
SOURCE = "Forbidden: spec.persistentvolumesource is immutable after creation"


@pytest.mark.parametrize(
    ("live", "new", "text"),
    [
        pytest.param(volume(nfs=NFS), volume(nfs=NFS, mountOptions=["hard"]), "", id="mount options"),
        pytest.param(volume(nfs=NFS), volume(nfs=OTHER_NFS), SOURCE, id="another server"),
        pytest.param(volume(nfs=NFS), volume(hostPath={"path": "/x"}), f"spec.hostPath: {SOURCE}", id="another source"),
        pytest.param(
            volume(hostPath={"path": "/x"}),
            volume(hostPath=None, nfs=NFS),
            f"spec.nfs: {SOURCE}",
            id="another source in place of the first",
        ),
        pytest.param(volume(nfs=NFS), volume(nfs=NFS, volumeMode="Block"), "field is immutable", id="volume mode"),
        pytest.param(
            stored(volume(nfs=NFS)), volume(nfs=NFS, nodeAffinity=in_zone("a")), "", id="a first node affinity"
        ),
        pytest.param(
            stored(volume(nfs=NFS, nodeAffinity=in_zone("a"))),
            volume(nfs=NFS, nodeAffinity=in_zone("a"), mountOptions=["hard"]),
            "",
            id="the same node affinity",
        ),
        pytest.param(
            volume(nfs=NFS, nodeAffinity=in_zone("a")),
            volume(nfs=NFS, nodeAffinity=in_zone("b")),
            "field is immutable, except for updating from beta label to GA",
            id="another node affinity",
        ),
        pytest.param(
            volume(nfs=NFS, nodeAffinity=in_zone("a", BETA_ZONE)),
            volume(nfs=NFS, nodeAffinity=in_zone("a", "topology.kubernetes.io/zone")),
            "",
            id="the label that took the place of the beta label",
        ),
        pytest.param(
            volume(nfs=NFS, nodeAffinity=in_zone("a", "topology.kubernetes.io/zone")),
            volume(nfs=NFS, nodeAffinity=in_zone("a", BETA_ZONE)),
            "field is immutable",
            id="back to the beta label",
        ),
        pytest.param(stored(volume(csi=CSI)), volume(csi={**CSI, **EXPANDED}), "", id="a first secret of expansions"),
        pytest.param(
            stored(volume(csi={**CSI, **EXPANDED})),
            volume(csi={**CSI, "controllerExpandSecretRef": {"name": "t", "namespace": "n"}}),
            f"spec.csi: {SOURCE}",
            id="another secret of expansions",
        ),
    ],
)
def test_a_change_of_a_volume(
    live: dict[str, Any], new: dict[str, Any], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, manifest = tmp_path / "c.json", tmp_path / "m.json"
    write_list(cluster, make_node("n").doc(), live)
    write_list(manifest, new)
    code = run(["check", "--from", str(cluster), "-f", str(manifest), "--allow-empty"])
    shown = " ".join("".join(capsys.readouterr()).split())
    assert ((code, text in shown) == (2, True)) if text else code == 0


def claim(storage: str = "1Gi", status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    found = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}
    metadata = {"name": "w", "namespace": "default"}
    made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": found}
    return stored({**made, "status": status}) if status else made


def of_node(**spec: Any) -> dict[str, Any]:
    return {**make_node("other").doc(), "spec": spec}


GROWN = {"phase": "Bound", "capacity": {"storage": "2Gi"}}
FAST = {"phase": "Bound", "currentVolumeAttributesClassName": "fast"}
FIXED = "Forbidden: spec is immutable after creation except"


@pytest.mark.parametrize(
    ("live", "new", "version", "text"),
    [
        pytest.param(claim("4Gi", GROWN), claim("3Gi"), "1.36", "", id="less than a failed expansion"),
        pytest.param(claim("4Gi", GROWN), claim("3Gi"), "1.31", "less than previous value", id="the same before 1.32"),
        pytest.param(claim("4Gi", GROWN), claim("2Gi"), "1.36", "less than status.capacity", id="all that there is"),
        pytest.param(
            claim("1Gi", FAST, volumeAttributesClassName="fast"),
            claim("1Gi", volumeAttributesClassName="slow"),
            "1.36",
            "",
            id="another class of attributes",
        ),
        pytest.param(
            claim("1Gi", {"phase": "Pending"}, volumeAttributesClassName="fast"),
            claim("1Gi", volumeAttributesClassName="slow"),
            "1.36",
            f"spec.volumeAttributesClassName: {FIXED}",
            id="another class of attributes of a claim that is not bound",
        ),
        pytest.param(
            claim("1Gi", FAST, volumeAttributesClassName="fast"),
            claim("1Gi", volumeAttributesClassName=None),
            "1.36",
            "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden",
            id="no class of attributes after one",
        ),
        pytest.param(claim("1Gi", GROWN), claim("1Gi", storageClassName="a"), "1.36", "", id="a first class"),
        pytest.param(
            claim("1Gi", GROWN, storageClassName=""),
            claim("1Gi", storageClassName="a"),
            "1.36",
            f"spec.storageClassName: {FIXED}",
            id="a class in place of none",
        ),
        pytest.param(of_node(providerID="a"), of_node(providerID="a"), "1.36", "", id="the node of a provider"),
        pytest.param(
            of_node(providerID="a"),
            of_node(providerID="b"),
            "1.36",
            'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
            id="another node of a provider",
        ),
        pytest.param(of_node(), of_node(podCIDRs=["10.0.0.0/24"]), "1.36", "", id="a first range of pods"),
    ],
)
def test_a_change_of_a_claim_or_a_node(
    live: dict[str, Any],
    new: dict[str, Any],
    version: str,
    text: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster, manifest = tmp_path / "c.json", tmp_path / "m.json"
    write_list(cluster, make_node("n").doc(), live)
    write_list(manifest, new)
    command = ["check", "--from", str(cluster), "-f", str(manifest), "--allow-empty", "--kube-version", version]
    code = run(command)
    shown = " ".join("".join(capsys.readouterr()).split())
    assert ((code, text in shown) == (2, True)) if text else code == 0
