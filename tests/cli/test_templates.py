"""`-o jsonpath=` and `-o custom-columns=` on the commands that print documents."""

from __future__ import annotations

import json

import pytest

from ksched_cli.cli.main import run
from tests.cli.transcripts import ROOT
from tests.running import Ksched

SHOP = str(ROOT / "fixtures" / "clusters" / "drain.yaml")
NODES = "{.pods[*].node}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param(["-o", f"jsonpath={NODES}"], id="-o VALUE"),
        pytest.param([f"-ojsonpath={NODES}"], id="-oVALUE"),
        pytest.param([f"-o=jsonpath={NODES}"], id="-o=VALUE"),
        pytest.param(["--output", f"jsonpath={NODES}"], id="--output VALUE"),
        pytest.param([f"--output=jsonpath={NODES}"], id="--output=VALUE"),
    ],
)
def test_every_way_to_write_it(spelling: list[str], ksched: Ksched) -> None:
    assert ksched("demo", *spelling, code=0).out == "east-2 west-1 gpu-1"


def test_an_equals_sign_after_the_short_option_is_read_as_kubectl_reads_it(ksched: Ksched) -> None:
    assert json.loads(ksched("demo", "-o=json", code=0).out)["kind"] == "Simulation"


@pytest.mark.parametrize(
    ("arguments", "expected", "code"),
    [
        pytest.param(
            ["drain", "east-1", "--from", SHOP, "--ignore-daemonsets", "-o", 'jsonpath={.nodes[*].pods[?(@.fate=="stuck")].pod}'],
            "shop/db-0",
            1,
            id="drain, with its exit code",
        ),
        pytest.param(
            ["drain", "--each", "zone", "--from", SHOP, "-o", "custom-columns=ZONE:name,RESULT:.result"],
            "ZONE   RESULT\neast   blocked\nwest   blocked\n",
            1,
            id="drain each",
        ),
        pytest.param(
            ["capacity", "--from", SHOP, "-f", str(ROOT / "fixtures/manifests/capacity.yaml"), "--max", "3", "-o", "jsonpath={range .capacities[*]}{.shapes[0].name}={.sets} {end}"],
            "web=3 index=0 ",
            1,
            id="capacity",
        ),
        pytest.param(["config", "view", "-o", "jsonpath={.profiles[0].schedulerName}"], "default-scheduler", 0, id="config view"),
        pytest.param(["plugins", "NodePorts", "-o", "jsonpath={[0].name}"], "NodePorts", 0, id="plugins"),
    ],
)  # fmt: skip
def test_commands(arguments: list[str], expected: str, code: int, ksched: Ksched) -> None:
    assert ksched(*arguments, code=code).out == expected


def test_without_headers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drain", "--each", "zone", "--from", SHOP, "--no-headers", "-o", "custom-columns=ZONE:name"]) == 1
    assert capsys.readouterr().out == "east\nwest\n"


def test_help_is_help(ksched: Ksched) -> None:
    assert ksched("demo", "--help", "-o", "jsonpath={.a}", code=0).out.startswith("Usage: ksched demo")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param("jsonpath", "-o jsonpath needs a template: -o jsonpath=", id="no template"),
        pytest.param("jsonpath=", "-o jsonpath needs a template: -o jsonpath=", id="an empty template"),
        pytest.param("custom-columns", "-o custom-columns needs a template", id="no columns"),
        pytest.param("jsonpath={.pods[", "-o jsonpath={.pods[: unterminated array", id="cannot be read"),
        pytest.param("jsonpath={.pods[99]}", "array index out of bounds: index 99, length 5", id="does not fit"),
        pytest.param("custom-columns=POD", "unexpected custom-columns spec: POD", id="a column without a path"),
        pytest.param("jsonpaht={.a}", "is not one of", id="misspelt"),
    ],
)
def test_mistakes(output: str, expected: str, ksched: Ksched) -> None:
    captured = ksched("demo", "-o", output, code=2)
    assert captured.out == ""
    assert expected in captured.err
    assert "Traceback" not in captured.err


def test_a_file_of_that_name_is_a_file(tmp_path, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert run(["snapshot", "--from", SHOP, "-o", "jsonpath=x"]) == 0
    assert (tmp_path / "jsonpath=x").exists()
    assert "jsonpath=x: " in capsys.readouterr().out


@pytest.mark.parametrize(
    "given",
    [
        ["-o", "jsonpath={.kind}"],
        ["-ojsonpath={.kind}"],
        ["--output", "jsonpath={.kind}"],
        ["--output=jsonpath={.kind}"],
    ],
)
def test_the_word_after_the_template_is_read(given: list[str], ksched: Ksched) -> None:
    assert ksched("drain", "--each", "zone", *given, "--from", SHOP, code=1).out == "DrainList"
    assert "No such option: --nothing" in ksched("demo", *given, "--nothing", code=2).err
