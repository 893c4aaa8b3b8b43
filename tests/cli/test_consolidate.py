"""`ksched consolidate` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_pod, write_list
from tests.cli.test_size import without_times
from tests.cli.transcripts import ROOT, same_as_golden
from tests.running import Ksched

SHOP = str(ROOT / "fixtures" / "clusters" / "drain.yaml")
FLEET = str(ROOT / "fixtures" / "clusters" / "fleet.yaml")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("consolidate", ["--from", SHOP, "--delete-emptydir-data"], id="a table"),
        pytest.param("consolidate-fleet", ["--from", FLEET, "-o", "wide", "--force"], id="wide"),
        pytest.param("consolidate-yaml", ["--from", FLEET, "-o", "yaml", "--force"], id="yaml"),
        pytest.param("consolidate-markdown", ["--from", FLEET, "-o", "markdown", "--force"], id="markdown"),
        pytest.param("consolidate-help", ["--help"], id="help"),
    ],
)
def test_transcript(name: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["consolidate", *arguments]) == 0
    is_table = name in ("consolidate", "consolidate-help")
    same_as_golden(name, without_times(capsys.readouterr().out), columns=80 if is_table else None)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "name", "markdown"])
def test_formats(output: str, ksched: Ksched) -> None:
    assert ksched("consolidate", "--from", FLEET, "--force", "-o", output, code=0).out


def test_the_document_says_what_to_do(ksched: Ksched) -> None:
    document = json.loads(ksched("consolidate", "--from", FLEET, "--force", "-o", "json", code=0).out)
    assert document["kind"] == "Consolidation"
    assert [
        command for step in document["steps"] for command in step["commands"] if command.startswith("kubectl drain")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--keep-headroom", "cpu"], "cpu is no headroom", id="headroom"),
        pytest.param(["--survive", "rack=1"], "rack=1 is no failure", id="failure"),
        pytest.param(["--survive", "node=9"], "9 cannot fail together", id="more nodes than there are"),
        pytest.param(["--only", "pool=none"], "--only pool=none: no node has these labels", id="labels of no node"),
        pytest.param(["--only", "a in"], "--only", id="selector"),
        pytest.param(["--catalog", "/nowhere.yaml"], "no such file", id="catalog"),
    ],
)
def test_mistakes(arguments: list[str], message: str, ksched: Ksched) -> None:
    assert message in ksched("consolidate", "--from", FLEET, *arguments, code=2).err


def test_an_input_without_nodes(tmp_path: Path, ksched: Ksched) -> None:
    cluster = write_list(tmp_path / "c.json", {"apiVersion": "v1", "kind": "Pod", **make_pod("p").doc()})
    assert "no Node" in ksched("consolidate", "--from", cluster, code=2).err
