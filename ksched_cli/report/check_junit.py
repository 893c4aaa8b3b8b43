"""A check as JUnit XML, in the form that both Jenkins and GitLab read: a suite a file, a test case a workload.

The elements and attributes are those of Jenkins' junit-10.xsd, which lets no test case name its file: the suite does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO
from xml.etree import ElementTree

from ksched_cli.plan.check.results import Check, Finding, WorkloadCheck
from ksched_cli.report.ci_paths import STDIN, repository_path
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.check import WorkloadPart, spot
from ksched_cli.report.view.model import counted
from ksched_cli.report.visible import visible_lines, with_texts
from ksched_cli.sources.places import SourcePlace

_NO_FILE = "input"
# Characters that XML 1.0 cannot contain.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(check: Check, out: TextIO, options: RenderOptions) -> None:
    out.write(junit_text(check))


def junit_text(check: Check) -> str:
    check = with_texts(check, visible_lines)
    suites = ElementTree.Element("testsuites", name="ksched check")
    _count(suites, check.workloads, check.inputs)
    suites.set("time", _seconds(check.stats.schedule_seconds))
    if check.ignored:
        suites.set("name", _clean(f"ksched check ({counted(len(check.ignored), 'finding')} ignored)"))
    for file, (workloads, inputs) in _by_file(check).items():
        suite = ElementTree.SubElement(suites, "testsuite", name=_clean(file))
        _count(suite, workloads, inputs)
        suite.set("skipped", str(sum(workload.result in ("held back", "ignored") for workload in workloads)))
        if file not in ("", _NO_FILE, STDIN):
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
    return _UNWRITABLE.sub("\ufffd", text)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"
