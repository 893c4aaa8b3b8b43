"""What is wrong with the input of a check, as findings beside those of its workloads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ksched_cli.api.listing import named
from ksched_cli.errors import Problem
from ksched_cli.plan.check.results import Check, Finding
from ksched_cli.plan.codes import all_codes
from ksched_cli.plan.results import Stats
from ksched_cli.sources.input_codes import NOT_RUN, NOTHING_CHECKED
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.places import SourcePlace

MOST_NAMED = 5


def input_findings(problems: Iterable[Problem]) -> tuple[Finding, ...]:
    """A finding for each problem of the files and objects."""
    return tuple(map(_finding, problems))


def _finding(problem: Problem) -> Finding:
    code = all_codes()[problem.code or NOT_RUN]
    message = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    message = f"{problem.path}: {message}" if problem.path else message
    place = SourcePlace(problem.source, problem.line)
    return Finding(code.code, code.name, problem.level, code.title, "", message, place)


def nothing_checked(manifests: Loaded, items: Sequence[Any], sources: Sequence[str], namespace: str) -> Problem:
    """The problem of a check without a workload: what the input has instead."""
    where = sources[0] if len(sources) == 1 else ""
    if items:
        spaces = sorted({item.metadata.namespace for item in items})
        here = f"no pod or workload in namespace {namespace}" if namespace else "no pod or workload that -l matches"
        text = f"nothing was checked: the manifests have {here}"
        hint = f"their pods and workloads are in {named(spaces, MOST_NAMED)}"
        return Problem(text, where, hint=hint, code=NOTHING_CHECKED)
    found = named([f"{count} {kind}" for kind, count in manifests.kinds().most_common()], MOST_NAMED)
    text = f"nothing was checked: the manifests have {found or 'no object'} and no pod or workload"
    return Problem(text, where, hint="--allow-empty exits with code 0", code=NOTHING_CHECKED)


def check_not_run(problems: Iterable[Problem]) -> Check:
    """The result of a check that could not begin."""
    return Check((), (), {}, Stats(0, 0, 0.0, 0.0, 0.0, 0.0), inputs=input_findings(problems))
