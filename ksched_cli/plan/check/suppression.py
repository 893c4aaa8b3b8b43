"""Accepted findings of `check`: by an annotation, by an option, or in a baseline file.

A fingerprint names a finding of a baseline. It stays the same from run to run, whatever else changes."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace as replace_fields
from pathlib import Path, PurePath
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.decode import CLUSTER_SCOPED
from ksched_cli.errors import InputError, Problem, named
from ksched_cli.plan.check.results import MOST_NAMED, Check, Finding, IgnoredFinding
from ksched_cli.plan.reasons.codes import all_codes, find_code
from ksched_cli.plan.reference.explain_code import explain_codes
from ksched_cli.sources.loaded import STALE_BASELINE, workload_label
from ksched_cli.sources.places import SourcePlace, template_of
from ksched_cli.whatif.manifests import WORKLOADS

_INDEX = re.compile(r"\[\d+\]")


def fingerprinted(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Each finding with its fingerprint: wherever its line moves to, it is the same in the next run. Neither lines nor
    generated names are in it; findings that are alike are numbered."""
    # Imported here: it brings OpenSSL, 4 MiB.
    import hashlib

    seen: dict[str, int] = {}
    for finding in findings:
        about = finding.workload or f"{PurePath(finding.place.source).name}\0{finding.message}"
        identity = "\0".join((finding.code, about, _INDEX.sub("[]", finding.place.path)))
        digest = hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:32]
        seen[digest] = seen.get(digest, 0) + 1
        yield finding, f"{digest}:{seen[digest]}"


ANNOTATION = "ksched.dev/ignore"
_KIND = {"apiVersion": "ksched/v1", "kind": "Baseline"}


class Suppressions(Struct, frozen=True):
    """`codes` of --ignore; `annotated`: object label to code to reason; `baseline`: fingerprint to object and code,
    from the file `baseline_source`."""

    codes: frozenset[str] = frozenset()
    annotated: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    baseline: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    baseline_source: str = ""

    def excuse(self, finding: Finding, fingerprint: str) -> IgnoredFinding | None:
        """Why the finding is ignored. An error of the input is not: the object was not checked."""
        if not finding.workload and finding.level == "error":
            return None
        reason = self.annotated.get(finding.workload or finding.about, {}).get(finding.code)
        if reason is not None:
            return IgnoredFinding(finding, "annotation", reason)
        if finding.code in self.codes:
            return IgnoredFinding(finding, "option", f"--ignore {finding.code}")
        if fingerprint in self.baseline:
            return IgnoredFinding(finding, "baseline", f"in {self.baseline_source}")
        return None


NOTHING_ACCEPTED = Suppressions()


def accept(codes: Sequence[str], baseline: str = "") -> Suppressions:
    """The findings with these codes or names, and those of a baseline file, are accepted."""
    found = frozenset(each.code for each in explain_codes(codes).codes) if codes else frozenset[str]()
    return Suppressions(found, baseline=read_baseline(baseline) if baseline else {}, baseline_source=baseline)


def annotated_codes(text: str) -> tuple[dict[str, str], list[str]]:
    """Code to reason, from `KS203: reason; KS111: reason`, and the words in the place of a code that are none."""
    found, unknown = {}, []
    for part in filter(None, (each.strip() for each in text.replace("\n", ";").split(";"))):
        word, _, reason = part.partition(":")
        code = find_code(word.strip())
        if code is None:
            unknown.append(word.strip())
        else:
            found[code.code] = reason.strip()
    return found, unknown


def annotations_of(items: Iterable[Any]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """By label, the codes that each object or its pod template accepts with a reason, and what is wrong with them."""
    found: dict[str, dict[str, str]] = {}
    mistakes = []
    for item in items:
        is_named = item.metadata.namespace or not isinstance(item, tuple(CLUSTER_SCOPED))
        label = workload_label(item) if is_named else f"{type(item).__name__} {item.metadata.name}"
        makes_pods = isinstance(item, WORKLOADS) and template_of(item) is not None
        places = [template_of(item).metadata, item.metadata] if makes_pods else [item.metadata]
        for text in filter(None, (each.annotations.get(ANNOTATION, "") for each in places)):
            codes, unknown = annotated_codes(text)
            found.setdefault(label, {}).update(codes)
            mistakes += [f"{label}: annotation {ANNOTATION}: there is no code {word}" for word in unknown]
    return found, list(dict.fromkeys(mistakes))


def suppress(check: Check, accepted: Suppressions, *, partial: bool) -> Check:
    """The check without the accepted findings, which are listed apart. `partial`: not all workloads of the manifests
    are checked."""
    ignored: list[IgnoredFinding] = []
    names = {id(finding): name for finding, name in fingerprinted(_every(check))}

    def left(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        kept = []
        for finding in findings:
            excuse = accepted.excuse(finding, names[id(finding)])
            if excuse is None:
                kept.append(finding)
            else:
                ignored.append(excuse)
        return tuple(kept)

    workloads = []
    for workload in check.workloads:
        findings = left(workload.findings)
        fails = any(finding.level == "error" for finding in workload.findings)
        excused = fails and not any(finding.level == "error" for finding in findings)
        workloads.append(replace(workload, findings=findings, is_excused=excused))
    inputs = left(check.inputs)
    inputs += _stale_entries(check, accepted, set(names.values()), partial=partial)
    return replace_fields(check, workloads=tuple(workloads), inputs=inputs, ignored=tuple(ignored))


def _stale_entries(
    check: Check, accepted: Suppressions, found: Collection[str], *, partial: bool
) -> tuple[Finding, ...]:
    """A note of the entries of the baseline that match no finding, of the checked objects only if `partial`."""
    checked = {workload.workload for workload in check.workloads}
    stale = [
        f"{owner}: {code}"
        for name, (owner, code) in accepted.baseline.items()
        if name not in found and (owner in checked or not partial)
    ]
    if not stale:
        return ()
    code, one = all_codes()[STALE_BASELINE], len(stale) == 1
    what = f"{len(stale)} {'entry matches' if one else 'entries match'} no finding: {named(sorted(stale), MOST_NAMED)}"
    text = f"{what} (--write-baseline writes the file again)"
    return (Finding.of(code, "", text, SourcePlace(accepted.baseline_source)),)


def _every(check: Check) -> Iterator[Finding]:
    for workload in check.workloads:
        yield from workload.findings
    yield from check.inputs


def baseline_document(check: Check) -> dict[str, Any]:
    """Every finding that can be accepted, those of an earlier baseline included, by name and for people."""
    earlier = (each.finding for each in check.ignored if each.by == "baseline")
    entries = [
        {
            "fingerprint": name,
            "code": finding.code,
            "object": finding.workload or finding.about or finding.message,
            "path": finding.place.path,
        }
        for finding, name in fingerprinted([*_every(check), *earlier])
        if (finding.workload or finding.level != "error") and finding.code != STALE_BASELINE
    ]
    return {**_KIND, "findings": sorted(entries, key=lambda each: (each["object"], each["code"], each["fingerprint"]))}


def read_baseline(path: str) -> dict[str, tuple[str, str]]:
    """The fingerprints of a baseline file, with object and code."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise InputError(Problem((problem.strerror or str(problem)).lower(), path)) from None
    except ValueError as mistake:
        raise InputError(
            Problem(f"the baseline is no JSON: {mistake}", path, hint="--write-baseline makes one")
        ) from None
    entries = document.get("findings") if isinstance(document, dict) else None
    if not isinstance(entries, list) or any(document.get(key) != text for key, text in _KIND.items()):
        raise InputError(Problem("this file is no baseline", path, hint="--write-baseline makes one"))
    named = (each for each in entries if isinstance(each, dict))
    return {str(each.get("fingerprint")): (str(each.get("object")), str(each.get("code"))) for each in named}
