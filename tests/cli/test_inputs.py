"""Inputs that are wrong, empty or made by other tools: the exit code, the first line, and complete CI documents."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml

from ksched_cli.cli.main import run
from ksched_cli.sources import rendering
from tests.builders import make_node, make_pod
from tests.cli.junit_shape import junit_mistakes
from tests.cli.sarif_shape import SHAPE

NODE = make_node("n1").allocatable(cpu="4", memory="8Gi", pods=20).doc()
POD = make_pod("p").requests(cpu="1").doc()
LARGE = make_pod("large").requests(cpu="9").doc()
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
STATUS = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "nodes is forbidden"}
TABLE = {"apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": []}


def deployment(name: str = "web", cpu: str = "1", **fields: Any) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec, **fields}


def dumped(*documents: Any) -> str:
    return yaml.safe_dump_all(documents, sort_keys=False)


def lay_out(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a cluster of one node beside the manifests, outside of any repository."""
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(dumped(NODE))
    return tmp_path


def first_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Of the result, or of the error if there is no result."""
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert "a bug in ksched" not in captured.err
    return (captured.out or captured.err).partition("\n")[0]


Files = Mapping[str, str]
CASES: list[Any] = []


def case(name: str, files: Files, arguments: str, code: int, line: str) -> None:
    """`arguments` come after `--from cluster.yaml`, unless they have a --from of their own."""
    CASES.append(pytest.param(files, arguments, code, line, id=name))


WEB = dumped(deployment())
case("it fits", {"m.yaml": WEB}, "check -f m.yaml", 0, "Deployment default/web  fits  1 of 1 pod has a node")
case("it does not", {"m.yaml": dumped(LARGE)}, "check -f m.yaml", 1, "Pod default/large  fails  0 of 1 pod has a node")
case("an empty file", {"m.yaml": ""}, "check -f m.yaml", 2, "m.yaml: error KS001: a file cannot be read")
case("comments only", {"m.yaml": "# nothing\n"}, "check -f m.yaml", 2, "m.yaml: error KS010: nothing was checked")
case("no such file", {}, "check -f m.yaml", 2, "m.yaml: error KS001: a file cannot be read")
case("not YAML", {"m.yaml": "a: [\n"}, "check -f m.yaml", 2, "m.yaml:2: error KS001: a file cannot be read")
case("not text", {"m.yaml": "\0\0"}, "check -f m.yaml", 2, "m.yaml: error KS001: a file cannot be read")
case(
    "one bad file of two",
    {"d/a.yaml": "a: [\n", "d/b.yaml": WEB},
    "check -f d",
    2,
    "d/a.yaml:2: error KS001: a file cannot be read",
)
case(
    "a wrong type",
    {"m.yaml": WEB.replace("replicas: 1", "replicas: many")},
    "check -f m.yaml",
    2,
    "m.yaml:6: error KS002: an object is not valid",
)
case(
    "a wrong quantity",
    {"m.yaml": WEB.replace("cpu: '1'", "cpu: lots")},
    "check -f m.yaml",
    2,
    "m.yaml:19: error KS002: an object is not valid",
)
case(
    "a misspelt kind",
    {"m.yaml": WEB.replace("kind: Deployment", "kind: Deployement")},
    "check -f m.yaml",
    2,
    "m.yaml:1: error KS004: the API server knows no such kind",
)
case(
    "the kind of another group",
    {"m.yaml": WEB.replace("apps/v1", "v1")},
    "check -f m.yaml",
    2,
    "m.yaml:1: error KS004: the API server knows no such kind",
)
case(
    "a removed version",
    {"m.yaml": WEB.replace("apps/v1", "extensions/v1beta1")},
    "check -f m.yaml",
    2,
    "m.yaml:1: error KS005: this version of the kind is no longer served",
)
case("a Status", {"m.yaml": dumped(STATUS)}, "check -f m.yaml", 2, "m.yaml:1: error KS002: an object is not valid")
case("a Table", {"m.yaml": dumped(TABLE)}, "check -f m.yaml", 2, "m.yaml:1: error KS002: an object is not valid")
case(
    "a Status as the cluster",
    {"c.yaml": dumped(STATUS), "m.yaml": WEB},
    "check --from c.yaml -f m.yaml",
    2,
    "ksched: c.yaml:1: this is a Status of the API server, not an object: nodes is forbidden "
    "(run the command that wrote the file again)",
)
case("no workload", {"m.yaml": dumped(CONFIG)}, "check -f m.yaml", 2, "m.yaml: error KS010: nothing was checked")
case(
    "no workload, and that is meant",
    {"m.yaml": dumped(CONFIG)},
    "check -f m.yaml --allow-empty",
    0,
    "nothing to place: no pods or workloads in the manifests (1 node)",
)
case(
    "simulate without a workload",
    {"m.yaml": dumped(CONFIG)},
    "simulate -f m.yaml",
    2,
    "ksched: m.yaml: nothing to place: the manifests have 1 ConfigMap and no pod or workload "
    "(--allow-empty exits with code 0)",
)
case(
    "simulate with a misspelt kind",
    {"m.yaml": WEB.replace("kind: Deployment", "kind: Deployement")},
    "simulate -f m.yaml",
    2,
    "ksched: m.yaml:1: Deployement web: there is no kind Deployement in apps/v1 (did you mean Deployment?)",
)
case(
    "diff without a workload",
    {"m.yaml": dumped(CONFIG)},
    "diff -f m.yaml",
    2,
    "ksched: m.yaml: nothing to place: the manifests have 1 ConfigMap and no pod or workload "
    "(--allow-empty exits with code 0)",
)
case(
    "no node",
    {"c.yaml": dumped(POD)},
    "simulate --from c.yaml",
    2,
    "ksched: c.yaml: the input has no Node: it has 1 Pod (dump the nodes too: kubectl get nodes,pods -A -o json)",
)
case(
    "check without a node",
    {"c.yaml": dumped(POD), "m.yaml": WEB},
    "check --from c.yaml -f m.yaml",
    2,
    "ksched: c.yaml: the input has no Node: it has 1 Pod (dump the nodes too: kubectl get nodes,pods -A -o json)",
)
case(
    "capacity without a node",
    {"c.yaml": dumped(POD), "m.yaml": WEB},
    "capacity --from c.yaml -f m.yaml",
    2,
    "ksched: c.yaml: the input has no Node: it has 1 Pod (dump the nodes too: kubectl get nodes,pods -A -o json)",
)
case(
    "simulate in a namespace that is not there",
    {"c.yaml": dumped(NODE, POD)},
    "simulate --from c.yaml -n defualt",
    2,
    "ksched: -n defualt: nothing of the input is in namespace defualt (did you mean default?)",
)
case(
    "check of another namespace",
    {"m.yaml": dumped(deployment(metadata={"name": "web", "namespace": "shop"}))},
    "check -f m.yaml -n nope",
    2,
    "m.yaml: error KS010: nothing was checked",
)
case(
    "a folder in another folder",
    {"d/e/m.yaml": WEB},
    "check -f d",
    2,
    "d: error KS001: a file cannot be read",
)
case("-R", {"d/e/m.yaml": WEB}, "check -f d -R", 0, "Deployment default/web  fits  1 of 1 pod has a node")
case(
    "the folders below",
    {"d/m.yaml": WEB, "d/e/m.yaml": WEB, "d/f/m.yaml": WEB},
    "check -f d",
    0,
    "d: note KS007: files are not read",
)
case(
    "settings of another tool",
    {"d/m.yaml": WEB, "d/package.json": '{"name": "x"}', "d/values.yaml": "a: 1\n"},
    "check -f d",
    0,
    "d/package.json: note KS007: files are not read",
)
case(
    "settings of another tool only",
    {"d/package.json": '{"name": "x"}'},
    "check -f d",
    2,
    "d/package.json: note KS007: files are not read",
)
case(
    "two variants",
    {"d/prod/m.yaml": WEB, "d/test/m.yaml": WEB},
    "check -R -f d",
    2,
    "d/test/m.yaml:1: error KS003: two manifests have the same object",
)
case(
    "one of two variants",
    {"d/prod/m.yaml": WEB, "d/test/m.yaml": WEB},
    "check -R -f d --exclude test",
    0,
    "Deployment default/web  fits  1 of 1 pod has a node",
)
case(
    "a folder that a must-gather has, too",
    {"d/a.yaml": dumped(LARGE), "d/cluster-scoped-resources/b.yaml": dumped(CONFIG)},
    "check -R -f d",
    1,
    "Pod default/large  fails  0 of 1 pod has a node",
)
case(
    "a kustomization",
    {"d/kustomization.yaml": "resources: [m.yaml]\n", "d/base/m.yaml": WEB},
    "check -f d",
    2,
    "d: note KS007: files are not read",
)
case(
    "a Helm chart",
    {"d/Chart.yaml": "apiVersion: v2\nname: shop\n", "d/values.yaml": "a: 1\n"},
    "check -f d",
    2,
    "d/Chart.yaml:1: error KS008: another tool has to make manifests of it first",
)
case(
    "a Helm template",
    {"c/templates/m.yaml": WEB.replace("name: web\n", "name: {{ .Values.name }}\n", 1)},
    "check -f c/templates",
    2,
    "c/templates/m.yaml:4: error KS008: another tool has to make manifests of it first",
)
case(
    "Jsonnet",
    {"m.jsonnet": "{}"},
    "check -f m.jsonnet",
    2,
    "m.jsonnet:1: error KS008: another tool has to make manifests of it first",
)


SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
IN_SHOP = dumped(deployment(metadata={"name": "web", "namespace": "shop"}))
ELSEWHERE = dumped(deployment(metadata={"name": "web", "namespace": "shpo"}))
KNOWN = dumped(NODE, SHOP)
case(
    "an unknown namespace",
    {"c.yaml": KNOWN, "m.yaml": ELSEWHERE},
    "check --from c.yaml -f m.yaml",
    0,
    "m.yaml:1: warning KS009: the input has no such namespace",
)
case(
    "a namespace that the manifests bring",
    {"c.yaml": dumped(NODE, {**SHOP, "metadata": {"name": "x"}}), "m.yaml": IN_SHOP + "---\n" + dumped(SHOP)},
    "check --from c.yaml -f m.yaml",
    0,
    "Deployment shop/web  fits  1 of 1 pod has a node",
)
case(
    "--create-namespace",
    {"c.yaml": KNOWN, "m.yaml": ELSEWHERE},
    "check --from c.yaml -f m.yaml --create-namespace",
    0,
    "Deployment shpo/web  fits  1 of 1 pod has a node",
)
case(
    "--assume-namespace",
    {"c.yaml": KNOWN, "m.yaml": ELSEWHERE},
    "check --from c.yaml -f m.yaml --assume-namespace shpo",
    0,
    "Deployment shpo/web  fits  1 of 1 pod has a node",
)
case(
    "-n= as kubectl takes it",
    {"m.yaml": WEB},
    "check -f m.yaml -n=ml",
    0,
    "Deployment ml/web  fits  1 of 1 pod has a node",
)
case(
    "another -n=",
    {"c.yaml": dumped(NODE, POD)},
    "simulate --from=c.yaml -n=ml",
    2,
    "ksched: -n ml: nothing of the input is in namespace ml (there are default)",
)
case(
    "a Rollout",
    {"m.yaml": WEB.replace("apps/v1", "argoproj.io/v1alpha1").replace("kind: Deployment", "kind: Rollout")},
    "check -f m.yaml",
    0,
    "Rollout default/web  fits  1 of 1 pod has a node",
)
case(
    "a Rollout that does not fit",
    {"m.yaml": dumped(deployment(cpu="30", apiVersion="argoproj.io/v1alpha1", kind="Rollout"))},
    "check -f m.yaml",
    1,
    "Rollout default/web  fails  0 of 1 pod has a node",
)
case(
    "an unknown workload only",
    {"m.yaml": WEB.replace("apps/v1", "x.example.com/v1").replace("kind: Deployment", "kind: Web")},
    "check -f m.yaml",
    2,
    "m.yaml:1: warning KS006: the pods of a custom resource are not placed",
)
case(
    "simulate with an unknown workload",
    {"m.yaml": WEB.replace("apps/v1", "x.example.com/v1").replace("kind: Deployment", "kind: Web")},
    "simulate -f m.yaml",
    2,
    "ksched: m.yaml: nothing to place: the manifests have 1 Web and no pod or workload "
    "(--allow-empty exits with code 0)",
)
case(
    "a kind of one's own",
    {"m.yaml": WEB.replace("apps/v1", "x.example.com/v1").replace("kind: Deployment", "kind: Web")},
    "check -f m.yaml --pod-template Web.x.example.com=spec.template,replicas=spec.replicas",
    0,
    "Web default/web  fits  1 of 1 pod has a node",
)


def autoscaler(least: int, most: int, keda: bool = False) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    if keda:
        spec = {"scaleTargetRef": {"name": "web"}, "minReplicaCount": least, "maxReplicaCount": most}
        return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "s"}, "spec": spec}
    bounds = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": bounds,
    }


FITS, WARNS = "Deployment default/web  fits  {} of {} pods have a node", "Deployment default/web  warns  {} of {}"
case(
    "an autoscaler whose bounds fit",
    {"m.yaml": dumped(deployment(), autoscaler(2, 4))},
    "check -f m.yaml",
    0,
    FITS.format(2, 2),
)
case(
    "an autoscaler whose maximum does not fit",
    {"m.yaml": dumped(deployment(), autoscaler(2, 9))},
    "check -f m.yaml",
    0,
    f"{WARNS.format(2, 2)} pods have a node",
)
case(
    "at the maximum",
    {"m.yaml": dumped(deployment(), autoscaler(2, 9))},
    "check -f m.yaml --replicas max",
    1,
    "Deployment default/web  fails  4 of 9 pods have a node",
)
case(
    "at the minimum",
    {"m.yaml": dumped(deployment(), autoscaler(3, 9))},
    "check -f m.yaml --replicas min",
    0,
    FITS.format(3, 3),
)
case(
    "at all of them",
    {"m.yaml": dumped(deployment(), autoscaler(2, 9))},
    "check -f m.yaml --replicas all --fail-on warning",
    1,
    "Deployment default/web  fails  2 of 2 pods have a node",
)
case(
    "a ScaledObject",
    {"m.yaml": dumped(deployment(), autoscaler(0, 9, keda=True))},
    "check -f m.yaml --replicas max",
    1,
    "Deployment default/web  fails  4 of 9 pods have a node",
)
case(
    "an autoscaler of the cluster",
    {"c.yaml": dumped(NODE, autoscaler(3, 4)), "m.yaml": WEB},
    "check --from c.yaml -f m.yaml",
    0,
    FITS.format(3, 3),
)
case(
    "--scale of a workload of the manifests",
    {"m.yaml": WEB},
    "check -f m.yaml --scale deployment/web=9",
    1,
    "Deployment default/web  fails  4 of 9 pods have a node",
)


@pytest.mark.parametrize(("files", "arguments", "code", "line"), CASES)
def test_exit_code_and_first_line(
    files: Files, arguments: str, code: int, line: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(files, here)
    command, *rest = arguments.split()
    cluster = [] if "--from" in arguments else ["--from", "cluster.yaml"]
    assert (run([command, *cluster, *rest]), first_line(capsys)) == (code, line)


def validate_sarif(text: str) -> dict[str, Any]:
    """Against the OASIS schema if KSCHED_SARIF_SCHEMA names a copy of it, and our own shape of it in any case."""
    document: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(SHAPE).validate(document)
    path = os.environ.get("KSCHED_SARIF_SCHEMA")
    if path:
        schema = json.loads(Path(path).read_text())
        jsonschema.validators.validator_for(schema)(schema).validate(document)
    for result in document["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        assert place["region"]["startLine"] >= 1
    return document


def validate_junit(text: str) -> None:
    root = ElementTree.fromstring(text)
    assert list(junit_mistakes(root)) == []
    cases = root.findall("testsuite/testcase")
    assert root.get("tests") == str(len(cases))
    assert root.get("errors") == str(sum(each.find("error") is not None for each in cases))


ENDINGS = [
    pytest.param(dumped(deployment()), [], 0, id="it fits"),
    pytest.param(dumped(LARGE), [], 1, id="it does not"),
    pytest.param(dumped(LARGE) + "---\nkind: Pod\nmetadata: 3\n", [], 2, id="an object is wrong"),
    pytest.param("a: [\n", [], 2, id="a file is wrong"),
    pytest.param(dumped(CONFIG), [], 2, id="nothing was checked"),
    pytest.param(dumped(CONFIG), ["--allow-empty"], 0, id="nothing was checked, and that is meant"),
    pytest.param(dumped(deployment()), ["--from", "nowhere.yaml"], 2, id="no cluster"),
    pytest.param(dumped(deployment()), ["--scale", "deployment/x=2"], 2, id="a wrong edit"),
    pytest.param(dumped(deployment()), ["--config", "nowhere.yaml"], 2, id="no configuration"),
    pytest.param(dumped(deployment()), ["--kubeconfig", "nowhere"], 3, id="no live cluster"),
]


@pytest.mark.parametrize("stdin", [pytest.param(True, id="stdin"), pytest.param(False, id="a file")])
@pytest.mark.parametrize("output", ["sarif", "junit", "github", "markdown", "json"])
@pytest.mark.parametrize(("text", "options", "code"), ENDINGS)
def test_ci_documents_are_complete_in_every_exit_code(
    text: str,
    options: list[str],
    code: int,
    output: str,
    stdin: bool,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (here / "m.yaml").write_text(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    cluster = [] if code == 3 or "--from" in options else ["--from", "cluster.yaml"]
    assert run(["check", *cluster, "-f", "-" if stdin else "m.yaml", "-o", output, *options]) == code
    shown = capsys.readouterr().out
    if output == "sarif":
        document = validate_sarif(shown)
        assert document["runs"][0]["invocations"] == [{"executionSuccessful": code < 2}]
        assert bool(document["runs"][0]["results"]) == (code > 0)
    elif output == "junit":
        validate_junit(shown)
    elif output == "json":
        assert json.loads(shown)["kind"] == "Check"
    elif output == "github":
        assert ("::error " in shown) == (code > 0)
    else:
        assert shown.startswith("### ksched check: ")
    assert "a bug in ksched" not in shown


HELM = """---
# Source: shop/templates/web.yaml
apiVersion: v1
kind: Pod
metadata: {name: large}
spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 9}}}]}
"""
ORIGIN = {"config.kubernetes.io/origin": "path: ../base/web.yaml\n"}
KPT = {"config.kubernetes.io/path": "deploy/web.yaml"}


def annotated(annotations: dict[str, str]) -> str:
    pod = make_pod("large").requests(cpu="9").doc()
    pod["metadata"]["annotations"] = annotations
    return dumped(pod)


@pytest.mark.parametrize(
    ("text", "options", "uri", "line"),
    [
        pytest.param(HELM, [], "shop/templates/web.yaml", 1, id="Helm"),
        pytest.param(annotated(KPT), [], "deploy/web.yaml", 3, id="kpt, and the file is there"),
        pytest.param(annotated(ORIGIN), [], "base/web.yaml", 1, id="kustomize"),
        pytest.param(dumped(LARGE), [], "stdin", 13, id="nothing says it"),
        pytest.param(dumped(LARGE), ["--stdin-filename", "out/all.yaml"], "out/all.yaml", 13, id="--stdin-filename"),
    ],
)
def test_the_file_of_what_is_piped_in(
    text: str,
    options: list[str],
    uri: str,
    line: int,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lay_out({"deploy/web.yaml": "# kept apart\n\nkind: Pod\n"}, here)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run(["check", "--from", "cluster.yaml", "-f", "-", "-o", "sarif", *options]) == 1
    (result,) = validate_sarif(capsys.readouterr().out)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (uri, line)


def test_paths_begin_at_the_root_of_the_repository(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out({"apps/shop/m.yaml": dumped(LARGE), ".git/HEAD": ""}, here)
    monkeypatch.chdir(here / "apps")
    run(["check", "--from", "../cluster.yaml", "-f", "shop/m.yaml", "-o", "sarif"])
    (result,) = validate_sarif(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "apps/shop/m.yaml"


def test_a_rendered_file_that_is_kept_is_its_own_location(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "rendered.yaml").write_text(HELM)
    run(["check", "--from", "cluster.yaml", "-f", "rendered.yaml", "-o", "json"])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["file"], finding["line"]) == ("rendered.yaml", 6)


def test_a_maximum_that_does_not_fit_is_a_warning_that_names_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m.yaml").write_text(dumped(deployment(), autoscaler(1, 9)))
    assert run(["check", "--from", "cluster.yaml", "-f", "m.yaml", "-o", "json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["code"], finding["level"], finding["line"]) == ("KS409", "warning", 19)
    assert finding["message"].startswith(
        "at maxReplicas 9 of HorizontalPodAutoscaler default/h: 5 of 9 pods without a place: "
    )


def tool(name: str, script: str, folder: Path) -> None:
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("options", "installed", "code", "line"),
    [
        pytest.param(
            ["-k", "d"],
            {"kustomize": 'test "$*" = "build d" && cat m.yaml'},
            1,
            "Pod default/large  fails",
            id="kustomize",
        ),
        pytest.param(
            ["-k", "d"],
            {"kubectl": 'test "$*" = "kustomize d" && cat m.yaml'},
            1,
            "Pod default/large  fails",
            id="kubectl",
        ),
        pytest.param(
            ["--helm", "c", "--values", "v.yaml", "-n", "default"],
            {"helm": 'test "$*" = "template c c --values v.yaml --namespace default" && cat m.yaml'},
            1,
            "Pod default/large  fails",
            id="helm",
        ),
        pytest.param(["-k", "d"], {}, 2, "d: error KS008", id="no tool"),
        pytest.param(["-k", "d"], {"kustomize": "echo no such base >&2; exit 1"}, 2, "d: error KS008", id="it fails"),
        pytest.param(["-k", "d"], {"kustomize": "sleep 30"}, 2, "d: error KS008", id="it does not end"),
        pytest.param(
            ["--values", "v.yaml", "-k", "d"], {}, 2, "ksched: --values are for a chart", id="values without a chart"
        ),
    ],
)
def test_installed_tools_render(
    options: list[str],
    installed: dict[str, str],
    code: int,
    line: str,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lay_out({"m.yaml": dumped(LARGE), "d/kustomization.yaml": "resources: [m.yaml]\n", "c/Chart.yaml": ""}, here)
    (here / "bin").mkdir()
    for name, script in installed.items():
        tool(name, script, here)
    for name in ("cat", "sleep", "sh"):
        (here / "bin" / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(here / "bin"))
    if "sleep" in "".join(installed.values()):
        monkeypatch.setattr(rendering, "TIME_LIMIT", 0.5)
    assert run(["check", "--from", "cluster.yaml", *options]) == code
    assert first_line(capsys).startswith(line)


def test_a_rendered_object_is_located_in_its_file(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out({"m.yaml": dumped(LARGE), "d/kustomization.yaml": "resources: [m.yaml]\n"}, here)
    tool("kustomize", "cat m.yaml", here)
    monkeypatch.setenv("PATH", f"{here / 'bin'}:/bin:/usr/bin")
    assert run(["check", "--from", "cluster.yaml", "-k", "d", "-o", "sarif"]) == 1
    (result,) = validate_sarif(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "d/kustomization.yaml"


@pytest.mark.parametrize("output", ["table", "json", "sarif", "junit", "github", "markdown"])
def test_a_closed_pipe_is_not_a_failing_check(output: str, here: Path) -> None:
    """As a shell has it: `ksched check … | head -1`. 141 is 128 and SIGPIPE."""
    pods = [make_pod(f"pod-{number:04}").requests(cpu="9").doc() for number in range(900)]
    (here / "m.yaml").write_text(dumped(*pods))
    command = [sys.executable, "-m", "ksched_cli", "check", "--from", "cluster.yaml", "-f", "m.yaml", "-o", output]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(120) == 141


def test_files_of_a_hook_that_are_no_manifests_are_skipped(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As pre-commit calls the second hook: options, then the names of the changed files."""
    lay_out({"m.yaml": WEB, "package.json": '{"name": "x"}', "values.yaml": "a: 1\n", "broken.yaml": "a: [\n"}, here)
    hook = ["check", "--allow-empty", "--from", "cluster.yaml"]
    assert run([*hook, "package.json", "m.yaml", "values.yaml"]) == 0
    assert "package.json: note KS007" in capsys.readouterr().out
    assert run([*hook, "values.yaml"]) == 0
    assert run([*hook, "m.yaml", "broken.yaml"]) == 2
    assert run(["check", "--from", "cluster.yaml", "-f", "values.yaml"]) == 2
