"""Changes of live objects that the API server refuses, with every command that applies manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list
from tests.lanes import sampled

NODE = make_node("n").doc()
FORBIDDEN_SET = (
    "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
FORBIDDEN_CLAIM = "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
ALL_COMMANDS = ("simulate", "check", "capacity", "drain")


def container(cpu: str = "1", **more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}, **more}


def template(app: str = "w", cpu: str = "1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container(cpu)], **spec}}


def item(kind: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    version = {"Job": "batch/v1", "PersistentVolumeClaim": "v1", "Pod": "v1"}.get(kind, "apps/v1")
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "w", "namespace": "default"},
        "spec": spec,
        **more,
    }


def workload(kind: str, app: str = "w", **spec: Any) -> dict[str, Any]:
    return item(kind, {"selector": {"matchLabels": {"app": app}}, "template": template(app), **spec})


def job(cpu: str = "1", **more: Any) -> dict[str, Any]:
    return item("Job", {"template": template("w", cpu, restartPolicy="Never"), **more.pop("spec", {})}, **more)


def claim(storage: str = "2Gi", mode: str = "ReadWriteOnce", name: str = "fast") -> dict[str, Any]:
    spec = {"accessModes": [mode], "storageClassName": name, "resources": {"requests": {"storage": storage}}}
    return item("PersistentVolumeClaim", spec)


def claim_template(storage: str) -> dict[str, Any]:
    return {"metadata": {"name": "data"}, "spec": claim(storage)["spec"]}


FINISHED = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
STORAGE = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "w"}, "provisioner": "a"}
PRIORITY = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "w"}, "value": 5}
RUNNING = make_pod("w").requests(cpu="1").on("n").doc()
SELECTOR = 'spec.selector: Invalid value: {"matchLabels": {"app": "x"}}: field is immutable'

REFUSED = [
    pytest.param(workload("Deployment"), workload("Deployment", "x"), SELECTOR, id="selector of a Deployment"),
    pytest.param(workload("ReplicaSet"), workload("ReplicaSet", "x"), SELECTOR, id="selector of a ReplicaSet"),
    pytest.param(workload("DaemonSet"), workload("DaemonSet", "x"), SELECTOR, id="selector of a DaemonSet"),
    pytest.param(
        workload("StatefulSet"), workload("StatefulSet", "x"), f"spec.selector: {FORBIDDEN_SET}", id="selector of a set"
    ),
    pytest.param(
        workload("StatefulSet", serviceName="a"),
        workload("StatefulSet", serviceName="b"),
        f"spec.serviceName: {FORBIDDEN_SET}",
        id="service name",
    ),
    pytest.param(
        workload("StatefulSet", podManagementPolicy="OrderedReady"),
        workload("StatefulSet", podManagementPolicy="Parallel"),
        f"spec.podManagementPolicy: {FORBIDDEN_SET}",
        id="pod management policy",
    ),
    pytest.param(
        workload("StatefulSet", volumeClaimTemplates=[claim_template("1Gi")]),
        workload("StatefulSet", volumeClaimTemplates=[claim_template("2Gi")]),
        f"spec.volumeClaimTemplates[0].spec.resources.requests.storage: {FORBIDDEN_SET}",
        id="claim template",
    ),
    pytest.param(
        workload("StatefulSet"),
        workload("StatefulSet", volumeClaimTemplates=[claim_template("2Gi")]),
        f"spec.volumeClaimTemplates: {FORBIDDEN_SET}",
        id="one more claim template",
    ),
    pytest.param(
        job(**FINISHED), job("2"), "spec.template: Invalid value: field is immutable", id="template of a finished Job"
    ),
    pytest.param(job(), job("2"), "spec.template: Invalid value: field is immutable", id="template of a running Job"),
    pytest.param(
        job(spec={"completions": 2}),
        job(spec={"completions": 3}),
        "spec.completions: Invalid value: 3: field is immutable",
        id="completions",
    ),
    pytest.param(
        claim("2Gi"),
        claim("1Gi"),
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
        id="a smaller claim",
    ),
    pytest.param(
        claim(), claim(mode="ReadWriteMany"), f"spec.accessModes: {FORBIDDEN_CLAIM}", id="access modes of a claim"
    ),
    pytest.param(claim(), claim(name="slow"), f"spec.storageClassName: {FORBIDDEN_CLAIM}", id="class of a claim"),
    pytest.param(
        STORAGE,
        {**STORAGE, "provisioner": "b"},
        "StorageClass w: provisioner: Forbidden: updates to provisioner are forbidden.",
        id="provisioner",
    ),
    pytest.param(
        PRIORITY, {**PRIORITY, "value": 6}, "value: Forbidden: may not be changed in an update.", id="priority"
    ),
    pytest.param(
        RUNNING,
        make_pod("w").requests(cpu="2").doc(),
        "spec.containers[0].resources.requests.cpu: Forbidden: pod updates may not change fields other than",
        id="requests of a running pod",
    ),
]


@pytest.mark.parametrize(("live", "manifest", "message"), REFUSED)
@pytest.mark.parametrize("command", sampled(ALL_COMMANDS, 4))
def test_a_refused_update_ends_every_command(
    command: str,
    live: Any,
    manifest: Any,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    cluster = write_list(tmp_path / "c.json", NODE, live)
    (tmp_path / "m.yaml").write_text(f"# first line\n{yaml.safe_dump(manifest, sort_keys=False)}")
    arguments = ["n"] if command == "drain" else []
    assert run([command, *arguments, "--from", cluster, "-f", str(tmp_path / "m.yaml"), "--allow-empty"]) == 2
    said = capsys.readouterr()
    assert message in said.err + said.out
    line = int((said.err + said.out).split("m.yaml:")[1].split(":")[0].split()[0])
    assert line > 1


@pytest.mark.parametrize(
    ("live", "manifest"),
    [
        pytest.param(workload("Deployment"), workload("Deployment", replicas=2), id="replicas"),
        pytest.param(workload("StatefulSet", serviceName="a"), workload("StatefulSet"), id="a field that is left out"),
        pytest.param(
            job(spec={"completions": 1, "parallelism": 1}), job(spec={"parallelism": 2}), id="parallelism of a Job"
        ),
        pytest.param(job(spec={"suspend": True}), job("2"), id="template of a suspended Job"),
        pytest.param(claim("1Gi"), claim("2Gi"), id="a larger claim"),
        pytest.param(make_pod("w").requests(cpu="1").doc(), make_pod("w").requests(cpu="2").doc(), id="a pending pod"),
        pytest.param(RUNNING, make_pod("w").image("other:2").requests(cpu="1000m").doc(), id="image of a running pod"),
    ],
)
def test_an_update_that_the_api_server_takes(live: Any, manifest: Any, tmp_path: Path) -> None:
    cluster = write_list(tmp_path / "c.json", NODE, live)
    assert run(["check", "--from", cluster, "-f", write_list(tmp_path / "m.json", manifest), "--allow-empty"]) == 0


def service(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"type": "ClusterIP", "ports": [{"port": 80}], **spec},
    }


def volume(**spec: Any) -> dict[str, Any]:
    found = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "w"}, "spec": found}


def runtime(handler: str) -> dict[str, Any]:
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "w"}, "handler": handler}


def in_zone(zone: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    return {"required": {"nodeSelectorTerms": terms}}


NFS, OTHER_NFS = {"server": "a", "path": "/x"}, {"server": "b", "path": "/x"}
LIVE_SERVICE = service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1"])
SOURCE = "Forbidden: spec.persistentvolumesource is immutable after creation"


@pytest.mark.parametrize(
    ("live", "new", "text"),
    [
        pytest.param(LIVE_SERVICE, service(clusterIP="10.0.0.1"), "", id="the address"),
        pytest.param(LIVE_SERVICE, service(), "", id="no address"),
        pytest.param(LIVE_SERVICE, service(clusterIP="10.0.0.2"), "may not change once set", id="another address"),
        pytest.param(LIVE_SERVICE, service(clusterIP="None"), "may not change once set", id="headless"),
        pytest.param(volume(nfs=NFS), volume(nfs=NFS, mountOptions=["hard"]), "", id="mount options"),
        pytest.param(volume(nfs=NFS), volume(nfs=OTHER_NFS), SOURCE, id="another server"),
        pytest.param(volume(nfs=NFS), volume(hostPath={"path": "/x"}), SOURCE, id="another source"),
        pytest.param(volume(nfs=NFS), volume(nfs=NFS, volumeMode="Block"), "field is immutable", id="volume mode"),
        pytest.param(volume(nfs=NFS), volume(nfs=NFS, nodeAffinity=in_zone("a")), "", id="a first node affinity"),
        pytest.param(
            volume(nfs=NFS, nodeAffinity=in_zone("a")),
            volume(nfs=NFS, nodeAffinity=in_zone("b")),
            "field is immutable",
            id="another node affinity",
        ),
        pytest.param(runtime("runc"), runtime("runc"), "", id="the handler"),
        pytest.param(runtime("runc"), runtime("kata"), "field is immutable", id="another handler"),
    ],
)
def test_fields_of_services_volumes_and_runtime_classes(
    live: dict[str, Any], new: dict[str, Any], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, manifest = tmp_path / "c.json", tmp_path / "m.json"
    write_list(cluster, NODE, live)
    write_list(manifest, new)
    code = run(["check", "--from", str(cluster), "-f", str(manifest), "--allow-empty"])
    shown = " ".join("".join(capsys.readouterr()).split())
    assert ((code, text in shown) == (2, True)) if text else code == 0
    assert "first value must match" not in shown
