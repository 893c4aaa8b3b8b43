"""A check as Markdown, for comments and for GitHub's step summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from ksched_cli.plan.check.results import Check, Finding, WorkloadCheck
from ksched_cli.plan.reasons.codes import all_codes
from ksched_cli.report.check_table import check_summary, evicted_anyway, finding_text, payers, progress, unread
from ksched_cli.report.ci_paths import repository_path
from ksched_cli.report.escaping import escape_markdown
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.omissions import omissions
from ksched_cli.report.visible import visible_lines, with_texts

# GitHub accepts 1 MiB from a step, including the text of earlier commands.
MAX_BYTES = 900_000
_SIGNS = {"error": "❌", "warning": "⚠️", "note": "💡"}
_RESULTS = {"fails": "❌", "warns": "⚠️", "held back": "⏸️", "ignored": "🔕", "fits": "✅"}


def write_check_markdown(check: Check, out: TextIO, options: RenderOptions) -> None:
    out.write(markdown_text(check))


def markdown_text(check: Check) -> str:
    """As many lines as fit, and a note if some are left out."""
    lines: list[str] = []
    size = 0
    for line in _lines(with_texts(check, visible_lines)):
        size += len(line.encode()) + 1
        if size > MAX_BYTES:
            lines += ["", "… and more than fits here: see the log."]
            break
        lines.append(line)
    return "\n".join([*lines, ""])


def _lines(check: Check) -> Iterator[str]:
    yield f"### ksched check: {escape_markdown(check_summary(check))}"
    if check.losses:
        yield ""
        yield escape_markdown(payers(check))
    if check.evicted_anyway:
        yield ""
        yield escape_markdown(evicted_anyway(check))
    if check.workloads:
        yield ""
        yield "| | workload | | |"
        yield "|---|---|---|---|"
        yield from map(_workload, check.workloads)
    if check.findings:
        yield ""
        yield "| | where | code | |"
        yield "|---|---|---|---|"
        yield from map(_finding, check.findings)
        yield ""
        yield from _codes(check)
    omitted = omissions(check.coverage)
    if omitted:
        yield ""
        yield f"Not taken into account: {escape_markdown('; '.join(omitted))}"


def _workload(workload: WorkloadCheck) -> str:
    sign = _RESULTS[workload.result]
    text = progress(workload) + (f"; could be otherwise: {unread(workload)}" if workload.missing else "")
    return f"| {sign} | {escape_markdown(workload.workload)} | {workload.result} | {escape_markdown(text)} |"


def _finding(finding: Finding) -> str:
    place = finding.place
    file = repository_path(place) or place.source
    where = f"{file}:{place.line}" if place.line is not None else file
    field = f"<br>{escape_markdown(place.path)}" if place.path else ""
    text = f"**{escape_markdown(finding.title)}**<br>{escape_markdown(finding_text(finding))}"
    return f"| {_SIGNS[finding.level]} | {escape_markdown(where)}{field} | {finding.code} | {text} |"


def _codes(check: Check) -> Iterator[str]:
    """The meaning of each code and what to do, as a part that the reader can unfold."""
    known = all_codes()
    yield "<details><summary>What the codes mean, and what to do</summary>"
    for code in sorted({finding.code for finding in check.findings}):
        each = known[code]
        yield ""
        yield f"**{each.code} {each.name}**: {escape_markdown(each.meaning)}"
        yield ""
        yield from (f"- {escape_markdown(advice)}" for advice in each.advice)
    yield ""
    yield "</details>"
