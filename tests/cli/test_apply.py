"""Manifests for objects that exist, on the command line: what rolls out, what stays, and what the API server refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.controlplane.merge import LAST_APPLIED
from tests.builders import make_node, make_object, make_pod

RESTARTED = "kubectl.kubernetes.io/restartedAt"


def deployment(replicas: int | None = 2, env: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "a:1", "env": [{"name": "A", "value": env}]}
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [container]}}
    written = {"selector": {"matchLabels": {"app": "w"}}, "template": template, **spec}
    written |= {"replicas": replicas} if replicas is not None else {}
    return make_object("Deployment", "w", written, namespace="default")


def live(item: dict[str, Any], last: dict[str, Any] | None = None, **metadata: Any) -> list[dict[str, Any]]:
    """A Deployment with its ReplicaSet and pods, which run."""
    noted = {"annotations": {LAST_APPLIED: json.dumps(last)}} if last else {}
    item = {**item, "metadata": {**item["metadata"], **noted, "uid": "u-d", **metadata}}
    labels = {"app": "w", "pod-template-hash": "1"}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w", "uid": "u-d", "controller": True}
    template = {**item["spec"]["template"]}
    template["metadata"] = {**template["metadata"], "labels": labels}
    replicas = item["spec"]["replicas"]
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    own = {"name": "w-1", "namespace": "default", "uid": "u-rs", "labels": labels, "ownerReferences": [owner]}
    own["creationTimestamp"] = "2026-01-01T00:00:00Z"
    rs = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": own, "spec": spec}
    of = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w-1", "uid": "u-rs", "controller": True}
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pods = [
        make_object(
            "Pod",
            f"w-1-{number}",
            {**template["spec"], "nodeName": "n"},
            namespace="default",
            uid=f"u-{number}",
            labels=labels,
            annotations=template["metadata"].get("annotations", {}),
            ownerReferences=[of],
            creationTimestamp="2026-01-01T00:00:00Z",
            status=ready,
        )
        for number in range(replicas)
    ]
    return [item, rs, *pods]


def settled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], items: list[Any], manifest: Any, *flags: str
) -> dict[str, Any]:
    cluster = {"apiVersion": "v1", "kind": "List", "items": [make_node("n").doc(), *items]}
    (tmp_path / "c.json").write_text(json.dumps(cluster))
    (tmp_path / "m.json").write_text(json.dumps(manifest))
    given = ["simulate", "--from", str(tmp_path / "c.json"), "-f", str(tmp_path / "m.json"), "--settle", *flags]
    assert run([*given, "-o", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def replaced(document: dict[str, Any]) -> int:
    return sum(pod["state"] == "gone" for pod in document["final"])


def running(document: dict[str, Any]) -> int:
    return sum(pod["state"] in ("running", "scheduled") for pod in document["final"])


def restarted(item: dict[str, Any]) -> dict[str, Any]:
    item["spec"]["template"]["metadata"]["annotations"] = {RESTARTED: "2026-01-02T00:00:00Z"}
    return item


@pytest.mark.parametrize(
    ("now", "last", "manifest", "ends"),
    [
        pytest.param(deployment(), deployment(), deployment(), (0, 2), id="the same"),
        pytest.param(restarted(deployment()), deployment(), deployment(), (0, 2), id="restarted since"),
        pytest.param(deployment(), deployment(), deployment(env="2"), (2, 2), id="another value of env"),
        pytest.param(deployment(5), deployment(5), deployment(None), (4, 1), id="replicas left the manifest"),
        pytest.param(deployment(5), deployment(None), deployment(None), (0, 5), id="replicas of an autoscaler"),
        pytest.param(deployment(5), None, deployment(None), (0, 5), id="replicas without a last manifest"),
        pytest.param(
            deployment(paused=True), deployment(), deployment(env="2"), (0, 2), id="paused by another: stays paused"
        ),
        pytest.param(
            deployment(paused=True),
            deployment(paused=True),
            deployment(env="2"),
            (2, 2),
            id="paused by the manifest: resumed",
        ),
    ],
)
def test_apply_on_the_client_side(
    now: Any, last: Any, manifest: Any, ends: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = settled(tmp_path, capsys, live(now, last), manifest)
    assert (replaced(document), running(document)) == ends
    gaps = [each for each in document["coverage"].get("admissionNotModelled", ()) if "kubectl apply" in each]
    assert len(gaps) == (last is None)
    assert all("no last-applied annotation of Deployment default/w, so that" in each for each in gaps)


SCALED = {
    "manager": "kubectl-scale",
    "operation": "Update",
    "apiVersion": "apps/v1",
    "fieldsV1": {"f:spec": {"f:replicas": {}}},
}


def test_apply_on_the_server_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = live(deployment(5), managedFields=[SCALED])
    document = settled(tmp_path, capsys, items, deployment(None), "--server-side")
    assert (replaced(document), running(document)) == (0, 5)
    document = settled(tmp_path, capsys, items, deployment(3), "--server-side", "--force-conflicts")
    assert (replaced(document), running(document)) == (2, 3)


@pytest.mark.parametrize("command", [["simulate", "--settle"], ["simulate"], ["check"], ["drain", "n"]])
def test_a_conflict_is_refused_with_the_manager(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next object of the manifests is looked at, too."""
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "r"}, "handler": "runc"}
    settled(tmp_path, capsys, [*live(deployment(5), managedFields=[SCALED]), runtime], deployment(None))
    (tmp_path / "m.json").write_text("\n".join(map(json.dumps, (deployment(3), {**runtime, "handler": "kata"}))))
    given = [*command, "--from", str(tmp_path / "c.json"), "-f", str(tmp_path / "m.json"), "--server-side"]
    assert run(given) == 2
    shown = " ".join("".join(capsys.readouterr()).split())
    assert 'Apply failed with 1 conflict: conflict with "kubectl-scale" using apps/v1: .spec.replicas' in shown
    assert 'RuntimeClass r: handler: Invalid value: "kata": field is immutable' in shown


@pytest.mark.parametrize(
    ("flags", "owners", "code"),
    [
        pytest.param(["--server-side"], [SCALED], 2, id="owners"),
        pytest.param(["--server-side"], [], 2, id="no owners"),
        pytest.param(["--server-side"], None, 0, id="null"),
        pytest.param([], [SCALED], 0, id="on the client side"),
    ],
)
def test_a_manifest_with_owners(
    flags: list[str], owners: Any, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """structuredMergeManager.Apply."""
    item = deployment()
    item["metadata"]["managedFields"] = owners
    (tmp_path / "c.json").write_text(json.dumps(make_node("n").doc()))
    (tmp_path / "m.json").write_text(json.dumps(item))
    assert run(["check", "--from", str(tmp_path / "c.json"), "-f", str(tmp_path / "m.json"), *flags]) == code
    shown = " ".join(capsys.readouterr().out.split())
    assert ("metadata.managedFields: metadata.managedFields must be nil" in shown) is bool(code)


TOO_LARGE = make_pod("p").requests(cpu="9").doc()
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
FULL = {"hard": {"pods": "2"}, "used": {"pods": "2"}}
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "v"},
    "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/v"}},
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
MOUNTS = make_pod("p").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]).doc()
LEAVING = deployment()
LEAVING["metadata"] = {**LEAVING["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("manifests", "code"),
    [
        pytest.param([{**TOO_LARGE, "status": {"phase": "Succeeded"}}], 1, id="a pod that has finished"),
        pytest.param([{**MOUNTS, "status": {"phase": "Failed"}}, VOLUME, CLAIM], 0, id="a pod that has failed"),
        pytest.param([{**VOLUME, "status": {"phase": "Bound"}}, CLAIM, MOUNTS], 0, id="a bound volume"),
        pytest.param([{**QUOTA, "status": FULL}, deployment()], 0, id="a quota that is used up"),
        pytest.param([LEAVING], 0, id="a Deployment that is being deleted"),
    ],
)
def test_the_api_server_drops_the_status_of_manifests(manifests: list[Any], code: int, tmp_path: Path) -> None:
    """As of objects that kubectl has exported."""
    (tmp_path / "c.json").write_text(json.dumps(make_node("n").allocatable(cpu="4", memory="4Gi", pods=9).doc()))
    (tmp_path / "m.json").write_text("\n".join(map(json.dumps, manifests)))
    assert run(["check", "--from", str(tmp_path / "c.json"), "-f", str(tmp_path / "m.json")]) == code


@pytest.mark.parametrize(
    ("version", "code"),
    [("6", 2), ("7", 0), ("", 0)],
    ids=["an older version", "the live version", "no version"],
)
def test_a_manifest_with_the_version_of_another_object(version: str, code: int, tmp_path: Path) -> None:
    item = deployment()
    item["metadata"]["resourceVersion"] = version
    items = [make_node("n").doc(), *live(deployment(), deployment(), resourceVersion="7")]
    (tmp_path / "c.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (tmp_path / "m.json").write_text(json.dumps(item))
    assert run(["check", "--from", str(tmp_path / "c.json"), "-f", str(tmp_path / "m.json")]) == code


def test_force_needs_the_server_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--force-conflicts", "-f", str(tmp_path)]) == 2
    assert "--force-conflicts goes with --server-side" in capsys.readouterr().err
