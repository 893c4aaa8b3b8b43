"""`--scenario` and `ksched scenario` as a person meets them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from ksched_cli.cli.simulate import SettleOptions
from ksched_cli.world.results import Limits
from tests.builders import make_pod, write_list
from tests.cli.inputs import NODE, POD
from tests.cli.transcripts import FLEET, ROOT, same_as_golden
from tests.running import Ksched

SCENARIOS = ROOT / "fixtures" / "scenarios"
GOOD, BAD = SCENARIOS / "lose-east-2.yaml", SCENARIOS / "mistakes.yaml"


@pytest.fixture(autouse=True)
def _from_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(
    ("name", "code", "arguments"),
    [
        pytest.param("scenario", 4, ["simulate", "--from", FLEET, "--scenario", str(GOOD)], id="a scenario"),
        pytest.param(
            "scenario-mistakes",
            2,
            ["simulate", "--from", FLEET, "--scenario", str(BAD.relative_to(ROOT))],
            id="all mistakes of a file, names that mean nothing among them",
        ),
        pytest.param("scenario-help", 0, ["scenario", "--help"], id="help"),
    ],
)
def test_transcript(name: str, code: int, arguments: list[str], ksched: Ksched) -> None:
    captured = ksched(*arguments, code=code)
    shown = captured.out + captured.err
    same_as_golden(name, shown, columns=None)
    assert all(len(line) <= 80 for line in captured.out.splitlines())


@pytest.mark.slow
def test_the_document(ksched: Ksched) -> None:
    arguments = ["simulate", "--from", FLEET, "--scenario", str(GOOD), "-o"]
    document = json.loads(ksched(*arguments, "json", code=4).out)
    assert (document["apiVersion"], document["kind"], document["held"]) == ("ksched/v1", "ScenarioResult", False)
    assert [step["name"] for step in document["steps"]] == [
        "as it is",
        "drain east-2",
        "two more of web, and a node for them",
    ]
    assert [each["held"] for each in document["steps"][2]["expectations"]] == [True, True, False, False]
    assert {**yaml.safe_load(ksched(*arguments, "yaml", code=4).out), "run": document["run"]} == document
    assert "not as name" in ksched(*arguments, "name", code=2).err


@pytest.mark.parametrize("options", [[], ["--settle"]], ids=["the steps", "the whole run"])
def test_a_run_that_does_not_settle(options: list[str], ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the run is a part of the result with --settle, and a warning without it."""
    monkeypatch.setattr(SettleOptions, "limits", lambda _: Limits(max_cycles=1))
    shown = ksched("simulate", "--from", FLEET, "--scenario", str(GOOD), *options, code=4)
    end = "not settled: stopped after 1 cycle (--max-cycles), 0s\n"
    assert (shown.err, f"\n{end}" in shown.out) == (("", True) if options else (f"ksched: warning: {end}", False))


def test_validate(ksched: Ksched, tmp_path: Path) -> None:
    assert ksched("scenario", "validate", str(GOOD), code=0).out == f"{GOOD}: valid\n"
    (tmp_path / "two.yaml").write_text("a: 1\n---\nb: 2\n")
    (tmp_path / "list.yaml").write_text("- a\n")
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "version.yaml").write_text(
        "apiVersion: 5\nkind: Scenario\nmetadata: {name: 7}\nsteps: [{drain: [a]}]\n"
    )
    complaints = ksched(
        "scenario",
        "validate",
        str(BAD),
        *(str(tmp_path / f"{name}.yaml") for name in ("two", "list", "empty", "no", "version")),
        code=2,
    ).err.splitlines()
    assert len([line for line in complaints if "mistakes.yaml" in line]) == 11
    assert [line.partition(f"{tmp_path}/")[2] for line in complaints[11:]] == [
        "two.yaml: 2 documents: expected one Scenario of ksched/v1",
        "list.yaml: not an object: expected one Scenario of ksched/v1",
        "empty.yaml: empty: expected one Scenario of ksched/v1",
        "no.yaml: no such file or directory",
        "version.yaml:1: apiVersion: expected ksched/v1, got 5",
        "version.yaml:3: metadata.name: expected a string, got a whole number",
    ]


def test_the_schema_takes_what_is_right_and_refuses_what_is_not(ksched: Ksched) -> None:
    schema = json.loads(ksched("scenario", "schema", code=0).out)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good, bad = (json.loads(json.dumps(_read(path))) for path in (GOOD, BAD))
    assert list(validator.iter_errors(good)) == []
    assert len(list(validator.iter_errors(bad))) >= 6


def _read(path: Path) -> object:
    """As editors do, for whom `on` is text."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.yaml_implicit_resolvers = {
        key: [] if key in "oO" else each for key, each in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return yaml.load(path.read_text(), Loader)


def test_the_readmes_scenario_can_be_run(ksched: Ksched, tmp_path: Path) -> None:
    blocks = (ROOT / "ksched_cli" / "help" / "edits.md").read_text().split("```yaml\n")[1:]
    (text,) = (block.partition("```")[0] for block in blocks if "kind: Scenario" in block)
    (tmp_path / "readme.yaml").write_text(text)
    assert "valid" in ksched("scenario", "validate", str(tmp_path / "readme.yaml"), code=0).out


@pytest.mark.parametrize(
    ("namespace", "code", "text"),
    [
        pytest.param("new", 0, "1 pending pod: fits with 1 more node", id="one that a step makes"),
        pytest.param(
            "nowhere", 2, "-n nowhere: nothing of the input is in namespace nowhere", id="one without anything"
        ),
    ],
)
def test_size_after_a_scenario_in_a_namespace(
    namespace: str, code: int, text: str, ksched: Ksched, tmp_path: Path
) -> None:
    write_list(tmp_path / "cluster.json", NODE, POD)
    write_list(tmp_path / "new.json", make_pod("q", "new").requests(cpu="5").doc())
    steps = {"apiVersion": "ksched/v1", "kind": "Scenario", "steps": [{"name": "one", "apply": "new.json"}]}
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    inputs = ["--from", str(tmp_path / "cluster.json"), "--scenario", str(tmp_path / "steps.json")]
    shown = ksched("size", *inputs, "-n", namespace, "--catalog", "fixtures/catalogs/shop.yaml", code=code)
    assert text in shown.out + shown.err
