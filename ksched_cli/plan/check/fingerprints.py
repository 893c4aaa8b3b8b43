"""Names of findings that stay the same from run to run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from ksched_cli.plan.check.results import Finding

_INDEX = re.compile(r"\[\d+\]")


def fingerprinted(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Each finding with its fingerprint: wherever its line moves to, it is the same in the next run. Neither lines nor
    generated names are in it; findings that are alike are numbered."""
    seen: dict[str, int] = {}
    for finding in findings:
        about = finding.workload or f"{PurePath(finding.place.source).name}\0{finding.message}"
        identity = "\0".join((finding.code, about, _INDEX.sub("[]", finding.place.path)))
        digest = hashlib.sha256(identity.encode()).hexdigest()[:32]
        seen[digest] = seen.get(digest, 0) + 1
        yield finding, f"{digest}:{seen[digest]}"
