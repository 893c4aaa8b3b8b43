"""`ksched sweep` as a person runs it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_pod, make_workload, write_list
from tests.cli.transcripts import DEMO, ROOT, same_as_golden
from tests.running import Ksched

SHOP = str(ROOT / "fixtures" / "clusters" / "drain.yaml")


def without_speed(text: str) -> str:
    """The rate differs from run to run."""
    return re.sub(r" \([\d,]+ variants/s, [^)]*\)", "", text)


def shown(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int) -> str:
    assert run(["sweep", *arguments]) == code
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("sweep", ["--fail", "node", "--from", SHOP], 1, id="nodes"),
        pytest.param("sweep-wide", ["--fail", "node:2", "--from", SHOP, "-o", "wide"], 1, id="pairs of nodes"),
        pytest.param("sweep-orders", ["--orders", "6", "--ties", "2", "--from", DEMO], 1, id="orders and ties"),
        pytest.param("sweep-settings", ["--add-node", "cpu=8,memory=32Gi=0..2", "--from", DEMO], 1, id="new nodes"),
        pytest.param("sweep-help", ["--help"], 0, id="help"),
    ],
)  # fmt: skip
def test_transcript(name: str, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    same_as_golden(name, without_speed(shown(arguments, capsys, code)))


def test_the_document_has_what_a_page_needs(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(shown(["--fail", "zone", "--from", SHOP, "-o", "json"], capsys, 1))
    assert (document["apiVersion"], document["kind"], document["result"]) == ("ksched/v1", "SweepResult", "no place")
    assert document["dimensions"] == {"fail": "zone"}
    assert document["variants"] == document["product"] == 2
    assert sum(each["variants"] for each in document["outcomes"].values()) == 2
    assert document["figures"].keys() == document["base"].keys()
    assert {row["at"]["fail"][0] for row in document["worst"]} == {"east", "west"}
    assert all(row["reason"] for row in document["worst"])
    odds = {each["pod"]: each for each in document["pods"]}
    assert all(
        each["variants"] == sum(share["variants"] for share in each["results"].values()) for each in odds.values()
    )
    assert odds["shop/debug"]["results"]["lost"] == {"variants": 1, "share": 1.0, "low": 0.206549, "high": 1.0}
    assert document["stats"]["executor"] == "in-process"


def test_lines_of_json_have_one_row_per_variant(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        json.loads(line) for line in shown(["--fail", "node", "--from", SHOP, "-o", "jsonl"], capsys, 1).splitlines()
    ]
    assert [row["variant"] for row in rows] == [0, 1, 2, 3]
    assert [row["at"]["fail"] for row in rows] == [["east-1"], ["east-2"], ["west-1"], ["west-2"]]
    assert all(len(pod) == 3 for row in rows for pod in row["pods"])


def test_csv_has_a_header_and_one_row_per_variant(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(shown(["--fail", "node", "--from", SHOP, "-o", "csv"], capsys, 1).splitlines()))
    assert [json.loads(row["at"]) for row in rows][:2] == [{"fail": ["east-1"]}, {"fail": ["east-2"]}]
    assert {row["nodes"] for row in rows} == {"3"}


@pytest.mark.parametrize(
    ("items", "arguments", "code"),
    [
        pytest.param([], ["--fail", "node"], 0, id="nothing runs"),
        pytest.param([make_pod("bare").on("a").phase("Running").doc()], ["--fail", "node"], 1, id="a pod is lost"),
        pytest.param([make_pod("bare").on("a").phase("Running").doc()], ["--fail", "node", "--exit-zero"], 0, id="told zero"),
        pytest.param([make_pod("new").requests(cpu="64").doc()], ["--orders", "2"], 1, id="a pod never fits"),
        pytest.param([make_pod("new").requests(cpu="64").doc()], ["--fail", "node"], 0, id="it did not fit before either"),
    ],
)  # fmt: skip
def test_exit_codes(items: list[Any], arguments: list[str], code: int, tmp_path: Path) -> None:
    nodes = [make_node(name).allocatable(cpu="4", memory="8Gi", pods="10").doc() for name in "ab"]
    cluster = write_list(tmp_path / "cluster.json", *nodes, *items)
    assert run(["sweep", "--from", cluster, *arguments]) == code


SWEEP = """\
apiVersion: ksched/v1
kind: Sweep
metadata: {name: lose a zone}
dimensions:
  fail: zone
  kubeVersion: ["1.35", "1.36"]
"""


@pytest.mark.slow
def test_a_file_and_options_that_replace_its_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP)
    document = json.loads(shown([str(file), "--from", SHOP, "-o", "json"], capsys, 1))
    assert document["name"] == "lose a zone"
    assert document["dimensions"] == {"kubeVersion": ["1.35", "1.36"], "fail": "zone"}
    assert [each["kubeVersion"] for each in document["settings"]] == ["1.35", "1.36"]
    document = json.loads(shown([str(file), "--fail", "node", "--from", SHOP, "-o", "json"], capsys, 1))
    assert (document["dimensions"]["fail"], document["variants"]) == ("node", 8)


def test_a_range_of_versions_is_a_dimension(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--kube-version", "1.35..1.36", "--fail", "node:east-1", "--from", SHOP, "-o", "json"]
    document = json.loads(shown(arguments, capsys, 0))
    assert [each["kubeVersion"] for each in document["settings"]] == ["1.35", "1.36"]
    assert document["variants"] == 2


MISTAKES = """\
apiVersion: ksched/v1
kind: Swep
dimensions:
  fail: rack
  orders: 0
  unknown: 3
  scale: deployment/web=5..1
sample: -1
"""


def test_validate_names_every_mistake_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(SWEEP)
    bad.write_text(MISTAKES)
    assert run(["sweep", "validate", str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: valid\n"
    assert run(["sweep", "validate", str(good), str(bad)]) == 2
    lines = [line.removeprefix(f"ksched: {bad}:") for line in capsys.readouterr().err.splitlines()]
    assert [line.partition(":")[0] for line in lines] == ["2", "4", "5", "6", "7", "8"]
    assert [
        word in line for word, line in zip(("Sweep", "rack", "orders", "unknown", "empty", "-1"), lines, strict=True)
    ] == [True] * 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "empty: expected one Sweep of ksched/v1", id="empty"),
        pytest.param("- 1", "not an object: expected one Sweep of ksched/v1", id="list"),
        pytest.param(f"{SWEEP}---\n{SWEEP}", "2 documents: expected one Sweep of ksched/v1", id="two"),
        pytest.param("{", "broken YAML", id="broken"),
        pytest.param("apiVersion: ksched/v1\nkind: Sweep\n", "the sweep has no dimension", id="no dimension"),
    ],
)
def test_files_that_are_no_sweep(text: str, message: str, tmp_path: Path, ksched: Ksched) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(text)
    assert message in ksched("sweep", "validate", str(file), code=2).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "the sweep has no dimension", id="nothing to try"),
        pytest.param(["--fail", "label=rack"], "no node of the input has the label rack", id="no such label"),
        pytest.param(["--scale", "deployment/none=1..3"], 'there is no Deployment "none"', id="no such workload"),
        pytest.param(["--fail", "node", "--ties", "1000000000"], "1000000000 is not between 1 and", id="too many ties"),
        pytest.param(
            ["--fail", "node", "--ties", "10000000", "--scale", "deployment/x=1..100000"],
            "--sample N draws N of them",
            id="too many",
        ),
        pytest.param(
            ["--fail", "node", "--grid", "none.yaml"], "--grid none.yaml: none.yaml: no such file", id="no grid"
        ),
        pytest.param(["--orders", "3"], "--orders 3: no pod of the input is pending", id="nothing to order"),
        pytest.param(["--failing", "node"], "No such option", id="unknown dimension"),
        pytest.param(["none.yaml"], "none.yaml: no such file", id="no such file"),
        pytest.param(["a.yaml", "b.yaml"], "one sweep file at a time", id="two files"),
    ],
)
def test_bad_command_lines(arguments: list[str], message: str, ksched: Ksched) -> None:
    assert message in ksched("sweep", "--from", SHOP, *arguments, code=2).err


def test_the_schema_agrees_with_validate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    schema = json.loads(shown(["schema"], capsys, 0))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({**yaml.safe_load(SWEEP), "dimensions": {"fail": "zone", "kubeVersion": "1.35..1.36"}}, schema)
    for mistake in ({"dimensions": {"unknown": 1}}, {"dimensions": {"orders": 0}}, {"sample": 0}, {"dimensions": {}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(
                {"apiVersion": "ksched/v1", "kind": "Sweep", "dimensions": {"fail": "node"}, **mistake}, schema
            )


EXPECTING = """\
apiVersion: ksched/v1
kind: Sweep
dimensions: {fail: node}
expect:
  schedulable: StatefulSet/shop/db
  on:
    DaemonSet/kube-system/logs: "*"
  survives: {zone: 1}
"""


def test_expectations_hold_or_fail_in_each_variant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(EXPECTING)
    assert run(["sweep", "validate", str(file)]) == 0
    capsys.readouterr()
    document = json.loads(shown([str(file), "--from", SHOP, "-o", "json"], capsys, 4))
    assert document["failedExpectations"].keys() == {"survives the loss of any 1 zone"}
    assert all("survives the loss of any 1 zone" in row["failed"] for row in document["worst"])
    file.write_text(EXPECTING.replace("survives: {zone: 1}", "noPreemption: true"))
    document = json.loads(shown([str(file), "--from", SHOP, "-o", "json"], capsys, 1))
    assert "failedExpectations" not in document


def test_an_expectation_of_pods_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(EXPECTING.replace("StatefulSet/shop/db", "Deployment/shop/none"))
    assert run(["sweep", str(file), "--from", SHOP]) == 2
    assert 'expect: there is no Deployment "none" in namespace "shop" in the input' in capsys.readouterr().err


def test_mistakes_in_expectations_are_named(tmp_path: Path, ksched: Ksched) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(EXPECTING.replace("StatefulSet/shop/db", "Deploy").replace("{zone: 1}", "{zone: 0}"))
    lines = ksched("sweep", "validate", str(file), code=2).err.splitlines()
    assert [f":{number}: expect." in line for number, line in zip((5, 8), lines, strict=True)] == [True, True]


def test_the_worst_variants_are_kept_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--fail", "node", "--keep", "worst=1", "--from", SHOP, "--out", str(tmp_path), "-o", "json"]
    document = json.loads(shown(arguments, capsys, 1))
    (worst,), (kept,) = document["worst"], document["kept"]
    assert worst["at"] == kept["at"] == {"fail": ["west-2"]}
    assert {pod["pod"]: pod["state"] for pod in kept["final"]}["shop/thumbs-6b8d4-ggggg"] == "gone"
    assert any(event["event"] == "Cycle" for event in kept["timeline"])
    stored = json.loads((tmp_path / "worst" / f"{worst['variant']}.json").read_text())
    assert stored == kept


def test_what_is_written_beside_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Variants are kept on request only, and once more over those of an earlier run."""
    arguments = ["--fail", "node", "--from", SHOP, "--workers", "1", "--out", str(tmp_path)]
    shown([*arguments], capsys, 1)
    assert not (tmp_path / "worst").exists()
    texts = []
    for _ in range(2):
        shown([*arguments, "--resume", "--keep", "worst=1"], capsys, 1)
        (kept,) = (tmp_path / "worst").iterdir()
        texts.append(kept.read_text())
    assert texts[0] == texts[1]
    assert texts[0].startswith('{\n  "apiVersion": ')
    assert "west-2" in shown(["--fail", "node", "--from", SHOP, "--keep", "worst=1"], capsys, 1)


@pytest.mark.parametrize("keep", ["worst", "worst=x", "best=3"])
def test_what_can_be_kept(keep: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--from", SHOP, "--fail", "node", "--keep", keep]) == 2
    assert f"--keep {keep}: write worst=N" in capsys.readouterr().err


@pytest.mark.slow
def test_parquet_has_the_rows_with_their_pods(capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    from pyarrow.parquet import read_table

    made = {}
    for form in ("parquet", "jsonl"):
        assert run(["sweep", "--fail", "node", "--from", SHOP, "-o", form]) == 1
        made[form] = capsysbinary.readouterr().out
    (tmp_path / "rows.parquet").write_bytes(made["parquet"])
    found = read_table(tmp_path / "rows.parquet").to_pylist()
    rows = [json.loads(line) for line in made["jsonl"].splitlines()]
    assert [(each["variant"], json.loads(each["at"]), each["outcome"]) for each in found] == [
        (row["variant"], row["at"], row["outcome"]) for row in rows
    ]
    assert [[list(pod.values()) for pod in each["pods"]] for each in found] == [row["pods"] for row in rows]
    assert all(
        each[name] == value for each, row in zip(found, rows, strict=True) for name, value in row["figures"].items()
    )


@pytest.mark.slow
def test_a_range_of_replicas_has_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The edit of a variant names a kind of objects, which is no text."""
    eks = str(ROOT / "fixtures" / "clusters" / "eks.yaml")
    assert run(["sweep", "--from", eks, "-n", "shop", "--scale", "deployment/web=1..3"]) == 1
    assert "deployment/web=3" in capsys.readouterr().out


def test_a_name_without_a_namespace_is_one_of_the_chosen_namespace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two workloads have this name."""
    webs = [make_workload("Deployment", "web", metadata={"namespace": each}, replicas=0) for each in ("shop", "test")]
    cluster = write_list(tmp_path / "c.json", make_node("n").doc(), *webs)
    words = ["--from", cluster, "-n", "test", "--scale", "deploy/web=1..3", "-o", "json"]
    assert json.loads(shown(words, capsys, 0))["variants"] == 3


@pytest.mark.parametrize(
    "words",
    [["sweep", "--fail", "node"], ["drain", "--each", "node"], ["explain"], ["consolidate"]],
    ids=lambda words: str(words[0]),
)
def test_an_unknown_namespace_ends_in_exit_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--from", SHOP, "-n", "shopp"]) == 2
    assert "-n shopp: nothing of the input is in namespace shopp (did you mean shop?)" in capsys.readouterr().err
