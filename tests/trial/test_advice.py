"""Every fix of `explain` on dumps of seven shapes: its commands are its changes, it does no harm, and it keeps its promise.

The commands are parsed as a shell would, each patch is applied to the stored object, and `check` places the workload."""

from __future__ import annotations

import copy
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.report.sinks.terminal import fold_command
from tests.lanes import sampled
from tests.running import Ksched
from tests.test_fixes_conformance import patch as apply_patch
from tests.trial.shapes import SHAPES, Doc, dump, mounting, pod

Key = tuple[str, str, str]
_EXPLAINED: dict[tuple[str, str], list[Doc]] = {}
# Each workload is explained once: the scope of the parameters puts its tests one after the other.
WORKLOADS = sampled(
    (pytest.param(shape, name, id=f"{shape}-{name}") for shape in SHAPES for name in SHAPES[shape]().pending), 3
)


def key_of(item: Mapping[str, Any]) -> Key:
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def explained(shape: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[Doc]:
    """The fixes for a workload of the dump. Several tests read them."""
    if (shape, name) in _EXPLAINED:
        return _EXPLAINED[shape, name]
    cluster = SHAPES[shape]()
    source = folder / "cluster.json"
    source.write_text(json.dumps(dump(cluster)))
    # Pods of a kind that is not of Kubernetes are found by the beginning of their names.
    kind = "" if cluster.pending[name] == "DeploymentConfig" else f"{cluster.pending[name].lower()}/"
    run(["explain", f"{kind}{name}", "--from", str(source), "-o", "json"])
    found: list[Doc] = json.loads(capsys.readouterr().out).get("fixes", [])
    _EXPLAINED[shape, name] = found
    return found


def target(words: list[str]) -> tuple[str, str, str]:
    """The namespace, the kind and the name of `kubectl -n NAMESPACE VERB KIND/NAME`."""
    namespace = words[words.index("-n") + 1] if "-n" in words else ""
    kind, _, name = next(word for word in words if "/" in word and not word.startswith(("[", "/"))).partition("/")
    return namespace, kind, name


def effects(command: str, objects: Mapping[Key, Doc]) -> Iterator[Doc]:
    """What the command does to objects, in the form of `changes`; nothing for a command of ksched."""
    words = shlex.split(command.partition(" | ")[0])
    program, *rest = words
    if program == "echo":
        assert command.endswith("| kubectl create -f -")
        yield {"op": "create", "object": json.loads(rest[0])}
        return
    if program == "ksched":
        yield {"op": "nodes", "of": [words[at + 1] for at, word in enumerate(words) if word == "--clone-node"]}
        return
    assert program == "kubectl"
    if "patch" in rest:
        namespace, kind, name = target(rest)
        found = next(key for key in objects if (key[0].lower(), key[1], key[2]) == (kind, namespace, name))
        operations = json.loads(rest[rest.index("-p") + 1])
        yield {
            "op": "recreate" if "| kubectl replace --force" in command else "patch",
            "key": found,
            "patch": operations,
        }
    elif "delete" in rest:
        namespace = rest[rest.index("-n") + 1]
        for name in rest[rest.index("pod") + 1 :]:
            yield {"op": "delete", "target": {"kind": "Pod", "namespace": namespace, "name": name}}
    elif "scale" in rest:
        namespace, kind, name = target(rest)
        yield {"op": "scale", "kind": kind, "name": name, "replicas": int(rest[-1].removeprefix("--replicas="))}
    else:
        assert rest[0] in ("uncordon", "taint", "label")
        yield {"op": "node", "name": rest[1] if rest[0] == "uncordon" else rest[2]}


def carry_out(objects: dict[Key, Doc], fix: Doc) -> None:
    for change in fix["changes"]:
        if change["op"] == "create":
            objects[key_of(change["object"])] = change["object"]
            continue
        key = (change["target"]["kind"], change["target"].get("namespace", ""), change["target"]["name"])
        assert key in objects, f"{key} is not in the dump"
        owners = objects[key]["metadata"].get("ownerReferences", ())
        assert key[0] != "Pod" or change["op"] == "delete" or not any(each.get("controller") for each in owners)
        if change["op"] == "delete":
            del objects[key]
            continue
        objects[key] = copy.deepcopy(objects[key])
        if change["op"] == "patch":
            apply_patch(objects[key], change["patch"])
        else:
            objects[key]["spec"]["replicas"] = change["replicas"]


def by_commands(objects: Mapping[Key, Doc], fix: Doc) -> dict[Key, Doc]:
    """The objects after the commands, as far as kubectl changes them."""
    after = dict(copy.deepcopy(objects))
    for effect in (each for command in fix["commands"] for each in effects(command, objects)):
        if effect["op"] == "create":
            after[key_of(effect["object"])] = effect["object"]
        elif effect["op"] == "delete":
            del after["Pod", effect["target"]["namespace"], effect["target"]["name"]]
        elif effect["op"] in ("patch", "recreate"):
            apply_patch(after[effect["key"]], effect["patch"])
    return after


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "name"), WORKLOADS, scope="module")
def test_commands_are_the_changes_and_the_promise_is_kept(
    shape: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = SHAPES[shape]()
    objects = {key_of(each): each for each in cluster.items}
    owner = (cluster.pending[name], *name.split("/"))
    for fix in explained(shape, name, tmp_path, capsys):
        now = dict(objects)
        carry_out(now, fix)
        assert fix["commands"], fix
        after = by_commands(objects, fix)
        patched = [each["target"] for each in fix["changes"] if each["op"] == "patch"]
        for each in patched:
            if each["kind"] != "Node":
                key = (each["kind"], each.get("namespace", ""), each["name"])
                assert after[key] == now[key], fix
        if owner[0] == "DeploymentConfig":
            # Its controller is OpenShift's own, and not run: the change of the object counts, not what it makes of that.
            assert all(each["kind"] == "DeploymentConfig" for each in patched), fix
            continue
        (tmp_path / "apply.json").write_text(json.dumps(manifest(now[owner])))
        (tmp_path / "after.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": list(now.values())})
        )
        code = run(["check", "--from", str(tmp_path / "after.json"), "-f", str(tmp_path / "apply.json"), "-o", "json"])
        work = json.loads(capsys.readouterr().out)["workloads"][0]
        placed = work["pods"] if code == 0 else work.get("running", 0)
        assert placed >= fix["promise"]["pods"], fix
        assert code == 0 or fix["promise"]["pods"] < fix["promise"]["of"], fix


def manifest(item: Doc) -> Doc:
    kept = {key: item["metadata"][key] for key in ("name", "namespace", "labels") if key in item["metadata"]}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": kept, "spec": item["spec"]}


FIRST = {
    ("gke", "shop/frontend"): "set cloud.google.com/gke-nodepool to default-pool",
    ("gke", "db/mysql"): "one more node in pool highmem-pool, like gke-prod-highmem-pool-2 (europe-west1-d)",
    ("gke", "search/es"): "2 more nodes in pool highmem-pool",
    ("gke", "batch/report"): "tolerate taint cloud.google.com/gke-spot=true:NoSchedule",
    ("gke", "ml/hpo"): "2 more nodes in pool gpu-pool",
    ("gke", "legacy/wiki"): "create claim wiki-data",
    ("gke", "legacy/jira"): "create StorageClass fast-ssd",
    ("gke", "legacy/nexus"): "create claim nexus again, with class standard-rwo",
    (
        "gke",
        "web/api",
    ): "one more node in pool gpu-pool, like gke-prod-gpu-pool-0 (europe-west1-b), in zone europe-west1-d",
    ("gke", "ml/queued"): "",
    ("aks", "orders/typo"): "set agentpool to user",
    ("aks", "db/kafka"): "tolerate taint sku=gpu:NoSchedule",
    (
        "aks",
        "db/mongo",
    ): "one more node in pool mem, like aks-mem-0 (westeurope-1), in zone westeurope-3, where the pool",
    (
        "aks",
        "db/ledger",
    ): "one more node in pool mem, like aks-mem-0 (westeurope-1), in zone westeurope-3, where the pool",
    ("aks", "db/backup"): "create claim backup",
    ("aks", "ingress/nginx"): "one more node in pool user",
    ("eks", "app/big"): "one more node in pool main, like ip-10-0-0-0",
    ("eks", "app/arm"): "",
    ("kind", "app/mem2"): "one more node like kind-worker-0",
    ("kind", "app/ingress"): "label kind-control-plane-0 ingress-ready=true",
    ("ocp", "ci/runner"): "tolerate taint node-role.kubernetes.io/infra=reserved:NoSchedule",
    ("ocp", "storefront/masters"): "leave node-role.kubernetes.io/master= out of the node selector",
}


@pytest.mark.parametrize(("shape", "name"), FIRST)
def test_the_first_fix_is_what_a_person_would_do(
    shape: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explained(shape, name, tmp_path, capsys)
    assert (
        [each["text"] for each in found][:1] == []
        if not FIRST[shape, name]
        else found[0]["text"].startswith(FIRST[shape, name])
    )


# Advice that a person would regret, whatever the workload.
HARMFUL = (
    r"^label \S+ \S*defualt",
    r"label \S+ node-role\.kubernetes\.io/",
    r"label aksnpwin",
    r"(tolerate|take) taint (karpenter\.sh/|node\.kubernetes\.io/|\S*ToBeDeleted)",
    r"scheduling gates",
    r"fewer of statefulset/",
    r"priority of \d",
    r"a new node with",
    r"leave kubernetes\.io/(os|arch)",
)


@pytest.mark.parametrize(("shape", "name"), WORKLOADS, scope="module")
def test_no_fix_does_harm(shape: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [each["text"] for each in explained(shape, name, tmp_path, capsys)]
    assert [text for text in texts if any(re.search(pattern, text) for pattern in HARMFUL)] == []


@pytest.mark.parametrize(
    ("shape", "name", "note"),
    [
        pytest.param("aks", "ingress/nginx", "Helm (release nginx): change it in its chart", id="Helm"),
        pytest.param("eks", "app/big", "Argo CD (application app): change it in its repository", id="Argo CD"),
    ],
)
def test_the_tool_that_manages_a_workload_is_named(
    shape: str, name: str, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixes = [each for each in explained(shape, name, tmp_path, capsys) if each.get("patch")]
    assert fixes
    assert all(note in each["note"] for each in fixes)


@cache
def every_command() -> list[str]:
    value = json.dumps(
        [{"op": "add", "path": "/spec/template/spec/tolerations/-", "value": {"key": "a b", "value": "it's"}}]
    )
    return [
        shlex.join(["kubectl", "-n", "shop", "patch", "deployment/web", "--type=json", "-p", value]),
        f"echo {shlex.quote(value)} | kubectl create -f -",
        "kubectl -n db delete pod mysql-0 mysql-1 mysql-2 mysql-3 mysql-4 mysql-5 mysql-6",
    ]


@pytest.mark.parametrize("width", [30, 60, 80, 140])
@pytest.mark.parametrize("number", range(3))
def test_a_folded_command_is_the_same_command(number: int, width: int) -> None:
    command = every_command()[number]
    folded = fold_command(command, width)

    def words(text: str) -> list[Any]:
        split = shlex.split(text.replace("\\\n", ""))
        return [json.loads(word) if word.startswith("[") else word for word in split]

    assert words(folded) == words(command)
    assert len(folded.split("\n")) > 1 or len(command) <= width


def test_a_dump_without_claims_is_named(tmp_path: Path, ksched: Ksched) -> None:
    """Running pods mount claims that a dump of nodes and pods lacks."""
    cluster = SHAPES["gke"]()
    cluster.workload("Deployment", "db/mounts", mounting("data-mysql-0"), ["gke-prod-highmem-pool-2"])
    items = [each for each in cluster.items if each["kind"] in ("Node", "Pod")]
    source = tmp_path / "cluster.json"
    source.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert "the input has no PersistentVolumeClaims, and running pods mount 1" in " ".join(
        ksched("simulate", "--from", str(source), "--exit-zero").err.split()
    )


def test_lost_nodes_have_one_warning(tmp_path: Path, ksched: Ksched) -> None:
    cluster = SHAPES["gke"]()
    lost = [f"lost-{number % 3}" for number in range(12)]
    cluster.workload("Deployment", "web/lost", pod(), lost)
    source = tmp_path / "cluster.json"
    source.write_text(json.dumps(dump(cluster)))
    shown = " ".join(ksched("simulate", "--from", str(source), "--exit-zero").err.split())
    assert "12 pods are on 3 nodes that are not in the input, such as lost-0: they count nowhere" in shown


def test_full_devices_are_closer_than_no_devices(tmp_path: Path, ksched: Ksched) -> None:
    source = tmp_path / "cluster.json"
    source.write_text(json.dumps(dump(SHAPES["gke"]())))
    said = " ".join(ksched("explain", "job/ml/hpo", "--from", str(source), "--no-fixes").out.split())
    assert "Nodes with a single problem: 2 lack nvidia.com/gpu" in said
    assert "closest is gke-prod-gpu-pool-0, short by 2 nvidia.com/gpu" in said
