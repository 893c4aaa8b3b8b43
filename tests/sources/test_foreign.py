"""What other tools write: must-gather, cluster-info dump, the simulator's export, kwokctl's snapshots."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from ksched_cli.api.core import Namespace, Node, Pod
from ksched_cli.api.storage import PersistentVolumeClaim, StorageClass
from ksched_cli.errors import InputError
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.loaded import Loaded
from tests.builders import make_node, make_pod


def bare(document: dict[str, Any]) -> dict[str, Any]:
    """As an item of a typed list, which does not say what it is."""
    return {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}


def pod(name: str, version: str = "1", **labels: str) -> dict[str, Any]:
    document = make_pod(name, "shop").uid(f"uid-{name}").label(**labels).doc()
    document["metadata"]["resourceVersion"] = version
    return document


def pod_list(*pods: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "PodList", "items": [bare(each) for each in pods]}


def node(name: str) -> dict[str, Any]:
    return make_node(name).doc()


MUST_GATHER = {
    "must-gather.log": "not read at all",
    "quay-io-1/version": "4.20",
    "quay-io-1/timestamp.yaml": "2026-01-01 10:00:00",
    "quay-io-1/monitoring/prometheus/rules.json": '{"status": "success", "data": {"groups": []}}',
    "quay-io-1/etcd_info/members.json": "[1, 2",
    "quay-io-1/cluster-scoped-resources/core/nodes/n1.yaml": yaml.safe_dump(node("n1")),
    "quay-io-1/cluster-scoped-resources/core/nodes/n2.yaml": yaml.safe_dump(node("n2")),
    "quay-io-1/cluster-scoped-resources/oauth/settings.yaml": "a: 1\nb: 2\n",
    "quay-io-1/namespaces/shop/shop.yaml": "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, uid: u}\n",
    "quay-io-1/namespaces/shop/core/pods.yaml": yaml.safe_dump(pod_list(pod("a"), pod("b", "7"))),
    "quay-io-1/namespaces/shop/core/events.yaml": "apiVersion: v1\nkind: EventList\nitems: [{reason: Scheduled}]\n",
    "quay-io-1/namespaces/shop/core/configmaps.yaml": "",
    "quay-io-1/namespaces/shop/pods/a/a.yaml": yaml.safe_dump(pod("a", "12", state="newer")),
    "quay-io-1/namespaces/shop/pods/b/b.yaml": yaml.safe_dump(pod("b", "7", state="same")),
    "quay-io-1/namespaces/shop/pods/a/main/main/logs/current.log": "hello",
}


def as_directory(files: dict[str, str], folder: Path) -> str:
    for name, text in files.items():
        path = folder / "dump" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder / "dump")


def as_tgz(files: dict[str, str], folder: Path) -> str:
    path = folder / "dump.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return str(path)


def as_zip(files: dict[str, str], folder: Path) -> str:
    path = folder / "dump.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return str(path)


def names(loaded: Loaded, kind: Any) -> list[str]:
    return sorted(each.metadata.name for each in loaded.of(kind))


@pytest.mark.parametrize("packed", [as_directory, as_tgz, as_zip])
def test_a_must_gather(packed: Callable[[dict[str, str], Path], str], tmp_path: Path) -> None:
    loaded = load_dump([packed(MUST_GATHER, tmp_path)])
    assert names(loaded, Node) == ["n1", "n2"]
    assert names(loaded, Namespace) == ["shop"]
    pods = {each.metadata.name: each.metadata.labels for each in loaded.of(Pod)}
    assert pods == {"a": {"state": "newer"}, "b": {}}
    assert dict(loaded.unknown) == {"v1/Event": 1}
    (warning,) = loaded.warnings
    assert ": 3 files (" in warning
    assert "/timestamp.yaml) are not read: of a must-gather only objects are" in warning


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param("kind: [\n", r"deployments\.yaml:2: broken YAML", id="broken"),
        pytest.param(
            "a: 1\n---\n" + yaml.safe_dump(node("n9")), r"deployments\.yaml:1: no kind", id="before an object"
        ),
    ],
)
def test_a_broken_file_of_a_must_gather_is_a_mistake_where_objects_are(
    content: str, problem: str, tmp_path: Path
) -> None:
    files = {**MUST_GATHER, "quay-io-1/namespaces/shop/apps/deployments.yaml": content}
    with pytest.raises(InputError, match=problem) as caught:
        load_dump([as_directory(files, tmp_path)])
    assert len(caught.value.problems) == 1


def test_two_objects_of_one_name_are_still_refused(tmp_path: Path) -> None:
    other = pod("a")
    other["metadata"]["uid"] = "of another pod"
    files = {**MUST_GATHER, "quay-io-1/namespaces/shop/pods/a/a.yaml": yaml.safe_dump(other)}
    with pytest.raises(InputError, match="Pod shop/a is there more than once"):
        load_dump([as_directory(files, tmp_path)])


CLUSTER_INFO = {
    "nodes.json": json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [bare(node("n1"))]}),
    "shop/pods.json": json.dumps(pod_list(pod("a"), pod("b"))),
    "shop/events.json": json.dumps({"apiVersion": "v1", "kind": "EventList", "items": [{"reason": "Pulled"}]}),
    "shop/replication-controllers.json": json.dumps(
        {"apiVersion": "v1", "kind": "ReplicationControllerList", "items": []}
    ),
    "shop/a/logs.txt": "==== START logs for container main of pod shop/a ====\n{\n==== END logs for container main of pod shop/a ====\n",
}


def test_a_cluster_info_dump_in_a_directory(tmp_path: Path) -> None:
    loaded = load_dump([as_directory(CLUSTER_INFO, tmp_path)])
    assert (names(loaded, Node), names(loaded, Pod)) == (["n1"], ["a", "b"])


def test_a_cluster_info_dump_on_stdout(tmp_path: Path) -> None:
    parts = [json.dumps(json.loads(text), indent=4) for name, text in CLUSTER_INFO.items() if name.endswith(".json")]
    path = tmp_path / "dump.json"
    path.write_text("\n".join([*parts, CLUSTER_INFO["shop/a/logs.txt"]]))
    loaded = load_dump([str(path)])
    assert (names(loaded, Node), names(loaded, Pod)) == (["n1"], ["a", "b"])


EXPORT = {
    "pods": [bare(pod("a"))],
    "nodes": [bare(node("n1")), node("n2")],
    "pvs": None,
    "schedulerConfig": {"profiles": []},
    "pvcs": [{"metadata": {"name": "data", "namespace": "shop"}, "spec": {"storageClassName": "fast"}}],
    "storageClasses": [{"metadata": {"name": "fast"}, "provisioner": "x"}],
    "priorityClasses": [],
    "namespaces": [{"metadata": {"name": "shop"}}],
}


@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump], ids=["JSON", "YAML"])
def test_an_export_of_the_simulator(written: Callable[[Any], str], tmp_path: Path) -> None:
    path = tmp_path / "export.yaml"
    path.write_text(written(EXPORT))
    loaded = load_dump([str(path)])
    assert names(loaded, Node) == ["n1", "n2"]
    assert [names(loaded, kind) for kind in (Pod, PersistentVolumeClaim, StorageClass)] == [["a"], ["data"], ["fast"]]
    assert dict(loaded.unknown) == {"kubescheduler.config.k8s.io/v1/KubeSchedulerConfiguration": 1}


def test_a_mistake_in_an_export_has_its_path(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(
        json.dumps({**EXPORT, "nodes": {}, "pods": [{"metadata": {"name": "a"}, "spec": {"containers": 1}}]})
    )
    with pytest.raises(InputError) as caught:
        load_dump([str(path)])
    said = sorted(str(problem) for problem in caught.value.problems)
    assert [text.partition(": ")[2] for text in said] == [
        "a: pods[0].spec.containers: expected a list, got a whole number",
        "nodes: expected a list, got an object",
    ]


@pytest.mark.parametrize("content", ['{"nodes": [], "image": "x"}', '{"namespaces": []}'], ids=["others", "no pods"])
def test_a_mapping_of_other_things_is_no_export(content: str, tmp_path: Path) -> None:
    path = tmp_path / "values.json"
    path.write_text(content)
    with pytest.raises(InputError, match="no kind"):
        load_dump([str(path)])


def test_a_snapshot_of_kwokctl(tmp_path: Path) -> None:
    documents = [node("n1"), pod("a"), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}]
    path = tmp_path / "snapshot.yaml"
    path.write_text(yaml.safe_dump_all(documents, explicit_start=True))
    loaded = load_dump([str(path)])
    assert (names(loaded, Node), names(loaded, Pod), dict(loaded.unknown)) == (["n1"], ["a"], {"v1/ConfigMap": 1})


@pytest.mark.parametrize("order", ["little", "big"])
def test_a_snapshot_of_etcd_says_what_to_do(order: Literal["little", "big"], tmp_path: Path) -> None:
    path = tmp_path / "snapshot.db"
    path.write_bytes(bytes(16) + (0xED0CDAED).to_bytes(4, order) + bytes(4096))
    with pytest.raises(InputError, match=r"etcd's database.*kwokctl snapshot save --format k8s"):
        load_dump([str(path)])
