"""A check as JUnit XML, in the form that both Jenkins and GitLab read: a suite a file, a test case a workload."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from ksched_cli.plan.check.results import Check, Finding, WorkloadCheck
from ksched_cli.report.check_table import progress, spot, unread
from ksched_cli.report.ci_paths import repository_path
from ksched_cli.report.visible import visible_lines, with_texts

# What XML 1.0 has no way to write.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(check: Check) -> str:
    check = with_texts(check, visible_lines)
    suites = ElementTree.Element("testsuites", name="ksched check")
    _count(suites, check.workloads)
    suites.set("time", _seconds(check.stats.schedule_seconds))
    for file, workloads in _by_file(check.workloads).items():
        suite = ElementTree.SubElement(suites, "testsuite", name=_clean(file))
        _count(suite, workloads)
        suite.set("time", _seconds(0))
        for workload in workloads:
            _case(suite, workload)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _by_file(workloads: Iterable[WorkloadCheck]) -> dict[str, list[WorkloadCheck]]:
    found: dict[str, list[WorkloadCheck]] = {}
    for workload in workloads:
        found.setdefault(repository_path(workload.place) or workload.place.source, []).append(workload)
    return found


def _count(element: ElementTree.Element, workloads: Sequence[WorkloadCheck]) -> None:
    results = [workload.result for workload in workloads]
    element.set("tests", str(len(results)))
    element.set("failures", str(results.count("fails")))
    element.set("errors", "0")
    element.set("skipped", str(results.count("held back")))


def _case(suite: ElementTree.Element, workload: WorkloadCheck) -> None:
    """Readers show one failure a case, so that all errors of a workload are in one."""
    file = repository_path(workload.place)
    where = _clean(file or workload.place.source)
    name = _clean(workload.workload)
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=where, time=_seconds(0))
    if file:
        case.set("file", where)
    if file and workload.place.line is not None:
        case.set("line", str(workload.place.line))
    errors = [finding for finding in workload.findings if finding.level == "error"]
    others = [finding for finding in workload.findings if finding.level != "error"]
    if errors:
        first = errors[0]
        message = _clean(f"{first.code} {first.title}" + (f" (and {len(errors) - 1} more)" if errors[1:] else ""))
        failure = ElementTree.SubElement(case, "failure", message=message, type=first.code)
        failure.text = _clean("\n\n".join(map(_told, errors)))
    elif workload.result == "held back":
        ElementTree.SubElement(case, "skipped", message=_clean(others[0].message))
    unread_kinds = [f"could be otherwise: {unread(workload)}"] if workload.missing else []
    told = "\n\n".join([progress(workload), *map(_told, others), *unread_kinds])
    ElementTree.SubElement(case, "system-out").text = _clean(told)


def _told(finding: Finding) -> str:
    lines = [f"{spot(finding)}: {finding.level} {finding.code}: {finding.title}", finding.message]
    return "\n".join([*lines, f"field: {finding.place.path}"] if finding.place.path else lines)


def _clean(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"
