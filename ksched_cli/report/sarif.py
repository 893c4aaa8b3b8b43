"""A check as SARIF 2.1.0 (OASIS), as code scanning reads it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli import __version__
from ksched_cli.plan.check.results import Check, Finding
from ksched_cli.plan.codes import ReasonCode, all_codes
from ksched_cli.report.check_table import said
from ksched_cli.report.ci_paths import as_uri, repository_path

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
FINGERPRINT = "kschedFinding/v1"
# What stands for the file of a finding that is about no file.
NO_FILE = "stdin"
_INDEX = re.compile(r"\[\d+\]")


def sarif_document(check: Check) -> dict[str, Any]:
    """One run. Its rules are the codes that occur, so that it stays small."""
    known = all_codes()
    used = sorted({finding.code for finding in check.findings})
    indexes = {code: number for number, code in enumerate(used)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "ksched",
                        "semanticVersion": __version__,
                        "rules": [_rule(known[code]) for code in used],
                    }
                },
                "automationDetails": {"id": "ksched/check/"},
                "invocations": [{"executionSuccessful": not check.is_input_wrong}],
                "columnKind": "unicodeCodePoints",
                "results": _results(check.findings, indexes),
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


def _results(findings: Sequence[Finding], indexes: Mapping[str, int]) -> list[dict[str, Any]]:
    seen: dict[str, int] = {}
    return [_result(finding, indexes[finding.code], seen) for finding in findings]


def _result(finding: Finding, index: int, seen: dict[str, int]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": said(finding)},
        "locations": [_location(finding)],
        "partialFingerprints": {FINGERPRINT: _fingerprint(finding, seen)},
    }
    properties = {"path": finding.place.path, "pods": list(finding.pods), "step": finding.step}
    return {**entry, "properties": {key: value for key, value in properties.items() if value}}


def _location(finding: Finding) -> dict[str, Any]:
    """Code scanning takes results with a file and a line only: the first line stands for the file as a whole."""
    uri = as_uri(repository_path(finding.place) or finding.place.source or NO_FILE)
    artifact = {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": ROOT}
    region = {"startLine": finding.place.line or 1}
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    if finding.workload:
        kind, _, name = finding.workload.partition(" ")
        location["logicalLocations"] = [{"fullyQualifiedName": f"{kind}/{name}", "name": name, "kind": "object"}]
    return location


def _fingerprint(finding: Finding, seen: dict[str, int]) -> str:
    """The same finding in the next run, wherever its line has moved to: neither lines nor generated names are in it."""
    about = finding.workload or finding.place.source
    identity = "\0".join((finding.code, about, _INDEX.sub("[]", finding.place.path)))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:32]
    seen[digest] = seen.get(digest, 0) + 1
    return f"{digest}:{seen[digest]}"
