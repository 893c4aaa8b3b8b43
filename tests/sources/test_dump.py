"""Files as people have them: good, odd and broken."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.errors import InputError
from ksched_cli.simulator import Simulator
from ksched_cli.sources.dump import load_dump
from tests.builders import PodBuilder, make_node, make_pod, write_list
from tests.lanes import sampled
from tests.running import Ksched

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"


def write(path: Path, content: Any) -> str:
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content)
    else:
        path.write_text(json.dumps(content))
    return str(path)


def a_list(*items: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def names(sources: list[str], **options: Any) -> tuple[list[str], list[str]]:
    loaded = load_dump(sources, **options)
    return [each.metadata.name for each in loaded.of(Node)], [each.metadata.name for each in loaded.of(Pod)]


def complaints(*sources: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_dump(list(sources))
    assert caught.value.exit_code == 2
    return [str(problem) for problem in caught.value.problems]


NODE, POD = make_node("n").doc(), make_pod("p").doc()
POD_YAML = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: c\n"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(a_list(NODE, POD), id="a List"),
        pytest.param(json.dumps(NODE) + "\n" + json.dumps(POD) + "\n", id="one document a line"),
        pytest.param(json.dumps(NODE, indent=1) + json.dumps(POD, indent=1), id="one document after the other"),
        pytest.param(
            "".join(
                f'{{"apiVersion": "v1", "kind": "{kind}",\n"metadata": {{"name": "{name}"}}}}\n'
                for kind, name in (("Node", "n"), ("Pod", "p"))
            ),
            id="documents of two lines",
        ),
        pytest.param("---\n" + json.dumps(NODE) + "\n---\n" + POD_YAML, id="YAML documents"),
        pytest.param("---\n" + json.dumps(NODE) + "\n---\n" + POD_YAML + "kind: Pod\n", id="a key that stands twice"),
        pytest.param(b"\xef\xbb\xbf" + json.dumps(a_list(NODE, POD)).encode(), id="with a byte order mark"),
        pytest.param("\n" * 2000 + json.dumps(a_list(NODE, POD)), id="many blank lines first"),
    ],
)
def test_forms(tmp_path: Path, content: Any) -> None:
    assert names([write(tmp_path / "f.yaml", content)]) == (["n"], ["p"])


def test_stdin() -> None:
    assert names(["-"], stdin=io.BytesIO(json.dumps(a_list(NODE)).encode())) == (["n"], [])


def test_directories_are_read_in_order_and_hidden_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    write(tmp_path / "b.json", make_node("b").doc())
    write(tmp_path / "sub" / "a.yml", make_node("a").doc())
    write(tmp_path / ".hidden.json", "broken")
    write(tmp_path / ".git" / "x.json", "broken")
    write(tmp_path / "notes.txt", "broken")
    assert names([str(tmp_path)]) == (["b", "a"], [])


@pytest.mark.parametrize(
    ("documents", "kept"),
    [
        pytest.param(True, {"Pod", "ReplicaSet", "Node"}, id="for manifests"),
        pytest.param(False, {"ReplicaSet"}, id="no"),
    ],
)
def test_documents_of_objects_are_kept_for_manifests(tmp_path: Path, documents: bool, kept: set[str]) -> None:
    """Those of workloads always: admission reads the templates of pods that are made of them."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    workload = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": spec}
    managed = {**NODE, "metadata": {**NODE["metadata"], "managedFields": [{"manager": "kubelet"}]}}
    dump = write_list(tmp_path / "f.json", managed, POD, workload)
    assert {kind for kind, *_ in load_dump([dump], documents=documents).documents} == kept


def test_objects_are_defaulted(tmp_path: Path) -> None:
    node = make_node("n").doc()
    node["status"] = {"capacity": {"cpu": "3", "pods": "5"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    loaded = load_dump([write(tmp_path / "f.json", a_list(node, pod))])
    assert loaded.of(Node)[0].status.allocatable == {"cpu": "3", "pods": "5"}
    assert loaded.of(Pod)[0].metadata.namespace == "default"
    assert loaded.of(Pod)[0].spec.scheduler_name == "default-scheduler"


def test_unknown_kinds_are_counted(tmp_path: Path) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    loaded = load_dump([write(tmp_path / "f.json", a_list(NODE, widget, widget))])
    assert loaded.unknown == {"example.com/v1/Widget": 2}


def test_odd_objects_are_warned_of(tmp_path: Path) -> None:
    bare = make_node("bare").doc()
    bare["status"] = {}
    lost = make_pod("lost").on("gone").doc()
    warnings = load_dump([write(tmp_path / "f.json", a_list(bare, lost))]).warnings
    assert warnings == [
        "node bare reports neither allocatable nor capacity: nothing fits on it",
        "pod default/lost is on node gone, which is not in the input: it counts nowhere",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("a: [1,\n", r"{f}:2: broken YAML", id="broken YAML"),
        pytest.param('{"apiVersion": "v1",}', r"{f}:1: no kind", id="a comma too many is YAML"),
        pytest.param('{"apiVersion": "v1",\n "kind": "Pod"]', r"{f}:2: broken JSON", id="broken JSON"),
        pytest.param(
            '\n{"apiVersion": "v1",\n "kind": "Pod"]', r"{f}:3: broken JSON", id="broken JSON after a blank line"
        ),
        pytest.param(
            '\n{"apiVersion": "v1",\n "kind": "Node", "metadata": {"name": "n"}}\n{"kind":\n "Pod"}',
            r"{f}:4: Pod has no apiVersion",
            id="the second of two",
        ),
        pytest.param(
            '\n{"kind":\n "Pod"}\n{"apiVersion": "v1",\n "kind": "Node", "metadata": {"name": "n"}}',
            r"{f}:2: Pod has no apiVersion",
            id="the first of two",
        ),
        pytest.param(
            '{"apiVersion": "v1", "kind": "Po',
            r"{f}:1: broken JSON: it ends in the middle, after 32 bytes",
            id="cut off",
        ),
        pytest.param("", r"{f}: empty", id="empty"),
        pytest.param("   \n\n", r"{f}: empty", id="blank"),
        pytest.param("---\n# nothing\n", r"{f}: no Kubernetes objects in the input", id="only comments"),
        pytest.param("just some text", r"{f}:1: expected an object with apiVersion and kind, got a string", id="text"),
        pytest.param(POD_YAML + "---\nfoo: 1\n", r"{f}:9: no kind", id="second document without a kind"),
        pytest.param(
            POD_YAML.replace("name: c", "name: 5"),
            r"{f}:1: Pod p: spec.containers\[0\].name: expected a string",
            id="wrong type",
        ),
        pytest.param(b"\x00\x01\x02" * 50, r"{f}: not text: there are NUL bytes", id="binary"),
        pytest.param(b"\xff\xfea\x00", r"{f}: text in UTF-16", id="UTF-16"),
        pytest.param(b"caf\xe9 " * 20, r"{f}: not text in UTF-8 \(byte 3\)", id="Latin-1"),
        pytest.param(
            b'{"apiVersion": "v1", "kind": "Pod",' + b" " * 100_000 + b'"metadata": {"name": "caf\xe9"}}',
            r"{f}: not text in UTF-8 \(byte 100060\)",
            id="Latin-1 far from the beginning",
        ),
        pytest.param(b"\x1f\x8b\x08\x00", r"{f}: it ends in the middle", id="gzip"),
        pytest.param("<!DOCTYPE html><html>", r"{f}: a web page", id="HTML"),
        pytest.param("[" * 100_000, r"{f}.*(broken JSON|nested)", id="deep JSON"),
    ],
)
def test_broken_files(tmp_path: Path, content: Any, expected: str) -> None:
    import re

    path = write(tmp_path / "f.yaml", content)
    (found,) = complaints(path)
    assert re.match(expected.replace("{f}", re.escape(path)), found)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(
            make_pod("p").requests(cpu="-1").doc(),
            "Pod default/p: spec.containers[0].resources.requests.cpu: -1 is negative",
            id="negative request",
        ),
        pytest.param(
            make_pod("p").requests(cpu="lots").doc(),
            "Pod default/p: spec.containers[0].resources.requests.cpu: 'lots' is not a quantity",
            id="nonsense request",
        ),
        pytest.param(
            make_pod("p").limits(example_com__gpu="1 Gi").doc(),
            "Pod default/p: spec.containers[0].resources.limits[example.com/gpu]: '1 Gi' is not",
            id="nonsense limit",
        ),
        pytest.param(
            make_pod("p").init(resources={"requests": {"cpu": "x"}}).doc(),
            "Pod default/p: spec.initContainers[0].resources.requests.cpu: 'x' is not",
            id="init container",
        ),
        pytest.param(
            make_pod("p").spec(overhead={"cpu": "-1m"}).doc(),
            "Pod default/p: spec.overhead.cpu: -1m is negative",
            id="overhead",
        ),
        pytest.param(
            make_node("n").allocatable(cpu="-4").doc(), "Node n: status.allocatable.cpu: -4 is negative", id="node"
        ),
        pytest.param(
            make_node("n").taint("a").taint("b", effect="NoShedule").doc(),
            "Node n: spec.taints[1].effect: 'NoShedule' is not supported, use one of NoSchedule, PreferNoSchedule, NoExe",
            id="effect of a taint",
        ),
        pytest.param(
            make_pod("p")
            .spec(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "Do"}])
            .doc(),
            "Pod default/p: spec.topologySpreadConstraints[0].whenUnsatisfiable: 'Do' is not supported, use one of DoNot",
            id="spread constraint",
        ),
        pytest.param(
            make_pod("p")
            .spec(
                topologySpreadConstraints=[
                    {"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": when} for when in ("DoNotSchedule", "Do")
                ]
            )
            .doc(),
            "Pod default/p: spec.topologySpreadConstraints[1].whenUnsatisfiable: 'Do' is not supported",
            id="the second of two spread constraints",
        ),
        pytest.param(
            make_pod("p").limits(cpu="1", memory="x").init(resources={"requests": {"cpu": "1"}}).doc(),
            "Pod default/p: spec.containers[0].resources.limits.memory: 'x' is not",
            id="the second of two limits, before a correct init container",
        ),
        pytest.param(
            make_pod("p").status(conditions=[{"type": "A"}, {"type": "B", "lastTransitionTime": "now"}]).doc(),
            "Pod default/p: status.conditions[1].lastTransitionTime: 'now' is not a time",
            id="the second of two conditions",
        ),
        pytest.param(
            make_pod("p").doc()
            | {"status": {"containerStatuses": [{"name": "a"}, {"name": "b", "allocatedResources": {"cpu": "x"}}]}},
            "Pod default/p: status.containerStatuses[1].allocatedResources.cpu",
            id="allocated resources",
        ),
        pytest.param(
            make_pod("p").doc()
            | {"status": {"containerStatuses": [{"name": "b", "resources": {"requests": {"cpu": "x"}}}]}},
            "Pod default/p: status.containerStatuses[0].resources.requests.cpu",
            id="resources of a status",
        ),
        pytest.param(
            make_pod("p").created("yesterday").doc(),
            "Pod default/p: metadata.creationTimestamp: 'yesterday' is not a time",
            id="time",
        ),
        pytest.param(make_pod("").doc(), "Pod default/: metadata.name: a pod needs a name", id="no name"),
    ],
)
def test_objects_that_the_api_server_would_refuse(tmp_path: Path, item: Any, expected: str) -> None:
    path = write(tmp_path / "f.json", a_list(item))
    (found,) = complaints(path)
    assert found.startswith(f"{path}: {expected}")


def test_the_same_name_twice(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", a_list(NODE, POD, POD))
    second = write(tmp_path / "b.json", a_list(NODE))
    assert complaints(first, second) == [
        f"{first}: Pod default/p is there more than once (leave one of them out)",
        f"{second}: Node n is there more than once, and in {first} "
        "(leave one of them out, or give --newest for the newer one)",
    ]


def test_a_node_has_no_namespace(tmp_path: Path) -> None:
    """The namespace of a cluster-scoped object has no effect: these two are one node."""
    nodes = [NODE | {"metadata": {"name": "n", "namespace": namespace}} for namespace in "ab"]
    path = write(tmp_path / "a.json", a_list(*nodes))
    assert complaints(path) == [f"{path}: Node n is there more than once (leave one of them out)"]


def _version(version: str, cpu: str, uid: str = "u") -> Any:
    document = make_node("n").allocatable(cpu=cpu).doc()
    document["metadata"] |= {"uid": uid, "resourceVersion": version}
    return document


_TWO_DUMPS = "these are two dumps of one cluster (leave one of them out, or give --newest for the newer objects)"


@pytest.mark.parametrize(
    ("old", "new", "newest"),
    [
        pytest.param(_version("9", "1"), _version("10", "2"), "2", id="the later file is newer"),
        pytest.param(_version("10", "1"), _version("9", "2"), "1", id="the number counts before the time"),
        pytest.param(_version("", "1"), _version("", "2"), "2", id="no versions: the time of the file"),
        pytest.param(_version("x", "1"), _version("7", "2"), "2", id="one version is no number: the time of the file"),
        pytest.param(_version("7", "1"), _version("x", "2"), "2", id="the other version is no number"),
    ],
)
@pytest.mark.parametrize("later_first", [False, True])
def test_two_dumps_of_one_cluster(tmp_path: Path, old: Any, new: Any, newest: str, later_first: bool) -> None:
    first, second = write(tmp_path / "a.json", a_list(old, POD)), write(tmp_path / "b.json", a_list(new))
    os.utime(first, (1000, 1000))
    os.utime(second, (2000, 2000))
    paths = [second, first] if later_first else [first, second]
    assert complaints(*paths) == [f"{paths[1]}: Node n is in another version in {paths[0]}: {_TWO_DUMPS}"]
    (node,) = load_dump(paths, newest=True).of(Node)
    assert node.status.allocatable["cpu"] == newest


def test_an_object_that_was_made_anew_between_two_dumps(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", a_list(_version("3", "1")))
    second = write(tmp_path / "b.json", a_list(_version("5", "2", uid="v")))
    assert "--newest" in complaints(first, second)[0]
    (node,) = load_dump([second, first], newest=True).of(Node)
    assert node.metadata.uid == "v"


def test_the_python_api_takes_the_newer_of_two_dumps(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{cpu}.json", a_list(_version(cpu, cpu))) for cpu in "12"]
    with pytest.raises(InputError, match="two dumps of one cluster"):
        Simulator.load(*paths)
    (node,) = Simulator.load(*paths, newest=True).nodes
    assert node.status.allocatable["cpu"] == "2"


@pytest.mark.parametrize("version", ["", "7"])
def test_the_same_object_in_two_files_is_one(tmp_path: Path, version: str) -> None:
    paths = [write(tmp_path / name, a_list(_version(version, "1"))) for name in ("a.json", "b.json")]
    assert len(load_dump(paths).of(Node)) == 1


def test_the_same_object_with_and_without_defaults_is_one(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, a_list(make_pod("p").uid("u").doc())) for name in ("a.json", "b.json")]
    assert len(load_dump(paths).of(Pod)) == 1


def test_the_document_of_an_older_version_is_not_kept(tmp_path: Path) -> None:
    old, new = _version("1", "1"), _version("2", "2")
    old["metadata"]["managedFields"] = [{"manager": "m", "operation": "Apply"}]
    first, second = write(tmp_path / "a.json", a_list(old)), write(tmp_path / "b.json", a_list(new))
    assert ("Node", "", "n") in load_dump([first]).documents
    assert ("Node", "", "n") not in load_dump([first, second], newest=True).documents


@pytest.mark.parametrize(("pods", "more"), [("ab", "1 more object"), ("abc", "2 more objects")])
def test_two_dumps_are_one_problem(pods: str, more: str, tmp_path: Path) -> None:
    def dump(name: str, version: str) -> str:
        documents = [make_pod(each).uid(each).doc() for each in pods]
        for pod in documents:
            pod["metadata"]["resourceVersion"] = version
        return write(tmp_path / name, a_list(*documents))

    first, second = dump("a.json", "1"), dump("b.json", "2")
    text = f"{second}: Pod default/a and {more} are in another version in {first}: {_TWO_DUMPS}"
    assert complaints(first, second) == [text]


def test_newest_does_not_choose_between_files_of_one_time(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{cpu}.json", a_list(_version("", cpu))) for cpu in "12"]
    for each in paths:
        os.utime(each, (1000, 1000))
    with pytest.raises(InputError, match="in another version"):
        load_dump(paths, newest=True)


def test_all_problems_of_all_files_at_once(tmp_path: Path) -> None:
    broken = write(tmp_path / "a.yaml", "a: [")
    mistaken = write(tmp_path / "b.json", a_list(make_pod("p").requests(cpu="x", memory="y").doc(), {"kind": "Pod"}))
    missing = str(tmp_path / "c.json")
    assert len(complaints(broken, mistaken, missing)) == 5


def test_a_thousand_problems_are_cut_short(tmp_path: Path) -> None:
    bad = [make_pod(f"p{index}").requests(cpu="x").doc() for index in range(1000)]
    found = complaints(write(tmp_path / "f.json", a_list(*bad)))
    assert len(found) == 51
    assert found[-1] == "and 950 more problems"


def test_a_missing_file_with_a_near_name(tmp_path: Path) -> None:
    write(tmp_path / "cluster.json", NODE)
    wanted = str(tmp_path / "clutser.json")
    assert complaints(wanted) == [f"{wanted}: no such file or directory (did you mean {tmp_path / 'cluster.json'}?)"]


def test_a_directory_without_manifests(tmp_path: Path) -> None:
    (found,) = complaints(str(tmp_path))
    assert "no manifests in this directory" in found


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (found,) = complaints(str(tmp_path / "pipe"))
    assert "pipes, sockets and devices are not read" in found


@pytest.mark.slow
@pytest.mark.parametrize(
    "word",
    [
        pytest.param(os.urandom(1024), id="random bytes"),
        pytest.param(b"a", id="one long word"),
        pytest.param(b"{", id="braces"),
        pytest.param(b"- ", id="dashes"),
    ],
)
def test_a_hundred_megabytes_of_garbage(tmp_path: Path, word: bytes) -> None:
    garbage = word * (100 * 1024 * 1024 // len(word))
    (found,) = complaints(write(tmp_path / "f.yaml", garbage))
    assert len(found) < 1000


@pytest.mark.parametrize("case", sampled(sorted(CORPUS.iterdir())[::20], 5))
def test_yaml_and_json_of_a_recorded_cluster_load_alike(tmp_path: Path, case: Path) -> None:
    import yaml

    document = json.loads((case / "cluster.json").read_text())
    from_yaml = load_dump([write(tmp_path / "f.yaml", yaml.safe_dump(document))])
    assert from_yaml.objects == load_dump([str(case / "cluster.json")]).objects


def test_a_node_with_a_namespace_is_a_node_of_the_cluster(tmp_path: Path, ksched: Ksched) -> None:
    odd = make_node("b").doc()
    odd["metadata"]["namespace"] = "default"
    path = str(tmp_path / "c.json")
    write_list(Path(path), make_node("a").doc(), odd)
    assert "please report" not in ksched("drain", "--each", "node", "--from", path, code=0).err


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param({"tolerations": [{"key": "a", "tolerationSeconds": 2**63}]}, "tolerationSeconds", id="64 bits"),
        pytest.param({"activeDeadlineSeconds": -(2**63) - 1}, "activeDeadlineSeconds", id="below 64 bits"),
        pytest.param({"topologySpreadConstraints": [{"maxSkew": 2**31}]}, "maxSkew", id="32 bits"),
        pytest.param(
            {"containers": [{"name": "c", "ports": [{"containerPort": 10**300}]}]}, "containerPort", id="300 digits"
        ),
    ],
)
def test_a_number_that_no_integer_of_go_holds(
    fields: dict[str, Any], path: str, tmp_path: Path, ksched: Ksched
) -> None:
    """A number of 300 digits in a dump was a crash: the cache could not encode the pod."""
    cluster = write_list(tmp_path / "c.json", make_node("n").doc(), make_pod("p").spec(**fields).doc())
    assert path in ksched("simulate", "--from", cluster, code=2).err


def test_a_mistake_in_a_claim_of_an_older_version(tmp_path: Path) -> None:
    request = {"name": "r", "deviceClassName": "g", "count": "x"}
    item = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
    path = write(tmp_path / "f.json", a_list({**item, "spec": {"devices": {"requests": [request]}}}))
    (found,) = complaints(path)
    assert found.endswith("spec.devices.requests[0].exactly.count: expected a whole number, got a string")


def test_accounts_and_ranges_of_services(tmp_path: Path) -> None:
    accounts = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", **of}}
        for of in ({}, {"namespace": "b"})
    ]
    ranges = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "more"}}
    loaded = load_dump([write(tmp_path / "f.json", a_list(*accounts, ranges, NODE))])
    assert set(loaded.accounts) == {("default", "a"), ("b", "a")}
    assert (set(loaded.service_ranges), dict(loaded.unknown)) == ({"more"}, {})


@pytest.mark.parametrize(
    ("pods", "those"),
    [
        pytest.param([], "", id="none"),
        pytest.param([make_pod("a", "x")], "its pending pod is", id="one"),
        pytest.param([make_pod("a", "x"), make_pod("b", "x")], "its 2 pending pods are", id="two"),
        pytest.param([make_pod("a", "x").on("n"), make_pod("b"), make_pod("c", "x").phase("Failed")], "", id="others"),
    ],
)
def test_a_namespace_that_is_being_deleted(pods: list[PodBuilder], those: str, tmp_path: Path) -> None:
    metadata = {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    path = write(tmp_path / "f.json", a_list(NODE, namespace, *(each.doc() for each in pods)))
    expected = f"namespace x is being deleted: {those} deleted too, and no pod can be created there"
    assert load_dump([path]).warnings == ([expected] if those else [])
