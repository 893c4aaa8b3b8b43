"""Manifests that change the template of running pods: a world rolls them out, other commands refuse them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli import Simulator
from ksched_cli.cli.main import run
from ksched_cli.errors import InputError
from tests.builders import make_node, write_list
from tests.plan.size.cases import catalog, shape
from tests.running import Ksched

NODES = [make_node("a").label(pool="a").doc(), make_node("b").label(pool="b").doc()]


def template(pool: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"labels": {"app": "w"}}, "spec": {"nodeSelector": {"pool": pool}, "containers": [container]}}


def workload(kind: str, pool: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "w", "namespace": "default", "uid": "u"}
    found = {"selector": {"matchLabels": {"app": "w"}}, "template": template(pool), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": found}


def pod(kind: str, name: str, owner: str = "w", uid: str = "u") -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": uid, "controller": True}
    made = template("a")
    metadata = {"name": name, "namespace": "default", "ownerReferences": [reference], **made["metadata"]}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**made["spec"], "nodeName": "a"},
        "status": status,
    }


def cluster(kind: str) -> list[dict[str, Any]]:
    """A workload with one running pod on node a."""
    if kind != "Deployment":
        return [*NODES, workload(kind, "a", replicas=1), pod(kind, "w-0")]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w", "uid": "u", "controller": True}
    of_pods = workload("ReplicaSet", "a", replicas=1)
    of_pods["metadata"] |= {"name": "w-1", "uid": "r", "ownerReferences": [owner]}
    return [*NODES, workload("Deployment", "a", replicas=1), of_pods, pod("ReplicaSet", "w-1-x", "w-1", "r")]


def files(tmp_path: Path, kind: str, manifest: dict[str, Any]) -> list[str]:
    return ["--from", write_list(tmp_path / "c.json", *cluster(kind)), "-f", write_list(tmp_path / "m.json", manifest)]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
@pytest.mark.parametrize(
    "command", [["simulate"], ["drain", "b"], ["consolidate"], ["size", "--catalog", "shapes.json"]]
)
def test_commands_without_a_world_refuse_the_manifest(
    command: list[str], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksched: Ksched
) -> None:
    """`simulate -f` placed the first surge pod and ended with exit code 0."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shapes.json").write_text(json.dumps(catalog(shape("s", 1))))
    arguments = files(tmp_path, kind, workload(kind, "b", replicas=1))
    said = ksched(*command, *arguments, code=2).err
    assert f"m.json:1: {kind} default/w: spec.template: the manifest changes the template of running pods" in said
    assert "ksched check -f" in said


def test_a_stateful_set_is_recreated_where_the_gate_is_on(tmp_path: Path, ksched: Ksched) -> None:
    """Both pods go at once. Without StatefulSetRecreateStrategy the API server refuses the strategy."""
    before, after = (workload("StatefulSet", each, replicas=2, updateStrategy={"type": "Recreate"}) for each in "ab")
    cluster = write_list(tmp_path / "c.json", *NODES, before, *(pod("StatefulSet", f"w-{at}") for at in range(2)))
    given = ["--from", cluster, "-f", write_list(tmp_path / "m.json", after), "--kube-version", "1.37"]
    assert "must be 'RollingUpdate' or 'OnDelete'" in ksched("simulate", *given, code=2).err
    gates = ("--feature-gates", "StatefulSetRecreateStrategy=true")
    timeline = json.loads(ksched("simulate", "--settle", *given, *gates, "-o", "json", code=0).out)["timeline"]
    gone = [(each["time"], each["pod"]) for each in timeline if each["event"] == "AssignedPodDelete"]
    assert gone == [(30.0, "default/w-0"), (30.0, "default/w-1")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_worlds_roll_the_manifest_out(kind: str, tmp_path: Path, ksched: Ksched) -> None:
    arguments = files(tmp_path, kind, workload(kind, "b", replicas=1))
    for command in (["check"], ["simulate", "--settle"], ["diff"]):
        document = json.loads(ksched(*command, *arguments, "-o", "json", code=0).out)
        text = json.dumps(document)
        assert '"b"' in text
        if "final" in document:
            assert [pod["node"] for pod in document["final"] if pod["state"] != "gone"] == ["b"]
    now = Simulator.load(arguments[1]).apply(arguments[3])
    with pytest.raises(InputError, match="does not roll it out"):
        now.run()
    assert [pod.node for pod in now.settle().final if pod.state != "gone"] == ["b"]


@pytest.mark.parametrize(
    ("kind", "manifest"),
    [
        pytest.param("Deployment", workload("Deployment", "a", replicas=2), id="only more replicas"),
        pytest.param("Deployment", workload("Deployment", "b", replicas=1, paused=True), id="a paused Deployment"),
        pytest.param("Deployment", workload("Deployment", "b", replicas=0), id="scaled to zero"),
        pytest.param(
            "StatefulSet", workload("StatefulSet", "b", replicas=1, updateStrategy={"type": "OnDelete"}), id="OnDelete"
        ),
    ],
)
def test_a_manifest_that_replaces_no_running_pod_is_placed(kind: str, manifest: dict[str, Any], tmp_path: Path) -> None:
    assert run(["simulate", *files(tmp_path, kind, manifest)]) == 0
