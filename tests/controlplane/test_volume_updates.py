"""Changes of PersistentVolumes that the API server refuses and takes (ValidatePersistentVolumeUpdate)."""

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
