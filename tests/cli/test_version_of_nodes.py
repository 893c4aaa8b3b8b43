"""A dump without the version of its API server: the newest kubelet of the nodes tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from ksched_cli.releases import DEFAULT_VERSION
from tests.builders import make_node, write_list
from tests.running import Ksched

NOTE = "the input does not name the version of the API server: ksched answers as Kubernetes"


def node(name: str, version: str) -> dict[str, Any]:
    return make_node(name).status(nodeInfo={"kubeletVersion": version}).doc()


@pytest.mark.parametrize(
    ("versions", "options", "expected", "noted"),
    [
        pytest.param(["v1.31.2", "v1.33.5-eks-113cf36"], [], "1.33", "1.33", id="the newest kubelet"),
        pytest.param(["v1.33.5"], ["--kube-version", "1.30"], "1.30", "", id="a version that is named"),
        pytest.param(["", "unknown"], [], DEFAULT_VERSION, "", id="no version"),
    ],
)
def test_the_version_that_the_nodes_tell(
    versions: list[str], options: list[str], expected: str, noted: str, tmp_path: Path, ksched: Ksched
) -> None:
    nodes = [node(f"n{number}", version) for number, version in enumerate(versions)]
    arguments = ["--from", write_list(tmp_path / "c.json", *nodes), *options, "--allow-empty", "-o", "json"]
    said = ksched("simulate", *arguments, code=0)
    assert json.loads(said.out)["coverage"]["kubeVersion"] == expected
    assert (f"{NOTE} {noted}, the newest kubelet" in said.err) is bool(noted)
    assert (NOTE in said.err) is bool(noted)


def test_a_snapshot_of_the_dump_answers_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, snapshot = write_list(tmp_path / "c.json", node("n", "v1.33.5")), str(tmp_path / "c.ksched")
    for options in ([], ["--redact"]):
        assert run(["snapshot", "--from", cluster, "-o", snapshot, *options]) == 0
        capsys.readouterr()
        assert run(["simulate", "--from", snapshot, "--allow-empty", "-o", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["coverage"]["kubeVersion"] == "1.33"
