"""The GitHub Action in a scratch repository, the template for GitLab and the pipeline for Jenkins."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml

from ksched_cli.cli.main import run
from tests.cli.sarif_shape import SHAPE
from tests.deploy.action_runner import ActionRun, run_action

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "check"
CLUSTER = ROOT / "fixtures" / "pytest-example" / "cluster.yaml"
GOOD = """apiVersion: v1
kind: Pod
metadata: {name: good, namespace: shop}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""
BAD = """apiVersion: v1
kind: Pod
metadata: {name: bad, namespace: shop}
spec:
  nodeSelector: {disk: nvme}
  containers: [{name: c, image: i}]
"""


class GitHub(BaseHTTPRequestHandler):
    """The comments of a pull request, as GitHub's API has them."""

    comments: list[dict[str, Any]]
    refuses = False

    def do_GET(self) -> None:
        query = parse_qs(urlparse(self.path).query)
        size, page = int(query["per_page"][0]), int(query["page"][0])
        self._answer(200, self.comments[(page - 1) * size : page * size])

    def do_POST(self) -> None:
        assert urlparse(self.path).path == "/repos/o/r/issues/7/comments"
        self.comments.append({"id": len(self.comments) + 1, **self._body()})
        self._answer(403 if self.refuses else 201, self.comments[-1])

    def do_PATCH(self) -> None:
        assert re.fullmatch(r"/repos/o/r/issues/comments/\d+", self.path)
        self.comments[int(self.path.rpartition("/")[2]) - 1] |= self._body()
        self._answer(200, {})

    def _body(self) -> dict[str, Any]:
        assert self.headers["Authorization"] == "Bearer secret"
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return body

    def _answer(self, code: int, document: Any) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *arguments: Any) -> None:
        """Nothing."""


@pytest.fixture
def github() -> Iterator[tuple[type[GitHub], str]]:
    handler = type("Handler", (GitHub,), {"comments": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout with a snapshot, a good and a bad manifest; ksched and python are on the PATH."""
    workspace = tmp_path / "workspace"
    (workspace / "deploy").mkdir(parents=True)
    (workspace / "deploy" / "good.yaml").write_text(GOOD)
    (workspace / "deploy" / "bad.yaml").write_text(BAD)
    assert run(["snapshot", "--from", str(CLUSTER), "-o", str(workspace / "cluster.ksched.gz")]) == 0
    tools = tmp_path / "bin"
    tools.mkdir()
    ksched = f"PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m ksched_cli"
    for name, script in (("ksched", ksched), ("python", f"exec {shlex.quote(sys.executable)}"), ("pip", "true")):
        (tools / name).write_text(f'#!/bin/sh\n{script} "$@"\n')
        (tools / name).chmod(0o755)
    return workspace


def environment(repository: Path, api: str = "", event: dict[str, Any] | None = None) -> dict[str, str]:
    (repository.parent / "event.json").write_text(json.dumps(event or {"pull_request": {"number": 7}}))
    return {
        "PATH": f"{repository.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(repository.parent),
        "GITHUB_STEP_SUMMARY": str(repository.parent / "summary.md"),
        "GITHUB_WORKSPACE": str(repository),
        "GITHUB_EVENT_PATH": str(repository.parent / "event.json"),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_API_URL": api,
    }


def act(repository: Path, api: str = "", event: dict[str, Any] | None = None, **inputs: str) -> ActionRun:
    """The step that installs ksched is left out: the tests of the artefacts install the wheel."""
    given = {"snapshot": "cluster.ksched.gz", "paths": "deploy/", "token": "secret"}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    return run_action(ACTION, given, repository, environment(repository, api, event), skip="install")


@pytest.mark.slow
def test_a_good_and_a_bad_manifest(repository: Path, github: tuple[type[GitHub], str]) -> None:
    handler, api = github
    done = act(repository, api)
    assert done.codes == {"check": 0, "comment": 0, "verdict": 1}
    assert "::error file=deploy/bad.yaml,line=5,title=KS104 " in done.log
    assert "good.yaml" not in done.log
    summary = (repository.parent / "summary.md").read_text()
    assert summary.startswith("### ksched check: 2 workloads: 1 fails, 1 error (6 nodes)\n")
    sarif = json.loads(Path(done.uses["scan"]["sarif_file"]).read_text())
    jsonschema.Draft202012Validator(SHAPE).validate(sarif)
    (result,) = sarif["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "deploy/bad.yaml"
    assert done.uses["scan"]["category"] == "ksched"
    page = Path(done.uses["page"]["path"]).read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "shop/bad" in page
    (comment,) = handler.comments
    assert comment["body"] == f"<!-- ksched check: ksched -->\n{summary}"


@pytest.mark.slow
def test_the_comment_is_renewed_and_not_repeated(repository: Path, github: tuple[type[GitHub], str]) -> None:
    handler, api = github
    handler.comments += [{"id": number + 1, "body": "another comment"} for number in range(150)]
    assert not act(repository, api, format="comment").succeeded
    (repository / "deploy" / "bad.yaml").unlink()
    assert act(repository, api, format="comment").succeeded
    assert len(handler.comments) == 151
    assert "Pod shop/good" in handler.comments[-1]["body"]
    assert "Pod shop/bad" not in handler.comments[-1]["body"]
    assert act(repository, api, format="comment", name="staging").succeeded
    assert len(handler.comments) == 152


@pytest.mark.slow
def test_a_token_that_may_only_read_is_a_warning(repository: Path, github: tuple[type[GitHub], str]) -> None:
    handler, api = github
    handler.refuses = True
    done = act(repository, api, format="comment", paths="deploy/good.yaml")
    assert done.succeeded
    assert "::warning title=ksched::cannot write the comment: 403 " in done.log


@pytest.mark.slow
def test_a_push_has_no_comment(repository: Path) -> None:
    done = act(repository, event={"ref": "refs/heads/main"}, format="annotations,comment", paths="deploy/good.yaml")
    assert done.succeeded
    assert "no pull request: no comment" in done.log
    assert done.uses.keys() == {"actions/setup-python"}


@pytest.mark.slow
def test_several_paths_and_what_fails_the_step(repository: Path) -> None:
    low = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 9\n"
    (repository / "other.yaml").write_text(low)
    done = act(
        repository, format="annotations", paths="deploy/good.yaml\nother.yaml\n", fail_on="warning", kube_version="1.35"
    )
    assert done.succeeded, done.log
    assert not (repository.parent / "summary.md").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        pytest.param({"snapshot": "none.gz"}, 2, id="no snapshot"),
        pytest.param({"paths": "none/"}, 2, id="no manifests"),
        pytest.param({"paths": ""}, 2, id="no paths"),
        pytest.param({"kube_version": "latest"}, 2, id="no such version"),
    ],
)
def test_wrong_input_fails(inputs: dict[str, str], code: int, repository: Path) -> None:
    assert act(repository, format="annotations", **inputs).codes["verdict"] == code


@pytest.mark.slow
def test_an_unknown_format_fails(repository: Path) -> None:
    done = act(repository, format="annotations,pdf")
    assert done.codes["check"] == 1
    assert "format: pdf: there are annotations, summary, sarif, html, comment" in done.log


@pytest.mark.slow
def test_the_template_for_gitlab(repository: Path) -> None:
    job = yaml.safe_load((ACTION / "gitlab.yml").read_text())["ksched"]
    variables = {**environment(repository), **job["variables"]}
    codes = [shell(repository, "\n".join(job[part]), variables) for part in ("script", "after_script")]
    assert codes == [1, 1]
    assert_junit(repository / job["artifacts"]["reports"]["junit"])


@pytest.mark.slow
def test_the_pipeline_for_jenkins(repository: Path) -> None:
    text = (ACTION / "Jenkinsfile").read_text()
    variables = dict(re.findall(r"^    (KSCHED_\w+) = '(.*)'$", text, re.MULTILINE))
    (script,) = re.findall(r"sh '''\n(.*?)'''", text, re.DOTALL)
    # Jenkins runs `sh` with -e.
    assert shell(repository, script, {**environment(repository), **variables, "HOME": str(repository)}) == 1
    assert_junit(repository / "ksched.xml")


def shell(repository: Path, script: str, variables: dict[str, str]) -> int:
    given = {**os.environ, **variables}
    return subprocess.run(["sh", "-ec", script], cwd=repository, env=given, capture_output=True, check=False).returncode


def assert_junit(path: Path) -> None:
    suites = ElementTree.parse(path).getroot()
    failed = [case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None]
    assert failed == ["Pod shop/bad"]
