"""`ksched size` as a person runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_pod, write_list
from tests.cli.transcripts import DEMO, ROOT, same_as_golden, without_stats
from tests.running import Ksched

SHAPES = str(ROOT / "fixtures" / "catalogs" / "shop.yaml")


def without_times(text: str) -> str:
    text = re.sub(r"searched \d+\.\d s", "searched 0.1 s", without_stats(text))
    return re.sub(r"  seconds: .*", "  seconds: 0.1", text)


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("size", [], 1, id="a table"),
        pytest.param("size-wide", ["-o", "wide"], 1, id="wide"),
        pytest.param("size-yaml", ["-o", "yaml"], 1, id="yaml"),
        pytest.param("size-markdown", ["-o", "markdown"], 1, id="markdown"),
        pytest.param("size-greedy", ["--greedy", "--scale", "deploy/shop/web=20"], 2, id="an edit that is wrong"),
        pytest.param("size-help", ["--help"], 0, id="help"),
    ],
)
def test_transcript(name: str, arguments: list[str], code: int, ksched: Ksched) -> None:
    printed = ksched("size", "--from", DEMO, "--catalog", SHAPES, *arguments, code=code)
    is_table = name not in ("size-yaml", "size-markdown", "size-wide", "size-greedy")
    same_as_golden(name, without_times(printed.out or printed.err), columns=80 if is_table else None)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("size-catalog", ["--from", DEMO, "--rate", "cpu=0.04,memory=0.005"], id="a catalog"),
        pytest.param("size-catalog-help", ["--help"], id="help"),
    ],
)
def test_catalog_transcript(name: str, arguments: list[str], ksched: Ksched) -> None:
    same_as_golden(name, ksched("size", "catalog", *arguments, code=0).out, columns=None)


def test_a_catalog_of_the_cluster_can_be_bought_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["size", "catalog", "--from", DEMO, "--rate", "cpu=1"]) == 0
    file = tmp_path / "shapes.yaml"
    file.write_text(capsys.readouterr().out)
    assert run(["size", "--from", DEMO, "--catalog", str(file), "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["kind"] == "Sizing"


def test_the_schema_is_printed(ksched: Ksched) -> None:
    text = ksched("size", "schema", code=0).out
    assert json.loads(text)["title"].startswith("A catalog")
    assert text.startswith('{\n  "')


@pytest.mark.parametrize(
    ("pod", "options", "code"),
    [
        pytest.param(make_pod("p").requests(cpu="1"), [], 0, id="all fit"),
        pytest.param(make_pod("p").requests(cpu="99"), [], 1, id="some do not"),
        pytest.param(make_pod("p").requests(cpu="99"), ["--exit-zero"], 0, id="exit zero"),
    ],
)
@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "name", "markdown"])
def test_exit_codes(tmp_path: Path, pod: Any, options: list[str], code: int, output: str) -> None:
    cluster = write_list(tmp_path / "c.json", {"apiVersion": "v1", "kind": "Pod", **pod.doc()})
    assert run(["size", "--from", cluster, "--catalog", SHAPES, "-o", output, *options]) == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "say what can be bought: --catalog FILE", id="no catalog"),
        pytest.param(["--catalog", "/nowhere.yaml"], "/nowhere.yaml: no such file or directory", id="no file"),
        pytest.param(
            ["--catalog", SHAPES, "--time-limit", "soon"], "--time-limit soon: not a length of time", id="no time"
        ),
        pytest.param(["--catalog", DEMO], "kind", id="another kind of file"),
    ],
)
def test_mistakes(arguments: list[str], message: str, ksched: Ksched) -> None:
    assert message in ksched("size", "--from", DEMO, *arguments, code=2).err
