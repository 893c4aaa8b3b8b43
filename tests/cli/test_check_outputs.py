"""`check` for CI: JUnit, SARIF, GitHub annotations, Markdown."""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.build_info import BuildInfo
from ksched_cli.cli.main import run
from ksched_cli.plan.check.results import Check, Finding, IgnoredFinding, WorkloadCheck
from ksched_cli.plan.results.outcomes import Stats
from ksched_cli.report.registry import RenderOptions, render
from ksched_cli.report.sinks import findings as check_sarif
from ksched_cli.report.sinks.findings import (
    FINGERPRINT,
    annotation,
    as_uri,
    escape_data,
    escape_property,
    github_lines,
    junit_text,
    sarif_document,
)
from ksched_cli.report.sinks.markdown import MAX_BYTES
from ksched_cli.report.view.check import repository_path
from ksched_cli.sources.places import SourcePlace
from tests.builders import make_node, make_pod, write_list
from tests.cli.sarif_shape import SHAPE
from tests.cli.test_check import CLUSTER, DEPLOY, without_times
from tests.cli.transcripts import ROOT, same_as_golden
from tests.running import Ksched


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("output", ["junit", "sarif", "github", "markdown"])
def test_transcript(output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_sarif, "BUILD", BuildInfo("0.1.0"))
    assert run(["check", "--from", CLUSTER, "-f", DEPLOY, "-o", output]) == 1
    same_as_golden(f"check-{output}", without_times(capsys.readouterr().out), columns=None)


def finding(number: int = 0, level: Any = "error", **fields: Any) -> Finding:
    place = SourcePlace("deploy/web.yaml", number + 1, f"spec.field{number}")
    made = Finding("KS104", "node-selector", level, "no node has the labels", "Deployment shop/web", "no place", place)
    return replace(made, **fields)


def check_of(*findings: Finding) -> Check:
    place = SourcePlace("deploy/web.yaml", 1)
    workload = WorkloadCheck("Deployment shop/web", "shop", place, 2, 1, 0, False, (), findings)
    return Check((workload,), (), {}, Stats(3, 2, 0.1, 0.1, 0, 1.0))


def every_kind() -> Check:
    """Workloads of each result in two files and on stdin, findings with and without a place, accepted findings."""
    web, db, piped = SourcePlace("deploy/web.yaml", 1), SourcePlace("deploy/db.yaml"), SourcePlace("stdin", 7)
    note = finding(0, "note", code="KS305", title="held back", message="waits for a gate", pods=("db-0",), step=2)
    warning = finding(0, "warning", code="KS201", title="pods are evicted", place=SourcePlace(""))
    workloads = (
        WorkloadCheck(
            "Deployment shop/web", "shop", web, 2, 1, 1, True, (), (finding(0), finding(1), warning), ("CSINode",)
        ),
        WorkloadCheck("StatefulSet shop/db", "shop", db, 1, 0, 0, False, (), (replace(note, place=db),)),
        WorkloadCheck("Job shop/once", "shop", db, 1, 0, 0, False, (), (), is_excused=True),
        WorkloadCheck("Pod shop/one", "shop", piped, 1, 1, 0, False, (), ()),
    )
    inputs = (
        finding(0, workload="", place=SourcePlace("deploy/none.yaml"), message="no such file"),
        finding(0, "warning", workload="", place=SourcePlace(""), message="100% unknown"),
    )
    ignored = (
        IgnoredFinding(finding(0), "annotation", "a node comes"),
        IgnoredFinding(finding(0, workload="Job shop/once"), "baseline", "known"),
    )
    coverage = {"manifestsNotChecked": {"networking.k8s.io/v1/NetworkPolicy": 2}}
    return Check(
        workloads, (), coverage, Stats(3, 2, 0.1, 0.25, 0, 1.0), ("a\nwarning",), inputs=inputs, ignored=ignored
    )


def test_a_check_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_sarif, "BUILD", BuildInfo("0.1.0"))
    check = every_kind()
    sarif = sarif_document(check)["runs"][0]
    parts = {
        "github": "".join(f"{line}\n" for line in github_lines(check)),
        "junit": junit_text(check),
        "sarif": yaml.safe_dump({key: sarif[key] for key in ("invocations", "results")}, sort_keys=False, width=118),
    }
    same_as_golden("check-of-every-kind", "".join(f"--- {form}\n{text}" for form, text in parts.items()), columns=None)


# JUnit


def test_junit_has_what_jenkins_and_gitlab_read(ksched: Ksched) -> None:
    root = ElementTree.fromstring(ksched("check", "--from", CLUSTER, "-f", DEPLOY, "-o", "junit").out)
    cases = root.findall("testsuite/testcase")
    assert root.tag == "testsuites"
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["5", "3", "0"]
    assert sum(int(suite.get("skipped", "")) for suite in root) == 1
    for suite in root:
        assert suite.get("name", "").startswith("fixtures/check/deploy/")
        assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
        assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
    for case in cases:
        assert {"name", "classname", "time"} == set(case.keys())
        assert len(case.findall("failure")) <= 1, "GitLab shows the first only"
        for failure in case.findall("failure"):
            assert failure.get("type", "").startswith("KS")
            assert failure.get("message")
            assert failure.text
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)


@given(st.text())
def test_junit_is_xml_whatever_is_in_the_message(text: str) -> None:
    root = ElementTree.fromstring(junit_text(check_of(finding(message=text, title=text))).encode())
    assert root.find("testsuite/testcase/failure") is not None


def test_several_errors_of_a_workload_are_one_failure() -> None:
    root = ElementTree.fromstring(junit_text(check_of(finding(0), finding(1), finding(2, "note"))).encode())
    (failure,) = root.iter("failure")
    assert failure.get("message") == "KS104 no node has the labels (and 1 more)"
    assert (failure.text or "").count("error KS104") == 2


def test_findings_about_the_input_are_cases_of_their_files() -> None:
    places = [SourcePlace(name, 1) for name in ("deploy/a.yaml", "deploy/web.yaml", "")]
    inputs = tuple(
        finding(level=level, place=place) for level, place in zip(("error", "note", "note"), places, strict=True)
    )
    root = ElementTree.fromstring(junit_text(replace_fields(check_of(), inputs=inputs)))
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["4", "0", "1"]
    suites = {suite.get("name"): [case.get("name") for case in suite] for suite in root}
    case = "input: KS104 node-selector"
    assert suites == {"deploy/a.yaml": [case], "deploy/web.yaml": [case, "Deployment shop/web"], "input": [case]}
    (error,) = root.iter("error")
    assert (error.get("message"), error.get("type")) == ("KS104 no node has the labels", "KS104")
    assert "error KS104" in (error.text or "")
    assert {each.get("time") for each in root.iter("testcase")} == {"0.000"}
    assert len([*root.iter("system-out")]) >= 2


# SARIF


def sarif(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    run(["check", "--from", CLUSTER, "-o", "sarif", *arguments])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_sarif_has_the_shape_of_the_standard(capsys: pytest.CaptureFixture[str]) -> None:
    document = sarif(capsys, "-f", DEPLOY)
    jsonschema.Draft202012Validator(SHAPE).validate(document)
    (only,) = document["runs"]
    rules = only["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in only["results"]] == [
        result["ruleId"] for result in only["results"]
    ]


def test_sarif_against_the_schema_of_oasis(capsys: pytest.CaptureFixture[str]) -> None:
    """The schema is not part of this repository; KSCHED_SARIF_SCHEMA names a copy of it."""
    path = os.environ.get("KSCHED_SARIF_SCHEMA")
    if not path:
        pytest.skip("KSCHED_SARIF_SCHEMA names no copy of sarif-schema-2.1.0.json")
    schema = json.loads(Path(path).read_text())
    jsonschema.validators.validator_for(schema)(schema).validate(sarif(capsys, "-f", DEPLOY))


def test_sarif_uris_are_relative_and_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my deploy").mkdir()
    (tmp_path / "my deploy" / "ü.yaml").touch()
    monkeypatch.chdir(tmp_path / "my deploy")
    assert as_uri(repository_path(SourcePlace("ü.yaml"))) == "%C3%BC.yaml"
    assert as_uri(repository_path(SourcePlace(str(tmp_path / "my deploy" / "ü.yaml")))) == "%C3%BC.yaml"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert as_uri(repository_path(SourcePlace("ü.yaml"))) == "my%20deploy/%C3%BC.yaml"
    assert as_uri(repository_path(SourcePlace("/elsewhere/x.yaml"))) == "file:///elsewhere/x.yaml"
    (tmp_path / "all.tgz").touch()
    assert repository_path(SourcePlace(f"{tmp_path}/all.tgz:deploy/web.yaml")) == "all.tgz"


def test_what_was_piped_in_has_no_file() -> None:
    (result,) = sarif_document(check_of(finding(place=SourcePlace("stdin", 3, "spec"))))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("stdin", {"startLine": 3})
    assert annotation(finding(place=SourcePlace("stdin", 3))).startswith("::error title=")


def test_fingerprints_stay_when_lines_move_and_are_told_apart() -> None:
    def prints(*findings: Finding) -> list[str]:
        results = sarif_document(check_of(*findings))["runs"][0]["results"]
        return [result["partialFingerprints"][FINGERPRINT] for result in results]

    moved = finding(place=SourcePlace("other/name.yaml", 99, "spec.field0"), message="other words", pods=("w-x",))
    assert prints(finding(0)) == prints(moved)
    several = prints(finding(0), finding(0), finding(1), finding(0, code="KS107"))
    assert len(set(several)) == 4


# GitHub


def test_ten_annotations_of_a_kind_and_the_rest_in_the_summary(
    tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("what another tool wrote\n")
    pods = [make_pod(f"large-{at}").requests(cpu="9").doc() for at in range(13)]
    pods += [make_pod(f"held-{at}").gate("x").doc() for at in range(12)]
    cluster, manifests = write_list(tmp_path / "c.json", make_node("n").doc()), write_list(tmp_path / "m.json", *pods)
    lines = ksched("check", "--from", cluster, "-f", manifests, "-o", "github", code=1).out.splitlines()
    kinds = Counter(line.split()[0] for line in lines if line.startswith("::"))
    assert kinds == {"::error": 10, "::notice": 10, "::group::5": 1, "::endgroup::": 1}
    rest = lines[lines.index("::endgroup::") - 5 : lines.index("::endgroup::")]
    assert all(line.startswith("- ") for line in rest)
    written = (tmp_path / "summary.md").read_text()
    assert written.startswith("what another tool wrote\n")
    assert all(f"large-{at}" in written for at in range(13))


@pytest.mark.parametrize(("findings", "others"), [(0, 5), (8, 2), (10, 0), (12, 0)], ids=str)
def test_what_there_is_to_say_of_the_input_is_a_warning_without_a_file(findings: int, others: int) -> None:
    """Up to ten warnings, those of findings first."""
    warned = replace_fields(
        check_of(*(finding(at, "warning") for at in range(findings))), warnings=tuple("100% a\nb" for _ in range(5))
    )
    lines = [line for line in github_lines(warned) if line.startswith("::warning")]
    assert len(lines) == min(findings, 10) + others
    assert lines.count("::warning title=ksched::100%25 a%0Ab") == others


def test_a_summary_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "missing" / "summary.md"))
    assert run(["check", "--from", CLUSTER, "-f", DEPLOY, "-o", "github"]) == 1
    assert "cannot write the step summary" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "data", "value"),
    [
        pytest.param("100%", "100%25", "100%25", id="percent"),
        pytest.param("a\r\nb", "a%0D%0Ab", "a%0D%0Ab", id="lines"),
        pytest.param("a:b,c", "a:b,c", "a%3Ab%2Cc", id="what parts properties"),
        pytest.param("%0A", "%250A", "%250A", id="what is escaped already"),
    ],
)
def test_escaping(text: str, data: str, value: str) -> None:
    assert (escape_data(text), escape_property(text)) == (data, value)


@given(st.text(), st.text(), st.text(min_size=1))
def test_no_text_can_be_a_command_of_its_own(message: str, title: str, file: str) -> None:
    hostile = finding(message=message, title=title, place=SourcePlace(file, 3, "spec"))
    (line, _) = github_lines(check_of(hostile))
    assert len(line.splitlines()) == 1 or not re.search("[\r\n]", line)
    properties = re.fullmatch(r"::error ((?:[a-z]+=[^,:]*,?)+)::.*", line, re.DOTALL)
    assert properties is not None


# Markdown


def markdown_text(check: Check) -> str:
    out = io.StringIO()
    render(check, out, RenderOptions("markdown"))
    return out.getvalue()


def test_names_are_not_markup() -> None:
    text = markdown_text(check_of(finding(message="a|b <script> `x` *y*\nz")))
    assert "a\\|b \\<script\\> \\`x\\` \\*y\\* z" in text
    for table in text.split("\n\n"):
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({re.sub(r"\\\|", "", row).count("|") for row in rows}) <= 1


@pytest.mark.slow
def test_a_summary_has_a_size_that_github_takes() -> None:
    text = markdown_text(check_of(*(finding(at, message="x" * 1000) for at in range(2000))))
    assert len(text.encode()) < MAX_BYTES + 100
    assert "more than fits here" in text


# What --fail-on makes of it


@pytest.mark.parametrize(("options", "level"), [([], "warning"), (["--fail-on", "warning"], "error")])
def test_fail_on_raises_the_level_in_every_output(
    options: list[str], level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"nodeSelector": {"x": "y"}, "containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    cluster, manifests = write_list(tmp_path / "c.json", make_node("n").doc()), write_list(tmp_path / "m.json", daemons)
    for output, expected in (
        ("sarif", f'"level": "{level}"'),
        ("github", f"::{level} "),
        ("json", f'"level": "{level}"'),
    ):
        assert run(["check", "--from", cluster, "-f", manifests, "-o", output, *options]) == int(level == "error")
        assert expected in capsys.readouterr().out


@pytest.mark.parametrize("form", ["table", "markdown", "html", "json", "github", "junit", "sarif"])
def test_manifests_whose_values_are_not_checked_are_named(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kind decides nothing about pods, and ksched has no rules for its values."""
    cluster = write_list(tmp_path / "c.json", make_node("n").doc())
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "x"}, "spec": {}}
    manifests = write_list(tmp_path / "m.json", make_pod("p").doc(), policy)
    assert run(["check", "--from", cluster, "-f", manifests, "-o", form]) == 0
    assert "networking.k8s.io/v1/NetworkPolicy" in capsys.readouterr().out
    manifests = write_list(tmp_path / "m.json", make_pod("p").doc())
    assert run(["check", "--from", cluster, "-f", manifests, "-o", form]) == 0
    assert "NetworkPolicy" not in capsys.readouterr().out
