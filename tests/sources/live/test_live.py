"""A live cluster: the right data or a clear error, never half a cluster taken for a whole one."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import trustme
import yaml

from ksched_cli.api.core import Node, Pod
from ksched_cli.cli.main import run
from ksched_cli.errors import ClusterUnreadable
from ksched_cli.sources.live import api_server, cluster, connection
from ksched_cli.sources.live.cluster import LiveCluster, read_cluster
from ksched_cli.sources.live.connection import connect
from ksched_cli.sources.read_options import LiveOptions, parse_timeout
from tests.builders import make_node, make_pod, write_list
from tests.lanes import sampled
from tests.running import Ksched
from tests.sources.live.kube_server import (
    TOKEN,
    Fault,
    KubeServer,
    ends_before_its_length,
    ends_within_a_chunk,
    hangs_up_at_once,
    never_answers,
    refuses,
    resets_in_the_body,
    sends,
    serving,
    stops_within_the_body,
)
from tests.sources.test_device_versions import POD, devices

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "fixtures" / "conformance" / "1.36"
PODS = "/api/v1/pods"
GONE = refuses(410, "The provided continue parameter is too old")


@pytest.fixture
def kube(ca: trustme.CA) -> Iterator[KubeServer]:
    pods = [make_pod(f"p{number}").requests(cpu="10m").doc() for number in range(7)]
    with serving([make_node("n1").doc(), make_node("n2").doc(), *pods], ca) as server:
        yield server


def read(kube: KubeServer, tmp_path: Path, **options: Any) -> LiveCluster:
    server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path), **options))
    server.pause = lambda seconds: None
    return read_cluster(server)


def names(cluster: LiveCluster, kind: Any = Pod) -> list[str]:
    return [each.value.metadata.name for each in cluster.found.get(kind, [])]


ALL = [f"p{number}" for number in range(7)]


@pytest.mark.slow
def test_a_whole_cluster(kube: KubeServer, tmp_path: Path) -> None:
    cluster = read(kube, tmp_path)
    assert names(cluster) == ALL
    assert names(cluster, Node) == ["n1", "n2"]
    assert (cluster.server_version, cluster.namespace) == ("v1.36.2", "shop")
    assert cluster.missing == {}
    assert cluster.absent == []


@pytest.mark.parametrize("fault", [None, refuses(403, "no")], ids=["read", "refused"])
def test_no_connection_stays_open(
    fault: Fault | None, kube: KubeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[api_server.LiveApiServer] = []

    def kept(options: LiveOptions) -> api_server.LiveApiServer:
        made.append(connect(options))
        return made[0]

    monkeypatch.setattr(connection, "connect", kept)
    if fault is not None:
        kube.faults[PODS] = [fault]
    assert run(["simulate", "--kubeconfig", kube.kubeconfig(tmp_path), "--exit-zero"]) == (0 if fault is None else 3)
    assert len(made[0].pool.pools) == 0


@pytest.mark.slow
def test_only_get_is_ever_sent(kube: KubeServer, tmp_path: Path) -> None:
    read(kube, tmp_path)
    assert {request.method for request in kube.requests} == {"GET"}
    ranges = (f"/apis/networking.k8s.io/{version}/servicecidrs" for version in ("v1", "v1beta1"))
    assert set(kube.paths()) == {"/version", "/apis/karpenter.sh", *ranges, *kube.lists}


def test_the_first_look_takes_the_servers_cache_and_later_pages_follow(
    kube: KubeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PAGE", 3)
    progress = Mock()
    found = read_cluster(connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path))), progress)
    assert names(found) == ALL
    assert [each.args[:2] for each in progress.call_args_list if each.args[0] == "pods"] == [
        ("pods", 3),
        ("pods", 6),
        ("pods", 7),
    ]
    asked = [request.query for request in kube.requests if request.path == PODS]
    assert asked == [
        {"limit": "3", "resourceVersion": "0"},
        {"limit": "3", "continue": "3"},
        {"limit": "3", "continue": "6"},
    ]


@pytest.mark.slow
def test_a_cache_that_sends_all_at_once_is_asked_again_for_pages(
    kube: KubeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube.whole_from_cache = True
    monkeypatch.setattr(cluster, "PAGE", 3)
    monkeypatch.setattr(api_server.LiveApiServer.get, "__defaults__", (None, 1500))
    assert names(read(kube, tmp_path)) == ALL
    asked = [request.query for request in kube.requests if request.path == PODS]
    assert asked[:2] == [{"limit": "3", "resourceVersion": "0"}, {"limit": "3"}]


@pytest.mark.parametrize(
    "faults",
    sampled(
        [
            pytest.param([refuses(429, "slow down", "0")], id="429"),
            pytest.param([refuses(500, "etcd has no leader"), refuses(503), refuses(504)], id="5xx three times"),
            pytest.param([resets_in_the_body], id="reset in mid-body"),
            pytest.param([ends_before_its_length], id="body shorter than its length"),
            pytest.param([ends_within_a_chunk], id="chunk cut off"),
            pytest.param([hangs_up_at_once, resets_in_the_body], id="hung up, then reset"),
            pytest.param([sends(b'{"kind": "PodList", "items": [{"metadata')], id="truncated JSON"),
            pytest.param([GONE], id="410 on the first page"),
        ],
        2,
    ),
)
def test_trouble_that_passes_is_not_noticed(faults: list[Fault], kube: KubeServer, tmp_path: Path) -> None:
    kube.faults[PODS] += faults
    assert names(read(kube, tmp_path)) == ALL
    assert kube.faults[PODS] == []


@pytest.mark.slow
def test_a_list_that_expires_between_pages_starts_again_and_nothing_is_there_twice(
    kube: KubeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PAGE", 3)
    kube.faults[PODS] += [lambda handler: handler.answer(PODS, {"limit": "3"}), GONE]
    assert names(read(kube, tmp_path)) == ALL
    assert sum(request.path == PODS for request in kube.requests) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "faults", "expected"),
    sampled(
        [
            pytest.param(PODS, [refuses(401, "Unauthorized")], "it does not know you: Unauthorized (401)", id="401"),
            pytest.param(PODS, [refuses(403, "pods is forbidden")], "pods: pods is forbidden (403)", id="403 on pods"),
            pytest.param("/api/v1/nodes", [refuses(403, "no")], "nodes: no (403)", id="403 on nodes"),
            pytest.param(PODS, [refuses(404)], "there is no list of pods", id="no pods"),
            pytest.param(PODS, [GONE] * 4, "the list expired 4 times", id="410 without end"),
            pytest.param(PODS, [refuses(503, "overloaded")] * 8, "overloaded (503) (8 tries)", id="503 without end"),
            pytest.param(PODS, [resets_in_the_body] * 8, "the connection broke", id="resets without end"),
            pytest.param(
                PODS, [sends(b'{"kind": "PodList", "it')] * 2, "ends in the middle, after 23 bytes", id="truncated"
            ),
            pytest.param(PODS, [sends(b"<html>log in</html>")] * 2, "no list of Kubernetes objects", id="a web page"),
            pytest.param(PODS, [sends(b'{"kind": "Pod"}')] * 2, "no list of Kubernetes objects: Pod", id="not a list"),
            pytest.param(PODS, [sends(b"", 302, [("Location", "https://x")])], "sends elsewhere (302)", id="redirect"),
            pytest.param(PODS, [sends(b"", 300)], "sends elsewhere (300)", id="the lowest redirect"),
            pytest.param(PODS, [refuses(400, "x" * 400)], f"pods: {'x' * 300} (400)", id="a long message"),
            pytest.param("/version", [sends(b"hello")], "this is no Kubernetes API server", id="not Kubernetes"),
        ],
        2,
    ),
)
def test_half_a_cluster_is_none(
    path: str, faults: list[Fault], expected: str, kube: KubeServer, tmp_path: Path
) -> None:
    kube.faults[path] += faults
    with pytest.raises(ClusterUnreadable) as caught:
        read(kube, tmp_path)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(kube.url)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [never_answers, stops_within_the_body], ids=["no answer", "a body without an end"])
def test_a_slow_server_is_given_up_after_the_timeout(fault: Fault, kube: KubeServer, tmp_path: Path) -> None:
    kube.faults[PODS] += [fault] * 8
    with pytest.raises(ClusterUnreadable, match="no answer in time"):
        read(kube, tmp_path, timeout=1.0)


def test_waiting_follows_retry_after_and_grows_without_it(kube: KubeServer, tmp_path: Path) -> None:
    kube.faults["/version"] += [refuses(429, "", "3"), refuses(503), refuses(503), refuses(503)]
    server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
    waited: list[float] = []
    server.pause = waited.append
    read_cluster(server)
    assert waited[0] == 3.0
    assert 0.3 < waited[1] < waited[2] < waited[3] < 3.0


def test_how_often_a_server_is_asked(kube: KubeServer, tmp_path: Path) -> None:
    kube.faults["/version"] += [refuses(503, "later")] * 9
    server = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path)))
    waited: list[float] = []
    server.pause = waited.append
    with pytest.raises(ClusterUnreadable, match=r"/version: .*later \(503\) \(8 tries\)"):
        read_cluster(server)
    assert (len(waited), max(waited) <= 10) == (7, True)
    server.pause, server.timeout = time.sleep, 0.1
    with pytest.raises(ClusterUnreadable, match=r"/version: .*later \(503\) \(see"):
        read_cluster(server)


def test_what_may_not_be_read_is_told_and_what_is_not_served_is_not_there(kube: KubeServer, tmp_path: Path) -> None:
    kube.faults["/api/v1/persistentvolumeclaims"].append(refuses(403, "forbidden"))
    for path in [path for path in kube.lists if path.startswith("/apis/resource") or path.endswith("/podgroups")]:
        del kube.lists[path]
    cluster = read(kube, tmp_path)
    assert {kind.__name__: reason for kind, reason in cluster.missing.items()} == {"PersistentVolumeClaim": "forbidden"}
    assert sorted(kind.__name__ for kind in cluster.absent) == [
        "DeviceClass",
        "DeviceTaintRule",
        "PodGroup",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceSlice",
    ]


def test_karpenter_is_read_where_the_server_has_its_groups(kube: KubeServer, tmp_path: Path, ksched: Ksched) -> None:
    pools, claims = "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1/nodeclaims"
    classes = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
    pool = {"metadata": {"name": "general"}, "spec": {"template": {"spec": {"nodeClassRef": {"name": "default"}}}}}
    kube.lists |= {pools: [pool], claims: [], classes: [{"metadata": {"name": "default"}}]}
    kube.kinds |= {pools: ("karpenter.sh/v1", "NodePool"), claims: ("karpenter.sh/v1", "NodeClaim")}
    kube.kinds[classes] = ("karpenter.k8s.aws/v1", "EC2NodeClass")
    for group in ("/apis/karpenter.sh", "/apis/karpenter.k8s.aws"):
        kube.lists[group], kube.kinds[group] = [], ("v1", "APIGroup")
    kube.faults[claims].append(refuses(403, "forbidden"))
    arguments = ["simulate", "--kubeconfig", kube.kubeconfig(tmp_path), "-o", "json", "--exit-zero"]
    coverage = json.loads(ksched(*arguments, code=0).out)["coverage"]
    assert coverage["missing"] == {"NodeClaim": "forbidden"}
    assert coverage["notRead"] == {"karpenter.k8s.aws/v1/EC2NodeClass": 1, "karpenter.sh/v1/NodePool": 1}
    assert "/apis/karpenter.azure.com" in kube.paths()
    assert not [path for path in kube.paths() if "aksnodeclasses" in path]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v1", "v1beta1", ""])
def test_the_ranges_of_services_are_read(
    version: str, kube: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server of an older minor has them under v1beta1, or none; it may also refuse to list them."""
    if version:
        path = f"/apis/networking.k8s.io/{version}/servicecidrs"
        kube.lists[path] = [{"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/16"]}}]
        kube.kinds[path] = (f"networking.k8s.io/{version}", "ServiceCIDR")
    else:
        kube.faults["/apis/networking.k8s.io/v1/servicecidrs"].append(refuses(403, "forbidden"))
    spec = {"ports": [{"port": 80}], "clusterIP": "10.97.0.1"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
    manifest = write_list(tmp_path / "m.json", service)
    arguments = ["check", "--kubeconfig", kube.kubeconfig(tmp_path), "-f", manifest, "--allow-empty", "-o", "json"]
    assert run(arguments) == (2 if version else 0)
    document = json.loads(capsys.readouterr().out)
    assert ("does not match the current range" in json.dumps(document["findings"])) is bool(version)
    assert ("the input has no ServiceCIDR" in json.dumps(document["coverage"])) is not bool(version)
    assert "missing" not in document["coverage"]
    assert "ServiceCIDR" not in str(document["coverage"].get("notRead"))


def test_an_older_version_of_a_group_is_read_where_the_newest_is_not_served(kube: KubeServer, tmp_path: Path) -> None:
    old, new = "/apis/resource.k8s.io/v1beta2/deviceclasses", "/apis/resource.k8s.io/v1/deviceclasses"
    kube.lists[old], kube.kinds[old] = [{"metadata": {"name": "gpu"}}], ("resource.k8s.io/v1beta2", "DeviceClass")
    del kube.lists[new]
    found = {kind.__name__: items for kind, items in read(kube, tmp_path).found.items()}
    assert [each.value.metadata.name for each in found["DeviceClass"]] == ["gpu"]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1", "v1alpha3"])
def test_devices_of_each_version(
    version: str, kube: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a server that has one version: the claim is found, and has its device or not."""
    for path in [path for path in kube.lists if "resource.k8s.io" in path and "taint" not in path]:
        del kube.lists[path]
    for memory, result in (("40Gi", "scheduled"), ("80Gi", "unschedulable")):
        for each in devices(version, memory):
            path = f"/apis/{each['apiVersion']}/{each['kind'].lower()}{'es' if each['kind'].endswith('s') else 's'}"
            item = {key: value for key, value in each.items() if key not in ("apiVersion", "kind")}
            kube.lists[path], kube.kinds[path] = [item], (each["apiVersion"], each["kind"])
        pod = {**make_pod("p").doc(), "spec": POD["spec"]}
        kube.lists[PODS] = [pod]
        run(["simulate", "--kubeconfig", kube.kubeconfig(tmp_path), "-o", "json", "--exit-zero"])
        document = json.loads(capsys.readouterr().out)
        assert [each["result"] for each in document["pods"]] == [result]
        assert "notRead" not in document["coverage"]


@pytest.mark.slow
def test_a_client_certificate(kube: KubeServer, tmp_path: Path) -> None:
    path = kube.kubeconfig(tmp_path, **kube.client_certificate())
    assert names(read_cluster(connect(LiveOptions(kubeconfig=path)))) == ALL
    assert not any("Authorization" in request.headers for request in kube.requests)


@pytest.mark.slow
def test_an_exec_plugin(kube: KubeServer, tmp_path: Path) -> None:
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": TOKEN}}
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!{sys.executable}\nprint('''{json.dumps(answer)}''')\n")
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    user = {"apiVersion": answer["apiVersion"], "command": str(plugin), "interactiveMode": "Never"}
    path = kube.kubeconfig(tmp_path, exec=user)
    assert names(read_cluster(connect(LiveOptions(kubeconfig=path)))) == ALL


def test_an_exec_plugin_that_fails_is_named(kube: KubeServer, tmp_path: Path) -> None:
    user = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false", "interactiveMode": "Never"}
    path = kube.kubeconfig(tmp_path, exec=user)
    with pytest.raises(ClusterUnreadable, match="exec: process returned 1"):
        read_cluster(connect(LiveOptions(kubeconfig=path)))


@pytest.mark.slow
def test_impersonation(kube: KubeServer, tmp_path: Path) -> None:
    read(kube, tmp_path, user="bob", groups=("dev",))
    headers = [request.headers for request in kube.requests]
    assert all((each["Impersonate-User"], each["Impersonate-Group"]) == ("bob", "dev") for each in headers)


@pytest.mark.slow
def test_a_kubeconfig_may_impersonate_and_need_no_current_context(kube: KubeServer, tmp_path: Path) -> None:
    path = Path(kube.kubeconfig(tmp_path, token=TOKEN, **{"as": "carol", "as-groups": ["ops"]}))
    path.write_text(path.read_text().replace("current-context: test\n", ""))
    read_cluster(connect(LiveOptions(kubeconfig=str(path), context="test")))
    assert {(each.headers["Impersonate-User"], each.headers["Impersonate-Group"]) for each in kube.requests} == {
        ("carol", "ops")
    }


@pytest.mark.slow
def test_several_kubeconfigs_are_merged(
    kube: KubeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksched: Ksched
) -> None:
    whole = yaml.safe_load(Path(kube.kubeconfig(tmp_path)).read_text())
    parts = [{"contexts": whole["contexts"], "current-context": "test"}, {"clusters": whole["clusters"]}]
    parts.append({"users": whole["users"]})
    paths = [tmp_path / f"part-{number}" for number in range(3)]
    for path, part in zip(paths, parts, strict=True):
        path.write_text(yaml.safe_dump(part))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, [*paths, tmp_path / "not-there"])))
    assert len(ksched("simulate", "-o", "name", code=0).out.splitlines()) == 7


@pytest.mark.slow
def test_tls_server_name(kube: KubeServer, tmp_path: Path) -> None:
    path = Path(kube.kubeconfig(tmp_path))
    text = path.read_text().replace("127.0.0.1", "localhost")
    path.write_text(text)
    with pytest.raises(ClusterUnreadable, match="no trust in its certificate"):
        read_cluster(connect(LiveOptions(kubeconfig=str(path))))
    path.write_text(text.replace("    server:", "    tls-server-name: kube.example\n    server:"))
    assert names(read_cluster(connect(LiveOptions(kubeconfig=str(path))))) == ALL


def test_a_server_of_another_authority_is_not_trusted(kube: KubeServer, tmp_path: Path) -> None:
    with serving(ca=trustme.CA()) as other:
        text = Path(kube.kubeconfig(tmp_path)).read_text().replace(kube.url, other.url)
        (tmp_path / "kubeconfig").write_text(text)
        with pytest.raises(ClusterUnreadable, match="no trust in its certificate"):
            read_cluster(connect(LiveOptions(kubeconfig=str(tmp_path / "kubeconfig"))))
        assert other.requests == []


def test_a_server_that_is_not_there(kube: KubeServer, tmp_path: Path) -> None:
    path = kube.kubeconfig(tmp_path)
    Path(path).write_text(Path(path).read_text().replace(str(kube.port), "1"))
    with pytest.raises(ClusterUnreadable, match=r"https://127.0.0.1:1: no connection: .*refused"):
        read_cluster(connect(LiveOptions(kubeconfig=path)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("{", "not YAML", id="not YAML"),
        pytest.param("[1, 2]", "not a kubeconfig that can be used", id="a list"),
        pytest.param("current-context: a\n", r"no context a \(there are none\)", id="no contexts"),
        pytest.param("contexts: []\nclusters: []\nusers: []\n", "no current-context in it", id="no current context"),
        pytest.param(
            "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n", "name c in", id="no such cluster"
        ),
    ],
)
def test_kubeconfigs_that_are_none(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ClusterUnreadable, match=expected) as caught:
        connect(LiveOptions(kubeconfig=str(path)))
    assert str(path) in str(caught.value)


def test_an_unknown_context_names_the_nearest(kube: KubeServer, tmp_path: Path) -> None:
    with pytest.raises(ClusterUnreadable, match=r"no context tset \(did you mean test\?\)"):
        connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path), context="tset"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30.0), ("0", None), ("1m30s", 90.0), ("500ms", 0.5), ("2h", 7200.0), ("0s", None)],
)
def test_timeouts_are_written_as_kubectl_does(text: str, seconds: float | None) -> None:
    assert parse_timeout(text) == seconds


CASES = ["basic-00", "volumes-03", "dra-02", "preemption-01", "defaultspread-00", "pdb-02"]


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 3))
def test_a_live_cluster_its_snapshot_and_its_dump_give_the_same_document(
    case: str, ca: trustme.CA, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = CORPUS / case / "cluster.json"
    with serving(json.loads(dump.read_text())["items"], ca) as kube:
        live = ["--kubeconfig", kube.kubeconfig(tmp_path)]
        snapshot = str(tmp_path / "snapshot.gz")
        assert run(["snapshot", *live, "-o", snapshot]) == 0
        capsys.readouterr()
        documents = [_document(arguments, capsys) for arguments in (live, ["--from", snapshot], ["--from", str(dump)])]
    assert documents[0]["pods"]
    assert documents[0] == documents[1]
    assert documents[0]["pods"] == documents[2]["pods"]


def _document(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert run(["simulate", *arguments, "-o", "json", "--detail", "full", "--exit-zero"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["run"]["command"].startswith("ksched simulate ")
    del document["stats"], document["run"]
    return document


@pytest.mark.slow
def test_what_is_missing_is_named_beside_the_answers_it_could_change(
    kube: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], ksched: Ksched
) -> None:
    kube.faults["/api/v1/persistentvolumeclaims"] += [refuses(403, "forbidden")] * 3
    claim = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    # Of three pods the step of each names what could not be read, of more pods a note.
    kube.hold([make_pod("stateful").spec(volumes=claim).doc(), make_pod("p").doc(), make_pod("q").doc()])
    snapshot = str(tmp_path / "s.gz")
    live = ["--kubeconfig", kube.kubeconfig(tmp_path)]
    ksched("snapshot", *live, "-o", snapshot, code=0)
    for arguments in (live, ["--from", snapshot]):
        document = _document(arguments, capsys)
        assert document["coverage"]["missing"] == {"PersistentVolumeClaim": "forbidden"}
        assert {each["pod"]: each.get("missing") for each in document["pods"] if "missing" in each} == {
            "default/stateful": ["PersistentVolumeClaim"]
        }
    shown = ksched("simulate", *live).out
    assert shown.count("could be otherwise: PersistentVolumeClaim could not be read") == 1
    assert "not taken into account: PersistentVolumeClaim (forbidden)" in shown


@pytest.mark.slow
def test_manifests_go_into_the_namespace_of_the_context_and_n_shows_one_namespace(
    kube: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kube.hold([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
    manifest = make_pod("mine").doc()
    del manifest["metadata"]["namespace"]
    (tmp_path / "m.json").write_text(json.dumps(manifest))
    live = ["--kubeconfig", kube.kubeconfig(tmp_path), "-f", str(tmp_path / "m.json")]
    assert run(["simulate", *live, "-n", "shop", "-o", "name"]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == ["pod/shop/mine"]
    assert run(["simulate", *live, "-o", "name"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8


def test_without_a_kubeconfig_the_way_out_is_named(ksched: Ksched) -> None:
    assert "no kubeconfig, so there is no cluster to read (give --from FILE" in ksched("simulate", code=3).err


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_kubeconfig_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(ClusterUnreadable, match="ermission denied"):
        connect(LiveOptions(kubeconfig=str(path)))


@pytest.mark.slow
def test_a_broken_object_of_a_live_cluster_is_told_like_one_of_a_file(
    kube: KubeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kube.hold(
        [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "odd", "namespace": "x"}, "spec": {"containers": 3}}]
    )
    assert run(["simulate", "--kubeconfig", kube.kubeconfig(tmp_path)]) == 2
    assert "live: pods: x/odd: items[7].spec.containers: expected" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("fault", [refuses(401), refuses(403), ends_within_a_chunk, sends(b"{")])
def test_the_command_ends_in_3_and_a_sentence(fault: Fault, kube: KubeServer, tmp_path: Path, ksched: Ksched) -> None:
    kube.faults["/api/v1/nodes"] += [fault] * 50
    said = ksched("simulate", "--kubeconfig", kube.kubeconfig(tmp_path), "--request-timeout", "400ms", code=3)
    assert said.out == ""
    assert said.err.startswith(f"ksched: {kube.url}: ")
    assert len(said.err.splitlines()) == 1


def test_a_proxy_that_is_not_there(kube: KubeServer, tmp_path: Path, ksched: Ksched) -> None:
    path = Path(kube.kubeconfig(tmp_path))
    path.write_text(path.read_text().replace("    server:", "    proxy-url: http://127.0.0.1:1\n    server:"))
    assert "Unable to connect to proxy" in ksched("simulate", "--kubeconfig", str(path), code=3).err
    assert kube.requests == []


def test_the_service_account_of_a_pod(
    kube: KubeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kubernetes.config import incluster_config

    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "namespace").write_text("team-a")
    (tmp_path / "ca.crt").write_bytes(kube.ca.cert_pem.bytes())
    monkeypatch.setattr(connection, "_TOKEN", tmp_path / "token")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(kube.port))
    cluster = read_cluster(connect(LiveOptions()))
    assert (names(cluster), cluster.namespace) == (ALL, "team-a")

    # A kubeconfig that is named in some way comes before the service account.
    mine = kube.kubeconfig(tmp_path)
    assert connect(LiveOptions(kubeconfig=mine)).namespace == "shop"
    monkeypatch.setenv("KUBECONFIG", mine)
    assert connect(LiveOptions()).namespace == "shop"
    monkeypatch.delenv("KUBECONFIG")
    with pytest.raises(ClusterUnreadable, match="no kubeconfig, so there is no cluster to read"):
        connect(LiveOptions(context="other"))
    (tmp_path / ".kube").mkdir()
    Path(mine).rename(tmp_path / ".kube" / "config")
    assert connect(LiveOptions()).namespace == "shop"


@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPIDLE"), reason="the system names the option otherwise")
def test_a_connection_notices_that_its_server_is_gone(kube: KubeServer, tmp_path: Path) -> None:
    """Within a minute: the system sends probes on a quiet connection."""
    pool = connect(LiveOptions(kubeconfig=kube.kubeconfig(tmp_path))).pool
    options = {(level, name): value for level, name, value in pool.connection_pool_kw["socket_options"]}
    assert options[socket.SOL_SOCKET, socket.SO_KEEPALIVE] == 1
    idle, between, most = (
        options[socket.IPPROTO_TCP, name] for name in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert idle + between * most == 60
