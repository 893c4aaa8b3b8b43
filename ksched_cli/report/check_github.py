"""A check as GitHub Actions takes it: annotations in the log, and the whole of it in the step's summary.

GitHub shows ten annotations of a kind for a step and drops the rest without a word. The first ten are written as
annotations; the others are lines of the log, and all of them are in the summary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TextIO

from ksched_cli.plan.check.results import Check, Finding
from ksched_cli.report.ci_paths import repository_path
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.check import check_summary, finding_text, spot
from ksched_cli.report.visible import visible_lines, with_texts

MAX_OF_A_KIND = 10
_KINDS = {"error": "error", "warning": "warning", "note": "notice"}


def write_github(check: Check, out: TextIO, options: RenderOptions) -> None:
    out.writelines(f"{line}\n" for line in github_lines(check))


def github_lines(check: Check) -> Iterator[str]:
    check = with_texts(check, visible_lines)
    shown: Counter[str] = Counter()
    others: list[Finding] = []
    for finding in check.findings:
        shown[finding.level] += 1
        if shown[finding.level] <= MAX_OF_A_KIND:
            yield annotation(finding)
        else:
            others.append(finding)
    for text in check.warnings[: max(MAX_OF_A_KIND - shown["warning"], 0)]:
        yield f"::warning title=ksched::{escape_data(text)}"
    if others:
        yield f"::group::{len(others)} more, for which GitHub has no room as annotations"
        yield from (_plain(finding) for finding in others)
        yield "::endgroup::"
    yield check_summary(check)


def annotation(finding: Finding) -> str:
    """`::error file=deploy/web.yaml,line=12,title=KS104 …::…`."""
    place = finding.place
    properties = {
        "file": repository_path(place),
        "line": str(place.line) if place.line is not None and repository_path(place) else "",
        "title": f"{finding.code} {finding.title}",
    }
    written = ",".join(f"{name}={escape_property(value)}" for name, value in properties.items() if value)
    text = finding_text(finding)
    if place.path:
        text += f"\nfield: {place.path}"
    return f"::{_KINDS[finding.level]} {written}::{escape_data(text)}"


def _plain(finding: Finding) -> str:
    """The finding in one line. It begins with a dash, because GitHub reads the beginning of a line as a command."""
    text = f"- {spot(finding.place)}: {finding.level} {finding.code}: {finding_text(finding)}"
    return " ".join(text.splitlines())


def escape_data(text: str) -> str:
    """The text escaped as @actions/core escapes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")
