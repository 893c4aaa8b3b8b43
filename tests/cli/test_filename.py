"""`-f`: manifests on the command line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, write_list
from tests.cli.transcripts import ROOT, same_as_golden, without_stats
from tests.running import Ksched

CLUSTER = str(ROOT / "ksched_cli" / "cli" / "demo_cluster.yaml")
SHOP = str(ROOT / "fixtures" / "manifests" / "shop.yaml")
NODE, POD = make_node("n").doc(), make_pod("p").doc()
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}


@pytest.mark.slow
def test_transcript(ksched: Ksched) -> None:
    shown = without_stats(ksched("simulate", "--from", CLUSTER, "-f", SHOP, code=1).out)
    same_as_golden("simulate-filename", shown)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["json", "yaml", "table", "name"])
def test_a_refused_pod_is_a_failure(tmp_path: Path, output: str) -> None:
    cluster = write_list(tmp_path / "c.json", NODE)
    arguments = ["simulate", "--from", cluster, "-f", write_list(tmp_path / "m.json", QUOTA, POD), "-o", output]
    assert run(arguments) == 1
    assert run([*arguments, "--exit-zero"]) == 0


def test_refused_pods_in_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = write_list(tmp_path / "c.json", NODE)
    run(["simulate", "--from", cluster, "-f", write_list(tmp_path / "m.json", QUOTA, POD), "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["pods"] == []
    assert document["refused"] == [
        {
            "pod": "default/p",
            "plugin": "ResourceQuota",
            "message": "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
        }
    ]


def test_manifests_from_stdin_and_a_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = write_list(tmp_path / "c.json", NODE)
    (tmp_path / "dir").mkdir()
    write_list(tmp_path / "dir" / "m.json", POD)
    piped = json.dumps(make_pod("piped").doc()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
    assert run(["simulate", "--from", cluster, "-f", str(tmp_path / "dir"), "-f", "-", "-o", "name"]) == 0
    assert capsys.readouterr().out == "pod/default/p\tnode/n\npod/default/piped\tnode/n\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["-f", "https://example.com/x.yaml"], "https://example.com/x.yaml: URLs are not read", id="URL"),
        pytest.param(["-f", "nowhere.yaml"], "nowhere.yaml: no such file or directory", id="no such file"),
        pytest.param(["--from", "-", "-f", "-"], "--from - and -f - cannot both read stdin", id="stdin twice"),
    ],
)
def test_mistakes(arguments: list[str], expected: str, ksched: Ksched) -> None:
    captured = ksched("simulate", "--from", CLUSTER, *arguments, code=2)
    assert captured.out == ""
    assert expected in captured.err
    assert "Traceback" not in captured.err
