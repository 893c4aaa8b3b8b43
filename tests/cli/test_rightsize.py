"""`ksched rightsize` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_pod, write_list
from tests.cli.transcripts import DEMO, ROOT, same_as_golden, without_stats
from tests.lanes import sampled
from tests.running import Ksched

MANIFESTS = str(ROOT / "fixtures" / "manifests" / "capacity.yaml")
SHAPES = str(ROOT / "fixtures" / "catalogs" / "shop.yaml")


@pytest.mark.parametrize(
    ("name", "arguments"),
    sampled(
        [
            pytest.param("rightsize", ["-f", MANIFESTS], id="a table"),
            pytest.param("rightsize-catalog", ["-f", MANIFESTS, "--catalog", SHAPES, "-o", "wide"], id="a catalog"),
            pytest.param("rightsize-yaml", ["-f", MANIFESTS, "-o", "yaml"], id="yaml"),
            pytest.param("rightsize-markdown", ["-f", MANIFESTS, "-o", "markdown"], id="markdown"),
            pytest.param("rightsize-help", ["--help"], id="help"),
        ],
        4,
    ),
)
def test_transcript(name: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rightsize", "--from", DEMO, *arguments]) == 0
    is_table = name in ("rightsize", "rightsize-help")
    same_as_golden(name, without_stats(capsys.readouterr().out), columns=80 if is_table else None)


def test_pods_that_do_not_fit(tmp_path: Path, ksched: Ksched) -> None:
    manifest = write_list(
        tmp_path / "m.json", {"apiVersion": "v1", "kind": "Pod", **make_pod("big").requests(cpu="99").doc()}
    )
    (workload,) = json.loads(ksched("rightsize", "--from", DEMO, "-f", manifest, "-o", "json", code=1).out)["workloads"]
    assert (workload["placed"], workload["requests"]["cpu"]) == (0, "99")
    assert run(["rightsize", "--from", DEMO, "-f", manifest, "--exit-zero"]) == 0


def test_manifests_are_needed(ksched: Ksched) -> None:
    assert "-f FILE" in ksched("rightsize", "--from", DEMO, code=2).err
