"""Stable codes for the reasons why a pod has no place, a pod is refused or a rollout stops.

KS0xx part of the input is not checked, KS1xx no node takes the pod (KS121 to KS133 volumes, KS14x devices, KS15x pod
groups), KS2xx the pod is not tried or goes at another's cost, KS3xx the API server refuses it, KS4xx the rollout does
not come to its end. A code is never taken back or given to another reason; new ones are added to their hundred.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from ksched_cli.plan.codes.reason_code import SCHEDULER_ITSELF, ReasonCode
from ksched_cli.plan.rules import rule_of

OTHER_PLUGIN, CYCLE_ERROR = "KS190", "KS191"
OTHER_SCHEDULER, PREEMPTS, EVICTED = "KS202", "KS203", "KS204"
OTHER_ADMISSION = "KS306"
ROLLOUT_DEADLOCK, ROLLOUT_WAITS, ROLLOUT_QUOTA = "KS401", "KS402", "KS403"
NO_PODS, NOT_ROLLED_OUT = "KS404", "KS405"
JOB_WAVES, WAITS_FOR_JOBS, UNSETTLED = "KS406", "KS407", "KS408"


@cache
def all_codes() -> Mapping[str, ReasonCode]:
    """Every code, in order."""
    from ksched_cli.plan.codes import devices, filters, inputs, pods, rollouts, volumes

    tables = (inputs.CODES, filters.CODES, volumes.CODES, devices.CODES, pods.CODES, rollouts.CODES)
    return {each.code: each for table in tables for each in table}


def find_code(text: str) -> ReasonCode | None:
    """By its code or its name, in any case."""
    known = all_codes()
    by_name = {each.name: each for each in known.values()}
    return known.get(text.upper()) or by_name.get(text.lower())


def code_of(plugin: str, reasons: Sequence[str], *, unresolvable: bool = False) -> ReasonCode | None:
    """The code of a rejection; of several reasons the one that the table has first. None where it has none."""
    for each in all_codes().values():
        if each.resolvable is not None and each.resolvable is unresolvable:
            continue
        about = (reason for reason in reasons if rule_of(plugin, reason) in each.plugins)
        if any(pattern.fullmatch(reason) for reason in about for pattern in _patterns(each)):
            return each
    return None


@cache
def _patterns(code: ReasonCode) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(reason, re.DOTALL) for reason in code.reasons)


__all__ = [
    "CYCLE_ERROR",
    "EVICTED",
    "JOB_WAVES",
    "NOT_ROLLED_OUT",
    "NO_PODS",
    "OTHER_ADMISSION",
    "OTHER_PLUGIN",
    "OTHER_SCHEDULER",
    "PREEMPTS",
    "ROLLOUT_DEADLOCK",
    "ROLLOUT_QUOTA",
    "ROLLOUT_WAITS",
    "SCHEDULER_ITSELF",
    "UNSETTLED",
    "WAITS_FOR_JOBS",
    "ReasonCode",
    "all_codes",
    "code_of",
    "find_code",
]
