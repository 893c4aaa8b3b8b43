"""`ksched explain` as a person runs it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list
from tests.cli.test_pod_groups import pod_group
from tests.cli.transcripts import DEMO, FLEET, ROOT, same_as_golden
from tests.pod_groups import GANG, member
from tests.running import Ksched

API = "fixtures/clusters/api-deployment.yaml"
SHAPES = "fixtures/catalogs/shop.yaml"


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("explain-help", ["--help"], 0, id="help"),
        pytest.param("explain-unschedulable", ["report-1", "--from", DEMO], 1, id="a pod that lacks cpu"),
        pytest.param(
            "explain-catalog",
            ["report-1", "--from", DEMO, "--no-fixes", "--catalog", SHAPES],
            1,
            id="a node that would help",
        ),
        pytest.param("explain-scheduled", ["shop/web-1", "--from", DEMO], 0, id="a pod that has the choice"),
        pytest.param("explain-gated", ["canary-1", "--from", DEMO], 1, id="a pod that is held back"),
        pytest.param("explain-manifest", ["--from", FLEET, "-f", API], 1, id="a manifest of three pods"),
        pytest.param("explain-running", ["search-0", "-n", "shop", "--from", DEMO], 0, id="a pod that runs"),
    ],
)
def test_transcript(
    name: str, arguments: list[str], code: int, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shown = ksched("explain", *arguments, code=code).out
    same_as_golden(name, shown)


def test_transcript_of_a_preemption(tmp_path: Path, ksched: Ksched) -> None:
    shown = ksched("explain", "p", "--from", write_list(tmp_path / "c.json", *crowded()), "--node", "n1").out
    same_as_golden("explain-preempts", shown)


def crowded() -> list[Any]:
    """Two candidates for preemption, a node of pods that are more important, one that is too small, one that is
    cordoned."""

    def running(name: str, on: str, cpu: str, priority: int) -> Any:
        return make_pod(name).requests(cpu=cpu).priority(priority).on(on).doc()

    nodes = [make_node(f"n{index}").allocatable(cpu="4", memory="8Gi", pods=9).doc() for index in (1, 2, 3)]
    return [
        *nodes,
        make_node("n4").allocatable(cpu="1", memory="8Gi", pods=9).doc(),
        make_node("n5").allocatable(cpu="4", memory="8Gi", pods=9).cordoned().doc(),
        running("one", "n1", "4", 1),
        running("two-a", "n2", "2", 0),
        running("two-b", "n2", "2", 0),
        running("high", "n3", "4", 100),
        make_pod("p").requests(cpu="3").priority(9).doc(),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["reprt-1"], "there is no pod reprt-1; the nearest names are shop/report-1", id="misspelt"),
        pytest.param(["zzz"], "there is no pod zzz; pending pods are shop/batch-1, ", id="like no other"),
        pytest.param(["web-1", "-n", "shp"], "there is no pod shp/web-1; there is shop/web-1", id="elsewhere"),
        pytest.param(["abc", "-n", "shp"], "no pod is in namespace shp (did you mean shop?)", id="namespace misspelt"),
        pytest.param(["shop/web-1", "-n", "dev"], "-n dev and shop/web-1 name two namespaces", id="contradiction"),
        pytest.param(["deploy/web"], 'there is no Deployment "web"', id="no such workload"),
        pytest.param(
            ["node/east-1"], "node/east-1 is neither a pod nor a workload (explain POD --node east-1", id="a node"
        ),
        pytest.param(["pdb/x"], "(the input has none: add poddisruptionbudgets to it)", id="no such object"),
        pytest.param(["pc/x"], "(the input has none: add priorityclasses to it)", id="no such class"),
        pytest.param([""], '"" names no pod: write POD, NAMESPACE/POD or KIND/NAME', id="an empty name"),
        pytest.param(["shop/"], '"shop/" names no pod: write POD', id="a namespace alone"),
        pytest.param(["pod/"], '"pod/" names no pod: write POD', id="a kind alone"),
    ],
)
def test_a_pod_that_cannot_be_meant(arguments: list[str], said: str, ksched: Ksched) -> None:
    output = ksched("explain", *arguments, "--from", DEMO, code=2)
    assert said in output.err
    assert output.out == ""


def test_a_name_in_several_namespaces_is_asked_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = write_list(
        tmp_path / "c.json", make_node("n").doc(), make_pod("web", "a").doc(), make_pod("web", "b").doc()
    )
    assert run(["explain", "web", "--from", cluster]) == 2
    assert "several pods are named web: a/web, b/web; give namespace/name or -n NAMESPACE" in capsys.readouterr().err
    assert run(["explain", "web", "-n", "b", "--from", cluster]) == 0
    assert capsys.readouterr().out.startswith("b/web: scheduled on n, 1 of 1 nodes fit")


def test_a_finished_pod_is_nobodys_business(tmp_path: Path, ksched: Ksched) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n").doc(), make_pod("done").phase("Succeeded").doc())
    assert "pod default/done has finished (Succeeded)" in ksched("explain", "done", "--from", cluster, code=2).err


def test_a_pod_of_another_scheduler(tmp_path: Path, ksched: Ksched) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n").doc(), make_pod("p").scheduler("volcano").doc())
    said = " ".join(ksched("explain", "p", "--from", cluster, code=1).out.split())
    assert (
        'No profile is named "volcano", so this scheduler leaves the pod alone; the profile is default-scheduler.'
        in said
    )


def test_of_the_pods_of_a_manifest_the_first_that_does_not_fit(tmp_path: Path, ksched: Ksched) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n").allocatable(cpu="3", memory="4Gi", pods=9).doc())
    template = {"metadata": {"labels": {"app": "web"}}, "spec": make_pod().requests(cpu="2").doc()["spec"]}
    replicas = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": replicas}
    path = tmp_path / "web.json"
    path.write_text(json.dumps(workload))
    said = " ".join(ksched("explain", "--from", cluster, "-f", str(path), code=1).out.split())
    assert "unschedulable, 0 of 1 nodes fit" in said
    assert "cpu: asks 2, 1 free of 3 (held by default/web-" in said


def test_a_pod_that_fits_and_whose_gang_does_not(tmp_path: Path, ksched: Ksched) -> None:
    items = [
        make_node("n1").allocatable(cpu=2, pods=20).doc(),
        make_node("n2").allocatable(cpu=1, pods=20).doc(),
        make_pod("old").requests(cpu="1").on("n2").doc(),
        pod_group("big", gang={"minCount": 3}),
        *(member(f"big-{index}", "big").doc() for index in (1, 2, 3)),
    ]
    cluster = write_list(tmp_path / "c.json", *items)
    said = " ".join(ksched("explain", "big-1", "--from", cluster, "--feature-gates", GANG, code=1).out.split())
    assert "1 of 2 nodes lacks cpu; 1 node would take it, and yet: pod group is unschedulable" in said
    assert "It belongs to group default/big, which has one cycle" in said
    assert "delete pod/default/old (1 cpu on n2) -> n1" in said


def test_a_pod_in_a_namespace_that_is_being_deleted(tmp_path: Path, ksched: Ksched) -> None:
    """The manifest's pod is explained, and no other one that waits. One warning names the pods that go."""
    ending = {"name": "old", "deletionTimestamp": "2026-11-21T08:00:00Z"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": ending}
    waiting = [make_pod(name, "old").requests(cpu="9").doc() for name in ("a", "b")]
    cluster = write_list(tmp_path / "c.json", make_node("n").doc(), namespace, *waiting)
    shown = ksched("explain", "old/a", "--from", cluster, code=1)
    assert "Namespace old is being deleted: this pod is deleted too" in shown.out
    assert "Changes that would make it fit: none, namespace old is being deleted." in shown.out
    assert "namespace old is being deleted: its 2 pending pods are deleted too" in " ".join(shown.err.split())
    manifest = write_list(tmp_path / "p.json", make_pod("new", "old").doc())
    assert "old/new: refused" in ksched("explain", "--from", cluster, "-f", manifest, code=1).out


def test_a_refused_pod_says_who_refuses_it(tmp_path: Path, ksched: Ksched) -> None:
    cluster = write_list(tmp_path / "c.json", make_node("n").doc())
    manifest = write_list(tmp_path / "p.json", make_pod("p").spec(priorityClassName="nope").doc())
    refusal = "The API server would refuse it (Priority): no PriorityClass with name nope was"
    assert refusal in ksched("explain", "p", "--from", cluster, "-f", manifest, code=1).out
    assert refusal in ksched("explain", "--from", cluster, "-f", manifest, code=1).out


@pytest.mark.parametrize(
    "allowed", [pytest.param(2, id="two fit"), pytest.param(1, id="one fits"), pytest.param(0, id="none")]
)
def test_of_several_pods_a_refused_one_finds_no_place(
    allowed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quota = {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": {"pods": str(allowed)}}}
    cluster = write_list(
        tmp_path / "c.json", make_node("n").doc(), {"apiVersion": "v1", "kind": "ResourceQuota", **quota}
    )
    manifest = write_list(tmp_path / "p.json", *(make_pod(name).doc() for name in "abc"))
    assert run(["explain", "--from", cluster, "-f", manifest]) == 1
    shown = capsys.readouterr().out
    assert f"default/{'abc'[allowed]}: refused" in shown
    assert not allowed or f"Of 3 pending pods {3 - allowed} find" in shown


@pytest.mark.slow
@pytest.mark.parametrize("pod", ["report-1", "web-1", "canary-1", "search-0"])
def test_json_and_yaml_are_the_same_document(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    run(["explain", pod, "--from", DEMO, "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["apiVersion"], document["kind"]) == ("ksched/v1", "Explanation")
    run(["explain", pod, "--from", DEMO, "-o", "yaml"])
    assert {**yaml.safe_load(capsys.readouterr().out), "run": document["run"]} == document


@pytest.mark.slow
def test_the_documents_verdict_is_that_of_simulate(capsys: pytest.CaptureFixture[str]) -> None:
    run(["simulate", "--from", DEMO, "-o", "json", "--detail", "full"])
    simulated = {pod["pod"]: pod for pod in json.loads(capsys.readouterr().out)["pods"]}
    for pod, wanted in simulated.items():
        run(["explain", pod, "--from", DEMO, "-o", "json"])
        document = json.loads(capsys.readouterr().out)
        assert {key: document[key] for key in wanted} == wanted


def test_numbers_are_in_the_document(ksched: Ksched) -> None:
    document = json.loads(ksched("explain", "report-1", "--from", DEMO, "-o", "json").out)
    (fit,) = document["rejections"]["west-2"]
    assert fit["plugin"] == "NodeResourcesFit"
    cpu = fit["detail"]["cpu"]
    assert (cpu["asked"], cpu["free"], cpu["short"]) == (6000, 5000, 1000)
    assert cpu["heldBy"] == [{"pod": "shop/search-0", "amount": 3000}]
    assert [each["plugin"] for each in document["rejections"]["old-1"]] == [
        "NodeUnschedulable",
        "TaintToleration",
        "NodeResourcesFit",
    ]
    assert document["queue"] == {"position": 4, "pods": 5, "placedBefore": 3}
    assert document["retriedOn"]["NodeResourcesFit"] == [
        "Pod Delete/UpdatePodScaleDown",
        "Node Add/UpdateNodeAllocatable",
        "DeviceClass Add/Update",
    ]


def test_the_name_alone(ksched: Ksched) -> None:
    assert ksched("explain", "web-1", "--from", DEMO, "-o", "name").out == "pod/shop/web-1\tnode/east-2\n"


WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      nodeSelector:
        disk: ssd
      containers:
      - name: main
        image: i
        resources:
          requests:
            cpu: 3
"""


def explain_manifest(
    folder: Path, manifest: str, capsys: pytest.CaptureFixture[str], *cluster: Any
) -> dict[str, list[dict[str, Any]]]:
    """The changes of the manifest by the text of the fix. No command patches a pod."""
    nodes = write_list(folder / "c.json", *cluster)
    (folder / "m.yaml").write_text(manifest)
    run(["explain", "--from", nodes, "-f", str(folder / "m.yaml"), "-o", "json"])
    fixes = json.loads(capsys.readouterr().out)["fixes"]
    assert not [command for fix in fixes for command in fix.get("commands", ()) if "patch" in command]
    return {
        fix["text"]: [{key: each[key] for key in each if key != "file"} for each in fix["manifest"]]
        for fix in fixes
        if "manifest" in fix
    }


def test_fixes_of_a_manifest_are_changes_of_the_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hdd = make_node("n").allocatable(cpu="4", pods=9).label(disk="hdd").doc()
    found = explain_manifest(tmp_path, WEB, capsys, hdd)
    field = "spec.template.spec.nodeSelector.disk"
    assert found["leave disk=ssd out of the node selector"] == [{"line": 13, "field": field, "action": "delete"}]
    tainted = make_node("n").allocatable(cpu="2", pods=9).label(disk="ssd").taint("gpu").doc()
    found = explain_manifest(tmp_path, WEB, capsys, tainted)
    toleration = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    where = "spec.template.spec.containers[0].resources.requests.cpu"
    assert found["tolerate taint gpu:NoSchedule and lower the cpu request from 3 to 2"] == [
        {"line": 11, "field": "spec.template.spec.tolerations", "action": "set", "value": [toleration]},
        {"line": 19, "field": where, "action": "set", "value": "2"},
    ]


def test_the_command_of_a_new_node_repeats_the_run(ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the manifest that has the pod, the edits and the scheduler's options."""
    monkeypatch.chdir(ROOT)
    options = ["-f", API, "-n", "shop", "--kube-version", "1.35", "--label", "east-1=a=b"]
    found = json.loads(ksched("explain", "--from", FLEET, *options, "-o", "json", code=1).out)
    (command,) = next(each["commands"] for each in found["fixes"] if each["text"].startswith("one more node"))
    program, *arguments = shlex.split(command)
    assert (program, arguments[0], arguments[-2]) == ("ksched", "explain", "--clone-node")
    assert set(options) <= set(arguments)
    assert ": scheduled on " in ksched(*arguments, code=0).out


POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: main
    image: i
    resources: {requests: {cpu: 3}}
"""


@pytest.mark.parametrize(
    ("manifest", "classes", "field", "line", "value"),
    [
        pytest.param(WEB, ["high"], "spec.template.spec.priorityClassName", 11, "high", id="a class that exists"),
    ],
)
def test_a_manifest_names_a_priority_class_and_no_priority(
    manifest: str,
    classes: list[str],
    field: str,
    line: int,
    value: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    node = make_node("n").allocatable(cpu="4", pods=9).label(disk="ssd").doc()
    low = make_pod("low").requests(cpu="3").on("n").priority(4).doc()
    there = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 9}
        for name in classes
    ]
    found = explain_manifest(tmp_path, manifest, capsys, node, low, *there)
    (change,) = next(changes for text, changes in found.items() if "priority" in text)
    assert change == {"line": line, "field": field, "action": "set", "value": value}


def test_a_custom_resource_gets_the_path_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: train
spec:
  headGroupSpec:
    template:
      spec:
        containers:
        - name: head
          image: i
          resources:
            requests:
              cpu: 3
"""
    found = explain_manifest(tmp_path, cluster, capsys, make_node("n").allocatable(cpu="2", pods=9).doc())
    field = "spec.headGroupSpec.template.spec.containers[0].resources.requests.cpu"
    assert found["lower the cpu request from 3 to 2"] == [{"line": 14, "field": field, "action": "set", "value": "2"}]


def test_the_table_names_file_line_and_field(tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = write_list(tmp_path / "c.json", make_node("n").allocatable(cpu="2", pods=9).label(disk="ssd").doc())
    (tmp_path / "m.yaml").write_text(WEB)
    shown = ksched("explain", "--from", nodes, "-f", "m.yaml").out
    assert "m.yaml:19: spec.template.spec.containers[0].resources.requests.cpu: 2\n" in shown
    assert "patch" not in shown
