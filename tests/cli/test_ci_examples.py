"""What the manual gives to GitHub Actions and to pre-commit, run as they would run it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cli.main import run
from tests.cli.test_check import CLUSTER, DEPLOY
from tests.cli.transcripts import GOLDEN, ROOT

MANUAL = (ROOT / "ksched_cli" / "help" / "ci.md").read_text()


def blocks() -> Iterator[Any]:
    """The YAML of the manual."""
    for text in MANUAL.split("```yaml\n")[1:]:
        yield yaml.load(text.partition("```")[0], Loader=yaml.BaseLoader)


def block_with(key: str) -> Any:
    return next(block for block in blocks() if key in block)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with a snapshot, manifests, and ksched on the PATH."""
    folder = tmp_path_factory.mktemp("repository")
    shutil.copytree(ROOT / DEPLOY, folder / "deploy")
    assert run(["snapshot", "--from", str(ROOT / CLUSTER), "-o", str(folder / "cluster.ksched.gz")]) == 0
    command = folder / "bin" / "ksched"
    command.parent.mkdir()
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m ksched_cli "$@"\n'
    )
    command.chmod(0o755)
    return folder


def shell(repository: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{repository / 'bin'}{os.pathsep}{os.environ['PATH']}"
    given = {**os.environ, "PATH": path, **environment}
    return subprocess.run(["sh", "-ec", script], cwd=repository, env=given, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_github_workflow(repository: Path) -> None:
    steps = block_with("jobs")["jobs"]["ksched"]["steps"]
    annotate, scan = (step["run"] for step in steps if "ksched check" in step.get("run", ""))
    summary = repository / "summary.md"
    done = shell(repository, annotate, GITHUB_STEP_SUMMARY=str(summary), GITHUB_WORKSPACE=str(repository))
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=deploy/batch.json,line=22,")
    assert summary.read_text().startswith("### ksched check: 5 workloads: 3 fail")
    done = shell(repository, scan, GITHUB_WORKSPACE=str(repository))
    assert done.returncode == 0, done.stderr
    (upload,) = (step for step in steps if "upload-sarif" in step.get("uses", ""))
    results = json.loads((repository / upload["with"]["sarif_file"]).read_text())["runs"][0]["results"]
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results}
    assert uris == {"deploy/batch.json", "deploy/db.yaml", "deploy/web.yaml"}


@pytest.mark.slow
def test_the_pre_commit_hook(repository: Path) -> None:
    """pre-commit runs the entry with the arguments of the user's configuration after it."""
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    (configured,) = block_with("repos")["repos"][0]["hooks"]
    hook = hooks[configured["id"]]
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    program, *_ = shlex.split(hook["entry"])
    assert program in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    done = shell(repository, f"{hook['entry']} {shlex.join(configured['args'])}")
    assert done.returncode == 1, done.stderr
    assert "5 workloads: 3 fail" in done.stdout
    done = shell(
        repository, f"{hook['entry']} --from cluster.ksched.gz -f deploy/web.yaml --add-node cpu=16,memory=64Gi"
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_manual_shows_what_check_prints() -> None:
    shown = MANUAL.partition("would stop, check names the step:\n\n```text\n")[2].partition("```")[0]
    assert shown.startswith("Deployment shop/web: fails")
    assert shown in (GOLDEN / "check.txt").read_text()
