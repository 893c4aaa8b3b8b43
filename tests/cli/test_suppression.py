"""Findings that somebody has accepted: by an annotation, by --ignore, in a baseline file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_object, make_workload, write_list


def deployment(name: str = "web", cpu: str = "64") -> dict[str, Any]:
    return make_workload("Deployment", name, requests={"cpu": cpu}, replicas=1)


def accepting(text: str) -> dict[str, Any]:
    item = deployment()
    item["metadata"]["annotations"] = {"ksched.dev/ignore": text}
    return item


def in_template(text: str) -> dict[str, Any]:
    item = deployment()
    item["spec"]["template"]["metadata"]["annotations"] = {"ksched.dev/ignore": text}
    return item


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_list(Path("c.json"), make_node("n").doc())


def check(*items: Any, options: tuple[str, ...] = (), output: str = "json") -> int:
    write_list(Path("m.json"), *items)
    return run(["check", "--from", "c.json", "-f", "m.json", "-o", output, *options])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("item", "options", "by", "reason"),
    [
        pytest.param(accepting("KS102: a node comes"), (), "annotation", "a node comes", id="annotation"),
        pytest.param(accepting("KS203: a; larger-than-node: b"), (), "annotation", "b", id="several, by name"),
        pytest.param(in_template("KS102: c"), (), "annotation", "c", id="annotation of the pod template"),
        pytest.param(deployment(), ("--ignore", "ks102"), "option", "--ignore KS102", id="option"),
        pytest.param(deployment(), ("--ignore", "larger-than-node"), "option", "--ignore KS102", id="option by name"),
    ],
)
def test_an_accepted_finding_is_counted_and_fails_nothing(
    item: Any, options: tuple[str, ...], by: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(item, options=options) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["findings"], document["stats"]["ignored"]) == ([], 1)
    (ignored,) = document["ignored"]
    assert (ignored["code"], ignored["ignoredBy"], ignored["reason"]) == ("KS102", by, reason)
    assert [workload["result"] for workload in document["workloads"]] == ["ignored"]


def test_every_format_counts_the_accepted_findings(capsys: pytest.CaptureFixture[str]) -> None:
    for output in ("table", "wide", "markdown", "github", "junit"):
        assert check(accepting("KS102: a node comes"), output=output) == 0
        assert "1 finding ignored" in capsys.readouterr().out, output
    check(accepting("KS102: a node comes"), output="junit")
    suites = ElementTree.fromstring(capsys.readouterr().out)
    assert [(each.get("failures"), each.get("skipped")) for each in suites.iter("testsuite")] == [("0", "1")]
    check(accepting("KS102: a node comes"), output="sarif")
    (found,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert found["suppressions"] == [{"kind": "inSource", "justification": "a node comes"}]


def test_other_findings_still_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(accepting("KS101: no"), deployment("api")) == 1
    assert check(accepting("KS102: yes"), deployment("api")) == 1
    found = json.loads(capsys.readouterr().out.partition("}\n{")[2].join(("{", "")))
    assert [each["workload"] for each in found["findings"]] == ["Deployment default/api"]


def test_a_code_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(deployment(cpu="1"), options=("--ignore", "larger-than-nod")) == 2
    assert "did you mean larger-than-node?" in capsys.readouterr().err
    assert check(accepting("KS999: why")) == 1
    said = "Deployment default/web: annotation ksched.dev/ignore: there is no code KS999"
    assert said in capsys.readouterr().err


def test_an_error_of_the_input_cannot_be_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    """The object was not checked: a wrong input never ends with exit code 0."""
    broken = accepting("KS002: yes")
    broken["metadata"]["name"] = "Web"
    for options in ((), ("--ignore", "KS002"), ("--write-baseline", "b.json"), ("--baseline", "b.json")):
        assert check(broken, options=options) == 2
    capsys.readouterr()


def test_a_baseline_lets_an_old_repository_start(capsys: pytest.CaptureFixture[str]) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    widget = make_object("example.com/v1/Widget", "w", {"template": template})
    assert check(deployment(), widget, options=("--write-baseline", "b.json")) == 0
    assert "2 findings are in the baseline b.json" in capsys.readouterr().err
    entries = json.loads(Path("b.json").read_text())["findings"]
    assert [each["object"] for each in entries] == ["Deployment default/web", "Widget w"]
    # People read the differences of the file.
    assert Path("b.json").read_text().startswith('{\n  "apiVersion": "ksched/v1",\n')
    assert check(deployment(), widget, options=("--baseline", "b.json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert sorted((each["code"], each["ignoredBy"]) for each in document["ignored"]) == [
        ("KS006", "baseline"),
        ("KS102", "baseline"),
    ]
    # The same findings at other lines, with another number of pods: their fingerprints stay.
    moved = deployment()
    moved["spec"]["replicas"] = 3
    assert check(make_node("x").doc(), widget, moved, options=("--baseline", "b.json")) == 0
    capsys.readouterr()
    assert check(deployment(), deployment("new"), options=("--baseline", "b.json")) == 1
    document = json.loads(capsys.readouterr().out)
    found = [(each["code"], each.get("workload", "")) for each in document["findings"]]
    assert found == [("KS102", "Deployment default/new"), ("KS014", "")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(None, "b.json: no such file or directory", id="no file"),
        pytest.param("{", "b.json: the baseline is no JSON", id="no JSON"),
        pytest.param('{"kind": "Check"}', "b.json: this file is no baseline", id="another document"),
        pytest.param(
            '{"apiVersion": "ksched/v1", "kind": "Check", "findings": []}',
            "b.json: this file is no baseline",
            id="another kind",
        ),
        pytest.param(
            '{"apiVersion": "ksched/v1", "kind": "Baseline", "findings": {}}',
            "b.json: this file is no baseline",
            id="no list",
        ),
        pytest.param("[]", "b.json: this file is no baseline", id="a list"),
    ],
)
def test_a_baseline_that_cannot_be_read(content: str | None, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    if content is not None:
        Path("b.json").write_text(content)
    assert check(deployment(cpu="1"), options=("--baseline", "b.json")) == 2
    assert expected in capsys.readouterr().err


def test_a_workload_whose_errors_are_ignored_is_not_said_to_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(accepting("KS102: a node comes"), output="table") == 0
    assert capsys.readouterr().out.splitlines()[0] == "1 workload: errors of 1 ignored, 1 finding ignored (1 node)"
    assert check(accepting("KS102: a node comes"), deployment("api", cpu="1"), output="table") == 0
    expected = "2 workloads: 1 fits, errors of 1 ignored, 1 finding ignored (1 node)"
    assert capsys.readouterr().out.splitlines()[0] == expected


def test_entries_of_a_baseline_that_are_no_longer_found_are_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(deployment(), deployment("api"), options=("--write-baseline", "b.json")) == 0
    capsys.readouterr()
    assert check(deployment(cpu="1"), deployment("api"), options=("--baseline", "b.json")) == 0
    document = json.loads(capsys.readouterr().out)
    (note,) = document["findings"]
    assert (note["level"], note["code"], note["file"]) == ("note", "KS014", "b.json")
    assert note["message"].startswith("1 entry matches no finding: Deployment default/web: KS102 (--write-baseline")
    assert check(deployment(cpu="1"), deployment("api", cpu="1"), options=("--baseline", "b.json")) == 0
    (note,) = json.loads(capsys.readouterr().out)["findings"]
    assert note["message"].startswith("2 entries match no finding: Deployment default/api: KS102, Deployment default/w")


def test_a_check_of_one_namespace_does_not_call_entries_of_others_stale(capsys: pytest.CaptureFixture[str]) -> None:
    other = deployment("api")
    other["metadata"]["namespace"] = "shop"
    assert check(deployment(), other, options=("--assume-namespace", "shop", "--write-baseline", "b.json")) == 0
    capsys.readouterr()
    only = ("--assume-namespace", "shop", "--baseline", "b.json", "-n", "default")
    assert check(deployment(), other, options=only) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_a_baseline_is_renewed_with_the_findings_that_it_accepts(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(deployment(), deployment("api"), options=("--write-baseline", "b.json")) == 0
    assert check(deployment(), options=("--baseline", "b.json", "--write-baseline", "b.json")) == 0
    capsys.readouterr()
    entries = json.loads(Path("b.json").read_text())["findings"]
    assert [(each["object"], each["code"]) for each in entries] == [("Deployment default/web", "KS102")]


@pytest.mark.parametrize(
    ("options", "output", "code", "said"),
    [
        pytest.param(
            ("--write-baseline", "none/b.json"), "json", 2, "ksched: --write-baseline none/b.json: no such file or directory\n",
            id="a baseline",
        ),
        pytest.param(
            (), "github", 1, "ksched: warning: cannot write the step summary none/s.md: no such file or directory\n",
            id="a step summary",
        ),
    ],
)  # fmt: skip
def test_files_that_cannot_be_written(
    options: tuple[str, ...],
    output: str,
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "none/s.md")
    assert check(deployment(), options=options, output=output) == code
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("output", "begins"),
    [("table", ""), ("wide", ""), ("json", '{\n  "apiVersion"'), ("markdown", "### ksched check: ")],
)
def test_a_check_that_is_not_run_has_a_document_for_programs(
    output: str, begins: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "--from", "none.json", "-f", "none.json", "-o", output]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("ksched: none.json: ")
    assert shown.out[: max(len(begins), 1)] == begins
