"""Stable codes for the reasons why a pod has no place, a pod is refused or a rollout stops.

KS0xx part of the input is not checked, KS1xx no node takes the pod (KS121 to KS133 volumes, KS14x devices, KS15x pod
groups), KS2xx the pod is not tried or goes at another's cost, KS3xx the API server refuses it, KS4xx the rollout does
not come to its end. A code is never taken back or given to another reason; new ones are added to their hundred.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ksched_cli.engine.reasons import EngineReasons
from ksched_cli.framework.reasons import ReasonCode, ReasonTable
from ksched_cli.plan.codes.pods import ADMISSIONS
from ksched_cli.plugins.in_tree import all_specs

NO_SUCH_NODE, OTHER_PLUGIN, CYCLE_ERROR = "KS109", "KS190", "KS191"
OTHER_SCHEDULER, PREEMPTS, EVICTED = "KS202", "KS203", "KS204"
OTHER_ADMISSION = "KS306"
ROLLOUT_DEADLOCK, ROLLOUT_WAITS, ROLLOUT_QUOTA = "KS401", "KS402", "KS403"
NO_PODS, NOT_ROLLED_OUT = "KS404", "KS405"
JOB_WAVES, WAITS_FOR_JOBS, UNSETTLED, AUTOSCALER_BOUND = "KS406", "KS407", "KS408", "KS409"


@cache
def all_codes() -> Mapping[str, ReasonCode]:
    """Every code, in order: those of the rooms' reasons and the scheduler's own, then those of commands."""
    from ksched_cli.plan.codes import inputs, pods, rollouts

    tables: list[type[ReasonTable]] = [EngineReasons, *(table for spec in all_specs() for table in spec.reasons)]
    kinds = (kind for table in tables for kind in table.kinds())
    of_reasons = (code for kind in kinds for code in (kind.code, kind.unresolvable_code) if code is not None)
    codes = (*inputs.CODES, *of_reasons, *pods.CODES, *rollouts.CODES)
    return {each.code: each for each in sorted(codes, key=lambda each: each.code)}


def plugins_of(code: ReasonCode) -> tuple[str, ...]:
    """The plugins and admissions that reject pods with the code."""
    found = [
        plugin.name
        for spec in all_specs()
        if any(code in (kind.code, kind.unresolvable_code) for table in spec.reasons for kind in table.kinds())
        for plugin in spec.plugins
    ]
    return (*dict.fromkeys(found), *(plugin for plugin, each in ADMISSIONS.items() if each == code.code))


def code_of_admission(plugin: str) -> ReasonCode:
    """The code of a pod that this admission refuses."""
    return all_codes()[ADMISSIONS.get(plugin, OTHER_ADMISSION)]


def find_code(text: str) -> ReasonCode | None:
    """By its code or its name, in any case."""
    known = all_codes()
    by_name = {each.name: each for each in known.values()}
    return known.get(text.upper()) or by_name.get(text.lower())
