"""A check as SARIF 2.1.0 (OASIS), as code scanning reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from ksched_cli.build_info import BUILD
from ksched_cli.framework.reasons import ReasonCode
from ksched_cli.plan.check.results import Check, Finding, IgnoredFinding
from ksched_cli.plan.check.suppression import fingerprinted
from ksched_cli.plan.reasons.codes import all_codes
from ksched_cli.report.ci_paths import as_uri, repository_path
from ksched_cli.report.encoding import write_json
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.check import finding_text

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
                "invocations": [{"executionSuccessful": not check.is_input_wrong}],
                "columnKind": "unicodeCodePoints",
                "results": _results(check, indexes),
            }
        ],
    }


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
