"""Complete CI documents for every input, the files that findings name, and tools that render manifests."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from ksched_cli.cli.main import run
from ksched_cli.sources import rendering
from tests.builders import make_pod
from tests.cli.inputs import CONFIG, LARGE, autoscaler, deployment, dumped, first_line, lay_out
from tests.cli.junit_shape import junit_mistakes
from tests.cli.pipes import BROKEN_PIPE, run_without_a_reader
from tests.cli.sarif_shape import SHAPE
from tests.lanes import sampled
from tests.running import Ksched

WEB = dumped(deployment())


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
@pytest.mark.parametrize(("text", "options", "code"), sampled(ENDINGS, 5))
def test_ci_documents_are_complete_in_every_exit_code(
    text: str,
    options: list[str],
    code: int,
    output: str,
    stdin: bool,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    ksched: Ksched,
) -> None:
    (here / "m.yaml").write_text(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    cluster = [] if code == 3 or "--from" in options else ["--from", "cluster.yaml"]
    shown = ksched("check", *cluster, "-f", "-" if stdin else "m.yaml", "-o", output, *options, code=code).out
    if output == "sarif":
        document = validate_sarif(shown)
        assert [each["executionSuccessful"] for each in document["runs"][0]["invocations"]] == [code < 2]
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
    path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("options", "installed", "code", "line"),
    [
        pytest.param(
            ["-k", "d"],
            {"kustomize": 'test "$*" = "build d" && cat m.yaml'},
            1,
            "Pod default/large: fails",
            id="kustomize",
        ),
        pytest.param(
            ["-k", "d"],
            {"kubectl": 'test "$*" = "kustomize d" && cat m.yaml'},
            1,
            "Pod default/large: fails",
            id="kubectl",
        ),
        pytest.param(
            ["--helm", "c", "--values", "v.yaml", "-n", "default"],
            {"helm": 'test "$*" = "template c c --values v.yaml --namespace default" && cat m.yaml'},
            1,
            "Pod default/large: fails",
            id="helm",
        ),
        pytest.param(["-k", "d"], {}, 2, "kustomize or kubectl is not installed", id="no tool"),
        pytest.param(
            ["-k", "d"],
            {"kustomize": "echo no such base >&2; exit 1"},
            2,
            "kustomize failed: no such base\n",
            id="it fails",
        ),
        pytest.param(
            ["-k", "d"], {"kustomize": "exit 3"}, 2, "kustomize failed: exit code 3\n", id="it fails without a text"
        ),
        pytest.param(
            ["-k", "d"], {"kustomize": "#!/no"}, 2, "kustomize: no such file or directory\n", id="it does not run"
        ),
        pytest.param(
            ["-k", "d"], {"kustomize": "sleep 30"}, 2, "kustomize was stopped after 0 s", id="it does not end"
        ),
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
    ksched: Ksched,
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
    shown = ksched("check", "--from", "cluster.yaml", *options, code=code)
    assert line in shown.out + shown.err
    assert not code > 1 or "-k" not in options[0] or first_line(shown.out, shown.err).startswith("d: error KS008")


def test_a_rendered_object_is_located_in_its_file(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out({"m.yaml": dumped(LARGE), "d/kustomization.yaml": "resources: [m.yaml]\n"}, here)
    tool("kustomize", "cat m.yaml", here)
    monkeypatch.setenv("PATH", f"{here / 'bin'}:/bin:/usr/bin")
    assert run(["check", "--from", "cluster.yaml", "-k", "d", "-o", "sarif"]) == 1
    (result,) = validate_sarif(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "d/kustomization.yaml"


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "json", "sarif", "junit", "github", "markdown"])
def test_a_closed_pipe_is_not_a_failing_check(output: str, here: Path) -> None:
    pods = [make_pod(f"pod-{number:04}").requests(cpu="9").doc() for number in range(150)]
    (here / "m.yaml").write_text(dumped(*pods))
    code, _ = run_without_a_reader("check", "--from", "cluster.yaml", "-f", "m.yaml", "-o", output)
    assert code == BROKEN_PIPE


def test_files_of_a_hook_that_are_no_manifests_are_skipped(here: Path, ksched: Ksched) -> None:
    """As pre-commit calls the second hook: options, then the names of the changed files."""
    lay_out({"m.yaml": WEB, "package.json": '{"name": "x"}', "values.yaml": "a: 1\n", "broken.yaml": "a: [\n"}, here)
    hook = ["check", "--allow-empty", "--from", "cluster.yaml"]
    assert "package.json: note KS007" in ksched(*hook, "package.json", "m.yaml", "values.yaml", code=0).out
    assert run([*hook, "values.yaml"]) == 0
    assert run([*hook, "m.yaml", "broken.yaml"]) == 2
    assert run(["check", "--from", "cluster.yaml", "-f", "values.yaml"]) == 2


def test_the_file_of_a_wrong_object_that_is_piped_in(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fits = HELM.replace("cpu: 9", "cpu: 1")
    wrong = (
        HELM.replace("templates/web", "templates/job").replace("name: large", "name: other").replace("cpu: 9", "cpu: x")
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((fits + wrong).encode())))
    assert run(["check", "--from", "cluster.yaml", "-f", "-", "-o", "sarif"]) == 2
    (result,) = validate_sarif(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "shop/templates/job.yaml"
