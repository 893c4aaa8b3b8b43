"""Writes the findings of `check` as CI systems read them.

GitHub Actions get annotations in the log, and everything in the summary of the step. GitHub shows ten annotations of a
kind for a step and drops the rest without a word: the first ten are annotations, the others lines of the log. JUnit XML
has a suite for each file and a test case for each workload, with the elements of Jenkins' junit-10.xsd, which lets no
test case name its file. SARIF 2.1.0 (OASIS) is for code scanning. Files are named relative to the repository."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO
from urllib.parse import quote
from xml.etree import ElementTree

from ksched_cli.build_info import BUILD
from ksched_cli.errors import counted
from ksched_cli.framework.reasons import ReasonCode
from ksched_cli.plan.check.results import Check, Finding, IgnoredFinding, WorkloadCheck
from ksched_cli.plan.check.suppression import fingerprinted
from ksched_cli.plan.reasons.codes import all_codes
from ksched_cli.report.encoding import write_json
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.check import WorkloadPart, check_summary, finding_text, repository_path, spot
from ksched_cli.report.view.documents import unchecked_manifests
from ksched_cli.report.visible import visible_lines
from ksched_cli.sources.places import SourcePlace


def as_uri(path: str) -> str:
    """A relative reference, or a file URI for a path outside the checkout."""
    if path[1:3] == ":/":  # a drive of Windows
        return f"file:///{quote(path, safe='/:')}"
    quoted = quote(path, safe="/", errors="surrogateescape")
    return f"file://{quoted}" if path.startswith("/") else quoted


_STDIN = "stdin"
MAX_OF_A_KIND = 10
_KINDS = {"error": "error", "warning": "warning", "note": "notice"}


def write_github(check: Check, out: TextIO, options: RenderOptions) -> None:
    out.writelines(f"{line}\n" for line in github_lines(check))


def github_lines(check: Check) -> Iterator[str]:
    shown: Counter[str] = Counter()
    others: list[Finding] = []
    for finding in check.findings:
        shown[finding.level] += 1
        if shown[finding.level] <= MAX_OF_A_KIND:
            yield annotation(finding)
        else:
            others.append(finding)
    for text in check.warnings[: max(MAX_OF_A_KIND - shown["warning"], 0)]:
        yield f"::warning title=ksched::{escape_data(visible_lines(text))}"
    if others:
        yield f"::group::{len(others)} more, for which GitHub has no room as annotations"
        yield from (_plain(finding) for finding in others)
        yield "::endgroup::"
    yield visible_lines(check_summary(check))
    yield from map(visible_lines, unchecked_manifests(check.coverage))


def annotation(finding: Finding) -> str:
    """`::error file=deploy/web.yaml,line=12,title=KS104 …::…`."""
    place = finding.place
    properties = {
        "file": repository_path(place),
        "line": str(place.line) if place.line is not None and repository_path(place) else "",
        "title": f"{finding.code} {finding.title}",
    }
    written = ",".join(f"{name}={escape_property(visible_lines(value))}" for name, value in properties.items() if value)
    text = finding_text(finding)
    if place.path:
        text += f"\nfield: {place.path}"
    return f"::{_KINDS[finding.level]} {written}::{escape_data(visible_lines(text))}"


def _plain(finding: Finding) -> str:
    """The finding in one line. It begins with a dash, because GitHub reads the beginning of a line as a command."""
    text = f"- {spot(finding.place)}: {finding.level} {finding.code}: {finding_text(finding)}"
    return " ".join(visible_lines(text).split("\n"))


def escape_data(text: str) -> str:
    """The text escaped as @actions/core escapes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


_NO_FILE = "input"
# Characters that XML 1.0 cannot contain.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(check: Check, out: TextIO, options: RenderOptions) -> None:
    out.write(junit_text(check))


def junit_text(check: Check) -> str:
    suites = ElementTree.Element("testsuites", name="ksched check")
    _count(suites, check.workloads, check.inputs)
    suites.set("time", _seconds(check.stats.schedule_seconds))
    if check.ignored:
        suites.set("name", _clean(f"ksched check ({counted(len(check.ignored), 'finding')} ignored)"))
    unchecked = unchecked_manifests(check.coverage)
    for file, (workloads, inputs) in _by_file(check).items():
        suite = ElementTree.SubElement(suites, "testsuite", name=_clean(file))
        for text in unchecked:
            properties = ElementTree.SubElement(suite, "properties")
            ElementTree.SubElement(properties, "property", name="not checked", value=_clean(text))
        unchecked = []
        _count(suite, workloads, inputs)
        suite.set("skipped", str(sum(workload.result in ("held back", "ignored") for workload in workloads)))
        if file not in ("", _NO_FILE, _STDIN):
            suite.set("file", _clean(file))
        suite.set("time", _seconds(0))
        for finding in inputs:
            _input_case(suite, finding)
        for workload in workloads:
            _case(suite, workload)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _by_file(check: Check) -> dict[str, tuple[list[WorkloadCheck], list[Finding]]]:
    found: dict[str, tuple[list[WorkloadCheck], list[Finding]]] = {}
    for finding in check.inputs:
        found.setdefault(_file_of(finding.place), ([], []))[1].append(finding)
    for workload in check.workloads:
        found.setdefault(_file_of(workload.place), ([], []))[0].append(workload)
    return found


def _file_of(place: SourcePlace) -> str:
    return repository_path(place) or place.source or _NO_FILE


def _count(element: ElementTree.Element, workloads: Sequence[WorkloadCheck], inputs: Sequence[Finding]) -> None:
    results = [workload.result for workload in workloads]
    element.set("tests", str(len(results) + len(inputs)))
    element.set("failures", str(results.count("fails")))
    element.set("errors", str(sum(finding.level == "error" for finding in inputs)))


def _input_case(suite: ElementTree.Element, finding: Finding) -> None:
    """Add a finding about the input: an error if part of the input was not checked."""
    name = _clean(f"input: {finding.code} {finding.name}")
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=suite.get("name", ""), time=_seconds(0))
    if finding.level == "error":
        message = _clean(f"{finding.code} {finding.title}")
        error = ElementTree.SubElement(case, "error", message=message, type=finding.code)
        error.text = _clean(_text_of(finding))
    else:
        ElementTree.SubElement(case, "system-out").text = _clean(_text_of(finding))


def _case(suite: ElementTree.Element, workload: WorkloadCheck) -> None:
    """Add the test case of a workload. Readers show one failure of a case, so it has all errors."""
    where, name = suite.get("name", ""), _clean(workload.workload)
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=where, time=_seconds(0))
    errors = [finding for finding in workload.findings if finding.level == "error"]
    others = [finding for finding in workload.findings if finding.level != "error"]
    if errors:
        first = errors[0]
        message = _clean(f"{first.code} {first.title}" + (f" (and {len(errors) - 1} more)" if errors[1:] else ""))
        failure = ElementTree.SubElement(case, "failure", message=message, type=first.code)
        failure.text = _clean("\n\n".join(map(_text_of, errors)))
    elif workload.result == "held back":
        ElementTree.SubElement(case, "skipped", message=_clean(others[0].message))
    elif workload.result == "ignored":
        ElementTree.SubElement(case, "skipped", message="its errors are ignored")
    unread_kinds = [f"could be otherwise: {WorkloadPart.of(workload).unread}"] if workload.missing else []
    output = "\n\n".join([WorkloadPart.of(workload).progress, *map(_text_of, others), *unread_kinds])
    ElementTree.SubElement(case, "system-out").text = _clean(output)


def _text_of(finding: Finding) -> str:
    where = f"{spot(finding.place)}: " if finding.place.source else ""
    lines = [f"{where}{finding.level} {finding.code}: {finding.title}", finding.message]
    return "\n".join([*lines, f"field: {finding.place.path}"] if finding.place.path else lines)


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", visible_lines(text))


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
FINGERPRINT = "kschedFinding/v1"
# The file name of a finding that belongs to no file.
NO_FILE = "stdin"


def write_sarif(check: Check, out: TextIO, options: RenderOptions) -> None:
    write_json(sarif_document(check), out)


def sarif_document(check: Check) -> dict[str, Any]:
    """The document with one run. Its rules are the codes that occur, which keeps it small."""
    known = all_codes()
    every = [*check.findings, *(each.finding for each in check.ignored)]
    used = sorted({finding.code for finding in every})
    indexes = {code: number for number, code in enumerate(used)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "ksched",
                        "semanticVersion": BUILD.semantic_version,
                        "rules": [_rule(known[code]) for code in used],
                    }
                },
                "automationDetails": {"id": "ksched/check/"},
                "invocations": [_invocation(check)],
                "columnKind": "unicodeCodePoints",
                "results": _results(check, indexes),
            }
        ],
    }


def _invocation(check: Check) -> dict[str, Any]:
    notes = [{"level": "note", "message": {"text": text}} for text in unchecked_manifests(check.coverage)]
    noted = {"toolExecutionNotifications": notes} if notes else {}
    return {"executionSuccessful": not check.is_input_wrong, **noted}


def _rule(code: ReasonCode) -> dict[str, Any]:
    advice = "".join(f"\n- {each}" for each in code.advice)
    return {
        "id": code.code,
        "name": "".join(word.capitalize() for word in code.name.split("-")),
        "shortDescription": {"text": f"{code.title[0].upper()}{code.title[1:]}."},
        "fullDescription": {"text": code.meaning},
        "help": {
            "text": f"{code.meaning}\nWhat to do:{advice}",
            "markdown": f"{code.meaning}\n\n**What to do**\n{advice}",
        },
        "defaultConfiguration": {"level": code.level},
        "properties": {"tags": ["kubernetes", "scheduling"]},
    }


def _results(check: Check, indexes: Mapping[str, int]) -> list[dict[str, Any]]:
    """The results. An ignored finding has a suppression."""
    ignored = {id(each.finding): each for each in check.ignored}
    findings = [*check.findings, *(each.finding for each in check.ignored)]
    return [
        _result(finding, indexes[finding.code], name, ignored.get(id(finding)))
        for finding, name in fingerprinted(findings)
    ]


def _result(finding: Finding, index: int, name: str, ignored: IgnoredFinding | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": finding_text(finding)},
        "locations": [_location(finding)],
        "partialFingerprints": {FINGERPRINT: name},
    }
    if ignored is not None:
        kind = "inSource" if ignored.by == "annotation" else "external"
        entry["suppressions"] = [{"kind": kind, "justification": ignored.reason}]
    properties = {"path": finding.place.path, "pods": list(finding.pods), "step": finding.step}
    return {**entry, "properties": {key: value for key, value in properties.items() if value}}


def _location(finding: Finding) -> dict[str, Any]:
    """The place of a finding. Code scanning needs a file and a line: line 1 stands for the file as a whole."""
    uri = as_uri(repository_path(finding.place) or finding.place.source or NO_FILE)
    artifact = {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": ROOT}
    region = {"startLine": finding.place.line or 1}
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    if finding.workload:
        kind, _, name = finding.workload.partition(" ")
        location["logicalLocations"] = [{"fullyQualifiedName": f"{kind}/{name}", "name": name, "kind": "object"}]
    return location
